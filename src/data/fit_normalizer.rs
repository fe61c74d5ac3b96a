//! Normalisers are fitted to datasets and applied to them.

use rayon::prelude::*;

use super::dataset::RankingDataset;
use super::error::DataError;
use super::normalizer::{FeatureMap, Normalizer, NormalizerKind};
use super::order_statistics::order_statistics;
use super::parts::CHUNK;
use crate::distributed::{OneProcess, Processes};

/// Largest number of quantiles kept per feature.
const QUANTILES: usize = 257;

/// Number of documents per task.
const DOCUMENTS: usize = CHUNK;

impl Normalizer {
    /// Fits a normaliser to training data.
    pub fn fit(train: &RankingDataset, kind: NormalizerKind) -> Self {
        Self::fit_in(train, kind, &OneProcess)
    }

    /// Fits a normaliser to training data that the processes read together where they are streamed.
    pub(crate) fn fit_in(train: &RankingDataset, kind: NormalizerKind, processes: &dyn Processes) -> Self {
        let map = match kind {
            NormalizerKind::None => FeatureMap::None,
            NormalizerKind::QueryMinMax => FeatureMap::QueryMinMax,
            NormalizerKind::ZScore => fit_z_score(train, processes),
            NormalizerKind::Log1p => {
                let varies = train.feature_ranges_in(processes).into_iter().map(varies);
                FeatureMap::Log1p { scale: varies.map(|varies| f64::from(u8::from(varies))).collect() }
            }
            NormalizerKind::Quantile => fit_quantiles(train, processes),
        };
        Self { features: train.feature_count, map }
    }

    /// Normalises a dataset in place.
    ///
    /// # Errors
    /// [`DataError::FeatureCount`] if the number of features is not the one that the normaliser was fitted on.
    pub fn apply(&self, data: &mut RankingDataset) -> Result<(), DataError> {
        if data.feature_count != self.features {
            return Err(DataError::FeatureCount { found: data.feature_count, expected: self.features });
        }
        if self.features == 0 || matches!(self.map, FeatureMap::None) {
            return Ok(());
        }
        if data.features.normalize(self, &data.offsets) {
            return Ok(());
        }
        if !matches!(self.map, FeatureMap::QueryMinMax) {
            let documents = data.features.par_chunks_mut(DOCUMENTS * self.features);
            documents.for_each(|rows| self.apply_rows(rows));
            return Ok(());
        }
        let mut queries = Vec::with_capacity(data.queries());
        let mut rest = &mut data.features[..];
        for pair in data.offsets.windows(2) {
            let (query, behind) = rest.split_at_mut((pair[1] - pair[0]) * self.features);
            queries.push(query);
            rest = behind;
        }
        queries.into_par_iter().for_each(|rows| self.apply_rows(rows));
        Ok(())
    }
}

fn varies((low, high): (f32, f32)) -> bool {
    high > low
}

fn fit_z_score(train: &RankingDataset, processes: &dyn Processes) -> FeatureMap {
    let survey = train.features.survey(train.feature_count, processes);
    let counts: Vec<f64> = survey.missing_of.iter().map(|missing| (train.documents() - missing) as f64).collect();
    let mean: Vec<f64> = survey.sums.iter().zip(&counts).map(|(sum, count)| sum / count).collect();
    let squares = squares(train, &mean, processes);
    let varies = survey.ranges().into_iter().map(varies);
    let scale = varies
        .zip(squares.into_iter().zip(&counts))
        .map(|(varies, (sum, count))| if varies { 1.0 / (sum / count).sqrt() } else { 0.0 });
    // A deviation below the smallest double would give an infinite scale.
    let scale = scale.map(|scale| if scale.is_finite() { scale } else { 0.0 }).collect();
    FeatureMap::ZScore { mean: mean.iter().map(|mean| if mean.is_finite() { *mean } else { 0.0 }).collect(), scale }
}

/// The sum of the squared differences from the mean over all documents that have the value, for each feature: part by
/// part, in the order of the documents.
fn squares(data: &RankingDataset, mean: &[f64], processes: &dyn Processes) -> Vec<f64> {
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
        data.features.each_chunk(width, processes, of_chunk, |sums| add(&mut total, sums));
        return total;
    }
    let of_part = |part: usize| {
        let mut total = vec![0.0f64; width];
        if width > 0 {
            data.features.each_block_of_part(part, DOCUMENTS, |rows| {
                let chunks: Vec<Vec<f64>> = rows.par_chunks(DOCUMENTS * width).map(of_chunk).collect();
                chunks.iter().for_each(|sums| add(&mut total, sums));
            });
        }
        total
    };
    let parts = data.features.parts().gather_numbers(data.features.readers(processes), of_part);
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

fn fit_quantiles(train: &RankingDataset, processes: &dyn Processes) -> FeatureMap {
    let width = train.feature_count;
    if let Some(file) = train.features.in_file() {
        let ranks_of = |feature: usize| quantile_ranks(train.documents() - file.missing_of()[feature]);
        let ranks: Vec<Vec<usize>> = (0..width).map(ranks_of).collect();
        let mut values = order_statistics(&train.features, &ranks, processes);
        values.iter_mut().filter(|values| values.first() == values.last()).for_each(Vec::clear);
        return FeatureMap::Quantile { values };
    }
    let quantiles = |feature: usize| {
        let column = train.features.iter().copied().skip(feature).step_by(width);
        let mut column: Vec<f32> = column.filter(|value| !value.is_nan()).collect();
        column.sort_unstable_by(f32::total_cmp);
        if column.first() == column.last() {
            return Vec::new();
        }
        quantile_ranks(column.len()).into_iter().map(|rank| column[rank]).collect()
    };
    FeatureMap::Quantile { values: (0..width).into_par_iter().map(quantiles).collect() }
}

/// The places of the quantiles that are kept of so many values in ascending order.
fn quantile_ranks(values: usize) -> Vec<usize> {
    let last = values.saturating_sub(1);
    // With fewer documents than quantiles, every value is kept.
    let parts = (QUANTILES - 1).min(last);
    if parts == 0 {
        return Vec::new();
    }
    (0..=parts).map(|index| (index * last + parts / 2) / parts).collect()
}
