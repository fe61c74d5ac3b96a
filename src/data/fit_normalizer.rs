//! Fits normalizers to datasets, and applies them.

use std::f64::consts::TAU;
use std::iter;
use std::sync::LazyLock;

use super::dataset::RankingDataset;
use super::error::DataError;
use super::indicators::Indicators;
use super::normalizer::{FeatureMap, Normalizer, NormalizerKind};
use super::order_statistics::order_statistics;
use super::shards::CHUNK;
use crate::memory::product;
use crate::parallel;
use crate::quadrature::gauss_legendre;
use crate::refusal::Refusal;
use crate::text::counted;

/// The largest number of quantiles that are kept for each feature.
const QUANTILES: usize = 257;

/// The knots of `gauss` are equally spaced from minus this number to this number, in standard deviations. In a normal
/// distribution, one value in a thousand lies beyond each of these bounds. The smallest and the largest value lie at
/// 3.29, the middle of the last thousandth.
const FARTHEST: f64 = 3.09;

/// Data count as normalized by query if most features range from 0 to 1 within each query. This constant is the
/// smallest share of such pairs of a query and a feature.
const NORMALIZED: f64 = 0.95;

/// The number of cells (documents x features) that are examined at a time.
const CELLS: usize = 1 << 22;

/// The number of documents in each parallel task.
const DOCUMENTS: usize = CHUNK;

impl Normalizer {
    /// Fits a normalizer to training data. If a group shares the reading, each process reads a part of the data.
    pub fn fit(train: &RankingDataset, kind: NormalizerKind) -> Self {
        let map = match kind {
            NormalizerKind::None => FeatureMap::None,
            NormalizerKind::QueryMinMax => FeatureMap::QueryMinMax,
            NormalizerKind::ZScore => {
                let (mean, scale) = fit_z_score(train);
                FeatureMap::ZScore { mean, scale }
            }
            NormalizerKind::ClippedZScore => {
                let (mean, scale) = fit_z_score(train);
                FeatureMap::ClippedZScore { mean, scale }
            }
            NormalizerKind::Auto => {
                let is_normalized = is_normalized_by_query(train);
                let kind = if is_normalized { NormalizerKind::ClippedZScore } else { NormalizerKind::Gauss };
                return Self::fit(train, kind);
            }
            NormalizerKind::Log1p => {
                let scale = |range| f64::from(u8::from(varies(range)));
                FeatureMap::Log1p { scale: train.feature_ranges().into_iter().map(scale).collect() }
            }
            NormalizerKind::Quantile => fit_quantiles(train),
            NormalizerKind::Gauss => fit_gauss(train),
        };
        Self { features: train.feature_count, map, missing: None }
    }

    /// Fits a normalizer that also fills missing values, for models that accept none. A missing value becomes the mean
    /// of the normalized training values of its feature, or 0 if there are none. A feature that some training documents
    /// have and others lack gets an additional column, which is 1 where the feature is missing and 0 elsewhere.
    ///
    /// If a feature is missing only outside the training data, its missing values become the mean of the feature. No
    /// column is added for this feature.
    ///
    /// # Errors
    /// Returns [`DataError`] if parts of the dataset contradict each other.
    pub fn fit_with_indicators(train: &RankingDataset, kind: NormalizerKind) -> Result<Self, DataError> {
        let normalizer = Self::fit(train, kind);
        let mut normalized = train.clone();
        normalizer.apply(&mut normalized)?;
        Ok(with_indicators(normalizer, &normalized))
    }

    /// Normalizes a dataset in place. With [indicators](Self::fit_with_indicators), the normalized dataset has
    /// [`columns`](Self::columns) features.
    ///
    /// # Errors
    /// Returns [`DataError::FeatureCount`] if the data and the training data differ in their number of features, and
    /// [`DataError::Refused`] if a normalized copy of a file takes more memory than is free.
    pub fn apply(&self, data: &mut RankingDataset) -> Result<(), DataError> {
        if data.feature_count != self.features {
            return Err(DataError::FeatureCount { found: data.feature_count, expected: self.features });
        }
        self.ask_memory(data)?;
        self.apply_unasked(data);
        Ok(())
    }

