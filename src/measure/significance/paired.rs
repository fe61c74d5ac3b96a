//! Tests of paired differences.
//!
//! For differences d, the statistic of Student's paired t-test is `t = mean(d) / (s / sqrt n)` with n - 1 degrees of
//! freedom.
//!
//! The other tests draw samples in parallel; each sample costs O(n) for n queries. The percentile bootstrap interval of
//! the mean difference (Efron and Tibshirani 1993) draws queries with replacement, and lies between percentiles of the
//! sample means.
//!
//! In Fisher's randomization test, if two systems do not differ, each difference between them is as likely to be
//! positive as negative. The p-value is the share of all sign assignments for which the mean is at least as far from 0
//! as the observed mean. If the number of assignments, 2^n, is at most the number of requested samples, all are
//! examined and the p-value is exact. Otherwise, the p-value is `(hits + 1) / (samples + 1)` over random assignments
//! (Smucker, Allan and Carterette 2007).

use chacha20::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::settings::{
    ComparisonConfig, SignificanceError, Tell, at_least, check_confidence, check_values, mean, standard_error,
};
use crate::parallel;
use crate::seed::seed_for;

/// The number of resamples per parallel task; each task has its own random generator. The number is fixed, so results
/// do not depend on the number of threads.
const RESAMPLES_PER_TASK: usize = 1000;

/// The result of a paired t-test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TTest {
    /// The t statistic, which is infinite if all differences are equal and not 0.
    pub t: f64,
    /// Degrees of freedom.
    pub freedom: usize,
    /// The two-sided p-value, or 1 if all differences are 0.
    pub p_value: f64,
    /// The lower end of the confidence interval of the mean difference.
    pub low: f64,
    /// The upper end of the confidence interval of the mean difference.
    pub high: f64,
    /// The smallest detectable difference: the size of a true mean difference that a test with as many differences of
    /// the same standard deviation finds four times in five, at the level `1 - confidence`.
    pub detectable: f64,
}

/// The probability with which a test finds a difference of the size [`TTest::detectable`].
const POWER: f64 = 0.8;

/// Tests whether the mean of two or more paired differences is 0. `confidence` is the level of the confidence interval,
/// in 0..1.
///
/// # Errors
/// Returns [`SignificanceError::TooFew`] for fewer than two differences, [`SignificanceError::Value`] for a difference
/// that is not finite, and [`SignificanceError::Parameter`] for a `confidence` that is not strictly between 0 and 1.
pub fn t_test(differences: &[f64], confidence: f64) -> Result<TTest, SignificanceError> {
    check_confidence(confidence)?;
    check_values(differences)?;
    let queries = differences.len();
    at_least(2, "queries", queries)?;
    let freedom = queries - 1;
    let (mean, error) = (mean(differences), standard_error(differences));
    let t = if mean == 0.0 { 0.0 } else { mean / error };
    let student = StudentsT::new(0.0, 1.0, freedom as f64).expect("there is at least one degree of freedom");
    let reach = error * student.inverse_cdf((1.0 + confidence) / 2.0);
    let p_value = if t.is_infinite() { 0.0 } else { (2.0 * student.sf(t.abs())).min(1.0) };
    // The usual approximation by the central t distribution.
    let detectable = reach + error * student.inverse_cdf(POWER);
    Ok(TTest { t, freedom, p_value, low: mean - reach, high: mean + reach, detectable })
}

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
/// Returns [`SignificanceError::TooFew`] if there are no differences, [`SignificanceError::Value`] for a difference
/// that is not finite, and the errors of [`ComparisonConfig::check`].
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
    check_values(differences)?;
    let queries = differences.len();
    at_least(1, "queries", queries)?;
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

/// The result of a randomization test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Randomization {
    /// Two-sided p-value.
    pub p_value: f64,
    /// Whether all sign assignments were examined.
    pub exact: bool,
    /// The number of sign assignments that were examined.
    pub samples: usize,
}

/// Tests whether paired differences are distributed symmetrically about 0.
///
/// # Errors
/// Returns [`SignificanceError::Value`] for a difference that is not finite, and the errors of
/// [`ComparisonConfig::check`].
pub fn randomization(differences: &[f64], config: &ComparisonConfig) -> Result<Randomization, SignificanceError> {
    randomization_telling(differences, config, &|_| {})
}

/// Runs the same test as [`randomization`] and reports progress every few samples, or once if all assignments are
/// examined.
pub(super) fn randomization_telling(
    differences: &[f64],
    config: &ComparisonConfig,
    tell: Tell,
) -> Result<Randomization, SignificanceError> {
    config.check()?;
    check_values(differences)?;
    // A difference of 0 gives the same sum with either sign.
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).filter(|d| *d > 0.0).collect();
    let observed = differences.iter().sum::<f64>().abs();
    // The tolerance lets sums of the same terms in another order count as equal.
    let as_far = observed - 1e-12 * sizes.iter().sum::<f64>();
    let assignments = u32::try_from(sizes.len()).ok().and_then(|bits| 1usize.checked_shl(bits)).filter(|n| *n > 0);
    if let Some(assignments) = assignments.filter(|count| *count <= config.resamples) {
        let hits = |signs: &usize| {
            let signed = sizes.iter().enumerate().map(|(at, d)| if signs >> at & 1 == 1 { -d } else { *d });
            signed.sum::<f64>().abs() >= as_far
        };
        let of_task = |first: usize| (first..assignments.min(first + RESAMPLES_PER_TASK)).filter(hits).count();
        let hits: usize = parallel::map((0..assignments).step_by(RESAMPLES_PER_TASK), of_task).into_iter().sum();
        tell(config.resamples);
        return Ok(Randomization { p_value: hits as f64 / assignments as f64, exact: true, samples: assignments });
    }
    let hits = parallel::map(0..config.resamples.div_ceil(RESAMPLES_PER_TASK), |task| {
        let mut random = ChaCha8Rng::seed_from_u64(seed_for(config.seed, "randomisation", task as u64));
        let samples = RESAMPLES_PER_TASK.min(config.resamples - task * RESAMPLES_PER_TASK);
        tell(samples);
        (0..samples).filter(|_| random_sum(&sizes, &mut random).abs() >= as_far).count()
    });
    let hits: usize = hits.into_iter().sum();
    let p_value = (hits + 1) as f64 / (config.resamples + 1) as f64;
    Ok(Randomization { p_value, exact: false, samples: config.resamples })
}

