//! Solves the quadratic program of the support vector learners:
//!
//! ```text
//! min over w, xi >= 0    1/2 ||w||^2 + C xi    such that    xi >= offset_p + slope_p . w    for every plane p
//! ```
//!
//! If all planes lie below the convex risk `R`, the minimum of this program is a lower bound on the minimum of
//! `1/2 ||w||^2 + C R(w)`. The program is solved by clarabel, an interior-point solver. The multipliers that the solver
//! returns are changed slightly to make them feasible (`alpha >= 0`, `sum alpha <= C`). Feasible multipliers give
//! `w = -sum_p alpha_p slope_p` and the dual value `sum_p alpha_p offset_p - 1/2 ||w||^2`. The dual value is a lower
//! bound on the minimum even if the solver is inaccurate.
//!
//! An interior-point step costs about `p f min(p, f)` for `p` planes of `f` features, and a solution takes about ten
//! steps. The optimal weights are a sum of slopes, so `f` may be the dimension of their span. With few documents, this
//! dimension is much smaller than the number of features.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus};

use super::{add_scaled, dot};

/// The largest cost in the first attempt at solving the scaled program. It is also the ratio of the costs in two
/// successive attempts.
const FIRST_COST: f64 = 1e8;

/// From this number of features on, the program is solved in the span of the slopes if it has at most half as many
/// dimensions.
const WIDE: usize = 64;

/// A linear function `offset + slope . w` that is nowhere above a convex risk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plane {
    pub(crate) offset: f64,
    pub(crate) slope: Vec<f64>,
}

/// The solution of the program for a set of planes.
pub(crate) struct Solution {
    /// The weights `w`.
    pub(crate) weights: Vec<f64>,
    /// The multiplier `alpha` of each plane, which is 0 if the plane is inactive.
    pub(crate) multipliers: Vec<f64>,
    /// The dual value, a lower bound on the minimum of the program.
    pub(crate) bound: f64,
}

/// Returns the largest of the given non-negative numbers, or 1 if all are 0.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    match values.fold(0.0, f64::max) {
        0.0 => 1.0,
        largest => largest,
    }
}

/// Solves the quadratic program. If there is no solution, returns the final status of clarabel as an error.
///
/// The solver's tolerances are partly absolute. Slopes and offsets are therefore scaled to at most 1, and the objective
/// to a moderate size. If the cost is large, a smaller cost is tried first. If the multipliers then add up to clearly
/// less than the smaller cost, no slack is needed. In this case, the solution is the same for every larger cost.
pub(crate) fn solve(planes: &[Plane], cost: f64) -> Result<Solution, String> {
    let steepest = largest(planes.iter().map(|plane| dot(&plane.slope, &plane.slope)));
    let highest = largest(planes.iter().map(|plane| plane.offset.abs()));
    let of_span = in_their_span(planes, 1e-12 * steepest.sqrt());
    let solved = of_span.as_deref().unwrap_or(planes);
    let constraints = constraints(solved, steepest.sqrt().recip());
    // The cost in terms of `v = w sqrt(steepest) / highest` and `xi / highest`.
    let whole = cost * steepest / highest;
    let mut tried = whole.min(FIRST_COST);
    loop {
        let multipliers = scaled(solved, highest, &constraints, tried)?;
        let total: f64 = multipliers.iter().sum();
        if tried == whole || total < 0.9 * tried {
            let multipliers = multipliers.into_iter().map(|alpha| alpha * highest / steepest).collect();
            return Ok(feasible(planes, cost, multipliers));
        }
        tried = (tried * FIRST_COST).min(whole);
    }
}

/// Returns the planes with their slopes in an orthonormal basis of the span of all slopes. Parts of a slope that are
/// not longer than `tiny` count as rounding errors. Returns `None` for few features, or where the basis is no smaller
/// than half the features.
fn in_their_span(planes: &[Plane], tiny: f64) -> Option<Vec<Plane>> {
    let features = planes[0].slope.len();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut of_span = Vec::with_capacity(planes.len());
    for plane in planes.iter().filter(|_| features >= WIDE) {
        let (mut rest, mut slope) = (plane.slope.clone(), vec![0.0; basis.len()]);
        // A second pass removes what rounding left by the first.
        for _ in 0..2 {
            for (part, direction) in slope.iter_mut().zip(&basis) {
                let along = dot(&rest, direction);
                *part += along;
                add_scaled(&mut rest, -along, direction);
            }
        }
        let length = dot(&rest, &rest).sqrt();
        if length > tiny {
            if 2 * basis.len() >= features {
                return None;
            }
            rest.iter_mut().for_each(|value| *value /= length);
            basis.push(rest);
            slope.push(length);
        }
        of_span.push(Plane { offset: plane.offset, slope });
    }
    of_span.iter_mut().for_each(|plane: &mut Plane| plane.slope.resize(basis.len(), 0.0));
    Some(of_span).filter(|_| !basis.is_empty())
}

