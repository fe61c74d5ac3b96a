//! Functions that are applied to each element: [`exp2`](crate::op::exp2()) and
//! [`log2_discount`](crate::op::log2_discount()).

use super::dispatch::{Kernel, dispatch, target};
use super::parallel::for_each;
use super::real::Real;

/// The number of elements in a task, large enough that a thread is worth its cost.
const CHUNK: usize = 1 << 14;

/// A function of one element, without branches.
trait Function<T>: Copy + Send + Sync {
    fn of<const FMA: bool>(self, x: T) -> T;
}

struct Chunk<'a, T, F> {
    x: &'a [T],
    function: F,
    out: &'a mut [T],
}

impl<T: Real, F: Function<T>> Kernel for Chunk<'_, T, F> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (out, &x) in self.out.iter_mut().zip(self.x) {
            *out = self.function.of::<FMA>(x);
        }
    }
}

fn map<T: Real>(x: &[T], function: impl Function<T>) -> Vec<T> {
    let target = target();
    let mut out = vec![T::ZERO; x.len()];
    let chunks = x.chunks(CHUNK).zip(out.chunks_mut(CHUNK)).collect();
    for_each(chunks, x.len(), |(x, out)| dispatch(target, Chunk { x, function, out }));
    out
}

#[derive(Clone, Copy)]
struct Exp2;

impl<T: Real> Function<T> for Exp2 {
    #[inline(always)]
    fn of<const FMA: bool>(self, x: T) -> T {
        x.power_of_two::<FMA>()
    }
}

/// Returns `2^x` of every element.
pub fn exp2<T: Real>(x: &[T]) -> Vec<T> {
    map(x, Exp2)
}

#[derive(Clone, Copy)]
struct Log2Discount;

impl<T: Real> Function<T> for Log2Discount {
    #[inline(always)]
    fn of<const FMA: bool>(self, position: T) -> T {
        T::from_f64(std::f64::consts::LN_2) / (position + T::ONE).logarithm::<FMA>()
    }
}

/// Returns `1 / log2(1 + p)` of every position `p`.
pub fn log2_discount<T: Real>(positions: &[T]) -> Vec<T> {
    map(positions, Log2Discount)
}

/// Returns `x` where `rows` is nonzero, else 0.
pub fn select<T: Real>(x: &[T], rows: &[T]) -> Vec<T> {
    let select = |(&x, &rows): (&T, &T)| if rows == T::ZERO { T::ZERO } else { x };
    x.iter().zip(rows).map(select).collect()
}
