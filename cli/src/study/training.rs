//! Trains rankers for studies, on data from a configuration or on generated data.

use burn_rank::data::SynthConfig;
use burn_rank::data::letor::Missing;
use burn_rank::json::{Value, from_value};
use burn_rank::loss::explain;

use super::source::{has_something_to_rank, wide};
use super::*;
use crate::experiment::{Experiment, Fit, FitOptions, Split, fit, fit_normalizer};

/// The number of generated queries for training, validation and test.
const QUERIES: [usize; 3] = [80, 40, 160];
/// The number of generated queries for training, validation and test in a quick study.
const QUICK: [usize; 3] = [16, 8, 24];

impl Material {
    /// Takes the data from the source, or generates them.
    pub(super) fn of(setting: &Setting) -> Result<Self> {
        let counts @ [train, validation, test] = match setting.source {
            Source::Training(material) => return Ok((**material).clone()),
            Source::Runs(runs) => return Ok(runs.material.clone()),
            _ if setting.quick => QUICK,
            _ => QUERIES,
        };
        let seed = setting.source.seed();
        let generator = SynthConfig {
            queries: counts.iter().sum(),
            features: 10,
            seed,
            median_length: 15.0,
            max_length: 30,
            ..SynthConfig::default()
        };
        let whole = generator.generate()?;
        let mut queries = 0..;
        let mut take = |count: usize| whole.select(&queries.by_ref().take(count).collect::<Vec<usize>>());
        let split = Split { fold: 1, train: take(train), validation: Some(take(validation)), test: Some(take(test)) };
        let config = json!({"data": {"synthetic": {}}, "learner": {"kind": "regression"}, "normalizer": "z_score", "seed": seed});
        Ok(Self {
            origin: format!(
                "{train} generated queries for training, {validation} for selection and {test} for testing, seed {seed}"
            ),
            split,
            config: from_value(config).expect("a configuration"),
        })
    }

    /// Returns the test queries, or an error if there are none.
    pub(super) fn test(&self) -> Result<&RankingDataset> {
        let nothing = "found no queries to test on, expected some in data.test or data.folds";
        self.split.test.as_ref().ok_or_else(|| ExperimentError::Input(format!("{}: {nothing}", self.origin)))
    }

    /// Fits a learner; if `select` is true, the best round is chosen by its measure on validation queries.
    pub(super) fn fit(&self, learner: &Value, loss: Option<LossSpec>, select: bool) -> Result<Fit> {
        let mut config = self.config.clone().without_choice();
        config.learner = learner.as_object().cloned().unwrap_or_default();
        (config.loss, config.scorer, config.members) = (loss, None, Vec::new());
        // A round in the configuration was chosen for its own learner.
        config.measure.round = None;
        let split = Split { test: None, ..self.split.clone() };
        let split = if select { split } else { Split { validation: None, ..split } };
        let experiment = Experiment::new(config)?;
        fit(&experiment, &split, experiment.seed, &FitOptions::new(&Device::flex()))
    }

    /// Returns the queries in `data` with the scores of a fitted ranker.
    pub(super) fn scored(&self, fit: &Fit, data: &RankingDataset) -> Result<Subject> {
        let scores = fit.ranker.predict(data, &Device::flex())?;
        Ok(Subject::new(self.origin.clone(), data, &scores))
    }

    /// Returns the first `count` queries in `data` as input of linear ranking functions. They are normalized with the
    /// normalizer of the training queries, and missing values are filled if the configuration has them indicated.
    pub(super) fn linear(&self, data: &RankingDataset, count: usize) -> Result<Linear> {
        let (mut data, config) = (data.clone(), &self.config);
        let indicated = config.data.read.missing == Missing::Indicator;
        fit_normalizer(&self.split.train, config.normalizer, indicated)?.apply(&mut data)?;
        Ok(Linear::new(&data, count))
    }
}

/// Normalized queries, which linear ranking functions score with their weights.
#[derive(Debug, Clone)]
pub(super) struct Linear {
    pub(super) queries: Vec<LinearQuery>,
}

/// One query.
#[derive(Debug, Clone)]
pub(super) struct LinearQuery {
    /// One row per document.
    pub(super) features: Vec<Vec<f64>>,
    pub(super) labels: Vec<f64>,
}

impl LinearQuery {
    /// Scores the query's documents with these weights.
    pub(super) fn scored(&self, weights: &[f64]) -> ScoredQuery {
        let score = |row: &Vec<f64>| row.iter().zip(weights).map(|(x, w)| x * w).sum();
        ScoredQuery { scores: self.features.iter().map(score).collect(), labels: self.labels.clone() }
    }
}

impl Linear {
    /// Takes the first `count` queries with both a relevant and an irrelevant document.
    fn new(data: &RankingDataset, count: usize) -> Self {
        let query = |q: usize| {
            let range = data.range(q);
            let rows = data.features.to_slice()[range.start * data.feature_count..range.end * data.feature_count]
                .chunks_exact(data.feature_count);
            LinearQuery { features: rows.map(wide).collect(), labels: wide(&data.labels[range]) }
        };
        let queries = (0..data.queries()).map(query).filter(|query| has_something_to_rank(&query.labels)).take(count);
        Self { queries: queries.collect() }
    }

    /// Returns the number of features.
    pub(super) fn features(&self) -> usize {
        self.queries.first().and_then(|query| query.features.first()).map_or(0, Vec::len)
    }

    /// Scores all queries with these weights.
    pub(super) fn scored(&self, weights: &[f64]) -> Subject {
        let queries = self.queries.iter().map(|query| query.scored(weights)).collect();
        Subject { origin: String::new(), queries }
    }

    /// Returns the largest Euclidean norm of a document's features.
    pub(super) fn largest_norm(&self) -> f64 {
        let rows = self.queries.iter().flat_map(|query| &query.features);
        rows.map(|row| norm(row)).fold(0.0, f64::max)
    }

    /// Runs one epoch of gradient descent on a loss. Each query is one step, and queries are taken in the order of the
    /// data. The epoch follows Algorithm 1 of approximation-framework, but does not shuffle the queries.
    pub(super) fn epoch(&self, weights: &mut [f64], loss: &LossSpec, rate: f64) -> Result {
        let loss = loss.build()?;
        for query in &self.queries {
            let scored = query.scored(weights);
            let explained = explain(&*loss, &scored.scores, &scored.labels, DType::F64)?;
            for (row, slope) in query.features.iter().zip(&explained.grad) {
                weights.iter_mut().zip(row).for_each(|(weight, x)| *weight -= rate * slope * x);
            }
        }
        Ok(())
    }
}

pub(super) fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}
