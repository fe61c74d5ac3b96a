//! The settings and the errors of the tests, the checks of their values, and their means and deviations.

use serde::{Deserialize, Serialize};

use crate::measure::mean_of;
use crate::memory::product;
use crate::refusal::Refusal;

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
        at_least(1, "resamples", self.resamples)?;
        check_confidence(self.confidence)?;
        let bytes = product([self.resamples, BYTES_PER_RESAMPLE]);
        let what = format!("a bootstrap of {} samples", self.resamples);
        Refusal::ask_memory("resamples", what, bytes, "lower it").map_err(SignificanceError::Memory)
    }
}

/// Checks that the level of a confidence interval is strictly between 0 and 1.
pub(super) fn check_confidence(found: f64) -> Result<(), SignificanceError> {
    if found > 0.0 && found < 1.0 {
        return Ok(());
    }
    Err(SignificanceError::Parameter { parameter: "confidence", found, expected: "a number between 0 and 1" })
}

/// A callback that receives the number of newly drawn samples, on any thread.
pub type Tell<'a> = &'a (dyn Fn(usize) + Sync);

/// Checks that a table has at least two rows, called `what`, each with at least two finite values.
pub(super) fn check_rows(what: &'static str, rows: &[Vec<f64>]) -> Result<(), SignificanceError> {
    at_least(2, what, rows.len())?;
    rows.iter().try_for_each(|row| at_least(2, "queries", row.len()).and_then(|()| check_values(row)))
}

/// Checks that there are enough items, called `what`.
pub(super) fn at_least(expected: usize, what: &'static str, found: usize) -> Result<(), SignificanceError> {
    if found < expected { Err(SignificanceError::TooFew { what, found, expected }) } else { Ok(()) }
}

/// Returns the number of queries, which must be the same in every row.
pub(super) fn queries<T>(rows: &[impl AsRef<[T]>]) -> Result<usize, SignificanceError> {
    let mut lengths = rows.iter().map(|row| row.as_ref().len());
    let first = lengths.next().unwrap_or(0);
    match lengths.find(|second| *second != first) {
        Some(second) => Err(SignificanceError::Queries { first, second }),
        None => Ok(first),
    }
}

/// Checks that every value is a finite number.
pub(super) fn check_values(values: &[f64]) -> Result<(), SignificanceError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(query) => Err(SignificanceError::Value { query: query + 1, found: values[query] }),
        None => Ok(()),
    }
}

/// Returns the mean of the values, or NaN if there are no values.
pub fn mean(values: &[f64]) -> f64 {
    mean_of(values.iter().copied()).unwrap_or(f64::NAN)
}

/// Returns the standard error of the mean of two or more values.
pub fn standard_error(values: &[f64]) -> f64 {
    standard_deviation(values) / (values.len() as f64).sqrt()
}

/// Computes the standard deviation with n - 1 degrees of freedom.
pub(super) fn standard_deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}
