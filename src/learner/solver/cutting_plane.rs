//! Minimizes `1/2 ||w||^2 + C R(w)` for a convex risk `R >= 0` by one-slack cutting planes (Joachims, 2006). The line
//! search is from Franc and Sonnenburg (2008).
//!
//! A round solves a quadratic program over all planes. The solution of this program gives a lower bound on the minimum.
//! The round then searches the line from the best weights so far to this solution, and adds planes below `R`. The
//! duality gap is the lowest objective minus the highest lower bound. The objective at the best weights exceeds the
//! minimum by at most this gap.
//!
//! A round costs a few evaluations of the risk and one quadratic program over the planes in use.

use super::quadratic_program::{self, Plane};
use super::{Solved, add_scaled, dot};

/// The maximum number of evaluations of the risk in one line search.
const SEARCH_STEPS: usize = 6;
/// A plane is removed when its multiplier has been 0 for this many rounds.
const IDLE_ROUNDS: usize = 15;

/// The value of a convex risk, with one subgradient.
pub(crate) struct Risk {
    /// `R(w)`, at least 0.
    pub(crate) value: f64,
    /// A subgradient at `w`.
    pub(crate) slope: Vec<f64>,
}

/// Weights, with their objective, their risk and a subgradient of the risk.
#[derive(Default)]
struct Point {
    weights: Vec<f64>,
    objective: f64,
    risk: f64,
    slope: Vec<f64>,
}

impl Point {
    fn new(weights: Vec<f64>, cost: f64, risk: &impl Fn(&[f64]) -> Risk) -> Self {
        let Risk { value, slope } = risk(&weights);
        let objective = 0.5 * dot(&weights, &weights) + cost * value;
        Self { weights, objective, risk: value, slope }
    }

    /// Returns the plane that touches the risk at this point `w`: `R(v) >= risk + slope . (v - w)`.
    fn cut(&self) -> Cut {
        let offset = self.risk - dot(&self.slope, &self.weights);
        Cut { plane: Plane { offset, slope: self.slope.clone() }, idle: 0 }
    }
}

/// A plane, with the number of rounds since its multiplier was last above 0.
struct Cut {
    plane: Plane,
    idle: usize,
}

/// A minimization in progress.
struct CuttingPlanes {
    cost: f64,
    /// The weights with the lowest objective so far.
    best: Point,
    /// The highest lower bound on the minimum so far.
    bound: f64,
    cuts: Vec<Cut>,
    rounds: usize,
}

/// Minimizes `1/2 ||w||^2 + C R(w)` for the cost `C > 0`, from the weights `start`. The function `risk` must be defined
/// for all weights. Runs rounds until the duality gap is at most `tolerance` times the objective. Also stops after
/// `most` rounds, when `stop` returns true, or when the solver fails. A failure is an error only in the first round.
pub(crate) fn minimize(
    cost: f64,
    start: &[f64],
    risk: &impl Fn(&[f64]) -> Risk,
    tolerance: f64,
    most: usize,
    stop: &dyn Fn() -> bool,
) -> Result<Solved, String> {
    let mut planes = CuttingPlanes::new(cost, start, risk);
    let mut failure = None;
    loop {
        match planes.round(risk) {
            Ok(()) => {}
            Err(reason) if planes.rounds > 0 => {
                failure = Some(reason);
                break;
            }
            Err(reason) => return Err(reason),
        }
        if planes.gap() <= tolerance * planes.best.objective || planes.rounds == most || stop() {
            break;
        }
    }
    let (gap, objective) = (planes.gap(), planes.best.objective);
    Ok(Solved {
        weights: planes.best.weights,
        objective,
        gap: Some(gap),
        converged: gap <= tolerance * objective,
        failure,
        figures: vec![("cutting_plane_rounds", planes.rounds as f64), ("planes", planes.cuts.len() as f64)],
    })
}

impl CuttingPlanes {
    fn new(cost: f64, start: &[f64], risk: &impl Fn(&[f64]) -> Risk) -> Self {
        let best = Point::new(start.to_vec(), cost, risk);
        Self { cost, bound: 0.0, cuts: vec![best.cut()], best, rounds: 0 }
    }

    /// Returns the lowest objective minus the highest lower bound on the minimum.
    fn gap(&self) -> f64 {
        (self.best.objective - self.bound).max(0.0)
    }

    /// Runs a round from the best weights so far.
    fn round(&mut self, risk: &impl Fn(&[f64]) -> Risk) -> Result<(), String> {
        let planes: Vec<Plane> = self.cuts.iter().map(|cut| cut.plane.clone()).collect();
        let solution = quadratic_program::solve(&planes, self.cost)?;
        self.bound = self.bound.max(solution.bound);
        for (cut, &multiplier) in self.cuts.iter_mut().zip(&solution.multipliers) {
            cut.idle = if multiplier > 0.0 { 0 } else { cut.idle + 1 };
        }
        self.cuts.retain(|cut| cut.idle < IDLE_ROUNDS);
        let best = std::mem::take(&mut self.best);
        self.best = self.search(best, solution.weights, risk);
        self.rounds += 1;
        Ok(())
    }