    /// Checks that memory suffices for the normalized copy of features that are in a file and are not streamed.
    ///
    /// # Errors
    /// Returns a [`Refusal`] if the copy takes more memory than is free.
    pub(crate) fn ask_memory(&self, data: &RankingDataset) -> Result<(), Refusal> {
        if self.keeps_values() || !data.features.is_in_file() || data.features.normalizes_on_use() {
            return Ok(());
        }
        let what = format!("a normalized copy of {}", counted(data.documents(), "document"));
        let bytes = product([data.features.len(), size_of::<f32>()]);
        Refusal::ask_memory("data", what, bytes, "stream the file with `data.memory`")
    }

    /// Normalizes a dataset with the right number of features in place, as [`apply`](Self::apply) does.
    pub(crate) fn apply_unasked(&self, data: &mut RankingDataset) {
        self.map_features(data);
        fill(self, data);
    }

    fn keeps_values(&self) -> bool {
        self.features == 0 || matches!(self.map, FeatureMap::None)
    }

    fn map_features(&self, data: &mut RankingDataset) {
        if self.keeps_values() || data.features.normalize(self, &data.offsets) {
            return;
        }
        if !matches!(self.map, FeatureMap::QueryMinMax) {
            let documents = data.features.to_mut_slice().chunks_mut(DOCUMENTS * self.features);
            parallel::for_each(documents, |rows| self.apply_rows(rows));
            return;
        }
        let mut rest = data.features.to_mut_slice();
        let mut rows = |pair: &[usize]| rest.split_off_mut(..(pair[1] - pair[0]) * self.features).unwrap_or_default();
        let queries: Vec<&mut [f32]> = data.offsets.windows(2).map(&mut rows).collect();
        parallel::for_each(queries, |rows| self.apply_rows(rows));
    }
}

/// Adds what is needed to fill missing values: the means of the normalized training data, and the columns that mark
/// missing values.
pub fn with_indicators(normalizer: Normalizer, normalized: &RankingDataset) -> Normalizer {
    let documents = normalized.documents();
    let survey = normalized.features.survey(normalizer.features);
    let counts = survey.missing_of.iter().map(|missing| documents - missing);
    let mean = |(sum, count): (&f64, usize)| if count == 0 { 0.0 } else { (sum / count as f64) as f32 };
    let means = survey.sums.iter().zip(counts).map(mean).collect();
    let is_partly_missing = |feature: &usize| (1..documents).contains(&survey.missing_of[feature - 1]);
    let columns = (1..=survey.missing_of.len()).filter(is_partly_missing).collect();
    Normalizer { missing: Some(Indicators { means, columns }), ..normalizer }
}

/// Fills missing values of normalized data, and adds the columns that mark them.
pub fn fill(normalizer: &Normalizer, normalized: &mut RankingDataset) {
    let Some(missing) = &normalizer.missing else { return };
    if normalizer.features == 0 {
        return;
    }
    normalized.features.fill(normalizer, missing, &normalized.offsets);
    normalized.feature_count = missing.width();
    if !normalized.feature_names.is_empty() {
        let names = &mut normalized.feature_names;
        let added: Vec<String> = missing.columns.iter().map(|&at| missing_name(&names[at - 1])).collect();
        names.extend(added);
    }
}

/// Returns the name of the column that marks where the feature `feature` is missing.
pub fn missing_name(feature: &str) -> String {
    format!("{feature} is missing")
}

fn varies((low, high): (f32, f32)) -> bool {
    high > low
}

/// Returns whether each feature ranges from 0 to 1 in nearly every query in which it varies.
fn is_normalized_by_query(train: &RankingDataset) -> bool {
    let width = train.feature_count;
    let readers = train.features.readers();
    let own = train.features.parts().own_rows(train.documents(), readers);
    // Queries that begin in the own rows.
    let starts = &train.offsets[..train.queries()];
    let queries = starts.partition_point(|&row| row < own.start)..starts.partition_point(|&row| row < own.end);
    let of_query = |rows: &[f32]| {
        let mut ranges = vec![(f32::INFINITY, f32::NEG_INFINITY); width];
        for row in rows.chunks_exact(width.max(1)) {
            for (range, value) in ranges.iter_mut().zip(row) {
                *range = (range.0.min(*value), range.1.max(*value));
            }
        }
        let varying = ranges.into_iter().filter(|&range| varies(range));
        varying.fold((0u64, 0u64), |(all, whole), range| (all + 1, whole + u64::from(range == (0.0, 1.0))))
    };
    let sum = |one: (u64, u64), other: (u64, u64)| (one.0 + other.0, one.1 + other.1);
    let mut found = (0, 0);
    train.each_block(queries, CELLS, |queries, rows| {
        let value = |q: usize| (train.offsets[q] - train.offsets[queries.start]) * width;
        let of = |q: usize| of_query(&rows[value(q)..value(q + 1)]);
        found = parallel::map(queries.clone(), of).into_iter().fold(found, sum);
    });
    let numbers = readers.gather_numbers(vec![found.0 as f64, found.1 as f64]);
    let (all, whole) = numbers.chunks_exact(2).fold((0.0, 0.0), |(all, whole), own| (all + own[0], whole + own[1]));
    all > 0.0 && whole >= NORMALIZED * all
}