/// Returns the multiplier of each plane in the scaled program, which minimizes `1/2 ||v||^2 + cost xi`.
fn scaled(planes: &[Plane], highest: f64, constraints: &CscMatrix<f64>, cost: f64) -> Result<Vec<f64>, String> {
    let features = planes[0].slope.len();
    // With a small cost the objective is about as small, so all of it is multiplied.
    let factor = cost.recip().max(1.0);
    let objective = half_square(features, factor);
    let mut linear = vec![0.0; features];
    linear.push(cost * factor);
    let mut limits: Vec<f64> = planes.iter().map(|plane| -plane.offset / highest).collect();
    limits.push(0.0);
    let settings = DefaultSettings {
        verbose: false,
        max_threads: 1,
        tol_gap_rel: 1e-10,
        tol_feas: 1e-10,
        // A solution always exists, so an apparent certificate that there is none is a rounding error.
        tol_infeas_abs: 1e-30,
        tol_infeas_rel: 1e-30,
        reduced_tol_infeas_abs: 1e-30,
        reduced_tol_infeas_rel: 1e-30,
        ..DefaultSettings::default()
    };
    let cones = [NonnegativeConeT(limits.len())];
    let mut solver = DefaultSolver::new(&objective, &linear, constraints, &limits, &cones, settings)
        .map_err(|error| error.to_string())?;
    solver.solve();
    match solver.solution.status {
        // The bound of the multipliers holds whatever accuracy was reached.
        SolverStatus::Solved
        | SolverStatus::AlmostSolved
        | SolverStatus::InsufficientProgress
        | SolverStatus::MaxIterations => {
            Ok(solver.solution.z[..planes.len()].iter().map(|alpha| alpha / factor).collect())
        }
        status => Err(format!("the quadratic program over {} cutting planes ended as {status:?}", planes.len())),
    }
}

/// Returns the matrix `P` in `1/2 x' P x` for `x = (v, xi)`. Its diagonal is `factor` for `v` and 0 for `xi`.
fn half_square(features: usize, factor: f64) -> CscMatrix<f64> {
    let columns = (0..=features).chain([features]).collect();
    CscMatrix::new(features + 1, features + 1, columns, (0..features).collect(), vec![factor; features])
}

/// Returns the matrix `A` in `A x <= limits`: a row `scale slope_p . v - xi <= -offset_p` for each plane, and a last
/// row `-xi <= 0`.
fn constraints(planes: &[Plane], scale: f64) -> CscMatrix<f64> {
    let features = planes[0].slope.len();
    let rows = planes.len() + 1;
    let mut values: Vec<f64> =
        (0..features).flat_map(|f| planes.iter().map(move |plane| scale * plane.slope[f])).collect();
    values.extend(std::iter::repeat_n(-1.0, rows));
    let row_of = (0..features).flat_map(|_| 0..planes.len()).chain(0..rows).collect();
    let columns = (0..=features).map(|f| f * planes.len()).chain([features * planes.len() + rows]).collect();
    CscMatrix::new(rows, features + 1, columns, row_of, values)
}

