//! Single features that serve as weak rankers.

use std::ops::Range;

use super::{AdaRankConfig, Directions, Member, WeakRankers, checked, measured};
use crate::learner::prelude::*;
use crate::learner::shared::judge::Judge;

/// A feature that ranks documents by its value, in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct FeatureRanker {
    /// The index of the feature, counted from 0.
    pub feature: usize,
    /// 1 if the largest value ranks first, -1 if the smallest value ranks first.
    pub direction: f64,
}

/// All features that may serve as weak rankers, with the measure `E` that each achieves on each query. Each process of
/// the group evaluates `E` for some of the features.
pub(super) struct FeatureRankers<'a> {
    config: &'a AdaRankConfig,
    job: Job<'a>,
    /// The rankers of all features that are not constant, in the order of the features. For each feature, the
    /// descending ranker comes first.
    rankers: Vec<FeatureRanker>,
    /// The range of indices into `rankers` for which this process evaluates `E`.
    own: Range<usize>,
    /// For each ranker in `own`, the measure `E` on each query that the convention counts.
    values: Vec<Vec<f64>>,
}

impl<'a> FeatureRankers<'a> {
    pub(super) fn new(config: &'a AdaRankConfig, judge: &Judge, job: Job<'a>) -> Result<Self> {
        let train = job.train;
        let directions: &[f64] = match config.directions {
            Directions::Both => &[1.0, -1.0],
            Directions::Descending => &[1.0],
            Directions::Ascending => &[-1.0],
        };
        let rankers: Vec<FeatureRanker> = (0..)
            .zip(train.feature_ranges())
            .filter(|(_, (smallest, largest))| smallest < largest)
            .flat_map(|(feature, _)| directions.iter().map(move |&direction| FeatureRanker { feature, direction }))
            .collect();
        let own = own(rankers.len(), train.group());
        // A thread of one process measures each ranker.
        let measured = |rankers: &[FeatureRanker]| -> Result<Vec<Vec<f64>>> {
            let of_ranker = |ranker| checked(judge, &judge.values(train, &scores(ranker, train))?);
            parallel::map(rankers, of_ranker).into_iter().collect()
        };
        let mut values = measured(&rankers[own.clone()]);
        // If one process cannot measure, all of them return an error.
        if train.group().any(values.is_err()) {
            values = measured(&rankers);
        }
        Ok(Self { config, job, rankers, own, values: values? })
    }
}

fn scores(ranker: &FeatureRanker, data: &RankingDataset) -> Vec<f64> {
    let column = data.features.to_slice().iter().skip(ranker.feature).step_by(data.feature_count);
    column.map(|&x| ranker.direction * f64::from(x)).collect()
}

/// The relative rounding error of a sum over queries, which depends on the order of addition. Rankers whose `phi`
/// differs by less are treated as equally good.
const ROUNDING: f64 = 1e-12;

impl WeakRankers for FeatureRankers<'_> {
    type Ranker = FeatureRanker;

    fn choose(
        &self,
        distribution: &[f64],
        _round: usize,
        members: &[Member<FeatureRanker>],
    ) -> Result<Option<FeatureRanker>> {
        let used = |ranker: &FeatureRanker| members.iter().any(|member| member.ranker.feature == ranker.feature);
        let of = |values: &Vec<f64>| distribution.iter().zip(values).map(|(weight, value)| weight * value).sum();
        let phis = self.job.train.group().gather_numbers(self.values.iter().map(of).collect());
        let mut best: Option<(f64, FeatureRanker)> = None;
        for (ranker, phi) in self.rankers.iter().zip(phis) {
            if !self.config.reuse && used(ranker) {
                continue;
            }
            if best.is_none_or(|(best, _)| phi > best * (1.0 + ROUNDING)) {
                best = Some((phi, *ranker));
            }
        }
        Ok(best.map(|(_, ranker)| ranker))
    }

    fn scores(&self, ranker: &FeatureRanker, data: &RankingDataset) -> Result<Vec<f64>> {
        Ok(scores(ranker, data))
    }

    fn values(&self, ranker: &FeatureRanker, judge: &Judge, train: &RankingDataset) -> Result<Vec<f64>> {
        match self.rankers.iter().position(|known| known == ranker) {
            Some(known) if self.own.contains(&known) => {
                Ok(self.job.train.group().gather_numbers(self.values[known - self.own.start].clone()))
            }
            // Another process has the values.
            Some(_) => Ok(self.job.train.group().gather_numbers(Vec::new())),
            None => measured(judge, train, &scores(ranker, train)),
        }
    }

    fn figures(&self, ranker: &FeatureRanker) -> Vec<(String, f64)> {
        vec![("feature".into(), (ranker.feature + 1) as f64), ("direction".into(), ranker.direction)]
    }

    fn model(&self, members: &[Member<FeatureRanker>]) -> Result<Model> {
        let mut weights = vec![0.0; self.job.train.feature_count];
        for Member { alpha, ranker } in members {
            weights[ranker.feature] += alpha * ranker.direction;
        }
        Ok(linear_model(&weights, 0.0, &self.job.context.device))
    }
}
