//! Flat lists as rows of one width. See [`pad`](crate::op::pad::pad()).

use std::ops::Range;

use burn::backend::{Backend, Slice, TensorMetadata, tensor::FloatTensor};

/// The first `count` columns from `start` on of a row.
fn columns<B: Backend>(x: &FloatTensor<B>, row: usize, start: usize, count: usize) -> FloatTensor<B> {
    let slice = |start: usize, count: usize| Slice::new(start as isize, Some((start + count) as isize), 1);
    B::float_slice(x.clone(), &[slice(row, 1), slice(start, count)])
}

/// Parts of a row side by side, where a number stands for as many zeros.
fn row<B: Backend>(like: &FloatTensor<B>, parts: Vec<(FloatTensor<B>, usize)>) -> FloatTensor<B> {
    let zeros = |count: usize| B::float_zeros([1, count].into(), &like.device(), like.dtype().into());
    let parts = parts.into_iter().flat_map(|(part, count)| [Some(part), (count > 0).then(|| zeros(count))]);
    B::float_cat(parts.flatten().collect(), 1)
}

/// The tensor definition.
pub fn value<B: Backend>(x: FloatTensor<B>, lists: &[Range<usize>], width: usize) -> FloatTensor<B> {
    let padded =
        |list: &Range<usize>| row::<B>(&x, vec![(columns::<B>(&x, 0, list.start, list.len()), width - list.len())]);
    B::float_cat(lists.iter().map(padded).collect(), 0)
}

/// Gradient with respect to `x`: each document's own, 0 between the lists.
pub fn gradient<B: Backend>(x: &FloatTensor<B>, lists: &[Range<usize>], gradient: FloatTensor<B>) -> FloatTensor<B> {
    let [_, documents] = x.shape().dims();
    let nothing = columns::<B>(&gradient, 0, 0, 0);
    let ends = lists.iter().skip(1).map(|next| next.start).chain([documents]);
    let own = lists.iter().zip(ends).enumerate();
    let own = own.map(|(number, (list, next))| (columns::<B>(&gradient, number, 0, list.len()), next - list.end));
    row::<B>(x, [(nothing, lists[0].start)].into_iter().chain(own).collect())
}
