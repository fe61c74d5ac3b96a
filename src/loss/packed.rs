//! `PackedLists`, which holds lists of different lengths without padding.

use burn::tensor::{Int, Tensor, TensorData};

use super::error::{LossError, same_shape};
use super::lists::{Among, Lists};
use crate::data::Segments;
use crate::data::padding::Padding;
use crate::shape::assert_same;

/// The scores and labels of documents that are stored query by query, `[documents]`, and the length of each query.
/// [`Lists::packed`] creates packed lists, and [`forward_lists`](super::RankingLoss::forward_lists) accepts them.
///
/// To compute a loss, packed lists are split into at most four padded [`Lists`], each with lists of similar length.
/// Each list keeps its index in the packed batch, so the split does not change its noise.
#[derive(Debug, Clone)]
pub struct PackedLists {
    pub(super) rectangles: Vec<Rectangle>,
    /// For each query, the index of its loss in the joined losses of all rectangles; `None` if the queries are already
    /// in order.
    pub(super) order: Option<Tensor<1, Int>>,
    segments: Segments,
    scores: Tensor<1>,
    /// The weight of each query, or `None` if all queries count the same.
    pub(super) query_weights: Option<Tensor<1>>,
}

/// Lists of similar length, padded to a common length.
#[derive(Debug, Clone)]
pub(super) struct Rectangle {
    pub(super) lists: Lists,
    /// For each place in the rectangle, the row of its document in the packed tensors; `None` if the rectangle contains
    /// all rows in order, without padding.
    rows: Option<Tensor<1, Int>>,
}

/// Arranges one value per document, `[documents]`, in the rows of a rectangle of padded lists.
fn gather(x: Tensor<1>, rows: Option<&Tensor<1, Int>>, shape: [usize; 2]) -> Tensor<2> {
    match rows {
        // As columns of one row: on Flex, a selection from a vector divides twice per value.
        Some(rows) => x.unsqueeze::<2>().select(1, rows.clone()).reshape(shape),
        None => x.reshape(shape),
    }
}

impl Lists {
    /// Creates lists of different lengths without padding, from documents stored one after another.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use burn_rank::loss::Lists;
    /// use burn_rank::prelude::*;
    ///
    /// let device = Device::flex();
    /// let scores = Tensor::<1>::from_floats([0.2, 1.3, -0.4, 0.7, 0.1], &device);
    /// let labels = Tensor::<1>::from_floats([0.0, 1.0, 2.0, 0.0, 1.0], &device);
    /// let weights = Tensor::<1>::from_floats([1.0, 1.0, 0.5, 1.0, 2.0], &device);
    /// // Two queries, of three and of two documents.
    /// let lists = Lists::packed(scores, labels, &Segments::from_lengths(&[3, 2])?).with_document_weights(weights);
    /// let losses = lists.losses(&ListNetConfig::new().init()?);
    /// assert_eq!(losses.dims(), [2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Shapes
    /// - `scores`, `labels`: `[documents]`
    ///
    /// # Panics
    /// Panics if the numbers of scores, labels and documents in `segments` differ.
    #[track_caller]
    pub fn packed(scores: Tensor<1>, labels: Tensor<1>, segments: &Segments) -> PackedLists {
        Self::try_packed(scores, labels, segments).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Creates packed lists, and returns an error instead of panicking if the lengths do not match.
    ///
    /// # Errors
    /// Returns [`LossError::Segments`] if the scores do not fit `segments`, or [`LossError::Shape`] if there are more
    /// or fewer labels than scores.
    pub fn try_packed(scores: Tensor<1>, labels: Tensor<1>, segments: &Segments) -> Result<PackedLists, LossError> {
        PackedLists::new(scores, labels, segments)
    }
}

impl PackedLists {
    fn new(scores: Tensor<1>, labels: Tensor<1>, segments: &Segments) -> Result<Self, LossError> {
        segments.check("scores", scores.dims()[0])?;
        same_shape(("labels", &labels.dims()), ("scores", &scores.dims()))?;
        let (device, groups) = (scores.device(), segments.rectangles());
        let rows: Vec<i64> = segments.rows().map(|row| row as i64).collect();
        let longest = segments.lengths().max().unwrap_or(0);
        let rectangles = groups.iter().map(|queries| {
            let padding = Padding::new(queries.iter().map(|&query| segments.range(query)).collect());
            let shape = padding.shape();
            let is_whole = groups.len() == 1 && shape[0] * shape[1] == rows.len() && rows.is_sorted();
            let rows = (!is_whole).then(|| Tensor::<2, Int>::from_data(padding.gather(&rows), &device).flatten(0, 1));
            let [scores, labels] = [&scores, &labels].map(|x| gather(x.clone(), rows.as_ref(), shape));
            let lists =
                Lists::padded(scores, labels, padding.mask(&device)).among(Among { numbers: queries.clone(), longest });
            Rectangle { lists, rows }
        });
        let rectangles = rectangles.collect();
        let mut order = vec![0; segments.queries()];
        for (place, query) in groups.iter().flatten().enumerate() {
            order[*query] = place as i64;
        }
        let order =
            (!order.is_sorted()).then(|| Tensor::from_data(TensorData::new(order, [segments.queries()]), &device));
        Ok(Self { rectangles, order, segments: segments.clone(), scores, query_weights: None })
    }

