//! Fisher's randomization test. If two systems do not differ, each difference between them is as likely to be positive
//! as negative. The p-value is the share of all sign assignments for which the mean is at least as far from 0 as the
//! observed mean.
//!
//! If the number of assignments, 2^n, is at most the number of requested samples, all are examined and the p-value is
//! exact. If there are more assignments than requested samples, the p-value is `(hits + 1) / (samples + 1)` over random
//! assignments (Smucker, Allan and Carterette 2007). Each random assignment costs O(n), and assignments are drawn in
//! parallel.

use chacha20::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use serde::Serialize;

use super::{ComparisonConfig, RESAMPLES_PER_TASK, SignificanceError, Tell};
use crate::parallel;
use crate::seed::seed_for;

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
/// Returns the errors of [`ComparisonConfig::check`].
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
