//! The working sets of all queries, to which each round adds permutations, and what a scorer does with them.

use std::ops::Range;
use std::sync::Arc;

use super::bounds::PermutationSet;
use super::search::Target;
use super::{NAME, Pairs};
use crate::learner::prelude::*;
use crate::learner::shared::context::Selection;
use crate::measure::convention::NegativeLabel;
use crate::measure::{Convention, Measure, Ranking, Ties};

/// A query for which an imperfect permutation exists, with its working sets.
#[derive(Clone)]
pub(super) struct Query<'a> {
    /// The index of the query in the dataset.
    pub(super) index: usize,
    /// The range of the query's documents in the training data.
    pub(super) documents: Range<usize>,
    /// The perfect and imperfect permutations found so far.
    pub(super) set: PermutationSet,
    target: Arc<Target<'a>>,
}

/// The working sets of all queries for which an imperfect permutation exists.
#[derive(Clone)]
pub(super) struct WorkingSets<'a> {
    pub(super) queries: Vec<Query<'a>>,
}

impl<'a> WorkingSets<'a> {
    /// Creates empty working sets for the queries of `data`. Queries that the convention leaves out, or for which every
    /// permutation is perfect, are ignored.
    pub(super) fn new(
        data: &'a RankingDataset,
        Selection { measure, convention, .. }: &'a Selection,
        pairs: Pairs,
    ) -> Result<Self> {
        let mut queries = Vec::new();
        for index in 0..data.queries() {
            let documents = data.range(index);
            let Some(target) = target(&data.labels[documents.clone()], *measure, convention, pairs)? else { continue };
            let worst = target.measure(&target.worst());
            if !(worst >= 0.0 && target.perfect <= 1.0 + 1e-9) {
                let found =
                    format!("{measure} (from {worst} to {} on query {})", target.perfect, data.query_ids[index]);
                return Err(checks::parameter("measure", found, "a measure with values in [0, 1]"));
            }
            if target.highest_imperfect(&vec![0.0; documents.len()]).is_some() {
                queries.push(Query { index, documents, set: target.empty.clone(), target: Arc::new(target) });
            }
        }
        if queries.is_empty() {
            let reason = format!("every order of every training query has the same {measure}: choose another measure");
            return Err(LearnerError::data(NAME, reason));
        }
        Ok(Self { queries })
    }

    /// Adds to each query the perfect permutation with the lowest `F` and the imperfect permutation with the highest
    /// `F` at these `scores`. Returns false if no working set has grown.
    pub(super) fn grow(&mut self, scores: &[f64]) -> bool {
        let of_query = |query: &mut Query| {
            let scores = &scores[query.documents.clone()];
            let perfect = query.set.insert_perfect(query.target.lowest_perfect(scores));
            let imperfect = query.target.highest_imperfect(scores).is_some_and(|order| {
                let measure = query.target.measure(&order);
                query.set.insert_imperfect(order, measure)
            });
            perfect | imperfect
        };
        parallel::map(&mut self.queries, of_query).contains(&true)
    }

    /// Returns the average number of perfect and of imperfect permutations per query.
    pub(super) fn mean_sizes(&self) -> [f64; 2] {
        let mean = |size: fn(&PermutationSet) -> usize| {
            self.queries.iter().map(|query| size(&query.set) as f64).sum::<f64>() / self.queries.len() as f64
        };
        [mean(|set| set.perfect.len()), mean(|set| set.imperfect.len())]
    }
}

/// Returns the document levels and the measure that the searches use for a query, or `None` if the convention leaves
/// the query out. Permutations have no ties, so document identifiers are not needed, even if the convention breaks ties
/// by identifier.
pub(super) fn target<'a>(
    labels: &'a [f32],
    measure: Measure,
    convention: &'a Convention,
    pairs: Pairs,
) -> Result<Option<Target<'a>>> {
    let levels = levels(labels, measure, convention);
    let convention = match convention.ties {
        Ties::DocumentIdDescending => Cow::Owned(Convention { ties: Ties::FileOrder, ..convention.clone() }),
        Ties::Average | Ties::FileOrder => Cow::Borrowed(convention),
    };
    let value = move |order: &[u32]| {
        let mut scores = vec![0.0; order.len()];
        order.iter().enumerate().for_each(|(place, &document)| scores[document as usize] = -(place as f32));
        measure.query(&Ranking { scores: &scores, labels, ids: None }, &convention)
    };
    // Either every order of a query is measurable, or none is.
    let in_file_order: Vec<u32> = (0..labels.len() as u32).collect();
    if value(&in_file_order)?.is_none() {
        return Ok(None);
    }
    let value = move |order: &[u32]| value(order).ok().flatten().unwrap_or(0.0);
    Ok(Some(Target::new(levels, pairs, measure.cutoff(), value)))
}

