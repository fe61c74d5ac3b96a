//! The inputs that studies accept: generated queries, rankings, training data, and finished cross-validations. A
//! ranking is a list of queries with labels and scores.
//!
//! Finished cross-validations provide the test queries of all folds, together with their scores. The documents of every
//! query are scored by the ranker of the fold that tested the query. So no ranker is judged by its training queries. If
//! a run has several seeds, only the first one is used.

use std::path::Path;

use burn_rank::data::RankingDataset;
use burn_rank::json::Value;
use burn_rank::loss::{LossSpec, explain};
use burn_rank::measure::{Convention, Measure, Ranking};
use burn_rank::seed::seed_for;
use burn_rank::workbench::label;
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::experiment::{Experiment, ExperimentConfig, ExperimentError, KeptRun, Split};

/// The result of a part of a study.
pub(super) type Result<T = (), E = ExperimentError> = std::result::Result<T, E>;

/// The data on which a study trains and tests rankers.
#[derive(Debug, Clone)]
pub struct Material {
    /// Where the data come from, as shown in messages and tables.
    pub(super) origin: String,
    pub(super) split: Split,
    /// The configuration, whose learner and loss a study replaces with its own.
    pub(super) config: ExperimentConfig,
}

impl Material {
    /// Takes the data of a split from a configuration of `train` or from a run.
    pub fn new(from: &Path, config: &Experiment, split: Split) -> Self {
        Self { origin: format!("{}, fold {}", from.display(), split.fold), split, config: config.config.clone() }
    }
}

/// The data that a study examines.
#[derive(Debug, Clone)]
pub enum Source {
    /// Queries that the study generates itself.
    Generated {
        /// The number of queries with scores, for studies that examine a ranking.
        queries: usize,
        /// The seed from which all data are generated.
        seed: u64,
    },
    /// Queries with the scores of one ranker.
    Ranking(Subject),
    /// Queries with the scores of two rankers, for the same documents in the same order.
    Rankings(Subject, Subject),
    /// Data to train on.
    Training(Box<Material>),
    /// Finished cross-validations that use the same folds and kept their scores or rankers.
    Runs(Box<Runs>),
}

/// The kinds of [`Source`], in the words of error messages.
pub(super) const GENERATED: &str = "generated data";
pub(super) const RANKING: &str = "a ranking";
pub(super) const RANKINGS: &str = "two rankings";
pub(super) const TRAINING: &str = "data to train on";
pub(super) const RUNS: &str = "kept runs";

impl Source {
    /// Returns which kind of source this is.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Source::Generated { .. } => GENERATED,
            Source::Ranking(_) => RANKING,
            Source::Rankings(..) => RANKINGS,
            Source::Training(_) => TRAINING,
            Source::Runs(_) => RUNS,
        }
    }

    /// Returns the seed of generated data. For other sources, returns 1, which is the seed of everything else that a
    /// study generates.
    pub(super) fn seed(&self) -> u64 {
        match self {
            Source::Generated { seed, .. } => *seed,
            _ => 1,
        }
    }

    /// Rejects rankings in which no query can be ranked, or in which a score is not finite.
    pub(super) fn check(&self) -> Result {
        let subjects = match self {
            Source::Ranking(subject) => vec![subject],
            Source::Rankings(first, second) => vec![first, second],
            Source::Runs(runs) => runs.runs.iter().map(|run| &run.subject).collect(),
            Source::Generated { .. } | Source::Training(_) => vec![],
        };
        for subject in subjects {
            let refused = |found: &str| Err(ExperimentError::Input(format!("{}: {found}", subject.origin)));
            if subject.queries.is_empty() {
                return refused("found no query with a relevant and an irrelevant document, expected one or more");
            }
            let mut scores = subject.queries.iter().flat_map(|query| &query.scores);
            if let Some(found) = scores.find(|score| !score.is_finite()) {
                return refused(&format!("found the score {found}, expected finite numbers"));
            }
        }
        Ok(())
    }
}

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
            let mut random = random(seed, "study", number);
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

    /// Computes a surrogate measure of each query.
    pub(super) fn surrogates(&self, spec: &LossSpec) -> Result<Vec<f64>> {
        self.queries.iter().map(|query| query.surrogate(spec)).collect()
    }

    /// Computes a measure of each query, in the standard convention.
    pub(super) fn measured(&self, measure: Measure) -> Result<Vec<f64>> {
        let convention = Convention::default();
        self.queries.iter().map(|query| query.exact(measure, &convention)).collect()
    }

    /// Returns the number of documents in all queries.
    pub fn documents(&self) -> usize {
        self.queries.iter().map(|query| query.scores.len()).sum()
    }
}

