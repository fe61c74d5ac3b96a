//! Normalizers of features, which are fitted to training data and saved with the ranker.
//!
//! | kind | value of a feature | fitted |
//! |---|---|---|
//! | `none` | `x` | nothing |
//! | `query_min_max` | `(x - min) / (max - min)` over the documents of the query, as LETOR's QueryLevelNorm | nothing |
//! | `z_score` | `(x - mean) / deviation` over all training documents | mean, deviation |
//! | `clipped_z_score` | the value of `z_score`, held between -8 and 8 | mean, deviation |
//! | `log1p` | `sign(x) ln(1 + abs(x))` | constant features |
//! | `quantile` | place among the training documents by value, from 0 (lowest) to 1 (highest), the mean place of equal ones | at most 257 quantiles |
//! | `gauss` | the number that has the same place in the standard normal distribution, from -3.29 to 3.29 | at most 259 quantiles, and their places |
//!
//! A feature that is constant (in the query for `query_min_max`, otherwise in the training data) becomes 0, except
//! under `none`. A missing value (NaN) stays missing and does not affect other values. With
//! [indicators](Normalizer::fit_with_indicators), a missing value becomes the mean of the normalized training values. A
//! feature that some training documents lack gets a column that marks missing values. Fitting costs O(documents x
//! features); `quantile` and `gauss` also sort each feature (`fit_normalizer`). Results do not depend on the number of
//! threads.
//!
//! `gauss` fits 257 knots to each feature. The places `z_i` of the knots are equally spaced from -3.09 to 3.09. The
//! value of knot `i` is the training value below which a share `Phi(z_i)` of the documents lies. Here, `Phi` is the
//! standard normal distribution function. Knots of equal value are merged into one knot. Its place is `Phi^-1` of the
//! midpoint between the smallest and the largest share of the merged knots. If the smallest or the largest training
//! value lies beyond all knots, it is one more knot, at -3.29 or 3.29, the middle of the last thousandth. So a value
//! that fewer than one document in a thousand has keeps a place of its own. The map is linear between knots and
//! constant beyond the first and the last knot.
//!
//! `auto` chooses `clipped_z_score` for training data that are already normalized by query, and otherwise `gauss`.
//! `auto` examines all pairs of a query and a feature that varies in the query. Data count as normalized by query if,
//! in at least 95 % of the pairs, the feature ranges from 0 to 1 within the query. To choose a normalizer, `auto` makes
//! one pass over the features.

use serde::{Deserialize, Serialize};

use super::error::DataError;
use super::indicators::Indicators;
use crate::refusal::Refusal;

/// The kind of a normalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormalizerKind {
    /// Leaves features as they are.
    #[default]
    None,
    /// Maps features to `[0, 1]` within each query.
    QueryMinMax,
    /// Scales features to mean 0 and standard deviation 1 over the training documents.
    ZScore,
    /// Maps features as `z_score` does, then limits them to `[-8, 8]`.
    ClippedZScore,
    /// Maps a value to `sign(x) ln(1 + abs(x))`.
    Log1p,
    /// Maps a value to its quantile among the training documents.
    Quantile,
    /// Maps the training values of a feature to a standard normal distribution, by their ranks.
    Gauss,
    /// Chooses `clipped_z_score` if the training data are normalized by query, otherwise `gauss`.
    Auto,
}

/// A normalizer that was fitted to training data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalizer {
    pub(super) features: usize,
    pub(super) map: FeatureMap,
    /// The values that replace missing values; `None` if missing values are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) missing: Option<Indicators>,
}

/// The map that a normalizer applies to each feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum FeatureMap {
    None,
    QueryMinMax,
    /// The mean of each feature, and the inverse of its standard deviation; the inverse is 0 for a constant feature.
    ZScore {
        mean: Vec<f64>,
        scale: Vec<f64>,
    },
    /// Maps as `ZScore` does, then limits the absolute value to [`FARTHEST_Z_SCORE`].
    ClippedZScore {
        mean: Vec<f64>,
        scale: Vec<f64>,
    },
    /// The scale of each feature: 1 if the feature varies, 0 if it is constant.
    Log1p {
        scale: Vec<f64>,
    },
    /// The quantiles of each feature at equally spaced levels from 0 to 1, in ascending order. The list is empty for a
    /// constant feature.
    Quantile {
        values: Vec<Vec<f32>>,
    },
    /// The knots of each feature; empty for a constant feature.
    Gauss {
        /// The distinct values of the knots, in ascending order.
        values: Vec<Vec<f32>>,
        /// The values to which the knots are mapped, in ascending order.
        places: Vec<Vec<f64>>,
    },
}

