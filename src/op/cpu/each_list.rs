//! The frames of kernels: over the lists of a batch, and over stripes of the rows of a list.

use std::ops::Range;

use super::list::{diverged, documents, gather};
use super::parallel::for_each;
use super::real::Real;
use super::tiles::{TILE, stripes};

/// Runs a kernel on every list of `n` documents: with its number, its part of each input, and its part of the output,
/// which starts as `fill`.
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

/// The same without padding: the kernel gets only the documents of a list and a row of zeros for its results, and
/// outputs at padding are 0. A list whose first input, the scores, is not finite becomes NaN without a call.
pub fn each_list_of_documents<T: Real, const K: usize>(
    mask: &[T],
    inputs: [&[T]; K],
    n: usize,
    work: usize,
    kernel: impl Fn(usize, [Vec<T>; K], &mut [T]) + Sync + Send,
) -> Vec<T> {
    each_wide_list_of_documents(mask, inputs, (n, 1), work, kernel)
}

/// The same with outputs of several numbers per document, `(n, width)`.
pub fn each_wide_list_of_documents<T: Real, const K: usize>(
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

/// Runs the kernel of a gradient on stripes of rows. It gets the range of the rows, their part of `to_rows`, and a row
/// of zeros for what they add to all documents. Returns these rows, to be added in order, so that sums have the same
/// bits with any number of threads.
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
