//! Tests whether one system is better than another, from the measures of each query under both systems.
//!
//! [`compare`] compares two systems on the same queries. The comparison runs a paired t-test and Fisher's randomization
//! test, and reports a bootstrap interval, the effect size, wins and losses. For more than two systems, [`tukey_hsd`]
//! keeps the probability of any false difference at the level of a single test. [`compare_all`] runs both. The tests
//! for a better system are two-sided. One seed determines all random samples.

pub(crate) mod equivalence;
mod paired;
pub(crate) mod settings;
pub(crate) mod systems;
mod tukey;

use serde::Serialize;

pub use paired::{Bootstrap, Randomization, TTest, bootstrap, randomization, t_test};
pub use settings::{ComparisonConfig, SignificanceError, Tell};
pub use systems::compare_all;
pub use tukey::{TukeyPair, studentized_range_survival, tukey_hsd, tukey_hsd_independent};

use paired::{bootstrap_telling, randomization_telling};
use settings::{mean, queries, standard_deviation};

/// The comparison of two systems on the same queries, not adjusted for other pairs of systems. Each difference is the
/// second system's value minus the first's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The index of the first system, counted from 0.
    pub first: usize,
    /// The index of the second system, counted from 0.
    pub second: usize,
    /// The number of queries that have a value for both systems.
    pub queries: usize,
    /// The mean of the first system.
    pub first_mean: f64,
    /// The mean of the second system.
    pub second_mean: f64,
    /// The mean of the differences.
    pub mean_difference: f64,
    /// Cohen's d for paired samples: the mean difference divided by the standard deviation of the differences, or 0 if
    /// no query differs.
    pub cohen_d: f64,
    /// The number of queries on which the second system is better.
    pub wins: usize,
    /// The number of queries on which both systems are equal.
    pub ties: usize,
    /// The number of queries on which the second system is worse.
    pub losses: usize,
    /// Paired t-test.
    pub t_test: TTest,
    /// Fisher's randomization test.
    pub randomization: Randomization,
    /// The bootstrap interval of the mean difference.
    pub bootstrap: Bootstrap,
    /// The result of Tukey's test for this pair, if more than two systems were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tukey: Option<TukeyPair>,
}

/// Compares two systems by the values of one measure for the same queries in the same order. A query is left out if the
/// convention excludes it (`None`) for either system.
///
/// # Errors
/// Returns [`SignificanceError::Queries`] if the systems differ in length, and [`SignificanceError::TooFew`] if fewer
/// than two queries have a value for both. Returns [`SignificanceError::Value`] for a difference that is not finite.
/// The query number in this error counts only queries that have a value for both systems. Returns the errors of
/// [`ComparisonConfig::check`] as well.
pub fn compare(
    first: &[Option<f64>],
    second: &[Option<f64>],
    config: &ComparisonConfig,
) -> Result<Comparison, SignificanceError> {
    compare_telling([0, 1], [first, second], config, &|_| {})
}

/// Does the same as [`compare`] for the systems with the given indices, and reports progress in samples. The total is
/// twice the requested number of samples, because two tests draw samples.
fn compare_telling(
    systems: [usize; 2],
    [first, second]: [&[Option<f64>]; 2],
    config: &ComparisonConfig,
    tell: Tell,
) -> Result<Comparison, SignificanceError> {
    config.check()?;
    queries(&[first, second])?;
    let pairs: Vec<(f64, f64)> = first.iter().zip(second).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    let t_test = t_test(&differences, config.confidence)?;
    let count = |sign: fn(&f64) -> bool| differences.iter().filter(|d| sign(d)).count();
    let mean_difference = mean(&differences);
    let deviation = standard_deviation(&differences);
    Ok(Comparison {
        first: systems[0],
        second: systems[1],
        queries: pairs.len(),
        first_mean: mean(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>()),
        second_mean: mean(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>()),
        mean_difference,
        cohen_d: if mean_difference == 0.0 { 0.0 } else { mean_difference / deviation },
        wins: count(|d| *d > 0.0),
        ties: count(|d| *d == 0.0),
        losses: count(|d| *d < 0.0),
        t_test,
        randomization: randomization_telling(&differences, config, tell)?,
        bootstrap: bootstrap_telling(&differences, config, tell)?,
        tukey: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_systems_side_by_side() {
        let first = [Some(0.5), Some(0.25), None, Some(1.0), Some(0.0)];
        let second = [Some(0.75), Some(0.25), None, Some(0.75), Some(0.5)];
        let comparison = compare(&first, &second, &ComparisonConfig::default()).unwrap();
        assert_eq!((comparison.queries, comparison.wins, comparison.ties, comparison.losses), (4, 2, 1, 1));
        assert_eq!((comparison.first_mean, comparison.second_mean), (0.4375, 0.5625));
        assert_eq!(comparison.mean_difference, 0.125);
        let deviation = ((0.125f64.powi(2) * 2.0 + 0.375f64.powi(2) * 2.0) / 3.0).sqrt();
        assert!((comparison.cohen_d - 0.125 / deviation).abs() < 1e-12);
        assert_eq!(compare(&first, &second, &ComparisonConfig::default()).unwrap(), comparison);
    }

    #[test]
    fn equal_systems_do_not_differ() {
        let values = [Some(0.5), Some(0.25), Some(0.75)];
        let comparison = compare(&values, &values, &ComparisonConfig::default()).unwrap();
        assert_eq!(comparison.cohen_d, 0.0);
        assert_eq!((comparison.t_test.p_value, comparison.randomization.p_value), (1.0, 1.0));
        assert_eq!((comparison.bootstrap.low, comparison.bootstrap.high), (0.0, 0.0));
    }

    #[test]
    fn bad_input_is_refused() {
        let config = ComparisonConfig::default();
        assert!(compare(&[Some(1.0)], &[], &config).unwrap_err().to_string().contains("1 and 0 queries"));
        assert!(compare(&[Some(1.0)], &[Some(0.0)], &config).unwrap_err().to_string().contains("2 or more"));
        assert!(compare(&[Some(f64::NAN); 2], &[Some(0.0); 2], &config).unwrap_err().to_string().contains("NaN"));
        let many = ComparisonConfig { resamples: usize::MAX, ..config };
        let error = compare(&[Some(1.0); 2], &[Some(0.0); 2], &many).unwrap_err().to_string();
        assert!(error.starts_with("resamples: a bootstrap of 18446744073709551615 samples takes about "), "{error}");
        let wide = ComparisonConfig { confidence: 1.0, ..config };
        assert!(compare(&[Some(1.0); 2], &[Some(0.0); 2], &wide).unwrap_err().to_string().contains("confidence"));
    }
}
