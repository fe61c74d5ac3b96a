//! Permutation importance tells how much a measure drops when the values of one feature are shuffled. Breiman
//! introduced permutation importance in "Random forests" (2001), section 10. This version works with any ranking
//! measure, query by query.
//!
//! Permutation importance trains no new ranker. An importance describes how this ranker uses a feature. If two features
//! carry the same information, the ranker may use only one of them. When values are shuffled within queries, a feature
//! that is constant within each query has an importance of 0. When values are shuffled across queries, a feature that
//! is constant within queries can matter in combination with others.
//!
//! To compute importances, the ranker scores the data once unchanged, and then once for each shuffle of each feature.

use std::num::NonZeroUsize;

use burn::tensor::Device;
use rand::seq::SliceRandom;

use super::artifact::Ranker;
use super::error::RankerError;
use crate::data::RankingDataset;
use crate::measure::{Convention, Measure, evaluate};
use crate::seed::{random_for, seed_for};

/// The settings for computing the importance of each feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermutationImportance {
    /// The number of times that each feature is shuffled; the resulting losses are averaged.
    pub repeats: NonZeroUsize,
    /// The seed of the shuffles. A feature is shuffled in the same way regardless of which other features the data
    /// have.
    pub seed: u64,
    /// Whether to shuffle among all documents instead of within each query.
    pub across_queries: bool,
}

impl PermutationImportance {
    /// Computes how much the measure drops, for each query, when one feature is shuffled. Returns a list for each
    /// feature of the data, in order. The loss of a query is its measure minus the mean of the measure over the
    /// shuffles, or `None` if the convention excludes the query. `done` is called with 0 at the start, and after each
    /// feature with the number of features finished so far.
    ///
    /// # Errors
    /// Returns [`RankerError`] if the ranker cannot score the data, or if the measure is not defined for them.
    pub fn of(
        &self,
        ranker: &Ranker,
        data: &RankingDataset,
        measure: Measure,
        convention: &Convention,
        device: &Device,
        done: &dyn Fn(usize),
    ) -> Result<Vec<Vec<Option<f64>>>, RankerError> {
        let values = |data: &RankingDataset| -> Result<Vec<Option<f64>>, RankerError> {
            let scores = ranker.predict(data, device)?;
            let found = evaluate(&data.rankings(&scores), &[measure], convention)?;
            Ok(found.per_query.into_iter().next().unwrap_or_default())
        };
        let whole = values(data)?;
        done(0);
        let mut shuffled = data.clone();
        let mut losses = Vec::with_capacity(data.feature_count);
        for feature in 0..data.feature_count {
            let column: Vec<f32> =
                data.features.to_slice().iter().skip(feature).step_by(data.feature_count).copied().collect();
            let mut sums = vec![0.0; whole.len()];
            for repeat in 0..self.repeats.get() {
                place(&mut shuffled, feature, self.shuffle(column.clone(), &data.offsets, feature, repeat));
                // The code adds differences, so a feature that changes nothing loses exactly 0.
                for (sum, (whole, value)) in sums.iter_mut().zip(whole.iter().zip(values(&shuffled)?)) {
                    *sum += whole.unwrap_or_default() - value.unwrap_or_default();
                }
            }
            place(&mut shuffled, feature, column);
            let of_query = |(whole, sum): (&Option<f64>, f64)| whole.map(|_| sum / self.repeats.get() as f64);
            losses.push(whole.iter().zip(sums).map(of_query).collect());
            done(feature + 1);
        }
        Ok(losses)
    }

    fn shuffle(&self, mut column: Vec<f32>, offsets: &[usize], feature: usize, repeat: usize) -> Vec<f32> {
        let seed = seed_for(self.seed, "permutation", feature as u64);
        let mut random = random_for(seed, "repeat", repeat as u64);
        if self.across_queries {
            column.shuffle(&mut random);
        } else {
            offsets.windows(2).for_each(|query| column[query[0]..query[1]].shuffle(&mut random));
        }
        column
    }
}

/// Overwrites the values of one feature in all documents with `column`.
fn place(data: &mut RankingDataset, feature: usize, column: Vec<f32>) {
    let cells = data.features.to_mut_slice().iter_mut().skip(feature).step_by(data.feature_count);
    cells.zip(column).for_each(|(cell, value)| *cell = value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Normalizer, NormalizerKind};
    use crate::ranker::{Metadata, Model, Node, TreeEnsemble};

    /// Creates a ranker that scores a document by a single test: whether its second feature is above 1/2.
    fn looks_at_the_second() -> Ranker {
        let mut trees = TreeEnsemble::new(3);
        let leaf = |value| Node::Leaf { value };
        trees
            .push(&[
                Node::Split { feature: 1, threshold: 0.5, left: 1, right: 2, missing_left: true },
                leaf(0.0),
                leaf(1.0),
            ])
            .unwrap();
        Ranker::new(Normalizer::fit(&data(), NormalizerKind::None), Model::Trees(trees), Metadata::default()).unwrap()
    }

    /// Creates three queries. In the first two queries, the second feature marks the relevant document; the third has
    /// no relevant document.
    fn data() -> RankingDataset {
        let features = vec![1.0, 1.0, 0.3, 0.0, 0.0, 0.1, 0.0, 1.0, 0.2, 1.0, 0.0, 0.9, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        RankingDataset::builder()
            .features(features, 3)
            .labels(vec![1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
            .query_sizes(&[2, 2, 2])
            .build()
            .unwrap()
    }

    fn losses(across_queries: bool) -> Vec<Vec<Option<f64>>> {
        let importance = PermutationImportance { repeats: NonZeroUsize::new(64).unwrap(), seed: 1, across_queries };
        let convention = Convention::preset("standard").unwrap();
        importance
            .of(&looks_at_the_second(), &data(), "mrr".parse().unwrap(), &convention, &Device::flex(), &|_| {})
            .unwrap()
    }

    #[test]
    fn only_what_the_ranker_looks_at_loses() {
        let found = losses(false);
        assert_eq!(found.len(), 3);
        for feature in [0, 2] {
            assert_eq!(found[feature], [Some(0.0), Some(0.0), None]);
        }
        // Swapped in half of the shuffles, which turns a reciprocal rank of 1 into 1/2: a loss of 1/4 on average.
        for loss in found[1][..2].iter().flatten() {
            assert!((0.15..0.35).contains(loss), "{loss}");
        }
        assert_eq!(found, losses(false));
    }

    #[test]
    fn a_feature_of_the_query_counts_only_across_queries() {
        // The second feature tells the queries apart, not their documents.
        let mut data = data();
        for (document, value) in [1.0, 1.0, 0.0, 0.0, 1.0, 1.0].into_iter().enumerate() {
            data.features.to_mut_slice()[document * 3 + 1] = value;
        }
        let convention = Convention::preset("standard").unwrap();
        let of = |across_queries, seed| {
            let importance = PermutationImportance { repeats: NonZeroUsize::new(16).unwrap(), seed, across_queries };
            let measure = "mrr".parse().unwrap();
            let found = importance.of(&looks_at_the_second(), &data, measure, &convention, &Device::flex(), &|_| {});
            found.unwrap().swap_remove(1)
        };
        assert_eq!(of(false, 1), [Some(0.0), Some(0.0), None]);
        // A single seed might end with as many gains as losses.
        assert!((1..5).any(|seed| of(true, seed).iter().flatten().any(|loss| *loss != 0.0)));
    }
}