    /// Sets a weight of 0 or above for each document. [`About::document_weights`](super::About::document_weights) says
    /// whether a loss accepts document weights.
    ///
    /// # Shapes
    /// - `weights`: `[documents]`
    ///
    /// # Panics
    /// Panics if the numbers of weights and scores differ.
    #[track_caller]
    pub fn with_document_weights(self, weights: Tensor<1>) -> Self {
        assert_same("with_document_weights", ("scores", &self.scores), &[("weights", &weights)]);
        self.with(&weights, Lists::with_document_weights)
    }

    /// Sets a weight of 0 or above for each query, as [`Lists::with_query_weights`] does.
    ///
    /// # Shapes
    /// - `weights`: `[queries]`
    pub fn with_query_weights(self, weights: Tensor<1>) -> Self {
        Self { query_weights: Some(weights.detach()), ..self }
    }

    /// Adds the scores of a teacher, as [`Lists::with_teacher`] does.
    ///
    /// # Shapes
    /// - `scores`: `[documents]`
    ///
    /// # Panics
    /// Panics if the teacher's scores and the scores differ in number.
    #[track_caller]
    pub fn with_teacher(self, scores: Tensor<1>) -> Self {
        assert_same("with_teacher", ("scores", &self.scores), &[("the teacher's scores", &scores)]);
        self.with(&scores, Lists::with_teacher)
    }

    /// For each rectangle, calls `add` with the padded lists and the values that `x` holds for the documents in these
    /// lists.
    fn with(self, x: &Tensor<1>, add: fn(Lists, Tensor<2>) -> Lists) -> Self {
        let rectangles = self.rectangles.into_iter().map(|Rectangle { lists, rows }| {
            let x = gather(x.clone(), rows.as_ref(), lists.scores.dims());
            Rectangle { lists: add(lists, x), rows }
        });
        Self { rectangles: rectangles.collect(), ..self }
    }

    /// Returns which documents belong to which query.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::loss::input::per_query;
    use crate::loss::lists::sum_documents;

    /// Returns, for each query, the sum of its scores and its number of documents. Every document's score is the index
    /// of its query.
    fn sums(ids: &[usize]) -> Vec<(f64, f64)> {
        let scores: Vec<f32> = ids.iter().map(|&id| id as f32).collect();
        let scores = Tensor::<1>::from_data(TensorData::new(scores, [ids.len()]), &Device::flex());
        let lists = Lists::packed(scores.clone(), scores, &Segments::from_ids(ids).unwrap());
        let sums = per_query(&lists, &|lists| sum_documents(lists.scores.clone())).into_data();
        let counts = per_query(&lists, &Lists::counts).into_data();
        sums.iter::<f64>().zip(counts.iter::<f64>()).collect()
    }

    #[test]
    fn a_query_has_its_own_documents_wherever_they_stand() {
        // The short lists, padded, have as many places as there are documents in all.
        let lengths = [vec![1; 100], vec![11; 100], vec![1000]].concat();
        let ids: Vec<usize> = lengths.iter().enumerate().flat_map(|(query, &length)| vec![query; length]).collect();
        let expected: Vec<(f64, f64)> =
            lengths.iter().enumerate().map(|(query, &length)| ((query * length) as f64, length as f64)).collect();
        assert_eq!(sums(&ids), expected);
        let mut turned = ids;
        turned.reverse();
        assert_eq!(sums(&turned), expected);
        assert_eq!(sums(&[0, 0, 1, 1]), [(0.0, 2.0), (2.0, 2.0)]);
        assert_eq!(sums(&[1, 0, 1, 0]), [(0.0, 2.0), (2.0, 2.0)]);
    }
}