pub(super) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// Returns the random number generator for a purpose and a number.
pub(super) fn random(seed: u64, purpose: &str, number: usize) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed_for(seed, purpose, number as u64))
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

    /// Returns the DCG of the best order.
    pub(super) fn ideal_dcg(&self) -> f64 {
        let mut labels = self.labels.clone();
        labels.sort_by(|left, right| right.total_cmp(left));
        labels.iter().zip(1u32..).map(|(label, rank)| gain(*label) * discount(f64::from(rank))).sum()
    }

    /// Computes a surrogate measure in double precision.
    pub(super) fn surrogate(&self, spec: &LossSpec) -> Result<f64> {
        Ok(explain(spec.build()?.as_ref(), &self.scores, &self.labels, burn::tensor::DType::F64)?.value)
    }

    /// Computes the exact measure.
    pub(super) fn exact(&self, measure: Measure, convention: &Convention) -> Result<f64> {
        let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<_>>();
        let (scores, labels) = (narrow(&self.scores), narrow(&self.labels));
        let ranking = Ranking { scores: &scores, labels: &labels, ids: None };
        Ok(measure.query(&ranking, convention)?.expect("a query with a relevant document"))
    }
}

/// The discount of NDCG at a rank, or at a position.
pub(super) fn discount(rank: f64) -> f64 {
    1.0 / (1.0 + rank).log2()
}

/// The gain of NDCG.
pub(super) fn gain(label: f64) -> f64 {
    label.exp2() - 1.0
}

/// Cross-validations with the same test queries.
#[derive(Debug, Clone)]
pub struct Runs {
    /// The runs in the order in which they were given.
    pub(super) runs: Vec<RunSubject>,
    /// The data of the first fold in the first run.
    pub(super) material: Material,
}

/// One run: its learner and its loss, and the test queries with the run's scores. Learner and loss are unknown if folds
/// selected different settings.
#[derive(Debug, Clone)]
pub struct RunSubject {
    /// The name of the run in tables, which is the name of its folder.
    pub name: String,
    /// The kind of learner that was trained; empty if it is unknown.
    pub learner: String,
    /// The name of the loss, if the learner uses one.
    pub loss: Option<String>,
    /// The cut-off `k` of the loss, if it has one.
    pub cut_off: Option<usize>,
    /// The test queries of all folds.
    pub subject: Subject,
}

impl Runs {
    /// Makes an input for studies from runs that kept their scores or rankers.
    ///
    /// # Errors
    /// Returns an error if there is no run, if the test queries of two runs differ, or if data cannot be read.
    pub fn new(kept: Vec<KeptRun>) -> Result<Self> {
        let nothing = "found no run with a fold, expected folders of finished `cv` runs that kept scores or rankers";
        let first = kept.first().ok_or_else(|| ExperimentError::Input(nothing.to_string()))?;
        let tests = |run: &KeptRun| -> Vec<String> {
            run.report.details.iter().filter_map(|fold| Some(fold.data.test.as_ref()?.hash.clone())).collect()
        };
        let expected = tests(first);
        if let Some(other) = kept.iter().find(|run| tests(run) != expected) {
            let (found, expected) = (other.folder.display(), first.folder.display());
            let message = format!("{found}: tested on other queries, features or folds than {expected}");
            return Err(ExperimentError::Input(message));
        }
        let material = Material::new(&first.folder, &first.config, first.first_split()?);
        Ok(Self { runs: kept.into_iter().map(RunSubject::of).collect(), material })
    }

