//! Percentile bootstrap interval of the mean difference (Efron and Tibshirani 1993). Queries are drawn with
//! replacement, and the interval lies between percentiles of the sample means. Each sample costs O(n) for n queries,
//! and samples are drawn in parallel.

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

use super::{ComparisonConfig, RESAMPLES_PER_TASK, SignificanceError, Tell};
use crate::parallel;
use crate::seed::seed_for;

/// A bootstrap interval of a mean difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Bootstrap {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The confidence level of the interval, such as 0.95.
    pub confidence: f64,
    /// Number of samples drawn.
    pub samples: usize,
}

/// Computes a confidence interval for the mean of one or more differences.
///
/// # Errors
/// Returns [`SignificanceError::TooFew`] if there are no differences, and the errors of [`ComparisonConfig::check`].
pub fn bootstrap(differences: &[f64], config: &ComparisonConfig) -> Result<Bootstrap, SignificanceError> {
    bootstrap_telling(differences, config, &|_| {})
}

/// Computes the same interval as [`bootstrap`] and reports progress every few samples.
pub(super) fn bootstrap_telling(
    differences: &[f64],
    config: &ComparisonConfig,
    tell: Tell,
) -> Result<Bootstrap, SignificanceError> {
    config.check()?;
    let queries = differences.len();
    if queries == 0 {
        return Err(SignificanceError::TooFew { what: "queries", found: 0, expected: 1 });
    }
    let means = parallel::map(0..config.resamples.div_ceil(RESAMPLES_PER_TASK), |task| {
        let mut random = ChaCha8Rng::seed_from_u64(seed_for(config.seed, "bootstrap", task as u64));
        let samples = RESAMPLES_PER_TASK.min(config.resamples - task * RESAMPLES_PER_TASK);
        tell(samples);
        let mut mean =
            || (0..queries).map(|_| differences[random.random_range(0..queries)]).sum::<f64>() / queries as f64;
        (0..samples).map(|_| mean()).collect::<Vec<f64>>()
    });
    let mut means = means.concat();
    means.sort_unstable_by(f64::total_cmp);
    let outside = (1.0 - config.confidence) / 2.0;
    Ok(Bootstrap {
        low: percentile(&means, outside),
        high: percentile(&means, 1.0 - outside),
        confidence: config.confidence,
        samples: config.resamples,
    })
}

/// Returns a percentile of sorted values, interpolated linearly between the two nearest values.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_interpolate() {
        let sorted = [1.0, 2.0, 4.0];
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|share| percentile(&sorted, share)), [1.0, 1.5, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn the_interval_depends_on_the_seed_and_not_on_threads() {
        let differences = [0.1, -0.2, 0.4, 0.3, 0.0];
        let config = ComparisonConfig { resamples: 5500, ..ComparisonConfig::default() };
        let interval = bootstrap(&differences, &config).unwrap();
        assert!(interval.low < 0.12 && interval.high > 0.12);
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(one_thread.install(|| bootstrap(&differences, &config).unwrap()), interval);
    }

    #[test]
    fn the_interval_of_one_query_has_no_width() {
        let interval = bootstrap(&[0.25], &ComparisonConfig::default()).unwrap();
        assert_eq!((interval.low, interval.high), (0.25, 0.25));
    }
}
