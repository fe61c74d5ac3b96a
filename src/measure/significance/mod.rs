//! Tests whether one system is better than another, from the measures of each query under both systems.
//!
//! [`compare`] compares two systems on the same queries. The comparison runs a paired t-test and Fisher's randomization
//! test, and reports a bootstrap interval, the effect size, wins and losses. For more than two systems, [`tukey_hsd`]
//! keeps the probability of any false difference at the level of a single test. [`compare_all`] runs both. The tests
//! for a better system are two-sided. One seed determines all random samples.

pub(crate) mod equivalence;
mod paired;
pub(crate) mod systems;
mod tukey;

use serde::{Deserialize, Serialize};

pub use paired::{Bootstrap, Randomization, TTest, bootstrap, randomization, t_test};
pub use systems::compare_all;
pub use tukey::{TukeyPair, studentized_range_survival, tukey_hsd, tukey_hsd_independent};

use super::mean_of;
use crate::memory::product;
use crate::refusal::Refusal;
use paired::{bootstrap_telling, randomization_telling};

/// The number of resamples per parallel task; each task has its own random generator. The number is fixed, so results
/// do not depend on the number of threads.
const RESAMPLES_PER_TASK: usize = 1000;

/// The bytes needed per resample: 8 for its mean, and 8 for a copy while the results of all tasks are merged.
const BYTES_PER_RESAMPLE: usize = 16;

/// The reason why systems could not be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SignificanceError {
    /// The systems have different numbers of queries.
    #[error("systems with {first} and {second} queries: expected the same queries in the same order")]
    Queries {
        /// Number of queries of the first system.
        first: usize,
        /// Number of queries of the other system.
        second: usize,
    },
    /// There are too few queries, systems or samples to compare.
    #[error("found {found} {what}: expected {expected} or more")]
    TooFew {
        /// The kind of item of which there are too few, as a plural noun such as "queries".
        what: &'static str,
        /// Number found.
        found: usize,
        /// The smallest number that would be enough.
        expected: usize,
    },
    /// A value is not a finite number.
    #[error("query {query} has the value {found}: expected a finite number")]
    Value {
        /// The number of the query, counted from 1.
        query: usize,
        /// The value.
        found: f64,
    },
    /// The resamples need more memory than is free.
    #[error(transparent)]
    Memory(Refusal),
    /// A parameter is out of range.
    #[error("{parameter} = {found}: expected {expected}")]
    Parameter {
        /// The parameter.
        parameter: &'static str,
        /// The value of the invalid parameter.
        found: f64,
        /// The valid values.
        expected: &'static str,
    },
}

/// The options for comparing systems.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ComparisonConfig {
    /// The number of samples of the bootstrap and of the randomization test. If there are at most `resamples` sign
    /// assignments (2^n for n queries), the randomization test examines all of them.
    pub resamples: usize,
    /// The level of the confidence intervals, in 0..1.
    pub confidence: f64,
    /// The seed of the random samples.
    pub seed: u64,
}

impl Default for ComparisonConfig {
    fn default() -> Self {
        Self { resamples: 100_000, confidence: 0.95, seed: 0 }
    }
}

impl ComparisonConfig {
    /// Checks that every parameter is in its range.
    ///
    /// # Errors
    /// Returns [`SignificanceError::TooFew`] for `resamples = 0`, and [`SignificanceError::Parameter`] for a
    /// `confidence` that is not strictly between 0 and 1. Returns [`SignificanceError::Memory`] if the resamples need
    /// more memory than is free.
    pub fn check(&self) -> Result<(), SignificanceError> {
        if self.resamples == 0 {
            return Err(SignificanceError::TooFew { what: "resamples", found: 0, expected: 1 });
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(SignificanceError::Parameter {
                parameter: "confidence",
                found: self.confidence,
                expected: "a number between 0 and 1",
            });
        }
        let bytes = product([self.resamples, BYTES_PER_RESAMPLE]);
        let what = format!("a bootstrap of {} samples", self.resamples);
        Refusal::ask_memory("resamples", what, bytes, "lower it").map_err(SignificanceError::Memory)
    }
}

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

/// A callback that receives the number of newly drawn samples, on any thread.
pub type Tell<'a> = &'a (dyn Fn(usize) + Sync);

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
    if first.len() != second.len() {
        return Err(SignificanceError::Queries { first: first.len(), second: second.len() });
    }
    let pairs: Vec<(f64, f64)> = first.iter().zip(second).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    check_values(&differences)?;
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

/// Checks that a table has at least two rows, called `what`, each with at least two finite values.
fn check_rows(what: &'static str, rows: &[Vec<f64>]) -> Result<(), SignificanceError> {
    let too_few = |what, found| Err(SignificanceError::TooFew { what, found, expected: 2 });
    if rows.len() < 2 {
        return too_few(what, rows.len());
    }
    rows.iter().try_for_each(|row| if row.len() < 2 { too_few("queries", row.len()) } else { check_values(row) })
}

/// Returns the number of queries, which must be the same in every row.
fn queries<T>(rows: &[impl AsRef<[T]>]) -> Result<usize, SignificanceError> {
    let mut lengths = rows.iter().map(|row| row.as_ref().len());
    let first = lengths.next().unwrap_or(0);
    match lengths.find(|second| *second != first) {
        Some(second) => Err(SignificanceError::Queries { first, second }),
        None => Ok(first),
    }
}

fn check_values(values: &[f64]) -> Result<(), SignificanceError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(query) => Err(SignificanceError::Value { query: query + 1, found: values[query] }),
        None => Ok(()),
    }
}

/// Returns the mean of the values, or NaN if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    mean_of(values.iter().copied()).unwrap_or(f64::NAN)
}

/// Returns the standard error of the mean of two or more values.
pub(crate) fn standard_error(values: &[f64]) -> f64 {
    standard_deviation(values) / (values.len() as f64).sqrt()
}

/// Computes the standard deviation with n - 1 degrees of freedom.
fn standard_deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
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
