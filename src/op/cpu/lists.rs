//! How the work of a batch is divided: into its lists, the rows of a list into tiles and stripes, documents into
//! blocks, and tasks among threads. Also finds the documents of a list and checks that its scores are finite.

use std::ops::Range;

use super::real::Real;
use crate::parallel;

/// The number of pairs below which a single thread is faster; it corresponds to a few tens of microseconds.
const SERIAL_PAIRS: usize = 1 << 17;

/// For callers outside rayon's pool, the number of pairs below which a single thread is faster. Such callers must wake
/// the pool and wait for it.
const SERIAL_PAIRS_ELSEWHERE: usize = 1 << 21;

/// Runs `f` on each task, using all threads if the tasks visit enough pairs.
pub fn for_each<T: Send>(tasks: Vec<T>, pairs: usize, f: impl Fn(T) + Sync) {
    let serial = if rayon::current_thread_index().is_some() { SERIAL_PAIRS } else { SERIAL_PAIRS_ELSEWHERE };
    if pairs < serial || tasks.len() < 2 || rayon::current_num_threads() < 2 {
        tasks.into_iter().for_each(f);
    } else {
        parallel::for_each(tasks, f);
    }
}

/// The number of rows in a tile. A few arrays of this length fit into the first-level cache.
pub const TILE: usize = 128;

/// The number of documents in a block. The terms of each block are added up in a separate sum. With separate sums per
/// block, rounding errors grow only with the square root of the length of a list.
pub const BLOCK: usize = 128;

/// The largest number of stripes of a list. A stripe is a range of rows with its own partial sums.
const STRIPES: usize = 16;

/// The number of documents that are missing from each block, 0 in normal builds. The feature `_broken_kernel` sets this
/// number to 1, so that a test can check that `devices compare` finds a wrong kernel.
pub const LOST: usize = cfg!(feature = "_broken_kernel") as usize;

/// Splits the rows of a list into at most [`STRIPES`] ranges that consist of whole tiles.
pub fn stripes(rows: usize) -> Vec<Range<usize>> {
    let tiles = rows.div_ceil(TILE).div_ceil(STRIPES).max(1);
    (0..rows).step_by(tiles * TILE).map(|start| start..(start + tiles * TILE).min(rows)).collect()
}

/// Splits the documents of a list into blocks of at most [`BLOCK`].
#[inline(always)]
pub fn blocks(documents: usize) -> impl Iterator<Item = Range<usize>> {
    (0..documents).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(documents) - LOST)
}

/// Adds the partial sums of a block to the sums of a tile.
#[inline(always)]
pub fn add<T: Real>(sums: &mut [T], partial: &[T]) {
    for (sum, &partial) in sums.iter_mut().zip(partial) {
        *sum = *sum + partial;
    }
}

/// Adds the partial sums of all stripes to `out`, in the order of the stripes.
pub fn reduce<T: Real>(out: &mut [T], partials: &[Vec<T>]) {
    for partial in partials {
        add(out, partial);
    }
}

/// Runs a kernel on every list of `n` documents. The kernel receives the index of the list, the list's slice of each
/// input, and its slice of the output, initialized to `fill`.
pub fn each_list<T: Real, const K: usize>(
    inputs: [&[T]; K],
    n: usize,
    work: usize,
    fill: T,
    kernel: impl Fn(usize, [&[T]; K], &mut [T]) + Sync + Send,
) -> Vec<T> {
    let mut out = vec![fill; inputs[0].len()];
    for_each(out.chunks_mut(n).enumerate().collect(), work, |(list, out)| {
        kernel(list, inputs.map(|values| &values[list * n..(list + 1) * n]), out);
    });
    out
}

/// Runs a kernel on every list without its padding. The kernel receives only the documents of the list, and writes
/// `width` numbers for each of them. Padding receives 0. The first of the inputs holds the scores. If a score is not
/// finite, the kernel does not run, and all results of the list become NaN.
pub fn each_list_of_documents<T: Real, const K: usize>(
    mask: &[T],
    inputs: [&[T]; K],
    (n, width): (usize, usize),
    work: usize,
    kernel: impl Fn(usize, [Vec<T>; K], &mut [T]) + Sync + Send,
) -> Vec<T> {
    let mut out = vec![T::ZERO; mask.len() * width];
    for_each(out.chunks_mut(n * width).enumerate().collect(), work, |(list, out)| {
        let members = documents(&mask[list * n..(list + 1) * n]);
        let inputs = inputs.map(|values| gather(&values[list * n..(list + 1) * n], &members));
        let mut found = vec![T::ZERO; members.len() * width];
        if !diverged(&inputs[0], &mut found) {
            kernel(list, inputs, &mut found);
        }
        for (&member, found) in members.iter().zip(found.chunks_exact(width)) {
            out[member * width..][..width].copy_from_slice(found);
        }
    });
    out
}

/// Runs a gradient kernel on several ranges of rows, called stripes. The kernel receives the range, the part of
/// `to_rows` for these rows, and zeros to which it adds the gradient for all documents. Returns the gradients for all
/// documents, one array per stripe. Callers add the arrays of all stripes in order, so the sum is identical bit for bit
/// with any number of threads.
pub fn each_stripe<T: Real>(
    to_rows: &mut [T],
    documents: usize,
    work: usize,
    kernel: impl Fn(Range<usize>, &mut [T], &mut [T]) + Sync + Send,
) -> Vec<Vec<T>> {
    let stripes = stripes(to_rows.len());
    let stripe = stripes.first().map_or(TILE, |stripe| stripe.len());
    let mut to_all: Vec<Vec<T>> = stripes.iter().map(|_| vec![T::ZERO; documents]).collect();
    let tasks = stripes.into_iter().zip(to_rows.chunks_mut(stripe)).zip(&mut to_all).collect();
    for_each(tasks, work, |((rows, to_rows), to_all)| kernel(rows, to_rows, to_all));
    to_all
}

/// Returns the positions of the documents of one list.
pub fn documents<T: Real>(mask: &[T]) -> Vec<usize> {
    (0..mask.len()).filter(|&i| mask[i] > T::ZERO).collect()
}

pub fn gather<T: Real>(values: &[T], positions: &[usize]) -> Vec<T> {
    positions.iter().map(|&i| values[i]).collect()
}

/// Returns the positions of the nonzero values. The loop has no branches, since a processor cannot predict which labels
/// are nonzero.
pub fn counting<T: Real>(values: &[T]) -> Vec<usize> {
    let (mut places, mut length) = (vec![0; values.len()], 0);
    for (place, &value) in values.iter().enumerate() {
        places[length] = place;
        length += usize::from(value != T::ZERO);
    }
    places.truncate(length);
    places
}

pub fn scatter<T: Real>(out: &mut [T], positions: &[usize], values: &[T]) {
    for (&i, &value) in positions.iter().zip(values) {
        out[i] = value;
    }
}

/// Returns whether any score is NaN or infinite, and fills `out` with NaN if so. Tensor definitions yield NaN without a
/// check, because each score is subtracted from itself, and infinity minus infinity is NaN.
pub fn diverged<T: Real>(x: &[T], out: &mut [T]) -> bool {
    // The loop never stops early, so it vectorizes. 0 times a number that is not finite is NaN.
    let finite = x.iter().fold(true, |finite, &x| finite & (x * T::ZERO == T::ZERO));
    if !finite {
        out.fill(T::from_f64(f64::NAN));
    }
    !finite
}