/// The limit of `clipped_z_score`.
const FARTHEST_Z_SCORE: f64 = 8.0;

impl Normalizer {
    /// Returns a normalizer that leaves features as they are.
    pub(crate) fn unfitted(features: usize) -> Self {
        Self { features, map: FeatureMap::None, missing: None }
    }

    /// Returns the fitted kind; for `auto`, the kind that was chosen.
    pub fn kind(&self) -> NormalizerKind {
        match self.map {
            FeatureMap::None => NormalizerKind::None,
            FeatureMap::QueryMinMax => NormalizerKind::QueryMinMax,
            FeatureMap::ZScore { .. } => NormalizerKind::ZScore,
            FeatureMap::ClippedZScore { .. } => NormalizerKind::ClippedZScore,
            FeatureMap::Log1p { .. } => NormalizerKind::Log1p,
            FeatureMap::Quantile { .. } => NormalizerKind::Quantile,
            FeatureMap::Gauss { .. } => NormalizerKind::Gauss,
        }
    }

    /// Returns the number of features that the normalizer was fitted to.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Returns the number of columns after normalization: one for each feature, and one more for each feature in
    /// [`indicated`](Self::indicated).
    pub fn columns(&self) -> usize {
        self.missing.as_ref().map_or(self.features, Indicators::width)
    }

    /// Returns whether the normalizer leaves features as they are.
    pub(crate) fn changes_nothing(&self) -> bool {
        matches!(self.map, FeatureMap::None) && self.missing.is_none()
    }

    /// Returns whether missing values are replaced with the mean of the training values; otherwise, they stay missing.
    pub fn fills_missing(&self) -> bool {
        self.missing.is_some()
    }

    /// Returns the features, counted from 1, that have a column marking missing values, in the order of the columns.
    pub fn indicated(&self) -> &[usize] {
        self.missing.as_ref().map_or(&[], |missing| &missing.columns)
    }

    /// Returns the means that replace missing values, and the columns that mark these values; `None` if missing values
    /// are kept.
    pub(crate) fn missing(&self) -> Option<&Indicators> {
        self.missing.as_ref()
    }

    /// Returns the map that is applied to each feature.
    pub(crate) fn map(&self) -> &FeatureMap {
        &self.map
    }

    /// Returns the normalized value of one feature, counted from 0. The normalized value never decreases as `x` grows.
    /// For `query_min_max` the value is `None`, because it depends on the other documents.
    pub(crate) fn value(&self, feature: usize, x: f32) -> Option<f32> {
        match &self.map {
            FeatureMap::None => Some(x),
            FeatureMap::QueryMinMax => None,
            FeatureMap::ZScore { mean, scale } => Some(z_score(x, mean[feature], scale[feature])),
            FeatureMap::ClippedZScore { mean, scale } => Some(clipped_z_score(x, mean[feature], scale[feature])),
            FeatureMap::Log1p { scale } => Some(log1p(x, scale[feature])),
            FeatureMap::Quantile { values } => Some(share_below(x, &values[feature])),
            FeatureMap::Gauss { values, places } => Some(between_knots(x, &values[feature], &places[feature])),
        }
    }

    /// Rejects a normalizer that no fit could have produced, such as one from a damaged file. Impossible values are
    /// infinite numbers, negative scales, quantiles that do not ascend, columns for unknown features, and lists with a
    /// wrong number of features.
    ///
    /// # Errors
    /// Returns [`Refusal`] for the first impossible value.
    pub fn check(&self) -> Result<(), Refusal> {
        self.missing.as_ref().map_or(Ok(()), |missing| missing.check(self.features))?;
        let scales = |scales: &[f64]| {
            let expected = "a finite number, at least 0";
            self.check_each("normalizer.scale", scales, |scale| (0.0..=f64::MAX).contains(scale), expected)
        };
        match &self.map {
            FeatureMap::None | FeatureMap::QueryMinMax => Ok(()),
            FeatureMap::ZScore { mean, scale } | FeatureMap::ClippedZScore { mean, scale } => {
                self.check_each("normalizer.mean", mean, |mean| mean.is_finite(), "a finite number")?;
                scales(scale)
            }
            FeatureMap::Log1p { scale } => scales(scale),
            FeatureMap::Quantile { values } => {
                let expected = "no values, or finite ones in ascending order, not all equal";
                let usable = |values: &Vec<f32>| {
                    let is_range = values.is_sorted() && values.first() < values.last();
                    values.is_empty() || (is_range && values.iter().all(|value| value.is_finite()))
                };
                self.check_each("normalizer.values", values, usable, expected)
            }
            FeatureMap::Gauss { values, places } => {
                let expected = "finite values in ascending order, all different";
                self.check_each("normalizer.values", values, |values| rise(values, f32::is_finite), expected)?;
                self.check_each("normalizer.places", places, |places| rise(places, f64::is_finite), expected)?;
                let mut lengths = values.iter().map(Vec::len);
                let fits = |places: &Vec<f64>| lengths.next() == Some(places.len());
                self.check_each("normalizer.places", places, fits, "one for each of its values")
            }
        }
    }

