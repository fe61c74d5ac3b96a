//! Numerical methods that do not depend on rankings: operations on vectors in `f64`, and solvers.

pub(crate) mod bins;
pub(crate) mod cutting_plane;
pub(crate) mod normal_equations;
pub(crate) mod quadratic_program;

use crate::interleaved;

/// The solution of one convex problem.
pub(crate) struct Solved {
    pub(crate) weights: Vec<f64>,
    pub(crate) objective: f64,
    /// The objective minus a lower bound on the minimum, if a bound is known.
    pub(crate) gap: Option<f64>,
    /// Whether the duality gap is within the tolerance.
    pub(crate) converged: bool,
    /// The reason why the solver stopped early, if it did.
    pub(crate) failure: Option<String>,
    /// Further numbers for the round to report, by name.
    pub(crate) figures: Vec<(&'static str, f64)>,
}

impl Solved {
    /// Returns the name and the value under which a round reports the duality gap.
    pub(crate) fn gap_figure(&self) -> Option<(&'static str, f64)> {
        self.gap.map(|gap| ("duality_gap", gap))
    }
}

/// Returns `a . b`.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    interleaved::sum(a.len().min(b.len()), |i| a[i] * b[i])
}

/// Adds `factor * row` to `target`.
pub(crate) fn add_scaled(target: &mut [f64], factor: f64, row: &[f64]) {
    target.iter_mut().zip(row).for_each(|(t, &x)| *t += factor * x);
}

/// Returns the indices `0..scores.len()` sorted by descending score; equal scores keep their order.
pub(crate) fn descending(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_orders_agree_with_hand_sums() {
        let ramp: Vec<f64> = (0..19).map(f64::from).collect();
        assert_eq!(dot(&ramp, &ramp), 2109.0);
        assert_eq!(descending(&[1.0, 3.0, 1.0, 2.0]), [1, 3, 0, 2]);
    }
}
