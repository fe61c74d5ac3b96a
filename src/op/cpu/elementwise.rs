//! Functions that are applied to each element, for [`exp2`](crate::op::exp2()) and
//! [`log2_discount`](crate::op::log2_discount()).

use super::dispatch::{Kernel, dispatch, target};
use super::lists::for_each;
use super::real::Real;

/// The number of elements in a task, large enough that a thread is worth its cost.
const CHUNK: usize = 1 << 14;

/// A function of one element, without branches.
#[derive(Clone, Copy)]
pub enum Function {
    /// `2^x`.
    Exp2,
    /// `1 / log2(1 + p)` of a position `p`.
    Log2Discount,
}

struct Chunk<'a, T> {
    x: &'a [T],
    function: Function,
    out: &'a mut [T],
}

impl<T: Real> Kernel for Chunk<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let elements = self.out.iter_mut().zip(self.x);
        match self.function {
            Function::Exp2 => {
                for (out, &x) in elements {
                    *out = x.power_of_two::<FMA>();
                }
            }
            Function::Log2Discount => {
                for (out, &position) in elements {
                    *out = T::from_f64(std::f64::consts::LN_2) / (position + T::ONE).logarithm::<FMA>();
                }
            }
        }
    }
}

/// Returns the function of every element.
pub fn map<T: Real>(x: &[T], function: Function) -> Vec<T> {
    let target = target();
    let mut out = vec![T::ZERO; x.len()];
    let chunks = x.chunks(CHUNK).zip(out.chunks_mut(CHUNK)).collect();
    for_each(chunks, x.len(), |(x, out)| dispatch(target, Chunk { x, function, out }));
    out
}

/// Returns `x` where `rows` is nonzero, else 0.
pub fn select<T: Real>(x: &[T], rows: &[T]) -> Vec<T> {
    let select = |(&x, &rows): (&T, &T)| if rows == T::ZERO { T::ZERO } else { x };
    x.iter().zip(rows).map(select).collect()
}