    fn check_each<T: std::fmt::Debug>(
        &self,
        key: &str,
        values: &[T],
        mut is_valid: impl FnMut(&T) -> bool,
        expected: &str,
    ) -> Result<(), Refusal> {
        if values.len() != self.features {
            let expected = format!("one for each of {} features", self.features);
            return Err(Refusal::new(key, format!("{} values", values.len()), expected));
        }
        values.iter().position(|value| !is_valid(value)).map_or(Ok(()), |feature| {
            let found = format!("{:?} for feature {}", values[feature], feature + 1);
            Err(Refusal::new(key, found, expected))
        })
    }

    /// Normalizes one query, `[documents x features]`, row-major, in place. `[documents x features]`, row-major.
    /// Missing values stay missing.
    ///
    /// # Errors
    /// Returns [`DataError::FeatureCount`] if the length is not a multiple of the number of features.
    pub fn apply_query(&self, rows: &mut [f32]) -> Result<(), DataError> {
        if self.features == 0 || !rows.len().is_multiple_of(self.features) {
            return match rows.len() {
                0 => Ok(()),
                found => Err(DataError::FeatureCount { found, expected: self.features }),
            };
        }
        self.apply_rows(rows);
        Ok(())
    }

    /// Normalizes whole rows in place; for `query_min_max`, they must be the rows of one query. Missing values stay
    /// missing.
    pub(super) fn apply_rows(&self, rows: &mut [f32]) {
        match &self.map {
            FeatureMap::None => {}
            FeatureMap::QueryMinMax => query_min_max(rows, self.features),
            FeatureMap::ZScore { mean, scale } => each(rows, mean, scale, |x, &mean, &scale| z_score(x, mean, scale)),
            FeatureMap::ClippedZScore { mean, scale } => {
                each(rows, mean, scale, |x, &mean, &scale| clipped_z_score(x, mean, scale));
            }
            FeatureMap::Log1p { scale } => each(rows, scale, scale, |x, &scale, _| log1p(x, scale)),
            FeatureMap::Quantile { values } => each(rows, values, values, |x, values, _| share_below(x, values)),
            FeatureMap::Gauss { values, places } => {
                each(rows, values, places, |x, values, places| between_knots(x, values, places));
            }
        }
    }
}

/// Maps the values of rows, where each feature has a parameter in `first` and one in `second`.
fn each<P, Q>(rows: &mut [f32], first: &[P], second: &[Q], map: impl Fn(f32, &P, &Q) -> f32) {
    for row in rows.chunks_exact_mut(first.len()) {
        for ((value, first), second) in row.iter_mut().zip(first).zip(second) {
            *value = map(*value, first, second);
        }
    }
}

/// Returns whether numbers are finite, and each is above the one before.
fn rise<T: Copy + PartialOrd>(numbers: &[T], is_finite: fn(T) -> bool) -> bool {
    numbers.iter().all(|number| is_finite(*number)) && numbers.is_sorted_by(|first, second| first < second)
}

fn z_score(x: f32, mean: f64, scale: f64) -> f32 {
    ((f64::from(x) - mean) * scale) as f32
}

/// Returns the z-score, limited to an absolute value of at most [`FARTHEST_Z_SCORE`]; NaN for NaN.
fn clipped_z_score(x: f32, mean: f64, scale: f64) -> f32 {
    ((f64::from(x) - mean) * scale).clamp(-FARTHEST_Z_SCORE, FARTHEST_Z_SCORE) as f32
}

