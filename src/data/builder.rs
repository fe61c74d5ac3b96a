//! Builds a dataset from values in memory.

use super::dataset::RankingDataset;
use super::error::DataError;
use super::segments::offsets_of;
use crate::refusal::Refusal;

/// The parts of a [`RankingDataset`] to be built from values in memory.
///
/// Features, labels and the sizes of the queries are required. Without identifiers, queries are numbered from 1;
/// without weights, all weigh the same.
///
/// ```
/// use burn_rank::data::RankingDataset;
///
/// // Two queries, of two documents and of one, with two features each.
/// let data = RankingDataset::builder()
///     .features(vec![0.1, 3.0, 0.7, 1.0, 0.2, 2.0], 2)
///     .labels(vec![0.0, 2.0, 1.0])
///     .query_sizes(&[2, 1])
///     .query_ids(["shoes", "hats"])
///     .build()?;
/// assert_eq!((data.queries(), data.documents()), (2, 3));
///
/// let short = RankingDataset::builder().features(vec![0.1, 3.0], 2).labels(vec![0.0, 1.0]).query_sizes(&[2]).build();
/// assert_eq!(short.unwrap_err().to_string(), "features = 2 values: expected 2 documents x 2 features");
/// # Ok::<(), burn_rank::data::DataError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct RankingDatasetBuilder {
    data: RankingDataset,
    query_ids: Option<Vec<String>>,
    query_weights: Option<Vec<f32>>,
    document_weights: Option<Vec<f32>>,
}

impl RankingDataset {
    /// Starts to build a dataset from values in memory.
    pub fn builder() -> RankingDatasetBuilder {
        RankingDatasetBuilder::default()
    }
}

impl RankingDatasetBuilder {
    /// Sets the features, `[documents x count]`, row-major, with NaN for a missing value.
    pub fn features(mut self, values: Vec<f32>, count: usize) -> Self {
        (self.data.features, self.data.feature_count) = (values.into(), count);
        self
    }

    /// Sets the labels, one per document.
    pub fn labels(mut self, labels: Vec<f32>) -> Self {
        self.data.labels = labels;
        self
    }

    /// Sets the number of documents of each query, in the order of the documents.
    pub fn query_sizes(mut self, sizes: &[usize]) -> Self {
        self.data.offsets = offsets_of(sizes).collect();
        self
    }

    /// Sets the identifier of each query.
    pub fn query_ids(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.query_ids = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the identifier of each document.
    pub fn document_ids(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.data.document_ids = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the name of each feature.
    pub fn feature_names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.data.feature_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the weight of each query in training, 0 or above ([`RankingDataset::with_query_weights`]).
    pub fn query_weights(mut self, weights: Vec<f32>) -> Self {
        self.query_weights = Some(weights);
        self
    }

    /// Sets the weight of each document in training, 0 or above ([`RankingDataset::with_document_weights`]).
    pub fn document_weights(mut self, weights: Vec<f32>) -> Self {
        self.document_weights = Some(weights);
        self
    }

    /// Builds the dataset and checks that its parts fit together.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if the number of labels, identifiers, names, weights or feature values does not
    /// match the other parts. Also returns [`DataError::Refused`] for a query without documents, two queries with the
    /// same identifier, or an infinite feature. Returns [`DataError::Label`] if a label is negative or not finite.
    pub fn build(self) -> Result<RankingDataset, DataError> {
        let Self { mut data, query_ids, query_weights, document_weights } = self;
        let sum = data.offsets.last().copied().unwrap_or(0);
        if sum != data.documents() {
            let expected = format!("a sum of {}, the number of labels", data.documents());
            return Err(Refusal::new("query_sizes", format_args!("a sum of {sum}"), expected).into());
        }
        if let Some(empty) = data.offsets.windows(2).position(|ends| ends[0] == ends[1]) {
            return Err(Refusal::new(format!("query_sizes[{empty}]"), 0, "at least 1 document").into());
        }
        if data.offsets.is_empty() {
            data.offsets.push(0);
        }
        data.query_ids = query_ids.unwrap_or_else(|| (1..=data.queries()).map(|number| number.to_string()).collect());
        data.check()?;
        if let Some(weights) = query_weights {
            data = data.with_query_weights(weights)?;
        }
        match document_weights {
            Some(weights) => data.with_document_weights(weights),
            None => Ok(data),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a builder with three documents, one feature per document, and two queries.
    fn three() -> RankingDatasetBuilder {
        RankingDataset::builder().features(vec![1.0, 2.0, 3.0], 1).labels(vec![0.0, 1.0, 2.0]).query_sizes(&[2, 1])
    }

    #[test]
    fn every_part_is_in_the_dataset() {
        let data = three()
            .query_ids(["a", "b"])
            .document_ids(["x", "y", "z"])
            .feature_names(["price"])
            .query_weights(vec![1.0, 2.0])
            .document_weights(vec![1.0, 0.5, 1.0])
            .build()
            .unwrap();
        assert_eq!((data.features.to_slice(), data.feature_count), (&[1.0, 2.0, 3.0][..], 1));
        assert_eq!((data.offsets, data.labels), (vec![0, 2, 3], vec![0.0, 1.0, 2.0]));
        assert_eq!(
            (data.query_ids, data.document_ids),
            (vec!["a".into(), "b".into()], ["x", "y", "z"].map(String::from).into())
        );
        assert_eq!((data.query_weights, data.document_weights), (vec![1.0, 2.0], vec![1.0, 0.5, 1.0]));
        assert_eq!(data.feature_names, ["price"]);
        assert_eq!(three().build().unwrap().query_ids, ["1", "2"]);
        let empty = RankingDataset::builder().build().unwrap();
        assert_eq!((empty.queries(), empty.documents()), (0, 0));
    }

    #[test]
    fn parts_that_do_not_fit_are_refused_by_name() {
        for (parts, message) in [
            (three().features(vec![1.0; 4], 1), "features = 4 values: expected 3 documents x 1 feature"),
            (
                three().features(vec![1.0; 6], usize::MAX),
                "features = 6 values: expected 3 documents x 18446744073709551615 features",
            ),
            (
                three().features(vec![1.0, f32::INFINITY, 0.0], 1),
                "features[1] = inf: expected a finite number, or NaN for a missing value",
            ),
            (three().labels(vec![0.0; 2]), "query_sizes = a sum of 3: expected a sum of 2, the number of labels"),
            (
                three().labels(vec![0.0, -1.0, 0.0]),
                "query `1`, document 2: label -1, expected a finite number of at least 0",
            ),
            (three().query_sizes(&[3, 0]), "query_sizes[1] = 0: expected at least 1 document"),
            (
                three().query_sizes(&[usize::MAX, 2]),
                "query_sizes = a sum of 18446744073709551615: expected a sum of 3, the number of labels",
            ),
            (three().query_ids(["a"]), "query_ids = 1 identifier: expected 2, one per query"),
            (three().query_ids(["a", "a"]), "query_ids[1] = a: expected an identifier that no other query has"),
            (three().document_ids(["x"]), "document_ids = 1 identifier: expected 3, one per document, or none"),
            (three().feature_names(["x", "y"]), "feature_names = 2 names: expected 1, one per feature, or none"),
            (three().query_weights(vec![1.0]), "query_weights = 1 weight: expected 2, one per query"),
            (
                three().document_weights(vec![1.0, -1.0, 0.0]),
                "document_weights[1] = -1: expected a finite number of at least 0",
            ),
        ] {
            assert_eq!(parts.build().unwrap_err().to_string(), message);
        }
    }
}
