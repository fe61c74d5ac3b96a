//! `beats`, the probability that one noisy score is above another.

use crate::op::cpu::real::Real;

/// Returns the probability that one noisy score is above another, the complement of this probability, and `exp(-t^2)`.
/// Here `t` is the difference of the two scores divided by `2 sigma`.
#[inline(always)]
pub(in crate::op::cpu) fn beats<T: Real, const FMA: bool>(t: T) -> (T, T, T) {
    let bell = (-t * t).exponential::<FMA>();
    let small = T::HALF * t.abs().scaled_erfc::<FMA>() * bell;
    let large = T::ONE - small;
    if t < T::ZERO { (small, large, bell) } else { (large, small, bell) }
}
