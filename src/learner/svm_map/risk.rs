//! Computes the risk of SVMmap and its slope, from the most violated ranking of every query.

use super::{NAME, most_violated};
use crate::data::RankingDataset;
use crate::learner::error::LearnerError;
use crate::learner::shared::share::Share;
use crate::learner::solver::cutting_plane::Risk;
use crate::learner::solver::descending;
use crate::parallel;

/// The relevant and the irrelevant documents of a query, as indices counted from the first document of this process.
struct Query {
    relevant: Vec<usize>,
    irrelevant: Vec<usize>,
}

/// The risk in the objective of SVMmap, which is a mean over queries. Each process of the data's group holds some
/// queries, and every process gets the sums over all queries.
pub(super) struct ApRisk<'a> {
    share: Share<'a>,
    /// The queries of this process that have both relevant and irrelevant documents.
    queries: Vec<Query>,
    /// The number of queries, of the whole group, that have both relevant and irrelevant documents.
    count: f64,
}

impl<'a> ApRisk<'a> {
    pub(super) fn new(data: &'a RankingDataset) -> Result<Self, LearnerError> {
        let share = Share::new(data);
        let first = share.documents().start;
        let queries: Vec<Query> = share
            .queries()
            .map(|query| {
                let is_relevant = |&place: &usize| data.labels[first + place] >= 1.0;
                let (relevant, irrelevant) = share.places(query).partition(is_relevant);
                Query { relevant, irrelevant }
            })
            .filter(|query| !query.relevant.is_empty() && !query.irrelevant.is_empty())
            .collect();
        let count: f64 = share.gather(vec![queries.len() as f64]).iter().sum();
        if count == 0.0 {
            return Err(LearnerError::Data {
                learner: NAME,
                reason: "no training query has both relevant (label 1 or more) and irrelevant (label 0) documents, so \
                         average precision cannot be learned: check the labels, or choose another learner"
                    .into(),
            });
        }
        Ok(Self { share, queries, count })
    }

    pub(super) fn at(&self, weights: &[f64]) -> Risk {
        let scores = self.share.scores(weights);
        let of_query = |query: &Query| query.most_violated(&scores);
        let parts = parallel::map(&self.queries, of_query);
        let weight = 1.0 / self.count;
        let mut values = Vec::with_capacity(parts.len());
        let mut coefficients = vec![0.0; scores.len()];
        for (violation, slopes) in parts {
            values.push(weight * violation);
            slopes.into_iter().for_each(|(place, slope)| coefficients[place] = weight * slope);
        }
        Risk { value: self.share.gather(values).iter().sum(), slope: self.share.weighted_features(&coefficients) }
    }
}

impl Query {
    /// Returns the violation of the most violated ranking, and its derivative with respect to the score of each
    /// document.
    fn most_violated(&self, scores: &[f64]) -> (f64, Vec<(usize, f64)>) {
        let sorted = |documents: &[usize]| -> Vec<usize> {
            let own: Vec<f64> = documents.iter().map(|&document| scores[document]).collect();
            descending(&own).into_iter().map(|at| documents[at]).collect()
        };
        let (relevant, irrelevant) = (sorted(&self.relevant), sorted(&self.irrelevant));
        let scores_of = |documents: &[usize]| -> Vec<f64> { documents.iter().map(|&d| scores[d]).collect() };
        let ahead = most_violated::most_violated(&scores_of(&relevant), &scores_of(&irrelevant));
        // A relevant document has a_k inverted pairs, and the j-th irrelevant one has as many as there are k with a_k
        // >= j.
        let unit = 2.0 / (relevant.len() * irrelevant.len()) as f64;
        let behind = (1..=irrelevant.len()).map(|j| ahead.len() - ahead.partition_point(|&a| a < j));
        let lower = relevant.iter().zip(&ahead).map(|(&document, &a)| (document, -unit * a as f64));
        let raise = irrelevant.iter().zip(behind).map(|(&document, count)| (document, unit * count as f64));
        let slopes: Vec<(usize, f64)> = lower.chain(raise).collect();
        let margin: f64 = slopes.iter().map(|&(document, slope)| slope * scores[document]).sum();
        (most_violated::loss(&ahead) + margin, slopes)
    }
}
