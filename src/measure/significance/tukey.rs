//! Tukey's honestly significant difference (HSD) test for several systems.
//!
//! For every pair of systems, the statistic is `q = |mean_i - mean_j| / sqrt(E / n)`. The p-value `P(Q > q)` from the
//! studentized range holds for all pairs together. For systems on the same queries, E is the residual mean square of
//! systems x queries with (systems - 1)(queries - 1) degrees of freedom. The residual mean square removes differences
//! in how difficult the queries are (Carterette 2012). For independent samples, E is the variance within the systems.
//! The test evaluates the distribution O(systems^2) times.

use serde::Serialize;

use super::{SignificanceError, check_values, mean, studentized_range_survival};
use crate::parallel;

/// The test result for one pair of systems.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TukeyPair {
    /// The index of the first system, counted from 0.
    pub first: usize,
    /// The index of the second system, counted from 0.
    pub second: usize,
    /// The second system's mean minus the first system's mean.
    pub mean_difference: f64,
    /// The studentized difference `q`, which is infinite if the means differ although the residual variance is 0.
    pub q: f64,
    /// The p-value adjusted for all pairs.
    pub p_value: f64,
}

/// Tests all pairs of systems. The values are given as `systems[system][query]`, for two or more systems on the same
/// two or more queries.
///
/// # Errors
/// Returns [`SignificanceError::TooFew`] for fewer than two systems or queries. Returns [`SignificanceError::Queries`]
/// if systems differ in length, and [`SignificanceError::Value`] for a value that is not finite.
pub fn tukey_hsd(systems: &[Vec<f64>]) -> Result<Vec<TukeyPair>, SignificanceError> {
    let queries = check(systems)?;
    if let Some(other) = systems.iter().find(|values| values.len() != queries) {
        return Err(SignificanceError::Queries { first: queries, second: other.len() });
    }
    let means: Vec<f64> = systems.iter().map(|values| mean(values)).collect();
    let overall = mean(&means);
    let mut residual = 0.0;
    for query in 0..queries {
        let of_query = mean(&systems.iter().map(|values| values[query]).collect::<Vec<_>>());
        for (values, mean) in systems.iter().zip(&means) {
            residual += (values[query] - mean - of_query + overall).powi(2);
        }
    }
    let freedom = ((systems.len() - 1) * (queries - 1)) as f64;
    Ok(pairs(systems, &means, residual / freedom, freedom))
}

/// Tests all pairs of systems. There are two or more systems, measured on different queries.
///
/// # Errors
/// Returns [`SignificanceError::TooFew`] for fewer than two systems, or for a system with fewer than two queries.
/// Returns [`SignificanceError::Value`] for a value that is not finite.
pub fn tukey_hsd_independent(systems: &[Vec<f64>]) -> Result<Vec<TukeyPair>, SignificanceError> {
    check(systems)?;
    let means: Vec<f64> = systems.iter().map(|values| mean(values)).collect();
    let within = |(values, mean): (&Vec<f64>, &f64)| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let freedom = (systems.iter().map(Vec::len).sum::<usize>() - systems.len()) as f64;
    let error = systems.iter().zip(&means).map(within).sum::<f64>() / freedom;
    Ok(pairs(systems, &means, error, freedom))
}

/// Checks that there are at least two systems, each with at least two finite values. Returns the number of values of
/// the first system.
fn check(systems: &[Vec<f64>]) -> Result<usize, SignificanceError> {
    if systems.len() < 2 {
        return Err(SignificanceError::TooFew { what: "systems", found: systems.len(), expected: 2 });
    }
    for values in systems {
        if values.len() < 2 {
            return Err(SignificanceError::TooFew { what: "queries", found: values.len(), expected: 2 });
        }
        check_values(values)?;
    }
    Ok(systems[0].len())
}

fn pairs(systems: &[Vec<f64>], means: &[f64], error: f64, freedom: f64) -> Vec<TukeyPair> {
    let count = systems.len();
    let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j)));
    parallel::map(pairs, |(first, second)| {
        let mean_difference = means[second] - means[first];
        // The Tukey-Kramer form; for equal numbers of queries the term under the root is error / n.
        let scale = (error / 2.0 * (1.0 / systems[first].len() as f64 + 1.0 / systems[second].len() as f64)).sqrt();
        let q = if mean_difference == 0.0 { 0.0 } else { mean_difference.abs() / scale };
        let p_value = if q.is_infinite() { 0.0 } else { studentized_range_survival(q, count, freedom) };
        TukeyPair { first, second, mean_difference, q, p_value }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::significance::t_test;

    #[test]
    fn two_systems_have_the_p_value_of_the_paired_t_test() {
        let systems = [vec![0.1, 0.4, 0.3, 0.9], vec![0.3, 0.35, 0.5, 1.0]];
        let differences: Vec<f64> = systems[0].iter().zip(&systems[1]).map(|(a, b)| b - a).collect();
        let pair = tukey_hsd(&systems).unwrap()[0];
        assert!((pair.p_value - t_test(&differences, 0.95).unwrap().p_value).abs() < 1e-10);
    }

    #[test]
    fn systems_that_differ_only_in_their_means() {
        let (low, high) = (vec![0.0, 0.5], vec![0.25, 0.75]);
        let pairs = tukey_hsd(&[low.clone(), high.clone(), low, high]).unwrap();
        assert_eq!(pairs.iter().map(|pair| pair.p_value).collect::<Vec<_>>(), [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(tukey_hsd(&[vec![0.0, 1.0]]).is_err());
        assert!(tukey_hsd(&[vec![0.0], vec![1.0]]).is_err());
        assert!(tukey_hsd(&[vec![0.0, 1.0], vec![1.0, 0.0, 0.5]]).is_err());
        assert!(tukey_hsd_independent(&[vec![0.0, 1.0], vec![1.0, f64::INFINITY]]).is_err());
    }
}