/// Makes multipliers feasible (`alpha >= 0`, `sum alpha <= cost`) and returns the corresponding solution.
fn feasible(planes: &[Plane], cost: f64, mut multipliers: Vec<f64>) -> Solution {
    // The threshold is relative to the largest multiplier, not to the cost: if no slack is needed, the multipliers do
    // not depend on the cost.
    let least = 1e-9 * multipliers.iter().copied().fold(0.0, f64::max);
    multipliers.iter_mut().filter(|alpha| **alpha <= least).for_each(|alpha| *alpha = 0.0);
    let total: f64 = multipliers.iter().sum();
    if total > cost {
        multipliers.iter_mut().for_each(|alpha| *alpha *= cost / total);
    }
    let mut weights = vec![0.0; planes[0].slope.len()];
    let mut bound = 0.0;
    for (plane, &alpha) in planes.iter().zip(&multipliers) {
        add_scaled(&mut weights, -alpha, &plane.slope);
        bound += alpha * plane.offset;
    }
    bound -= 0.5 * dot(&weights, &weights);
    Solution { weights, multipliers, bound }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(offset: f64, slope: &[f64]) -> Plane {
        Plane { offset, slope: slope.to_vec() }
    }

    /// The single plane `1 - a w` gives `w = min(C, 1 / |a|^2) a`, the support vector machine of one example.
    #[test]
    fn one_example_has_the_analytic_solution() {
        let planes = [plane(1.0, &[-2.0, 0.0])];
        for (cost, weight, objective) in [(0.1, 0.2, 0.08), (10.0, 0.5, 0.125)] {
            let solution = solve(&planes, cost).unwrap();
            assert!((solution.weights[0] - weight).abs() < 1e-8 && solution.weights[1] == 0.0);
            assert!((solution.bound - objective).abs() < 1e-8, "{}", solution.bound);
        }
    }

    /// Two orthogonal examples share one slack, so their multipliers share `C` equally.
    #[test]
    fn planes_share_the_cost() {
        let planes = [plane(1.0, &[-1.0, 0.0]), plane(1.0, &[0.0, -1.0]), plane(-5.0, &[1.0, 1.0])];
        let solution = solve(&planes, 0.8).unwrap();
        assert!((solution.weights[0] - 0.4).abs() < 1e-7 && (solution.weights[1] - 0.4).abs() < 1e-7);
        assert_eq!(solution.multipliers[2], 0.0);
        assert!((solution.bound - (0.8 - 0.16)).abs() < 1e-8);
    }

    /// With slopes far from 1, the multiplier `1 / |a|^2` is tiny compared with the cost.
    #[test]
    fn steep_planes_keep_their_multipliers() {
        for cost in [1e-3, 1.0, 1e3, 1e6, 1e10] {
            let solution = solve(&[plane(1.0, &[-3000.0])], cost).unwrap();
            assert!((solution.weights[0] * 3000.0 - 1.0).abs() < 1e-6, "C = {cost}: {:?}", solution.weights);
        }
        // Sums over a million pairs instead of their mean: the gap is what counts.
        for cost in [1e-3, 1.0, 1e3] {
            let planes = [plane(1e6, &[-3e9]), plane(2e6, &[1e5])];
            let solution = solve(&planes, cost).unwrap();
            let w = solution.weights[0];
            let risk = planes.iter().map(|plane| plane.offset + plane.slope[0] * w).fold(0.0, f64::max);
            let objective = 0.5 * w * w + cost * risk;
            assert!(objective - solution.bound <= 1e-7 * objective, "C = {cost}: {objective} {}", solution.bound);
        }
    }

    /// With very small slopes and costs, the minimum is 1e-14 and `w = C a`.
    #[test]
    fn flat_planes_keep_their_digits() {
        let solution = solve(&[plane(1.0, &[-1e-3])], 1e-8).unwrap();
        assert!((solution.weights[0] / 1e-11 - 1.0).abs() < 1e-6, "{:?}", solution.weights);
        assert!((solution.bound / 1e-8 - 1.0).abs() < 1e-6, "{}", solution.bound);
    }

    #[test]
    fn many_features_give_the_solution_in_the_span_of_the_slopes() {
        // Slopes of five dimensions, and the same ones turned into 300.
        let few: Vec<Plane> = (0..12)
            .map(|p| plane(f64::from(p % 4) + 0.5, &[0, 1, 2, 3, 4].map(|f| f64::from((p * 7 + f * 5) % 11) - 6.0)))
            .collect();
        let turned = |slope: &[f64]| (0..300).map(|f| if f % 60 == 7 { -slope[f / 60] } else { 0.0 }).collect();
        let many: Vec<Plane> = few.iter().map(|few| Plane { offset: few.offset, slope: turned(&few.slope) }).collect();
        assert!(in_their_span(&few, 0.0).is_none());
        assert_eq!(in_their_span(&many, 1e-9).unwrap()[11].slope.len(), 5);
        for cost in [0.01, 1.0, 1e4] {
            let (few, many) = (solve(&few, cost).unwrap(), solve(&many, cost).unwrap());
            let expected: Vec<f64> = turned(&few.weights);
            assert!((few.bound - many.bound).abs() < 1e-7 * few.bound.abs(), "{} {}", few.bound, many.bound);
            for (found, expected) in many.weights.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-6, "C = {cost}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_large_cost_keeps_its_digits() {
        let planes = [plane(1.0, &[-1e-3, 0.0]), plane(0.5, &[2e-3, -1e-3])];
        let solution = solve(&planes, 1e8).unwrap();
        // Hard margin: w = (1000, 2500).
        assert!((solution.weights[0] - 1000.0).abs() < 1e-2 && (solution.weights[1] - 2500.0).abs() < 1e-2);
    }
}
