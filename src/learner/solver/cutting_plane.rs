//! Minimizes `1/2 ||w||^2 + C R(w)` for a convex risk `R >= 0` by one-slack cutting planes (Joachims, 2006). The line
//! search is from Franc and Sonnenburg (2008).
//!
//! A round solves a quadratic program over all planes. The solution of this program gives a lower bound on the minimum.
//! The round then searches the line from the best weights so far to this solution, and adds planes below `R`. The
//! duality gap is the lowest objective minus the highest lower bound. The objective at the best weights exceeds the
//! minimum by at most this gap.
//!
//! A round costs a few evaluations of the risk and one quadratic program over the planes in use.

use serde::{Deserialize, Serialize};

use super::quadratic_program::{self, Plane};
use super::solved::Solved;
use super::vectors::{add_scaled, dot};

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

#[derive(Clone, Serialize, Deserialize)]
struct Point {
    weights: Vec<f64>,
    objective: f64,
    risk: f64,
    slope: Vec<f64>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Cut {
    plane: Plane,
    idle: usize,
}

/// The state of a minimization after a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Standing {
    /// The lowest objective so far.
    pub(crate) objective: f64,
    /// The lowest objective minus the highest lower bound on the minimum.
    pub(crate) gap: f64,
    /// The number of current planes.
    pub(crate) planes: usize,
    /// The number of rounds so far.
    pub(crate) rounds: usize,
}

/// A minimization in progress.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct CuttingPlanes {
    cost: f64,
    best: Option<Point>,
    bound: f64,
    cuts: Vec<Cut>,
    rounds: usize,
}

impl CuttingPlanes {
    /// Prepares a minimization with the cost `C > 0`.
    pub(crate) fn new(cost: f64) -> Self {
        Self { cost, best: None, bound: 0.0, cuts: Vec::new(), rounds: 0 }
    }

    /// Returns the weights with the lowest objective so far.
    pub(crate) fn weights(&self) -> &[f64] {
        self.best.as_ref().map_or(&[], |best| &best.weights)
    }

    /// Returns the lowest objective, the duality gap, and the numbers of planes and rounds so far.
    pub(crate) fn standing(&self) -> Standing {
        let objective = self.best.as_ref().map_or(f64::INFINITY, |best| best.objective);
        Standing { objective, gap: (objective - self.bound).max(0.0), planes: self.cuts.len(), rounds: self.rounds }
    }

    /// Runs a round. The first round starts from the weights `start`, and every later round from the best weights so
    /// far. The function `risk` must be defined for all weights.
    pub(crate) fn round(&mut self, start: &[f64], risk: &impl Fn(&[f64]) -> Risk) -> Result<Standing, String> {
        let best = match self.best.take() {
            Some(best) => best,
            None => {
                let point = self.point(start.to_vec(), risk);
                self.cut(&point);
                point
            }
        };
        let planes: Vec<Plane> = self.cuts.iter().map(|cut| cut.plane.clone()).collect();
        let solved = quadratic_program::solve(&planes, self.cost);
        let solution = match solved {
            Ok(solution) => solution,
            Err(reason) => {
                self.best = Some(best);
                return Err(reason);
            }
        };
        self.bound = self.bound.max(solution.bound);
        for (cut, &multiplier) in self.cuts.iter_mut().zip(&solution.multipliers) {
            cut.idle = if multiplier > 0.0 { 0 } else { cut.idle + 1 };
        }
        self.cuts.retain(|cut| cut.idle < IDLE_ROUNDS);
        self.best = Some(self.search(best, solution.weights, risk));
        self.rounds += 1;
        Ok(self.standing())
    }

    /// Runs rounds until the duality gap is at most `tolerance` times the objective. Also stops after `most` rounds,
    /// when `stop` returns true, or when the solver fails. A failure is an error only in the first round.
    pub(crate) fn minimize(
        mut self,
        start: &[f64],
        risk: &impl Fn(&[f64]) -> Risk,
        tolerance: f64,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Solved, String> {
        let mut failure = None;
        let standing = loop {
            let standing = match self.round(start, risk) {
                Ok(standing) => standing,
                Err(reason) if self.rounds > 0 => {
                    failure = Some(reason);
                    break self.standing();
                }
                Err(reason) => return Err(reason),
            };
            if standing.gap <= tolerance * standing.objective || standing.rounds == most || stop() {
                break standing;
            }
        };
        Ok(Solved {
            weights: self.weights().to_vec(),
            objective: standing.objective,
            gap: Some(standing.gap),
            converged: standing.gap <= tolerance * standing.objective,
            failure,
            figures: vec![
                ("cutting_plane_rounds".to_owned(), standing.rounds as f64),
                ("planes".to_owned(), standing.planes as f64),
            ],
        })
    }

    fn point(&self, weights: Vec<f64>, risk: &impl Fn(&[f64]) -> Risk) -> Point {
        let Risk { value, slope } = risk(&weights);
        let objective = 0.5 * dot(&weights, &weights) + self.cost * value;
        Point { weights, objective, risk: value, slope }
    }

    /// Adds the plane that touches the risk at a point `w`: `R(v) >= risk + slope . (v - w)`.
    fn cut(&mut self, point: &Point) {
        let offset = point.risk - dot(&point.slope, &point.weights);
        self.cuts.push(Cut { plane: Plane { offset, slope: point.slope.clone() }, idle: 0 });
    }

    /// Searches `from + t (to - from)` with `0 <= t <= 1` for the lowest objective. Adds planes at both ends of the
    /// interval to which the search has narrowed.
    fn search(&mut self, from: Point, to: Vec<f64>, risk: &impl Fn(&[f64]) -> Risk) -> Point {
        let mut direction = to.clone();
        add_scaled(&mut direction, -1.0, &from.weights);
        let length = dot(&direction, &direction);
        let derivative = |point: &Point| dot(&point.weights, &direction) + self.cost * dot(&point.slope, &direction);
        let (mut low, mut low_at) = (from, 0.0);
        let (mut high, mut high_at) = (self.point(to, risk), 1.0);
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
            let point = self.point(weights, risk);
            let slope = derivative(&point);
            if slope < 0.0 {
                (low, low_at, low_slope) = (point, at, slope);
            } else {
                (high, high_at, high_slope) = (point, at, slope);
            }
        }
        self.cut(&high);
        if low_at > 0.0 {
            self.cut(&low);
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
        let mut planes = CuttingPlanes::new(2.0);
        let mut objective = f64::INFINITY;
        for _ in 0..30 {
            let standing = planes.round(&[0.0, 0.0], &risk).unwrap();
            assert!(standing.objective <= objective, "the best objective never rises");
            assert!(standing.objective - 3.0 <= standing.gap + 1e-9, "{standing:?}");
            objective = standing.objective;
        }
        assert!(planes.standing().gap < 1e-6, "{:?}", planes.standing());
        assert!((planes.weights()[0] - 1.0).abs() < 1e-3 && (planes.weights()[1] - 1.0).abs() < 1e-3);
    }

    #[test]
    fn the_model_minimum_is_that_of_the_parabolas() {
        // f(t) = t^2 / 2 + max(-t, 2 t - 3): minimum at the crossing t = 1.
        assert!((model_minimum([0.0, 2.0], [0.0, 3.0], [-1.0, 4.0], 1.0) - 1.0).abs() < 1e-12);
        // f(t) = t^2 / 2 + max(-t / 2, 2 t - 3): minimum of the left parabola at t = 1/2.
        assert!((model_minimum([0.0, 2.0], [0.0, 3.0], [-0.5, 4.0], 1.0) - 0.5).abs() < 1e-12);
    }
}