/// Returns the mean and the inverse standard deviation of each feature. The inverse deviation is 0 for a constant
/// feature.
fn fit_z_score(train: &RankingDataset) -> (Vec<f64>, Vec<f64>) {
    let survey = train.features.survey(train.feature_count);
    let counts: Vec<f64> = survey.missing_of.iter().map(|missing| (train.documents() - missing) as f64).collect();
    let mean: Vec<f64> = survey.sums.iter().zip(&counts).map(|(sum, count)| sum / count).collect();
    // A deviation below the smallest double would give an infinite scale.
    let finite = |number: f64| if number.is_finite() { number } else { 0.0 };
    let variances = squares(train, &mean).into_iter().zip(&counts).map(|(sum, count)| sum / count);
    let scale = |(range, variance): ((f32, f32), f64)| if varies(range) { finite(1.0 / variance.sqrt()) } else { 0.0 };
    let scales = survey.ranges().into_iter().zip(variances).map(scale).collect();
    (mean.into_iter().map(finite).collect(), scales)
}

/// Returns, for each feature, the sum of `(x - mean)^2` over the documents in which the feature is present. The sum is
/// accumulated part by part, in the order of the documents.
fn squares(data: &RankingDataset, mean: &[f64]) -> Vec<f64> {
    let width = data.feature_count;
    let of_chunk = |rows: &[f32]| {
        let mut sums = vec![0.0f64; width];
        for row in rows.chunks_exact(width.max(1)) {
            for ((sum, mean), value) in sums.iter_mut().zip(mean).zip(row) {
                if !value.is_nan() {
                    let difference = f64::from(*value) - mean;
                    *sum += difference * difference;
                }
            }
        }
        sums
    };
    let add = |total: &mut Vec<f64>, sums: &[f64]| total.iter_mut().zip(sums).for_each(|(total, more)| *total += more);
    data.features.fold(width, data.features.readers(), vec![0.0; width], of_chunk, add, Vec::clone)
}

fn fit_quantiles(train: &RankingDataset) -> FeatureMap {
    let mut values = values_at(train, quantile_ranks);
    values.iter_mut().filter(|values| values.first() == values.last()).for_each(Vec::clear);
    FeatureMap::Quantile { values }
}

/// Returns, for each feature, the values at certain ranks of its training values in ascending order. Missing values are
/// left out. `places(n)` returns the wanted ranks among `n` values, in ascending order, possibly with repetitions.
fn values_at(train: &RankingDataset, places: impl Fn(usize) -> Vec<usize> + Sync) -> Vec<Vec<f32>> {
    let width = train.feature_count;
    if train.features.is_in_file() {
        let of = |feature: usize| places(train.documents() - train.features.missing_of(width, feature));
        return order_statistics(&train.features, &(0..width).map(of).collect::<Vec<Vec<usize>>>());
    }
    let of = |feature: usize| {
        let column = train.features.to_slice().iter().copied().skip(feature).step_by(width);
        let mut column: Vec<f32> = column.filter(|value| !value.is_nan()).collect();
        column.sort_unstable_by(f32::total_cmp);
        places(column.len()).into_iter().map(|place| column[place]).collect()
    };
    parallel::map(0..width, of)
}

fn fit_gauss(train: &RankingDataset) -> FeatureMap {
    // The share of the normal distribution below each knot.
    let step = 2.0 * FARTHEST / (QUANTILES - 1) as f64;
    let shares: Vec<f64> = (0..QUANTILES).map(|knot| share_below(knot as f64 * step - FARTHEST)).collect();
    // The smallest value, the values of the knots, and the largest value.
    let ranks = |values: usize| {
        let Some(last) = values.checked_sub(1) else { return Vec::new() };
        let inner = shares.iter().map(|share| ((share * values as f64) as usize).min(last));
        iter::once(0).chain(inner).chain(iter::once(last)).collect()
    };
    let knots = values_at(train, ranks);
    let of_feature = |of_knot: &Vec<_>| put_together(of_knot, &shares);
    let (values, places) = parallel::map(&knots, of_feature).into_iter().unzip();
    FeatureMap::Gauss { values, places }
}

