//! Computes results over pairs in chunks of rows that fit into the memory budget of the calling thread.

use burn::backend::{Backend, TensorMetadata};

use super::array::Array;
use crate::execution::Execution;

/// An upper bound for the number of temporary arrays `[batch, rows, documents]` that exist at the same time.
const LIVE_TEMPORARIES: usize = 8;

/// Computes `K` arrays `[batch, documents, ..]`, whose second dimension is split into chunks that fit into the memory
/// budget.
pub fn by_rows<B: Backend, const K: usize>(
    x: &Array<B>,
    chunk: impl Fn((usize, usize)) -> [Array<B>; K],
) -> [Array<B>; K] {
    by_rows_with(x, 0, chunk)
}

/// Does the same as [`by_rows`], for computations in which each row needs memory for `numbers` values in addition to
/// its pairs.
pub fn by_rows_with<B: Backend, const K: usize>(
    x: &Array<B>,
    numbers: usize,
    chunk: impl Fn((usize, usize)) -> [Array<B>; K],
) -> [Array<B>; K] {
    let [batch, documents] = x.dims();
    let element = x.0.dtype().size();
    let beside = [numbers, element].into_iter().fold(batch, usize::saturating_mul);
    let row_bytes = bytes_of_rows(batch, 1, documents, element).saturating_add(beside);
    in_chunks(x, chunks(Execution::current().memory_budget(), row_bytes, documents), chunk)
}

/// Does the same as [`by_rows`] for only the first `count` rows.
pub fn by_first_rows<B: Backend, const K: usize>(
    x: &Array<B>,
    count: usize,
    chunk: impl Fn((usize, usize)) -> [Array<B>; K],
) -> [Array<B>; K] {
    in_chunks(x, chunks_of(x, count), chunk)
}

fn in_chunks<B: Backend, const K: usize>(
    x: &Array<B>,
    chunks: impl Iterator<Item = (usize, usize)>,
    chunk: impl Fn((usize, usize)) -> [Array<B>; K],
) -> [Array<B>; K] {
    let mut parts: [Vec<Array<B>>; K] = std::array::from_fn(|_| Vec::new());
    for rows in chunks {
        for (part, value) in parts.iter_mut().zip(chunk(rows)) {
            part.push(value);
        }
    }
    parts.map(|mut part| match part.len() {
        0 => x.clone(),
        1 => part.remove(0),
        _ => Array::concatenate(part, 1),
    })
}

/// Returns how many bytes the temporary arrays of `rows` rows need.
pub fn bytes_of_rows(batch: usize, rows: usize, documents: usize, element_bytes: usize) -> usize {
    [rows, documents, element_bytes, LIVE_TEMPORARIES].into_iter().fold(batch, usize::saturating_mul)
}

/// Returns whether the first `count` rows fit into the memory budget without being split.
pub fn fits_at_once<B: Backend>(x: &Array<B>, count: usize) -> bool {
    chunks_of(x, count).count() == 1
}

/// Splits the first `count` rows into ranges whose temporary arrays fit into the memory budget.
fn chunks_of<B: Backend>(x: &Array<B>, count: usize) -> impl Iterator<Item = (usize, usize)> + use<B> {
    let [batch, documents] = x.dims();
    let row_bytes = bytes_of_rows(batch, 1, documents, x.0.dtype().size());
    chunks(Execution::current().memory_budget(), row_bytes, count)
}

/// Splits `count` rows of `row_bytes` each into ranges that fit into the budget; each range has at least one row.
fn chunks(budget: usize, row_bytes: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
    let rows = (budget / row_bytes.max(1)).clamp(1, count.max(1));
    (0..count).step_by(rows).map(move |start| (start, (start + rows).min(count)))
}

#[cfg(test)]
mod tests {
    use burn::backend::{Flex, ops::FloatTensorOps};
    use burn::tensor::FloatDType;

    use super::*;

    #[test]
    fn chunks_cover_every_row_once() {
        assert_eq!(chunks(100, 25, 10).collect::<Vec<_>>(), [(0, 4), (4, 8), (8, 10)]);
        assert_eq!(chunks(1000, 25, 10).collect::<Vec<_>>(), [(0, 10)]);
        assert_eq!(chunks(100, 25, 0).count(), 0);
    }

    #[test]
    fn a_row_beyond_the_budget_is_taken_alone() {
        assert_eq!(chunks(10, 25, 3).collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3)]);
    }

    #[test]
    fn the_budget_of_the_thread_cuts_the_rows() {
        let x = Array::<Flex>(Flex::float_zeros([2, 10].into(), &Default::default(), FloatDType::F32));
        let rows = |budget| Execution::current().with_memory_budget(budget).scope(|| chunks_of(&x, 10).count());
        assert_eq!((rows(1), rows(1280), rows(usize::MAX)), (10, 5, 1));
        assert_eq!(chunks_of(&x, 10).count(), 1);
        assert_eq!(Execution::current().with_memory_budget(1).scope(|| chunks_of(&x, 3).count()), 3);
    }
}