    /// Searches `from + t (to - from)` with `0 <= t <= 1` for the lowest objective. Adds planes at both ends of the
    /// interval to which the search has narrowed.
    fn search(&mut self, from: Point, to: Vec<f64>, risk: &impl Fn(&[f64]) -> Risk) -> Point {
        let mut direction = to.clone();
        add_scaled(&mut direction, -1.0, &from.weights);
        let length = dot(&direction, &direction);
        let derivative = |point: &Point| dot(&point.weights, &direction) + self.cost * dot(&point.slope, &direction);
        let (mut low, mut low_at) = (from, 0.0);
        let (mut high, mut high_at) = (Point::new(to, self.cost, risk), 1.0);
        let (mut low_slope, mut high_slope) = (derivative(&low), derivative(&high));
        for _ in 0..SEARCH_STEPS {
            if length == 0.0 || high_slope <= 0.0 || low_slope >= 0.0 {
                break;
            }
            let at = model_minimum([low_at, high_at], [low.objective, high.objective], [low_slope, high_slope], length);
            let margin = 1e-3 * (high_at - low_at);
            let at = at.clamp(low_at + margin, high_at - margin);
            let mut weights = low.weights.clone();
            add_scaled(&mut weights, at - low_at, &direction);
            let point = Point::new(weights, self.cost, risk);
            let slope = derivative(&point);
            if slope < 0.0 {
                (low, low_at, low_slope) = (point, at, slope);
            } else {
                (high, high_at, high_slope) = (point, at, slope);
            }
        }
        self.cuts.push(high.cut());
        if low_at > 0.0 {
            self.cuts.push(low.cut());
        }
        if high.objective < low.objective { high } else { low }
    }
}

/// Returns the point at which the maximum of two parabolas is lowest. Both parabolas have the curvature `length`, and
/// each has the value and slope of the objective at one end of the interval. If the risk on the interval is the maximum
/// of the planes at its two ends, the maximum of the parabolas is exactly the objective.
fn model_minimum(at: [f64; 2], value: [f64; 2], slope: [f64; 2], length: f64) -> f64 {
    let own = [0, 1].map(|end| at[end] - slope[end] / length);
    // Both parabolas have the same curvature, so they cross at most once.
    let linear = [0, 1].map(|end| slope[end] - length * at[end]);
    let constant = [0, 1].map(|end| value[end] - slope[end] * at[end] + 0.5 * length * at[end] * at[end]);
    let opening = linear[1] - linear[0];
    let crossing = if opening > 0.0 { (constant[0] - constant[1]) / opening } else { f64::INFINITY };
    if own[0] < crossing {
        own[0]
    } else if own[1] > crossing {
        own[1]
    } else {
        crossing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The risk `R(w) = max(0, 1 - w_1) + |w_2 - 3| / 2`.
    fn risk(w: &[f64]) -> Risk {
        let hinge = (1.0 - w[0]).max(0.0);
        Risk {
            value: hinge + (w[1] - 3.0).abs() / 2.0,
            slope: vec![if hinge > 0.0 { -1.0 } else { 0.0 }, if w[1] < 3.0 { -0.5 } else { 0.5 }],
        }
    }

    #[test]
    fn reaches_the_analytic_minimum_with_a_gap_that_bounds_the_error() {
        // C = 2: w_1 = 1 (kink), w_2 = C / 2 = 1; objective 1/2 + 1/2 + 2 = 3.
        let mut planes = CuttingPlanes::new(2.0, &[0.0, 0.0], &risk);
        let mut objective = f64::INFINITY;
        for _ in 0..30 {
            planes.round(&risk).unwrap();
            assert!(planes.best.objective <= objective, "the best objective never rises");
            assert!(planes.best.objective - 3.0 <= planes.gap() + 1e-9, "{}", planes.gap());
            objective = planes.best.objective;
        }
        assert!(planes.gap() < 1e-6, "{}", planes.gap());
        let [first, second] = planes.best.weights[..] else { panic!("two weights") };
        assert!((first - 1.0).abs() < 1e-3 && (second - 1.0).abs() < 1e-3);
    }

    #[test]
    fn the_model_minimum_is_that_of_the_parabolas() {
        // f(t) = t^2 / 2 + max(-t, 2 t - 3): minimum at the crossing t = 1.
        assert!((model_minimum([0.0, 2.0], [0.0, 3.0], [-1.0, 4.0], 1.0) - 1.0).abs() < 1e-12);
        // f(t) = t^2 / 2 + max(-t / 2, 2 t - 3): minimum of the left parabola at t = 1/2.
        assert!((model_minimum([0.0, 2.0], [0.0, 3.0], [-0.5, 4.0], 1.0) - 0.5).abs() < 1e-12);
    }
}
