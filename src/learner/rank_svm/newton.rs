//! Minimizes `1/2 ||w||^2 + C R(w)` for the squared hinge by truncated Newton steps. Conjugate gradients solve the
//! Newton equations approximately, and a backtracking line search chooses the step length. The objective is piecewise
//! quadratic, so a handful of steps reach the optimum.

use std::iter::successors;

use super::risk::PairRisk;
use crate::learner::solver::cutting_plane::Risk;
use crate::learner::solver::{Solved, add_scaled, dot};

/// The maximum number of conjugate gradient steps for one Newton step.
const INNER_STEPS: usize = 250;
/// A step of the line search must achieve at least this fraction of the decrease that the gradient predicts.
const SUFFICIENT: f64 = 1e-4;
/// The length, relative to a Newton step, below which no step is tried.
const SHORTEST: f64 = 1e-12;

struct Iterate {
    weights: Vec<f64>,
    objective: f64,
    gradient: Vec<f64>,
    scores: Vec<f64>,
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
        let (Risk { value, slope }, scores) = risk.squared_hinge(&weights);
        let mut gradient = weights.clone();
        add_scaled(&mut gradient, cost, &slope);
        let objective = 0.5 * dot(&weights, &weights) + cost * value;
        Iterate { weights, objective, gradient, scores }
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
        let moved = |length: f64| {
            let mut weights = now.weights.clone();
            add_scaled(&mut weights, length, &direction);
            (length, at(weights))
        };
        let is_lower = |(length, next): &(f64, Iterate)| next.objective <= now.objective + SUFFICIENT * length * slope;
        let lengths = successors(Some(1.0), |length| Some(0.5 * length)).take_while(|&length| length >= SHORTEST);
        // Without such a step, no decrease is left in double precision.
        let Some((_, next)) = lengths.map(moved).find(is_lower) else { break false };
        now = next;
    };
    let gap = 0.5 * dot(&now.gradient, &now.gradient);
    let figures = vec![("newton_steps", steps as f64)];
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
        add_scaled(&mut product, cost, &risk.curvature(&now.scores, &conjugate));
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
