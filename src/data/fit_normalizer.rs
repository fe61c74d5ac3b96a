//! Fits normalizers to datasets, and applies them.

use std::iter;

use super::dataset::RankingDataset;
use super::error::DataError;
use super::indicators::Indicators;
use super::normal;
use super::normalizer::{FeatureMap, Normalizer, NormalizerKind};
use super::order_statistics::order_statistics;
use super::shards::CHUNK;
use crate::parallel;

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
                let varies = train.feature_ranges().into_iter().map(varies);
                FeatureMap::Log1p { scale: varies.map(|varies| f64::from(u8::from(varies))).collect() }
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
        Ok(normalizer.with_indicators(&normalized))
    }

    /// Adds what is needed to fill missing values: the means of the normalized training data, and the columns that mark
    /// missing values.
    pub(crate) fn with_indicators(self, normalized: &RankingDataset) -> Self {
        let documents = normalized.documents();
        let survey = normalized.features.survey(self.features);
        let counts = survey.missing_of.iter().map(|missing| documents - missing);
        let mean = |(sum, count): (&f64, usize)| if count == 0 { 0.0 } else { (sum / count as f64) as f32 };
        let means = survey.sums.iter().zip(counts).map(mean).collect();
        let is_partly_missing = |feature: &usize| (1..documents).contains(&survey.missing_of[feature - 1]);
        let columns = (1..=survey.missing_of.len()).filter(is_partly_missing).collect();
        Self { missing: Some(Indicators { means, columns }), ..self }
    }

    /// Fills missing values of normalized data, and adds the columns that mark them.
    pub(crate) fn fill(&self, normalized: &mut RankingDataset) {
        let Some(missing) = &self.missing else { return };
        if self.features == 0 {
            return;
        }
        normalized.features.fill(self, missing, &normalized.offsets);
        normalized.feature_count = missing.width();
        if !normalized.feature_names.is_empty() {
            let names = &mut normalized.feature_names;
            let added: Vec<String> = missing.columns.iter().map(|&at| missing_name(&names[at - 1])).collect();
            names.extend(added);
        }
    }

    /// Normalizes a dataset in place. With [indicators](Self::fit_with_indicators), the normalized dataset has
    /// [`columns`](Self::columns) features.
    ///
    /// # Errors
    /// Returns [`DataError::FeatureCount`] if the data and the training data differ in their number of features.
    pub fn apply(&self, data: &mut RankingDataset) -> Result<(), DataError> {
        if data.feature_count != self.features {
            return Err(DataError::FeatureCount { found: data.feature_count, expected: self.features });
        }
        self.map_features(data);
        self.fill(data);
        Ok(())
    }

    fn map_features(&self, data: &mut RankingDataset) {
        if self.features == 0 || matches!(self.map, FeatureMap::None) {
            return;
        }
        if data.features.normalize(self, &data.offsets) {
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
    let squares = squares(train, &mean);
    let varies = survey.ranges().into_iter().map(varies);
    let scale = varies
        .zip(squares.into_iter().zip(&counts))
        .map(|(varies, (sum, count))| if varies { 1.0 / (sum / count).sqrt() } else { 0.0 });
    // A deviation below the smallest double would give an infinite scale.
    let scale = scale.map(|scale| if scale.is_finite() { scale } else { 0.0 }).collect();
    (mean.iter().map(|mean| if mean.is_finite() { *mean } else { 0.0 }).collect(), scale)
}

/// Returns, for each feature, the sum of `(x - mean)^2` over the documents in which the feature is present. The sum is
/// accumulated part by part, in the order of the documents.
fn squares(data: &RankingDataset, mean: &[f64]) -> Vec<f64> {
    let width = data.feature_count;
    let of_chunk = |rows: &[f32]| {
        let mut sums = vec![0.0f64; width];
        for row in rows.chunks_exact(width) {
            for ((sum, mean), value) in sums.iter_mut().zip(mean).zip(row) {
                if !value.is_nan() {
                    let difference = f64::from(*value) - mean;
                    *sum += difference * difference;
                }
            }
        }
        sums
    };
    if data.features.parts().count() == 1 {
        let mut total = vec![0.0f64; width];
        data.features.each_chunk(width, data.features.readers(), of_chunk, |sums| add(&mut total, sums));
        return total;
    }
    let of_part = |part: usize| {
        let mut total = vec![0.0f64; width];
        if width > 0 {
            data.features.each_block_of_part(width, part, DOCUMENTS, |rows| {
                let chunks = parallel::map(rows.chunks(DOCUMENTS * width), of_chunk);
                chunks.iter().for_each(|sums| add(&mut total, sums));
            });
        }
        total
    };
    let parts = data.features.parts().gather_numbers(data.features.readers(), of_part);
    parts
        .into_iter()
        .reduce(|mut total, part| {
            add(&mut total, &part);
            total
        })
        .unwrap_or_default()
}

fn add(total: &mut [f64], more: &[f64]) {
    total.iter_mut().zip(more).for_each(|(total, more)| *total += more);
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
        let asked: Vec<Vec<usize>> = (0..width).map(of).collect();
        let mut once = asked.clone();
        once.iter_mut().for_each(Vec::dedup);
        let mut found = order_statistics(&train.features, &once);
        for (values, asked) in found.iter_mut().zip(&asked) {
            let same = asked.chunk_by(|one, next| one == next).zip(&*values);
            *values = same.flat_map(|(same, value)| std::iter::repeat_n(*value, same.len())).collect();
        }
        return found;
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
    let shares: Vec<f64> = (0..QUANTILES).map(|knot| normal::share_below(knot as f64 * step - FARTHEST)).collect();
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
        places.push(normal::place_of((shares[first] + shares[last]) / 2.0));
        first = last + 1;
    }
    if *low < values[0] {
        values.insert(0, *low);
        places.insert(0, normal::place_of(shares[0] / 2.0));
    }
    if values.last() < Some(high) {
        values.push(*high);
        places.push(normal::place_of((1.0 + shares[shares.len() - 1]) / 2.0));
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