fn log1p(x: f32, scale: f64) -> f32 {
    let x = f64::from(x);
    (x.abs().ln_1p().copysign(x) * scale) as f32
}

/// Scales each column to the range from 0 to 1: replaces `x` with `(x - min) / (max - min)`. In a constant column,
/// replaces `x` with 0.
fn query_min_max(rows: &mut [f32], features: usize) {
    let mut ranges = vec![(f32::INFINITY, f32::NEG_INFINITY); features];
    for row in rows.chunks_exact(features) {
        for (range, value) in ranges.iter_mut().zip(row) {
            *range = (range.0.min(*value), range.1.max(*value));
        }
    }
    for row in rows.chunks_exact_mut(features) {
        for ((low, high), value) in ranges.iter().zip(row) {
            // In double precision the difference of two floats cannot overflow.
            let (low, high) = (f64::from(*low), f64::from(*high));
            *value = match () {
                () if value.is_nan() => *value,
                () if high > low => ((f64::from(*value) - low) / (high - low)) as f32,
                () => 0.0,
            };
        }
    }
}

/// Interpolates `x` linearly between two knots; beyond the outermost knots, returns the place of the nearest knot.
/// Returns NaN for NaN, and 0 without knots.
fn between_knots(x: f32, values: &[f32], places: &[f64]) -> f32 {
    if x.is_nan() {
        return x;
    }
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let above = values.partition_point(|&value| value < x);
    if above == 0 || above > last {
        return places[above.min(last)] as f32;
    }
    let (low, high) = (f64::from(values[above - 1]), f64::from(values[above]));
    let share = (high - f64::from(x)) / (high - low);
    // Down from the upper knot, which is met exactly; rounding does not lead below the lower one.
    (places[above] - share * (places[above] - places[above - 1])).max(places[above - 1]) as f32
}

/// Returns the share of `values` that are below `x`, from 0 to 1; NaN if `x` is NaN. `values` must be in ascending
/// order. If `x` lies between two values, the share is interpolated. If several values equal `x`, the result is the
/// midpoint of their smallest and largest share.
fn share_below(x: f32, values: &[f32]) -> f32 {
    if x.is_nan() {
        return x;
    }
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let below = values.partition_point(|&value| value < x);
    let not_above = values.partition_point(|&value| value <= x);
    let position = if below < not_above {
        (below + not_above - 1) as f64 / 2.0
    } else if below == 0 {
        0.0
    } else if below > last {
        last as f64
    } else {
        let (low, high) = (f64::from(values[below - 1]), f64::from(values[below]));
        (below - 1) as f64 + (f64::from(x) - low) / (high - low)
    };
    (position / last as f64) as f32
}