/// Merges ascending knots of equal value. Returns the distinct values, each with its place in the standard normal
/// distribution. `found` holds the smallest training value, one value for each of `shares`, and the largest one. The
/// smallest and the largest value are knots of their own where they differ from all others, so that a value which few
/// documents have keeps a place of its own.
fn put_together(found: &[f32], shares: &[f64]) -> (Vec<f32>, Vec<f64>) {
    let (mut values, mut places) = (Vec::new(), Vec::new());
    let [low, of_knot @ .., high] = found else { return (values, places) };
    // A single value has no intervals.
    if low == high {
        return (values, places);
    }
    let mut first = 0;
    for same in of_knot.chunk_by(|one, next| one == next) {
        let last = first + same.len() - 1;
        values.push(same[0]);
        places.push(place_of((shares[first] + shares[last]) / 2.0));
        first = last + 1;
    }
    if *low < values[0] {
        values.insert(0, *low);
        places.insert(0, place_of(shares[0] / 2.0));
    }
    if values.last() < Some(high) {
        values.push(*high);
        places.push(place_of((1.0 + shares[shares.len() - 1]) / 2.0));
    }
    (values, places)
}

/// Given the number of sorted values, `values`, returns the ranks of the quantiles to keep.
fn quantile_ranks(values: usize) -> Vec<usize> {
    let last = values.saturating_sub(1);
    // With fewer documents than quantiles, every value is kept.
    let parts = (QUANTILES - 1).min(last);
    if parts == 0 {
        return Vec::new();
    }
    (0..=parts).map(|index| (index * last + parts / 2) / parts).collect()
}

/// Nodes and weights for integrating the normal density over up to 8 standard deviations, with no error other than
/// rounding.
static RULE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| gauss_legendre(40));

fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / TAU.sqrt()
}

/// Returns `Phi(z)`, the probability that a standard normal variable is below `z`, for `z` from -8 to 8.
pub(super) fn share_below(z: f64) -> f64 {
    let half = z / 2.0;
    let integral: f64 = RULE.iter().map(|(node, weight)| weight * density(half * (1.0 + node))).sum();
    0.5 + half * integral
}

/// Returns `Phi^-1(share)`, the number below which a standard normal variable lies with probability `share`, for shares
/// from 1e-12 to 1 - 1e-12.
fn place_of(share: f64) -> f64 {
    let (mut low, mut high) = (-8.0f64, 8.0f64);
    let mut z = 0.0f64;
    // Newton's method. Where a step would leave the interval, the interval is halved instead.
    for _ in 0..100 {
        let excess = share_below(z) - share;
        if excess > 0.0 {
            high = z;
        } else {
            low = z;
        }
        let step = excess / density(z);
        let next = z - step;
        // The next error is the square of this one.
        if step.abs() < 1e-9 {
            return next;
        }
        z = if low < next && next < high { next } else { f64::midpoint(low, high) };
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the distribution function with table values (Abramowitz and Stegun, table 26.1).
    #[test]
    fn shares_are_those_of_the_table() {
        for (z, share) in [
            (0.0, 0.5),
            (0.5, 0.691_462_461_274_013),
            (1.0, 0.841_344_746_068_543),
            (2.0, 0.977_249_868_051_821),
            (3.0, 0.998_650_101_968_370),
            (4.0, 0.999_968_328_758_167),
        ] {
            assert!((share_below(z) - share).abs() < 1e-14, "{z}: {}", share_below(z));
            assert!((share_below(-z) - (1.0 - share)).abs() < 1e-14, "-{z}");
        }
    }

    #[test]
    fn places_are_the_inverse() {
        for at in -312..=312 {
            let z = f64::from(at) / 100.0;
            let found = place_of(share_below(z));
            assert!((found - z).abs() < 1e-12, "{z}: {found}");
        }
        assert!(place_of(1e-12) < -7.0 && place_of(1.0 - 1e-12) > 7.0 && place_of(0.5).abs() < 1e-14);
    }
}