    /// Returns the first run that was trained with one of these losses; if there is none, the first run.
    pub(super) fn trained_by(&self, losses: &[&str]) -> &RunSubject {
        let of = |run: &&RunSubject| run.loss.as_deref().is_some_and(|loss| losses.contains(&loss));
        self.runs.iter().find(of).unwrap_or(&self.runs[0])
    }

    /// Returns the first run with this learner.
    pub(super) fn of_learner(&self, learner: &str) -> Option<&RunSubject> {
        self.runs.iter().find(|run| run.learner == learner)
    }
}

impl RunSubject {
    fn of(run: KeptRun) -> Self {
        let folder = run.folder.file_name().unwrap_or(run.folder.as_os_str()).to_string_lossy().into_owned();
        let folds = run.folds.len();
        let seed = run.report.result.seeds.first().copied().unwrap_or(run.config.seed);
        let seeds = if run.report.result.seeds.len() > 1 { format!(", seed {seed}") } else { String::new() };
        let origin = format!("{folder}, test queries of {folds} folds{seeds}");
        let scored = run.folds.iter().filter_map(|fold| Some((&fold.test, fold.scores.first()?)));
        let queries = scored.flat_map(|(test, scores)| Subject::new(String::new(), test, scores).queries);
        let subject = Subject { origin, queries: queries.collect() };
        let learner = run.selected.as_ref().map(|of| of.learner_kind().to_string()).unwrap_or_default();
        let loss = run.selected.as_ref().and_then(|of| of.loss.as_ref());
        let cut_off = loss.and_then(|loss| loss.params.get("k")).and_then(Value::as_u64).map(|k| k as usize);
        Self { name: folder, learner, loss: loss.map(|loss| loss.name.clone()), cut_off, subject }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use burn_rank::data::SynthConfig;
    use burn_rank::json::from_value;
    use burn_rank::workbench::json::json;

    use super::*;

    /// Returns runs with the given learners, losses, cut-offs and scored test queries.
    pub(in crate::study) fn runs(of: &[(&str, Option<&str>, Option<usize>, Subject)]) -> Runs {
        let data = SynthConfig { queries: 4, features: 3, ..SynthConfig::default() }.generate().unwrap();
        let config = from_value(json!({"data": {"synthetic": {}}, "learner": {"kind": "regression"}})).unwrap();
        let config = Experiment::new(config).unwrap();
        let split = Split { fold: 1, train: data.clone(), validation: Some(data.clone()), test: Some(data) };
        let run = |(learner, loss, cut_off, subject): &(&str, Option<&str>, Option<usize>, Subject)| RunSubject {
            name: format!("{learner} {}", loss.unwrap_or_default()),
            learner: (*learner).to_string(),
            loss: loss.map(str::to_string),
            cut_off: *cut_off,
            subject: subject.clone(),
        };
        Runs { runs: of.iter().map(run).collect(), material: Material::new(Path::new("a test"), &config, split) }
    }

    #[test]
    fn a_study_finds_the_run_that_it_is_about() {
        let subject = Subject::generated(2, 1);
        let runs = runs(&[
            ("rank_svm", None, None, subject.clone()),
            ("gradient", Some("approx_ap"), None, subject.clone()),
            ("gradient", Some("soft_ndcg"), None, subject),
        ]);
        assert_eq!(runs.trained_by(&["soft_ndcg"]).loss.as_deref(), Some("soft_ndcg"));
        assert_eq!(runs.trained_by(&["approx_ndcg"]).learner, "rank_svm", "the first, for want of one");
        assert_eq!(runs.of_learner("gradient").unwrap().loss.as_deref(), Some("approx_ap"));
        assert!(runs.of_learner("ada_rank").is_none());
    }
}