/// Returns the sum of the differences after giving each of them a random sign.
fn random_sum(sizes: &[f64], random: &mut ChaCha8Rng) -> f64 {
    let of_chunk = |chunk: &[f64]| {
        let signs = random.next_u64();
        chunk.iter().enumerate().map(|(at, d)| if signs >> at & 1 == 1 { -d } else { *d }).sum::<f64>()
    };
    sizes.chunks(64).map(of_chunk).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{normal, random};

    #[test]
    fn one_degree_of_freedom_is_the_cauchy_distribution() {
        let test = t_test(&[1.0, 3.0], 0.5).unwrap();
        assert_eq!((test.t, test.freedom), (2.0, 1));
        assert!((test.p_value - (1.0 - 2.0 / std::f64::consts::PI * 2f64.atan())).abs() < 1e-12);
        // The quartiles of a Cauchy distribution are -1 and 1; the standard error is 1.
        assert!((test.low - 1.0).abs() < 1e-9 && (test.high - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_detectable_difference_is_found_four_times_in_five() {
        let sample = |sample| {
            let random = &mut random(sample);
            (0..40).map(|_| 0.1 * normal(random)).collect()
        };
        let noise: Vec<Vec<f64>> = (0..2000).map(sample).collect();
        let detectable = noise.iter().map(|sample| t_test(sample, 0.95).unwrap().detectable).sum::<f64>() / 2000.0;
        let found = |sample: &&Vec<f64>| {
            let shifted: Vec<f64> = sample.iter().map(|noise| noise + detectable).collect();
            t_test(&shifted, 0.95).unwrap().p_value < 0.05
        };
        let share = noise.iter().filter(found).count() as f64 / 2000.0;
        // Three standard deviations of a share of .8, and the error of the approximation.
        assert!((share - 0.8).abs() < 0.03, "{share}");
    }

    #[test]
    fn differences_without_variance_have_a_p_value_of_0_or_1() {
        assert_eq!(t_test(&[0.0; 3], 0.95).unwrap().p_value, 1.0);
        assert_eq!(t_test(&[0.5; 3], 0.95).unwrap().p_value, 0.0);
    }

    #[test]
    fn values_that_are_not_finite_and_confidence_in_percent_are_refused() {
        let config = ComparisonConfig::default();
        let differences = [0.1, f64::NAN, 0.2];
        let nan = "query 2 has the value NaN: expected a finite number";
        assert_eq!(t_test(&differences, 0.95).unwrap_err().to_string(), nan);
        assert_eq!(bootstrap(&differences, &config).unwrap_err().to_string(), nan);
        assert_eq!(randomization(&differences, &config).unwrap_err().to_string(), nan);
        for confidence in [95.0, f64::NAN, 0.0] {
            let expected = format!("confidence = {confidence}: expected a number between 0 and 1");
            assert_eq!(t_test(&[0.1, 0.2], confidence).unwrap_err().to_string(), expected);
        }
    }

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

    #[test]
    fn few_queries_are_enumerated() {
        // Two of the 8 sums of +-1 +-2 +-3 are 0.
        let test = randomization(&[1.0, -2.0, 3.0, 0.0], &ComparisonConfig::default()).unwrap();
        assert_eq!(test, Randomization { p_value: 6.0 / 8.0, exact: true, samples: 8 });
        let test = randomization(&[-1.0, 2.0, 3.0], &ComparisonConfig::default()).unwrap();
        assert_eq!(test.p_value, 4.0 / 8.0);
        let test = randomization(&[1.0, 2.0, 3.0], &ComparisonConfig::default()).unwrap();
        assert_eq!(test.p_value, 2.0 / 8.0);
    }

    #[test]
    fn samples_approach_the_enumeration_and_depend_on_the_seed_alone() {
        let differences: Vec<f64> = (0..15).map(|at| f64::from(at * 7 % 11) - 3.0).collect();
        let exact = randomization(&differences, &ComparisonConfig::default()).unwrap();
        let config = ComparisonConfig { resamples: 5_000, ..ComparisonConfig::default() };
        let sampled = randomization(&differences, &config).unwrap();
        assert!(exact.exact && !sampled.exact);
        // Four standard errors of a share of 5,000.
        let error = (exact.p_value * (1.0 - exact.p_value) / 5_000.0).sqrt();
        assert!((sampled.p_value - exact.p_value).abs() < 4.0 * error, "{sampled:?} {exact:?}");
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(one_thread.install(|| randomization(&differences, &config).unwrap()), sampled);
        let other = ComparisonConfig { seed: 1, ..config };
        assert_ne!(randomization(&differences, &other).unwrap(), sampled);
    }
}