/// Returns the level of each document: the rank of its gain or relevance among the distinct values in the query.
fn levels(labels: &[f32], measure: Measure, convention: &Convention) -> Vec<u32> {
    let seen = |label: f64| match measure {
        Measure::Ndcg(_) | Measure::Dcg(_) => convention.gain.of(label),
        _ if measure.is_graded() => label,
        _ => f64::from(u8::from(label >= convention.relevant_from)),
    };
    let label = |&label: &f32| match convention.negative_label {
        NegativeLabel::Zero => f64::from(label).max(0.0),
        NegativeLabel::Refuse | NegativeLabel::Absent => f64::from(label),
    };
    let seen: Vec<f64> = labels.iter().map(label).map(seen).collect();
    let mut distinct = seen.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    seen.iter().map(|value| distinct.partition_point(|other| other < value) as u32).collect()
}

/// A scorer that can minimize the bound over given working sets of permutations.
pub(super) trait Bound {
    /// Returns the parameters from which the fit at every cost starts.
    fn start(&self) -> Vec<f64>;

    /// Prepares for a new cost, by forgetting the permutations for the previous cost.
    fn begin(&mut self, sets: &WorkingSets);

    /// Minimizes the bound over the working sets, starting from the parameters `start`.
    fn minimize(&mut self, sets: &WorkingSets, cost: f64, start: &[f64]) -> Result<Solved, String>;

    /// Returns the score of every document for the given parameters.
    fn scores(&self, parameters: &[f64], data: &RankingDataset) -> Vec<f64>;

    /// Returns the model with the given parameters.
    fn model(&self, parameters: &[f64]) -> Model;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::dataset;

    #[test]
    fn a_convention_that_orders_ties_by_document_needs_no_identifiers() {
        let trec_eval = Convention::preset("trec_eval").unwrap();
        let in_file_order = Convention { ties: Ties::FileOrder, ..trec_eval.clone() };
        let labels = [0.0, 2.0, -1.0, 1.0];
        let scores = [0.4, 0.1, 0.3, 0.2];
        for measure in ["ndcg", "ndcg@2", "map", "mrr", "p@2"].map(|name| name.parse::<Measure>().unwrap()) {
            let [found, expected] = [&trec_eval, &in_file_order]
                .map(|convention| target(&labels, measure, convention, Pairs::All).unwrap().unwrap());
            assert_eq!(found.perfect, expected.perfect, "{measure}");
            for order in [[0, 1, 2, 3], [1, 3, 2, 0], [2, 0, 3, 1]] {
                assert_eq!(found.measure(&order), expected.measure(&order), "{measure}");
            }
            assert_eq!(found.lowest_perfect(&scores), expected.lowest_perfect(&scores), "{measure}");
        }
        let data = dataset(1, &[&[(0.0, &[1.0]), (1.0, &[0.0])]]);
        let selection = Selection { convention: trec_eval, ..Selection::best(Measure::Ap(None)) };
        let sets = WorkingSets::new(&data, &selection, Pairs::All).unwrap();
        assert_eq!(sets.queries.len(), 1);
    }

    #[test]
    fn a_negative_label_that_counts_as_zero_has_the_level_of_zero() {
        let trec_eval = Convention::preset("trec_eval").unwrap();
        for measure in [Measure::Ndcg(None), "err".parse().unwrap(), Measure::Ap(None)] {
            assert_eq!(levels(&[0.0, 1.0, -1.0], measure, &trec_eval), [0, 1, 0], "{measure}");
        }
    }
}
