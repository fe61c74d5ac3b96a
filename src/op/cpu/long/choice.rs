//! Chooses how a sum over the pairs of a list is computed.

use crate::execution::{SumPath, Target};
use crate::op::cpu::real::Real;

/// Returns whether a list is summed by a fast method. The argument `pays` states whether a fast method costs less, but
/// the caller's [`SumPath`] may override it. Fast methods are not exact enough for `f64`.
pub fn is_fast<T: Real>(target: Target, documents: usize, pays: bool) -> bool {
    let is_single = size_of::<T>() == size_of::<f32>();
    let chosen = match target.sums() {
        SumPath::Auto => pays,
        SumPath::Pairs => false,
        SumPath::Fast => documents > 0,
    };
    is_single && chosen
}
