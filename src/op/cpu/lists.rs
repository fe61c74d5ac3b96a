//! Loops that run a kernel on every list of a batch, or on several ranges of rows (stripes) of one list, and helpers that
//! find the documents of a list and check that its scores are finite.

use std::ops::Range;

use super::parallel::for_each;
use super::real::Real;
use super::tiles::{TILE, stripes};

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
