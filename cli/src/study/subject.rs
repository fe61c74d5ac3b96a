//! Queries with labels and scores, for a study to examine.

use burn_rank::data::RankingDataset;
use burn_rank::loss::{LossSpec, explain};
use burn_rank::measure::{Convention, Measure, Ranking};
use burn_rank::seed::seed_for;
use burn_rank::workbench::label;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::StudyError;

/// One query.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredQuery {
    /// One score per document.
    pub scores: Vec<f64>,
    /// One label per document.
    pub labels: Vec<f64>,
}

/// Scored queries.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// Where the queries come from.
    pub origin: String,
    /// The queries with at least one relevant document (label 1 or above) and at least one irrelevant document.
    pub queries: Vec<ScoredQuery>,
}

impl Subject {
    /// Combines the queries in `data` with the scores of a ranker, one per document.
    pub fn new(origin: String, data: &RankingDataset, scores: &[f32]) -> Self {
        let query = |q: usize| {
            let range = data.range(q);
            ScoredQuery { scores: wide(&scores[range.clone()]), labels: wide(&data.labels[range]) }
        };
        let queries = (0..data.queries()).map(query).filter(|query| has_something_to_rank(&query.labels));
        Self { origin, queries: queries.collect() }
    }

    /// Generates queries of 5 to 60 documents, with labels distributed as in MSLR-WEB. Each score is the label plus
    /// noise with standard deviation 2, so the ranking is mediocre.
    pub fn generated(queries: usize, seed: u64) -> Self {
        let origin = format!("{queries} generated queries, seed {seed}");
        let query = |number: usize| {
            let mut random = ChaCha8Rng::seed_from_u64(seed_for(seed, "study", number as u64));
            let documents = random.random_range(5..=60);
            let mut labels: Vec<f64> = (0..documents).map(|_| f64::from(label(random.random()))).collect();
            (labels[0], labels[1]) = (0.0, labels[1].max(1.0));
            // Scores of a ranker are float32.
            let noise = |random: &mut ChaCha8Rng| (0..12).map(|_| random.random::<f64>() - 0.5).sum::<f64>();
            let scores = labels.iter().map(|label| f64::from((label + 2.0 * noise(&mut random)) as f32)).collect();
            ScoredQuery { scores, labels }
        };
        Self { origin, queries: (0..queries).map(query).collect() }
    }

    /// Returns the number of documents in all queries.
    pub fn documents(&self) -> usize {
        self.queries.iter().map(|query| query.scores.len()).sum()
    }
}

pub(super) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// Returns the number of labels of 1 or above.
pub(super) fn relevant(labels: &[f64]) -> usize {
    labels.iter().filter(|label| **label >= 1.0).count()
}

/// Returns whether there is a relevant and an irrelevant document.
pub(super) fn has_something_to_rank(labels: &[f64]) -> bool {
    (1..labels.len()).contains(&relevant(labels))
}

impl ScoredQuery {
    /// Returns the smallest difference between two scores, which is 0 in a tie.
    pub(super) fn smallest_difference(&self) -> f64 {
        let mut ascending = self.scores.clone();
        ascending.sort_by(f64::total_cmp);
        ascending.windows(2).map(|two| two[1] - two[0]).fold(f64::INFINITY, f64::min)
    }

    /// Computes a surrogate measure in double precision.
    pub(super) fn surrogate(&self, spec: &LossSpec) -> Result<f64, StudyError> {
        Ok(explain(spec.build()?.as_ref(), &self.scores, &self.labels, burn::tensor::DType::F64)?.value)
    }

    /// Computes the exact measure.
    pub(super) fn exact(&self, measure: Measure, convention: &Convention) -> Result<f64, StudyError> {
        let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<_>>();
        let (scores, labels) = (narrow(&self.scores), narrow(&self.labels));
        let ranking = Ranking { scores: &scores, labels: &labels, ids: None };
        Ok(measure.query(&ranking, convention)?.expect("a query with a relevant document"))
    }
}
