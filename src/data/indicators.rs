//! `Indicators` fills missing values for models that accept none, and marks them in additional columns. The method is
//! known as the missing-indicator method (Jones, "Indicator and stratification methods for missing explanatory
//! variables in multiple linear regression", 1996).

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// The values that replace missing values, and the additional columns that mark where values were missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Indicators {
    /// The mean of each feature over the training documents that have it; it replaces missing values.
    pub means: Vec<f32>,
    /// The features, numbered from 1 and ascending, that have an additional column. A feature has an additional column
    /// if some training documents have it and others lack it. The additional column is 1 where the value is missing,
    /// and 0 elsewhere. The additional columns follow the features.
    pub columns: Vec<usize>,
}

impl Indicators {
    /// Checks that fitting data with `features` features could have produced these indicators.
    ///
    /// # Errors
    /// Returns [`Refusal`] for the first field that no fit could have produced.
    pub fn check(&self, features: usize) -> Result<(), Refusal> {
        let Self { means, columns } = self;
        if means.len() != features || means.iter().any(|mean| !mean.is_finite()) {
            let expected = format!("a finite number for each of {features} features");
            return Err(Refusal::new("normalizer.missing.means", format!("{means:?}"), expected));
        }
        let are_features = columns.iter().all(|feature| (1..=features).contains(feature));
        if !are_features || !columns.is_sorted_by(|first, second| first < second) {
            let expected = format!("different features from 1 to {features} in ascending order");
            return Err(Refusal::new("normalizer.missing.columns", format!("{columns:?}"), expected));
        }
        Ok(())
    }

    /// Returns the number of columns after missing values are filled: the features and the additional columns.
    pub fn width(&self) -> usize {
        self.means.len() + self.columns.len()
    }

    /// Fills the missing values of a row, and sets the additional columns that follow the features in the row.
    pub fn fill(&self, row: &mut [f32]) {
        let (features, columns) = row.split_at_mut(self.means.len());
        for (column, feature) in columns.iter_mut().zip(&self.columns) {
            *column = f32::from(u8::from(features[feature - 1].is_nan()));
        }
        for (value, mean) in features.iter_mut().zip(&self.means) {
            if value.is_nan() {
                *value = *mean;
            }
        }
    }

    /// Fills the missing values of rows of features, and writes the results to `out`.
    pub fn fill_from(&self, rows: &[f32], out: &mut [f32]) {
        let features = self.means.len();
        for (row, wide) in rows.chunks_exact(features).zip(out.chunks_exact_mut(self.width())) {
            wide[..features].copy_from_slice(row);
            self.fill(wide);
        }
    }

    /// Fills missing values in rows of features and adds the columns that mark them, all in the same vector.
    pub fn fill_in_place(&self, rows: &mut Vec<f32>) {
        let (features, width) = (self.means.len(), self.width());
        let count = rows.len() / features.max(1);
        rows.resize(count * width, 0.0);
        // From the last row on: no row is written over one that is still to be moved.
        for row in (0..count).rev() {
            rows.copy_within(row * features..(row + 1) * features, row * width);
            self.fill(&mut rows[row * width..(row + 1) * width]);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::data::{Normalizer, NormalizerKind, RankingDataset};

    const NAN: f32 = f32::NAN;

    /// Returns two queries of two documents. The first feature is always present, the second is missing twice, and the
    /// third is always missing.
    fn train() -> RankingDataset {
        let rows = vec![1.0, 10.0, NAN, 3.0, NAN, NAN, 5.0, 20.0, NAN, 7.0, NAN, NAN];
        RankingDataset::builder()
            .features(rows, 3)
            .labels(vec![0.0, 1.0, 1.0, 0.0])
            .query_sizes(&[2, 2])
            .build()
            .unwrap()
    }

    #[test]
    fn filled_rows_equal_those_worked_by_hand() {
        let mut data = train();
        data.feature_names = ["price", "age", "rank"].map(String::from).to_vec();
        let normalizer = Normalizer::fit_with_indicators(&data, NormalizerKind::None).unwrap();
        normalizer.apply(&mut data).unwrap();
        // The mean of 10 and 20; nothing is known of the third feature, and a column would say nothing.
        let expected = [[1.0, 10.0, 0.0, 0.0], [3.0, 15.0, 0.0, 1.0], [5.0, 20.0, 0.0, 0.0], [7.0, 15.0, 0.0, 1.0]];
        assert_eq!(data.features.to_slice(), expected.concat());
        assert_eq!(data.feature_names, ["price", "age", "rank", "age is missing"]);
        assert_eq!((normalizer.features(), normalizer.columns(), normalizer.indicated()), (3, 4, &[2][..]));
        data.check().unwrap();
    }

    #[test]
    fn a_value_that_no_training_document_lacks_becomes_the_mean_without_a_column() {
        let normalizer = Normalizer::fit_with_indicators(&train(), NormalizerKind::ZScore).unwrap();
        let mut other = RankingDataset::builder()
            .features(vec![NAN, NAN, 3.0], 3)
            .labels(vec![0.0])
            .query_sizes(&[1])
            .build()
            .unwrap();
        normalizer.apply(&mut other).unwrap();
        // Means of z-scores are 0.
        assert_eq!(other.features.to_slice(), [0.0, 0.0, 0.0, 1.0]);
    }

    /// A missing value becomes the mean of normalized values, which differs from the normalized mean of raw values.
    #[test]
    fn the_mean_is_taken_after_the_normalizer() {
        let column = vec![0.0, 0.0, 0.0, 10.0, NAN];
        let data =
            RankingDataset::builder().features(column, 1).labels(vec![0.0; 5]).query_sizes(&[5]).build().unwrap();
        let mean = |kind| Normalizer::fit_with_indicators(&data, kind).unwrap().missing().unwrap().means[0];
        assert!((mean(NormalizerKind::Log1p) - 11f32.ln() / 4.0).abs() < 1e-6);
        assert_eq!(mean(NormalizerKind::QueryMinMax), 0.25);
        // Three equal values at places 0, 1 and 2 of 3, and one at 3.
        assert!((mean(NormalizerKind::Quantile) - (1.0 / 3.0 * 3.0 + 1.0) / 4.0).abs() < 1e-6);
    }

    #[test]
    fn what_no_fit_gives_is_refused_by_name() {
        let check = |missing: &str| {
            let text = format!("{{\"features\": 2, \"map\": \"none\", \"missing\": {missing}}}");
            let normalizer: Normalizer = serde_json::from_str(&text).unwrap();
            normalizer.check().map_err(|error| error.to_string())
        };
        check("{\"means\": [0.5, 1], \"columns\": [2]}").unwrap();
        for (missing, expected) in [
            (
                "{\"means\": [0.5], \"columns\": []}",
                "normalizer.missing.means = [0.5]: expected a finite number for each of 2",
            ),
            (
                "{\"means\": [0, 1], \"columns\": [3]}",
                "normalizer.missing.columns = [3]: expected different features from 1 to 2",
            ),
            ("{\"means\": [0, 1], \"columns\": [2, 2]}", "normalizer.missing.columns = [2, 2]"),
        ] {
            let error = check(missing).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
