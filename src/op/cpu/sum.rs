//! Sums and maxima whose order of operations is fixed but allows vector instructions.

use super::real::Real;

/// Returns the sum of the values, added in a fixed order that allows vector instructions.
#[inline(always)]
pub fn sum<T: Real>(values: &[T]) -> T {
    combine(values, T::ZERO, |a, b| a + b)
}

/// Returns the dot product of `a` and `b`, added in a fixed order that allows vector instructions.
#[inline(always)]
pub fn dot<T: Real, const FMA: bool>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 32;
    let mut lanes = [T::ZERO; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a.remainder().iter().zip(b.remainder());
    for (a, b) in a.zip(b) {
        for ((lane, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
            *lane = a.fma::<FMA>(b, *lane);
        }
    }
    for (lane, (&a, &b)) in lanes.iter_mut().zip(rest) {
        *lane = a.fma::<FMA>(b, *lane);
    }
    sum(&lanes)
}

/// Returns the maximum of `values` and `least`.
#[inline(always)]
pub fn largest<T: Real>(values: &[T], least: T) -> T {
    combine(values, least, T::larger)
}

/// Combines all values with the function `of`, in a fixed order that allows vector instructions. Combining a value with
/// `neutral` must not change it.
#[inline(always)]
fn combine<T: Real>(values: &[T], neutral: T, of: impl Fn(T, T) -> T) -> T {
    const LANES: usize = 16;
    let mut lanes = [neutral; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = of(*lane, value);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane = of(*lane, value);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = of(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}
