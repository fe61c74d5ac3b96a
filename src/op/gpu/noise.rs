//! The comparisons over which a GPU averages an expectation under noisy scores ([`ScoreNoise`]).
//!
//! Under exact noise, the number of comparisons depends on the number of documents in a list, which the device counts.
//! Padding therefore does not change the comparisons.

use super::*;
use crate::op::cpu::{self, DENSITY, NOISE_RANGE, NOISE_STEP, ScoreNoise};

/// How a document is compared with the others, and the weight of this comparison in the average.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Comparison {
    pub weight: f32,
    pub rate: f32,
    pub shift: f32,
}

/// Whether the device computes the comparisons (exact noise) or the host passes them (a mixture).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Exact,
    Mixture,
}

/// Returns the number of comparisons in a list of `documents`. The array `noise` must come from [`numbers`].
#[cube]
pub(super) fn comparisons(noise: &[f32], documents: usize, #[comptime] kind: Kind) -> usize {
    match kind {
        Kind::Exact => {
            let logarithm = f32::cast_from(u32::cast_from(max(documents, 1))).ln();
            let steps = comptime!((2.0 * NOISE_RANGE / NOISE_STEP) as f32) * (1.0f32 + logarithm).sqrt();
            u32::cast_from(steps.ceil()) as usize + 1
        }
        Kind::Mixture => noise.len() / 3,
    }
}

/// Returns comparison `number` out of `count`, or a comparison of weight 0 if `number` is too large.
#[cube]
pub(super) fn comparison(noise: &[f32], number: usize, count: usize, #[comptime] kind: Kind) -> Comparison {
    let last = count - 1;
    let bounded = min(number, last);
    let found = match kind {
        Kind::Exact => {
            // The trapezoidal rule. Its sum of densities is 1 to nine digits.
            let step = comptime!((2.0 * NOISE_RANGE) as f32) / f32::cast_from(u32::cast_from(last));
            let own = fma(step, f32::cast_from(u32::cast_from(bounded)), comptime!(-NOISE_RANGE as f32));
            Comparison {
                weight: step * comptime!(DENSITY as f32) * exponential(-0.5f32 * own * own),
                rate: noise[0],
                shift: own * comptime!(std::f32::consts::FRAC_1_SQRT_2),
            }
        }
        Kind::Mixture => {
            Comparison { weight: noise[bounded * 3], rate: noise[bounded * 3 + 1], shift: noise[bounded * 3 + 2] }
        }
    };
    Comparison { weight: select(number <= last, found.weight, 0.0f32), rate: found.rate, shift: found.shift }
}

/// Returns the numbers that describe the noise to the kernels. Exact noise needs the rate that all comparisons share,
/// and a mixture needs the weight, rate and shift of each comparison.
pub(super) fn numbers(noise: &ScoreNoise) -> (Kind, Vec<f32>) {
    match noise {
        ScoreNoise::Exact { sigma } => (Kind::Exact, vec![cpu::Comparison::given(0.0, *sigma).rate as f32]),
        ScoreNoise::Mixture(mixture) => {
            let numbers = mixture.iter().flat_map(|(weight, trial)| [*weight, trial.rate, trial.shift]);
            (Kind::Mixture, numbers.map(|number| number as f32).collect())
        }
    }
}