/// Every kind of normalizer.
#[cfg(test)]
pub(super) const KINDS: [NormalizerKind; 8] = [
    NormalizerKind::None,
    NormalizerKind::QueryMinMax,
    NormalizerKind::ZScore,
    NormalizerKind::ClippedZScore,
    NormalizerKind::Log1p,
    NormalizerKind::Quantile,
    NormalizerKind::Gauss,
    NormalizerKind::Auto,
];

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::data::dataset::RankingDataset;
    use crate::data::fit_normalizer::share_below as normal_share_below;

    /// Returns two queries, of three and two documents; the third feature is constant.
    fn data() -> RankingDataset {
        let features = vec![1.0, -1.0, 7.0, 3.0, 0.0, 7.0, 2.0, 0.0, 7.0, 5.0, 8.0, 7.0, 9.0, 8.0, 7.0];
        RankingDataset::builder()
            .features(features, 3)
            .labels(vec![0.0, 1.0, 2.0, 0.0, 1.0])
            .query_sizes(&[3, 2])
            .build()
            .unwrap()
    }

    fn normalized(kind: NormalizerKind) -> Vec<f32> {
        let mut data = data();
        Normalizer::fit(&data, kind).apply(&mut data).unwrap();
        data.features.into()
    }

    #[test]
    fn worked_values() {
        assert_eq!(data().features.to_slice(), normalized(NormalizerKind::None));
        assert_eq!(
            normalized(NormalizerKind::QueryMinMax),
            [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        );
        // First feature: mean 4, deviation sqrt(8).
        let z = normalized(NormalizerKind::ZScore);
        for (document, expected) in [-3.0f64, -1.0, -2.0, 1.0, 5.0].iter().enumerate() {
            assert!((f64::from(z[3 * document]) - expected / 8f64.sqrt()).abs() < 1e-6);
            assert_eq!(z[3 * document + 2], 0.0);
        }
        let log = normalized(NormalizerKind::Log1p);
        assert_eq!((log[0], log[1], log[2]), (2f32.ln(), -(2f32.ln()), 0.0));
        // First feature: 1 2 3 5 9 are their own quantiles.
        let quantile = normalized(NormalizerKind::Quantile);
        for (document, place) in [0.0f32, 0.5, 0.25, 0.75, 1.0].iter().enumerate() {
            assert_eq!(quantile[3 * document], *place, "{quantile:?}");
            assert_eq!(quantile[3 * document + 2], 0.0);
        }
        assert!(quantile[0] < quantile[6] && quantile[6] < quantile[3] && quantile[3] < quantile[9]);
    }

    #[test]
    fn missing_values_stay_missing_and_change_no_other() {
        for kind in KINDS {
            // A document without any value, and a query that has one feature nowhere.
            let mut more = data();
            more.features.to_mut().extend([f32::NAN; 6]);
            more.labels.extend([0.0; 2]);
            more.offsets.push(7);
            more.query_ids.push("3".into());
            let normalizer = Normalizer::fit(&more, kind);
            assert_eq!(normalizer, Normalizer::fit(&data(), kind));
            normalizer.apply(&mut more).unwrap();
            assert_eq!(more.features.to_slice()[..15], normalized(kind), "{kind:?}");
            assert!(more.features.to_slice()[15..].iter().all(|value| value.is_nan()), "{kind:?}");
        }
    }

    #[test]
    fn quantiles_interpolate_and_clamp() {
        let values = [0.0, 0.0, 0.0, 1.0, 4.0];
        for (x, share) in [(-1.0, 0.0), (0.0, 0.25), (0.5, 0.625), (1.0, 0.75), (2.5, 0.875), (4.0, 1.0), (9.0, 1.0)] {
            assert_eq!(share_below(x, &values), share, "{x}");
        }
    }

    /// Fits `gauss` to one feature, and returns the values and the places of its knots.
    fn knots(column: Vec<f32>) -> (Vec<f32>, Vec<f64>) {
        let count = column.len();
        let data = RankingDataset::builder()
            .features(column, 1)
            .labels(vec![0.0; count])
            .query_sizes(&[count])
            .build()
            .unwrap();
        let Normalizer { map: FeatureMap::Gauss { mut values, mut places }, .. } =
            Normalizer::fit(&data, NormalizerKind::Gauss)
        else {
            panic!("gauss")
        };
        (values.remove(0), places.remove(0))
    }

    #[test]
    fn the_knots_of_gauss_are_training_values_at_the_shares_of_equally_spaced_places() {
        // Different values in any order: the value at place i is i.
        let column = (0..100_000u64).map(|at| (at * 7_919 % 100_000) as f32).collect();
        let (values, places) = knots(column);
        let shares: Vec<f64> =
            (0..257).map(|knot| normal_share_below(-3.09 + f64::from(knot) * 6.18 / 256.0)).collect();
        let inner = shares.iter().map(|share| (share * 1e5).floor() as f32);
        assert_eq!(values, iter::once(0.0).chain(inner).chain(iter::once(99_999.0)).collect::<Vec<_>>());
        assert!((places[0] + 3.2906).abs() < 1e-3 && (places[258] - 3.2906).abs() < 1e-3, "{places:?}");
        for (knot, place) in places[1..258].iter().enumerate() {
            assert!((place - (-3.09 + knot as f64 * 6.18 / 256.0)).abs() < 1e-12, "{knot}: {place}");
        }
    }

    #[test]
    fn equal_values_of_gauss_lie_at_the_middle_of_their_shares() {
        // 60 % are 0, below all others.
        let column: Vec<f32> = (0..10_000).map(|at| (at - 6_000).max(0) as f32).collect();
        let (values, places) = knots(column);
        assert_eq!(values[0], 0.0);
        let shares: Vec<f64> =
            (0..257).map(|knot| normal_share_below(-3.09 + f64::from(knot) * 6.18 / 256.0)).collect();
        let last = shares.iter().rposition(|share| (share * 1e4) as usize <= 6_000).unwrap();
        let middle = (shares[0] + shares[last]) / 2.0;
        assert!((normal_share_below(places[0]) - middle).abs() < 1e-13 && (middle - 0.3).abs() < 6e-3);
        // Not the mean of their places, which is lower.
        assert!(places[0] > (-3.09 + (-3.09 + last as f64 * 6.18 / 256.0)) / 2.0 + 0.5);
        // Few values: each at about the middle of its share of the documents.
        let (values, places) = knots(vec![4.0, 1.0, 3.0, 2.0, 5.0]);
        assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 5.0]);
        for (at, place) in places.iter().enumerate() {
            let expected = [0.1005, 0.3, 0.5, 0.7, 0.8995][at];
            assert!((normal_share_below(*place) - expected).abs() < 6e-3, "{at}: {place}");
        }
        assert!((places[0] + places[4]).abs() < 0.03 && places[2].abs() < 0.03, "{places:?}");
    }

    #[test]
    fn a_value_that_one_document_in_ten_thousand_has_keeps_a_place_beyond_the_others() {
        let mut column = vec![7.0; 10_000];
        column[77] = 9.0;
        let (values, places) = knots(column.clone());
        assert_eq!(values, [7.0, 9.0]);
        assert!(places[0].abs() < 1e-12 && (normal_share_below(places[1]) - 0.9995).abs() < 1e-6, "{places:?}");
        column[78] = -5.0;
        let (values, places) = knots(column.clone());
        assert_eq!(values, [-5.0, 7.0, 9.0]);
        assert!(places[1].abs() < 1e-12 && (places[0] + places[2]).abs() < 1e-9, "{places:?}");
        // Rare values in between keep their order.
        column[79] = 8.0;
        let (values, places) = knots(column);
        let at = between_knots(8.0, &values, &places);
        assert!(at > places[1] as f32 && at < places[2] as f32, "{at}");
        assert_eq!(knots(vec![7.0; 10_000]), (vec![], vec![]));
    }

    #[test]
    fn auto_keeps_data_that_are_normalized_by_query() {
        let config = crate::data::SynthConfig { queries: 40, features: 12, ..crate::data::SynthConfig::default() };
        let mut data = config.generate().unwrap();
        let taken = |data: &RankingDataset| Normalizer::fit(data, NormalizerKind::Auto);
        assert_eq!(taken(&data), Normalizer::fit(&data, NormalizerKind::Gauss));
        Normalizer::fit(&data, NormalizerKind::QueryMinMax).apply(&mut data).unwrap();
        assert_eq!(taken(&data), Normalizer::fit(&data, NormalizerKind::ClippedZScore));
        // A feature that varies in few queries counts only in these; 2 of 12 on another scale are too many.
        let mut other = data.clone();
        let scaled = |at: usize| if at % 12 < 2 { 3.0 } else { 1.0 };
        other.features.to_mut_slice().iter_mut().enumerate().for_each(|(at, value)| *value *= scaled(at));
        assert_eq!(taken(&other).kind(), NormalizerKind::Gauss);
        // Nothing varies.
        data.features.to_mut_slice().iter_mut().for_each(|value| *value = 1.0);
        assert_eq!(taken(&data).kind(), NormalizerKind::Gauss);
    }

    #[test]
    fn clipped_z_scores_end_at_8() {
        let mut column = vec![0.0f32; 1000];
        column[7] = 1.0;
        let mut data =
            RankingDataset::builder().features(column, 1).labels(vec![0.0; 1000]).query_sizes(&[1000]).build().unwrap();
        let normalizer = Normalizer::fit(&data, NormalizerKind::ClippedZScore);
        normalizer.apply(&mut data).unwrap();
        // Without the clip it is 31.6.
        assert_eq!(data.features.to_slice()[7], 8.0);
        assert!((f64::from(data.features.to_slice()[0]) + 0.001 / (0.001f64 * 0.999).sqrt()).abs() < 1e-6);
    }

    #[test]
    fn gauss_is_linear_between_knots_and_constant_outside() {
        let (values, places) = ([-1.0, 0.0, 4.0], [-2.0, 0.5, 1.5]);
        for (x, expected) in
            [(-9.0, -2.0), (-1.0, -2.0), (-0.5, -0.75), (0.0, 0.5), (1.0, 0.75), (4.0, 1.5), (1e30, 1.5)]
        {
            assert_eq!(between_knots(x, &values, &places), expected, "{x}");
        }
        assert!(between_knots(f32::NAN, &values, &places).is_nan());
        assert_eq!(between_knots(3.0, &[], &[]), 0.0);
    }

    #[test]
    fn every_kind_survives_serde_and_extremes() {
        let mut extreme = data();
        extreme.features.to_mut_slice()[0] = f32::MAX;
        extreme.features.to_mut_slice()[3] = f32::MIN;
        extreme.features.to_mut_slice()[4] = f32::MIN_POSITIVE;
        for kind in KINDS {
            let normalizer = Normalizer::fit(&extreme, kind);
            let taken = if kind == NormalizerKind::Auto { NormalizerKind::Gauss } else { kind };
            assert_eq!(normalizer.kind(), taken);
            let text = serde_json::to_string(&normalizer).unwrap();
            assert_eq!(serde_json::from_str::<Normalizer>(&text).unwrap(), normalizer);
            let mut applied = extreme.clone();
            normalizer.apply(&mut applied).unwrap();
            assert!(applied.features.to_slice().iter().all(|value| value.is_finite()), "{kind:?}");
            let mut query = extreme.query_features(1).to_vec();
            normalizer.apply_query(&mut query).unwrap();
            assert_eq!(query, applied.query_features(1), "{kind:?}");
        }
    }

    #[test]
    fn a_normalizer_that_no_fit_produces_is_refused() {
        for kind in KINDS {
            Normalizer::fit(&data(), kind).check().unwrap();
        }
        let error = |map: &str| {
            let text = format!(r#"{{"features": 2, "map": {map}}}"#);
            serde_json::from_str::<Normalizer>(&text).unwrap().check().unwrap_err().to_string()
        };
        assert_eq!(
            error(r#"{"z_score": {"mean": [0], "scale": [1, 1]}}"#),
            "normalizer.mean = 1 values: expected one for each of 2 features"
        );
        assert_eq!(
            error(r#"{"log1p": {"scale": [1, -1]}}"#),
            "normalizer.scale = -1.0 for feature 2: expected a finite number, at least 0"
        );
        assert!(error(r#"{"quantile": {"values": [[], [1, 1]]}}"#).contains("[1.0, 1.0] for feature 2"));
        assert!(error(r#"{"quantile": {"values": [[2, 1], []]}}"#).contains("[2.0, 1.0] for feature 1"));
        let gauss =
            |values: &str, places: &str| error(&format!(r#"{{"gauss": {{"values": {values}, "places": {places}}}}}"#));
        assert!(gauss("[[], [1, 1]]", "[[], [0, 1]]").contains("normalizer.values = [1.0, 1.0] for feature 2"));
        assert!(gauss("[[1, 2], []]", "[[1, 1], []]").contains("normalizer.places = [1.0, 1.0] for feature 1"));
        assert!(
            gauss("[[], [1, 2]]", "[[], [1]]").ends_with("[1.0] for feature 2: expected one for each of its values")
        );
    }

    #[test]
    fn a_single_value_is_the_value_in_a_row_and_never_falls() {
        for kind in KINDS {
            let normalizer = Normalizer::fit(&data(), kind);
            let mut row = [3.5, -0.5, 7.5];
            let alone = [0, 1, 2].map(|feature| normalizer.value(feature, row[feature]));
            normalizer.apply_query(&mut row).unwrap();
            match kind {
                NormalizerKind::QueryMinMax => assert_eq!(alone, [None; 3]),
                _ => assert_eq!(alone, row.map(Some), "{kind:?}"),
            }
            let values: Vec<Option<f32>> = (-100..100).map(|x| normalizer.value(0, x as f32 / 10.0)).collect();
            assert!(values.is_sorted(), "{kind:?}");
        }
    }

    #[test]
    fn another_number_of_features_is_an_error() {
        let mut other =
            RankingDataset::builder().features(vec![0.0; 4], 2).labels(vec![0.0; 2]).query_sizes(&[2]).build().unwrap();
        let error = Normalizer::fit(&data(), NormalizerKind::ZScore).apply(&mut other).unwrap_err();
        assert_eq!(error.to_string(), "found 2 features, expected 3");
    }

    #[test]
    fn an_empty_training_set_fits() {
        let empty = RankingDataset { feature_count: 3, offsets: vec![0], ..RankingDataset::default() };
        for kind in KINDS {
            let mut applied = data();
            Normalizer::fit(&empty, kind).apply(&mut applied).unwrap();
            assert!(applied.features.to_slice().iter().all(|value| value.is_finite()), "{kind:?}");
        }
    }
}
