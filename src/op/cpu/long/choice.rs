//! Chooses how a sum over the pairs of a list is computed.

use crate::execution::{SumPath, Target};
use crate::op::cpu::real::Real;

/// Returns whether a list is summed by a fast method if its type allows it (see [`in_single`]). The argument `is_faster`
/// states whether a fast method costs less, but the caller's [`SumPath`] may override it.
pub fn is_fast(target: Target, documents: usize, is_faster: bool) -> bool {
    match target.sums() {
        SumPath::Auto => is_faster,
        SumPath::Pairs => false,
        SumPath::Fast => documents > 0,
    }
}

/// Calls `sum` with the arrays of a list. Returns `None`, without a call, if the type is not `f32`: fast methods are not
/// exact enough for `f64`, and are compiled for `f32` only.
pub fn in_single<'a, 'b, T: Real, R, const K: usize, const M: usize>(
    inputs: [&'a [T]; K],
    outputs: [&'b mut [T]; M],
    sum: impl FnOnce([&'a [f32]; K], [&'b mut [f32]; M]) -> R,
) -> Option<R> {
    let (mut singles, mut out) = ([[].as_slice(); K], [(); M].map(|()| [].as_mut_slice()));
    for (single, input) in singles.iter_mut().zip(inputs) {
        *single = T::singles(input)?;
    }
    for (single, output) in out.iter_mut().zip(outputs) {
        *single = T::singles_mut(output)?;
    }
    Some(sum(singles, out))
}

#[cfg(test)]
mod tests {
    use super::in_single;

    #[test]
    fn only_lists_in_single_precision_are_summed_by_fast_methods() {
        let sum = |[x]: [&[f32]; 1], [out]: [&mut [f32]; 1]| out.copy_from_slice(x);
        let mut out = [0.0f32; 2];
        assert!(in_single([&[1.0f32, 2.0]], [&mut out], sum).is_some());
        assert_eq!(out, [1.0, 2.0]);
        assert!(in_single([&[1.0f64, 2.0]], [&mut [0.0f64; 2]], sum).is_none());
    }
}
