//! `report.json`: the results of a run, the same bytes for the same configuration and seed on the CPU. What may differ
//! between machines and moments is in `run.json` ([`RunRecord`](super::RunRecord)).

use std::collections::BTreeMap;

use burn_rank::data::{RankingDataset, Statistics};
use burn_rank::json::Value;
use burn_rank::learner::{Importance, Round, StopReason};
use burn_rank::loss::Approximation;
use burn_rank::measure::{Convention, Evaluation, Measure};
use burn_rank::ranker::Versions;
use burn_rank::workbench::mean_of;
use serde::{Deserialize, Serialize};

use super::cross_validation::CrossValidation;
use super::measures::Measures;
use super::partial_dependence::PartialDependence;
use crate::experiment::config::ExperimentConfig;
use crate::experiment::extreme_queries::ExtremeQueries;
use crate::experiment::fit::{Fit, linear_weights};
use crate::experiment::split::Split;

/// The record of a run of either kind; its `command` distinguishes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one value a run")]
pub enum Report {
    /// The record of `burn-rank train`.
    Train(TrainReport),
    /// The record of `burn-rank cv`.
    Cv(CrossValidationReport),
}

/// The record of one fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainReport {
    /// Name of the experiment.
    pub name: String,
    /// The resolved configuration.
    pub config: Value,
    /// Convention of every measure.
    pub convention: Convention,
    /// The measure that selects.
    pub selection: Measure,
    /// The fold, from 1.
    pub fold: usize,
    /// Each set of queries.
    pub data: Sets<DataReport>,
    /// Measures of the selected model on each set.
    pub measures: Sets<SetMeasures>,
    /// The fit.
    #[serde(flatten)]
    pub fit: FitReport,
    /// For a ranker of trees, how its scores move with the features of the largest gain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partial_dependence: Vec<PartialDependence>,
    /// Every query of the test set, else of the validation set, else of the training set.
    pub per_query: PerQuery,
    /// The worst and the best of these queries with their documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extremes: Option<ExtremeQueries>,
    /// Versions.
    pub versions: Versions,
}

/// The record of a cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidationReport {
    /// The table, as `cv --json` prints it.
    #[serde(flatten)]
    pub result: CrossValidation,
    /// The resolved configuration.
    pub config: Value,
    /// The measure that selects.
    pub selection: Measure,
    /// Every point of the grid; only `-` without a grid, none if trials are drawn.
    pub points: Vec<String>,
    /// Details that the table leaves out, one entry per fold, in the table's order of folds.
    pub details: Vec<FoldDetails>,
    /// Versions.
    pub versions: Versions,
}

/// One fold of a cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldDetails {
    /// Each set of queries.
    pub data: Sets<DataReport>,
    /// The selection measure of each point of the grid, averaged over seeds; none where trials are drawn.
    pub points: Vec<f64>,
    /// Every test query, averaged over seeds, at the selected point.
    pub per_query: PerQuery,
    /// The worst and the best test queries of the first seed with their documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extremes: Option<ExtremeQueries>,
    /// The fits of the selected point, one a seed.
    pub fits: Vec<FitReport>,
}

/// The record of one fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// The seed.
    pub seed: u64,
    /// Rounds done.
    pub rounds: usize,
    /// The round selected, from 1.
    pub best_round: usize,
    /// The reason that the fit ended.
    pub stop: StopReason,
    /// The evaluation of the loss in the longest list, if it does not follow its formula to the letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approximation: Option<Approximation>,
    /// The features, from 1, with a column that says where they are missing; these columns follow the features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indicated: Vec<usize>,
    /// Weight of each feature of a linear ranker, on normalized features, then of each such column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f32>>,
    /// The importance of each feature to the trees that the fit grew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<Importance>,
    /// Every round.
    pub history: Vec<Round>,
}

/// Something of each set of queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sets<T> {
    /// Queries to train on.
    pub train: T,
    /// Queries to select on.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub validation: Option<T>,
    /// Queries to test on.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub test: Option<T>,
}

/// One set of queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataReport {
    /// Queries, documents, empty queries, label and list-length histograms.
    pub statistics: Statistics,
    /// SHA-256 of the content.
    pub hash: String,
}

/// Measures of one set of queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetMeasures {
    /// Number of queries, empty ones included.
    pub queries: usize,
    /// Queries without a relevant document.
    pub empty_queries: usize,
    /// Mean over the queries that count.
    pub measures: Measures,
    /// Standard error of each mean: deviation over queries / sqrt(queries); none of a single query.
    pub standard_errors: Measures,
}

/// Measures of every query of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerQuery {
    /// `test`, `validation` or `train`.
    pub set: String,
    /// Identifier of each query.
    pub queries: Vec<String>,
    /// By measure, the value of each query; `null` where the convention leaves the query out.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
}

