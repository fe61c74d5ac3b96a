//! Fused CPU kernels: value and analytic gradient of every primitive without any array of pairs.
//!
//! Every kernel keeps one shape, which compilers vectorise on any instruction set: for each document `j`, one loop over
//! a contiguous tile of rows `i`. Rows depend on their own tile and on the order of the documents only, and partial
//! sums over rows are added in order, so a result has the same bits with any number of threads; padding is dropped
//! before the loops, so it has the same bits with any padding. A score that is NaN makes its whole list NaN, as it
//! does in the tensor definitions, so that a run that has diverged shows it.
//!
//! A kernel is compiled for every instruction set of [`Instructions`](crate::execution::Instructions), and those with a
//! fused multiply-add give the same bits. Logarithms and arc tangents that are not the polynomials of `real.rs` are
//! those of the system's library.

mod at_rank;
mod elementwise;
mod ideal_dcg;
mod indicator_sum;
mod log_softmax;
mod order;
mod pair_loss;
mod pair_walk;
mod rank;
mod rank_expectation;
mod rank_recursion;
mod real;
mod step_sum;
mod walk;

pub(super) use at_rank::at_rank;
pub(super) use elementwise::{exp2, log2_discount};
pub(super) use ideal_dcg::ideal_dcg;
pub(super) use indicator_sum::{Inputs as IndicatorInputs, indicator_sum, indicator_sum_gradient};
pub(super) use log_softmax::{log_softmax, log_softmax_gradient};
pub(super) use pair_loss::{Pairs, pair_loss, pair_loss_gradient};
pub(super) use rank::rank;
pub(super) use rank_expectation::{rank_expectation, rank_expectation_gradient};
pub(super) use rank_recursion::{rank_recursion, rank_recursion_gradient};
#[cfg(feature = "_cube")]
pub(super) use real::Coefficients;
pub(super) use real::Real;
pub(super) use step_sum::{step_sum, step_sum_gradient};

use std::ops::Range;

use rayon::prelude::*;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::execution::Instructions;
use crate::execution::{Execution, Target};

/// Rows of a tile: a few arrays of this length stay in the first-level cache.
const TILE: usize = 128;

/// Documents whose terms are summed apart, so that rounding grows with the square root of a long list.
const BLOCK: usize = 128;

/// Pairs below which threads cost more than they bring: some tens of microseconds of work.
const SERIAL_PAIRS: usize = 1 << 17;

/// The same for a thread that is none of rayon's, and has to wake one of those and to wait for it.
const SERIAL_PAIRS_ELSEWHERE: usize = 1 << 21;

/// Stripes of rows with partial sums of their own, at most, in one list.
const STRIPES: usize = 16;

/// A loop nest that is compiled once for each instruction set. `run` must be `#[inline(always)]`, so that it takes the
/// instruction set of its caller; `FMA` says whether a fused multiply-add is one instruction.
trait Kernel {
    fn run<const FMA: bool>(self);
}

/// The instructions that the calling thread asks for. A primitive looks once, before it hands its work to other
/// threads, which may be in another execution or in none.
fn target() -> Target {
    Execution::current().target()
}

/// Runs a kernel with these instructions.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(unused_variables))]
fn dispatch<K: Kernel>(target: Target, kernel: K) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        fn avx512<K: Kernel>(kernel: K) {
            kernel.run::<true>();
        }

        #[target_feature(enable = "avx2,fma")]
        fn avx2<K: Kernel>(kernel: K) {
            kernel.run::<true>();
        }

        match target.instructions() {
            // SAFETY: a target is made only of instructions that have been detected, every feature of them.
            Instructions::Avx512 => return unsafe { avx512(kernel) },
            // SAFETY: as above.
            Instructions::Avx2 => return unsafe { avx2(kernel) },
            _ => {}
        }
    }
    #[cfg(target_arch = "aarch64")]
    if target.instructions() == Instructions::Neon {
        return kernel.run::<true>();
    }
    kernel.run::<false>();
}

/// Runs `f` on every task, on all threads when there are enough pairs.
fn for_each<T: Send>(tasks: Vec<T>, pairs: usize, f: impl Fn(T) + Sync + Send) {
    let serial = if rayon::current_thread_index().is_some() { SERIAL_PAIRS } else { SERIAL_PAIRS_ELSEWHERE };
    if pairs < serial || tasks.len() < 2 || rayon::current_num_threads() < 2 {
        tasks.into_iter().for_each(f);
    } else {
        tasks.into_par_iter().for_each(f);
    }
}

/// Tiles of one list: the first row and the outputs of its rows.
fn tiles<T>(out: &mut [T]) -> Vec<(usize, &mut [T])> {
    out.chunks_mut(TILE).enumerate().map(|(tile, rows)| (tile * TILE, rows)).collect()
}

/// The rows of a list in at most [`STRIPES`] ranges of whole tiles.
fn stripes(rows: usize) -> Vec<Range<usize>> {
    let tiles = rows.div_ceil(TILE).div_ceil(STRIPES).max(1);
    (0..rows).step_by(tiles * TILE).map(|start| start..(start + tiles * TILE).min(rows)).collect()
}

/// The documents in blocks of at most [`BLOCK`].
#[inline(always)]
fn blocks(documents: usize) -> impl Iterator<Item = Range<usize>> {
    (0..documents).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(documents))
}

/// Adds the sums of a block to those of its tile.
#[inline(always)]
fn add<T: Real>(sums: &mut [T], partial: &[T]) {
    for (sum, &partial) in sums.iter_mut().zip(partial) {
        *sum = *sum + partial;
    }
}

/// Adds `partial` sums of each stripe over its rows into `out`, in order.
fn reduce<T: Real>(out: &mut [T], partials: &[Vec<T>]) {
    for partial in partials {
        add(out, partial);
    }
}

/// Whether a score is NaN or infinite; `out` is NaN then. The tensor definitions take the difference of every score
/// from itself, which the kernels leave out.
fn diverged<T: Real>(x: &[T], out: &mut [T]) -> bool {
    // To the end in any case, so that it vectorises; 0 times what is not finite is NaN.
    let finite = x.iter().fold(true, |finite, &x| finite & (x * T::ZERO == T::ZERO));
    if !finite {
        out.fill(T::of(f64::NAN));
    }
    !finite
}

/// Sum in a fixed order that vectorises.
#[inline(always)]
fn sum<T: Real>(values: &[T]) -> T {
    combine(values, T::ZERO, |a, b| a + b)
}

/// Largest of `values` and `least`.
#[inline(always)]
fn largest<T: Real>(values: &[T], least: T) -> T {
    combine(values, least, T::larger)
}

/// `values` combined in a fixed order that vectorises; `neutral` changes no value that it meets.
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

/// Positions of the documents of one list.
fn documents<T: Real>(mask: &[T]) -> Vec<usize> {
    (0..mask.len()).filter(|&i| mask[i] > T::ZERO).collect()
}

fn gather<T: Real>(values: &[T], positions: &[usize]) -> Vec<T> {
    positions.iter().map(|&i| values[i]).collect()
}

fn scatter<T: Real>(out: &mut [T], positions: &[usize], values: &[T]) {
    for (&i, &value) in positions.iter().zip(values) {
        out[i] = value;
    }
}
