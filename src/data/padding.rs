//! `Padding` turns lists of different lengths into rows of equal width.
//!
//! Document values are gathered into rows, and results are scattered from the rows back to the documents. A document
//! has the same position in its row as in its list. Positions after the last document are padding, and hold the default
//! (0, or false in a mask).

use std::ops::Range;

use burn::tensor::{Bool, Device, Element, Tensor, TensorData};

use super::dataset::RankingDataset;
use super::features::Features;
use crate::device::sent;
use crate::parallel;

/// Rows of equal width, each with the documents of one list.
#[derive(Debug, Clone)]
pub(crate) struct Padding {
    rows: Vec<Range<usize>>,
    width: usize,
}

impl Padding {
    /// Creates rows for the given ranges of documents; the rows are as wide as the longest range.
    pub(crate) fn new(rows: Vec<Range<usize>>) -> Self {
        let width = rows.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
        Self { rows, width }
    }

    /// Creates rows for the queries with the given indices.
    ///
    /// # Panics
    /// Panics if an index is not below [`RankingDataset::queries`].
    pub(crate) fn from_queries(dataset: &RankingDataset, queries: &[usize]) -> Self {
        Self::new(queries.iter().map(|&query| dataset.range(query)).collect())
    }

    /// Returns the shape of the rows, `[rows, width]`.
    pub(crate) fn shape(&self) -> [usize; 2] {
        [self.rows.len(), self.width]
    }

    /// Returns the documents of the rows, row by row.
    pub(crate) fn documents(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().cloned().flatten()
    }

    /// Returns the document at each place of the rows, row by row, and `None` at padding.
    pub(crate) fn places(&self) -> Vec<Option<usize>> {
        let row =
            |documents: &Range<usize>| documents.clone().map(Some).chain(std::iter::repeat(None)).take(self.width);
        self.rows.iter().flat_map(row).collect()
    }

    /// If features are in a file, starts a thread that loads the features of these documents before they are needed.
    pub(crate) fn read_ahead(&self, features: &Features) {
        features.read_ahead(self.rows.clone());
    }

    /// Gathers values into rows, `[rows, width]`, with 0 for padding.
    ///
    /// # Shapes
    /// - `values` holds one value for each document.
    pub(crate) fn gather<T: Element>(&self, values: &[T]) -> TensorData {
        self.filled(|row, documents| row.copy_from_slice(&values[documents]))
    }

    /// Gathers features into rows, `[rows, width, features]`, with 0 for padding.
    ///
    /// # Shapes
    /// - `features` holds `count` values for each document, in order.
    pub(crate) fn gather_features(&self, features: &Features, count: usize) -> TensorData {
        let [rows, width] = self.shape();
        let mut padded = vec![0.0; rows * width * count];
        if !padded.is_empty() {
            let rows = padded.chunks_exact_mut(width * count).zip(&self.rows);
            parallel::for_each(rows, |(row, documents)| {
                features.copy_rows(count, documents.clone(), &mut row[..documents.len() * count]);
            });
        }
        TensorData::new(padded, [rows, width, count])
    }

    /// Returns a mask, `[rows, width]`, which is true for documents and false for padding.
    pub(crate) fn mask(&self, device: &Device) -> Tensor<2, Bool> {
        Tensor::from_data(sent(self.filled(|row, _| row.fill(true))), device)
    }

    /// Fills the documents of each row, and leaves the default for padding.
    fn filled<T: Element>(&self, fill: impl Fn(&mut [T], Range<usize>)) -> TensorData {
        // One thread: the copy takes less time than waking another.
        let mut padded = vec![T::default(); self.rows.len() * self.width];
        for (row, documents) in padded.chunks_exact_mut(self.width.max(1)).zip(&self.rows) {
            fill(&mut row[..documents.len()], documents.clone());
        }
        TensorData::new(padded, self.shape())
    }

    /// Copies values from padded rows to the documents in the flat list. Values of padding are dropped.
    ///
    /// # Shapes
    /// - `padded` has the shape `[rows, width]`.
    /// - `values` holds one value for each document; documents that are not in any row keep their value.
    pub(crate) fn scatter<T: Element>(&self, padded: Tensor<2>, values: &mut [T]) {
        let padded: Vec<T> = padded.into_data().iter::<T>().collect();
        for (row, documents) in padded.chunks_exact(self.width.max(1)).zip(&self.rows) {
            values[documents.clone()].copy_from_slice(&row[..documents.len()]);
        }
    }
}

/// Cuts items into consecutive groups. An item joins the last group if `has_room` returns true for the group and the
/// item; otherwise it begins a new group.
pub(crate) fn groups<T: Copy>(
    items: impl IntoIterator<Item = T>,
    mut has_room: impl FnMut(&[T], T) -> bool,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        match groups.last_mut() {
            Some(group) if has_room(group, item) => group.push(item),
            _ => groups.push(vec![item]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values<T: Element>(data: &TensorData) -> Vec<T> {
        data.iter::<T>().collect()
    }

    #[test]
    fn lists_are_at_the_start_of_their_rows() {
        let padding = Padding::new(vec![3..6, 0..1, 4..4]);
        assert_eq!(padding.shape(), [3, 3]);
        let labels = [5.0f32, 1.0, 2.0, 3.0, 4.0, 6.0];
        assert_eq!(values::<f32>(&padding.gather(&labels)), [3.0, 4.0, 6.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let mask = padding.mask(&Device::flex()).into_data();
        assert_eq!(values::<bool>(&mask), [true, true, true, true, false, false, false, false, false]);
        let features: Features = (0..12).map(|value| value as f32).collect();
        let rows = padding.gather_features(&features, 2);
        assert_eq!(rows.shape()[..], [3, 3, 2]);
        assert_eq!(values::<f32>(&rows)[..8], [6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 0.0, 1.0]);
    }

    #[test]
    fn no_rows_and_no_documents_give_empty_tensors() {
        for (rows, shape) in [(vec![], [0, 0]), (vec![0..0, 2..2], [2, 0])] {
            let padding = Padding::new(rows);
            assert_eq!(padding.gather::<f32>(&[]).shape()[..], shape);
            assert_eq!(padding.mask(&Device::flex()).dims(), shape);
        }
    }

    #[test]
    fn a_group_ends_where_there_is_no_room() {
        let of_two = groups([1, 2, 3, 4, 5], |group, _| group.len() < 2);
        assert_eq!(of_two, [vec![1, 2], vec![3, 4], vec![5]]);
        assert!(groups::<usize>([], |_, _| true).is_empty());
    }

    proptest! {
        #[test]
        fn gathered_values_are_scattered_back(lengths in prop::collection::vec(0usize..7, 0..9)) {
            let mut end = 0;
            let rows: Vec<_> = lengths.iter().map(|length| { end += length; end - length..end }).rev().collect();
            let padding = Padding::new(rows);
            let given: Vec<f64> = (0..end).map(|document| document as f64 + 0.5).collect();
            let padded = Tensor::<2>::from_data(padding.gather(&given), (&Device::flex(), burn::tensor::DType::F64));
            let mut found = vec![-1.0; end];
            padding.scatter(padded, &mut found);
            prop_assert_eq!(found, given);
        }
    }
}