impl TrainReport {
    /// The report of one fit. `data` describes the split as it was read. The features of `split` have been normalized
    /// since.
    pub fn new(config: &ExperimentConfig, data: Sets<DataReport>, split: &Split, fit: &Fit) -> Self {
        let measures = |set: &str| fit.evaluations.get(set).map(SetMeasures::from_evaluation);
        Self {
            name: config.name.clone(),
            config: config.fitted_to(split).normalized_by(fit.ranker.normalizer().kind()).resolved(),
            convention: fit.ranker.metadata().convention.clone(),
            selection: config.measure.select,
            fold: split.fold,
            data,
            measures: Sets {
                train: measures("train").expect("the training queries are always measured"),
                validation: measures("validation"),
                test: measures("test"),
            },
            fit: FitReport::new(fit, config.seed),
            partial_dependence: PartialDependence::of_ranker(&fit.ranker, fit.importance.as_ref(), &split.train),
            per_query: PerQuery::new(split, fit),
            extremes: Some(fit.extremes.clone()),
            versions: Versions::current(),
        }
    }
}

impl FitReport {
    pub(in crate::experiment) fn new(fit: &Fit, seed: u64) -> Self {
        Self {
            seed,
            rounds: fit.history.len(),
            best_round: fit.best_round,
            stop: fit.stop,
            approximation: fit.approximation.clone(),
            indicated: fit.ranker.normalizer().indicated().to_vec(),
            weights: linear_weights(&fit.ranker),
            importance: fit.importance.clone(),
            history: fit.history.clone(),
        }
    }
}

impl Sets<DataReport> {
    /// Describes the sets of a split.
    pub fn from_split(split: &Split) -> Self {
        Self {
            train: DataReport::from_dataset(&split.train),
            validation: split.validation.as_ref().map(DataReport::from_dataset),
            test: split.test.as_ref().map(DataReport::from_dataset),
        }
    }
}

impl<T> Sets<T> {
    /// The sets that there are, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &T)> {
        let others = [("validation", self.validation.as_ref()), ("test", self.test.as_ref())];
        let others = others.into_iter().filter_map(|(name, set)| Some((name, set?)));
        std::iter::once(("train", &self.train)).chain(others)
    }
}

impl DataReport {
    fn from_dataset(data: &RankingDataset) -> Self {
        Self { statistics: data.statistics(), hash: data.data_hash() }
    }
}

impl SetMeasures {
    fn from_evaluation(evaluation: &Evaluation) -> Self {
        let means = evaluation.means.iter();
        let errors = evaluation.means.iter().zip(&evaluation.per_query);
        let error = |values: &[Option<f64>]| standard_error(&values.iter().copied().flatten().collect::<Vec<_>>());
        Self {
            queries: evaluation.queries,
            empty_queries: evaluation.empty_queries,
            measures: means.map(|(measure, mean)| (measure.to_string(), Value::from(*mean))).collect(),
            standard_errors: errors.map(|((measure, _), v)| (measure.to_string(), Value::from(error(v)))).collect(),
        }
    }
}

impl PerQuery {
    /// Returns the values of the last set that exists: test, validation or training.
    fn new(split: &Split, fit: &Fit) -> Self {
        let sets = [("test", split.test.as_ref()), ("validation", split.validation.as_ref())];
        let other = sets.into_iter().find_map(|(name, set)| Some((name, set?)));
        let (set, data) = other.unwrap_or(("train", &split.train));
        let values = fit.evaluations.get(set).into_iter().flat_map(|e| e.means.iter().zip(&e.per_query));
        Self {
            set: set.to_string(),
            queries: data.query_ids.clone(),
            values: values.map(|((measure, _), values)| (measure.to_string(), values.clone())).collect(),
        }
    }
}

/// Deviation over queries / sqrt(queries); NaN for fewer than two queries, which JSON writes as `null`.
pub(in crate::experiment) fn standard_error(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = mean_of(values.iter().copied()).unwrap_or(f64::NAN);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (n - 1.0) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_by_hand() {
        // Deviation of 1, 2, 3 is 1; over sqrt(3).
        assert!((standard_error(&[1.0, 2.0, 3.0]) - 1.0 / 3f64.sqrt()).abs() < 1e-15);
        assert!(standard_error(&[0.5]).is_nan());
    }

    #[test]
    fn sets_are_in_the_order_of_use() {
        let sets = Sets { train: 1, validation: None, test: Some(3) };
        assert_eq!(sets.iter().collect::<Vec<_>>(), [("train", &1), ("test", &3)]);
        assert_eq!(serde_json::to_string(&sets).unwrap(), r#"{"train":1,"test":3}"#);
        assert_eq!(serde_json::from_str::<Sets<i32>>(r#"{"train":1,"test":3}"#).unwrap(), sets);
    }
}
