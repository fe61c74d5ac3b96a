//! Minimizes `1/2 ||w||^2 + C R(w)` for the squared hinge by truncated Newton steps. Conjugate gradients solve the
//! Newton equations approximately, and a backtracking line search chooses the step length. The objective is piecewise
//! quadratic, so a handful of steps reach the optimum.

use super::risk::{PairRisk, SquaredHinge};
use crate::learner::solver::{Solved, add_scaled, dot};

/// The maximum number of conjugate gradient steps for one Newton step.
const INNER_STEPS: usize = 250;
/// A step of the line search must achieve at least this fraction of the decrease that the gradient predicts.
const SUFFICIENT: f64 = 1e-4;

struct Iterate {
    weights: Vec<f64>,
    objective: f64,
    gradient: Vec<f64>,
    risk: SquaredHinge,
}

/// Minimizes the objective from `start`. Stops when the duality gap is at most `limits.0` times the objective, when
/// `limits.1` steps have been taken, or when `stop` returns true.
pub(super) fn minimize(
    risk: &PairRisk,
    cost: f64,
    start: &[f64],
    limits: (f64, usize),
    stop: &dyn Fn() -> bool,
) -> Solved {
    let at = |weights: Vec<f64>| {
        let squared = risk.squared_hinge(&weights);
        let mut gradient = weights.clone();
        add_scaled(&mut gradient, cost, &squared.gradient);
        let objective = 0.5 * dot(&weights, &weights) + cost * squared.value;
        Iterate { weights, objective, gradient, risk: squared }
    };
    let (tolerance, most) = limits;
    let mut now = at(start.to_vec());
    let mut steps = 0;
    let converged = loop {
        let gap = 0.5 * dot(&now.gradient, &now.gradient);
        if gap <= tolerance * now.objective {
            break true;
        }
        if steps == most || stop() {
            break false;
        }
        steps += 1;
        let direction = newton_direction(risk, cost, &now);
        let slope = dot(&direction, &now.gradient);
        let mut length = 1.0;
        let next = loop {
            let mut weights = now.weights.clone();
            add_scaled(&mut weights, length, &direction);
            let next = at(weights);
            if next.objective <= now.objective + SUFFICIENT * length * slope {
                break Some(next);
            }
            length *= 0.5;
            if length < 1e-12 {
                break None;
            }
        };
        match next {
            Some(next) => now = next,
            // No decrease is left in double precision.
            None => break false,
        }
    };
    let gap = 0.5 * dot(&now.gradient, &now.gradient);
    let figures = vec![("newton_steps".to_owned(), steps as f64)];
    Solved { weights: now.weights, objective: now.objective, gap: Some(gap), converged, failure: None, figures }
}

/// Solves the Newton equations `(I + C H) d = -gradient` approximately. The smaller the gradient, the more accurate the
/// solution.
fn newton_direction(risk: &PairRisk, cost: f64, now: &Iterate) -> Vec<f64> {
    let size = dot(&now.gradient, &now.gradient).sqrt();
    let enough = size * size.sqrt().min(0.1);
    let mut direction = vec![0.0; now.gradient.len()];
    let mut residual: Vec<f64> = now.gradient.iter().map(|g| -g).collect();
    let mut conjugate = residual.clone();
    let mut square = dot(&residual, &residual);
    for _ in 0..INNER_STEPS {
        if square.sqrt() <= enough {
            break;
        }
        let mut product = conjugate.clone();
        add_scaled(&mut product, cost, &risk.curvature(&now.risk.scores, &conjugate));
        let length = square / dot(&conjugate, &product);
        add_scaled(&mut direction, length, &conjugate);
        add_scaled(&mut residual, -length, &product);
        let next = dot(&residual, &residual);
        let ratio = next / square;
        conjugate.iter_mut().zip(&residual).for_each(|(c, r)| *c = r + ratio * *c);
        square = next;
    }
    direction
}
