//! `report.json`, the results of a run. On the CPU, the same configuration and seed give the same bytes. Facts that may
//! change when the run is repeated are in `run.json` ([`RunRecord`](super::RunRecord)).

use std::collections::BTreeMap;

use burn_rank::data::{RankingDataset, Statistics};
use burn_rank::json::Value;
use burn_rank::learner::{Importance, PositionFactor, Round, StopReason};
use burn_rank::measure::{Convention, Evaluation, Measure};
use burn_rank::workbench::Approximation;
use burn_rank::workbench::mean_of;
use burn_rank::workbench::ranker::Versions;
use serde::{Deserialize, Serialize};

use super::PartialDependence;
use super::cross_validation::{CrossValidation, Measures};
use crate::experiment::config::ExperimentConfig;
use crate::experiment::extreme_queries::ExtremeQueries;
use crate::experiment::fit::{Fit, linear_weights};
use crate::experiment::members::MemberReport;
use crate::experiment::split::Split;

/// The report of a `train` or `cv` run; its `command` says which of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one value a run")]
pub enum Report {
    /// A report of `burn-rank train`.
    Train(TrainReport),
    /// A report of `burn-rank cv`.
    Cv(CrossValidationReport),
}

/// The results of a `train` run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainReport {
    /// Name of the experiment.
    pub name: String,
    /// The resolved configuration.
    pub config: Value,
    /// Convention of every measure.
    pub convention: Convention,
    /// The measure by which the best round is selected.
    pub selection: Measure,
    /// The number of the fold, counted from 1.
    pub fold: usize,
    /// Statistics and hash of each set of queries.
    pub data: Sets<DataReport>,
    /// The measures of the ranker at the best round, on each set of queries.
    pub measures: Sets<SetMeasures>,
    /// What qualifies the measures, in sentences, as that the training queries chose the round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
    /// The fit.
    #[serde(flatten)]
    pub fit: FitReport,
    /// How the scores of a tree ranker depend on its most important features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partial_dependence: Vec<PartialDependence>,
    /// The measures of every query in the test set. If there is no test set, the validation set is used, or else the
    /// training set.
    pub per_query: PerQuery,
    /// The worst and the best queries of the set in `per_query`, with their documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extremes: Option<ExtremeQueries>,
    /// Versions.
    pub versions: Versions,
}

/// The results of a `cv` run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidationReport {
    /// The table of results, as `cv --json` prints it.
    #[serde(flatten)]
    pub result: CrossValidation,
    /// The resolved configuration.
    pub config: Value,
    /// The measure by which rounds and settings are selected.
    pub selection: Measure,
    /// The label of every grid point. Without a grid, the only label is `-`. For a search, there are no labels.
    pub points: Vec<String>,
    /// The details that the table leaves out, for each fold in the order of the table.
    pub details: Vec<FoldDetails>,
    /// Versions.
    pub versions: Versions,
}

/// The results of one fold that the table leaves out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldDetails {
    /// Statistics and hash of each set of queries.
    pub data: Sets<DataReport>,
    /// The selection measure of each grid point, averaged over seeds. For a search, there are no grid points.
    pub points: Vec<f64>,
    /// The measures of every test query for the selected grid point or trial, averaged over seeds.
    pub per_query: PerQuery,
    /// The worst and the best test queries of the first seed, with their documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extremes: Option<ExtremeQueries>,
    /// The fits with the selected grid point or trial, one per seed.
    pub fits: Vec<FitReport>,
}

/// The results of one fit and its rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// The seed.
    pub seed: u64,
    /// The number of completed rounds.
    pub rounds: usize,
    /// The number of the best round, counted from 1. The ranker of this round is kept.
    pub best_round: usize,
    /// The reason why the fit ended.
    pub stop: StopReason,
    /// How the loss is approximated for the longest list; absent if it is computed exactly by its formula.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approximation: Option<Approximation>,
    /// The name of each feature; empty if the features have only numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_names: Vec<String>,
    /// The numbers, counted from 1, of the features that have an additional column marking missing values. These
    /// columns come after all features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indicated: Vec<usize>,
    /// The weights that a linear ranker gives to the normalized features. The weights of the columns that mark missing
    /// values come last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f32>>,
    /// The importance of each feature in the trees of the ranker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<Importance>,
    /// What training added to the scores of documents at each position, with the number of training documents there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<PositionFactor>,
    /// Every round.
    pub history: Vec<Round>,
    /// The fit of each member of an ensemble; the ensemble itself has no rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberReport>,
}

/// One value for each set of queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sets<T> {
    /// The value for training queries.
    pub train: T,
    /// The value for validation queries.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub validation: Option<T>,
    /// The value for test queries.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub test: Option<T>,
}

/// Statistics and hash of one set of queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataReport {
    /// The numbers of queries, documents and empty queries, and histograms of labels and list lengths.
    pub statistics: Statistics,
    /// The SHA-256 hash of all data in the set. The format of the files does not affect it.
    pub hash: String,
}

/// The measures on one set of queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetMeasures {
    /// The number of queries, including empty ones.
    pub queries: usize,
    /// The number of queries without a relevant document.
    pub empty_queries: usize,
    /// The mean of each measure over the queries that the convention includes.
    pub measures: Measures,
    /// The standard error of each mean: the standard deviation over queries, divided by the square root of their
    /// number. The standard error is undefined for a single query.
    pub standard_errors: Measures,
}

/// The measures of every query in a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerQuery {
    /// The name of the set, one of `test`, `validation` and `train`.
    pub set: String,
    /// Identifier of each query.
    pub queries: Vec<String>,
    /// The value of each query for each measure; `null` if the convention excludes the query.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
}

impl TrainReport {
    /// Makes the report of one fit. `data` must describe the split before normalization, because the fit has changed
    /// the features in `split`.
    pub fn new(config: &ExperimentConfig, data: Sets<DataReport>, split: &Split, fit: &Fit) -> Self {
        let measures = |set: &str| fit.evaluations.get(set).map(SetMeasures::from_evaluation);
        Self {
            name: config.name.clone(),
            config: fit.ranker.metadata().config.clone(),
            convention: fit.ranker.metadata().convention.clone(),
            selection: config.measure.select,
            fold: split.fold,
            data,
            measures: Sets {
                train: measures("train").expect("the training queries are always measured"),
                validation: measures("validation"),
                test: measures("test"),
            },
            cautions: Vec::new(),
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
            feature_names: fit.ranker.metadata().feature_names.clone().unwrap_or_default(),
            indicated: fit.ranker.normalizer().indicated().to_vec(),
            weights: linear_weights(&fit.ranker),
            importance: fit.importance.clone(),
            positions: fit.positions.clone(),
            history: fit.history.clone(),
            members: fit.members.clone(),
        }
    }
}

impl Sets<DataReport> {
    /// Computes the statistics and the hash of each set in a split.
    pub fn from_split(split: &Split) -> Self {
        Self {
            train: DataReport::from_dataset(&split.train),
            validation: split.validation.as_ref().map(DataReport::from_dataset),
            test: split.test.as_ref().map(DataReport::from_dataset),
        }
    }

    /// Returns the hash of each set, after its name.
    pub(crate) fn hashes(&self) -> Vec<String> {
        self.iter().map(|(set, data)| format!("{set} {}", data.hash)).collect()
    }
}

impl<T> Sets<T> {
    /// Returns the names and values of the sets that exist.
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
    /// Returns the means of an evaluation, with their standard errors.
    pub fn from_evaluation(evaluation: &Evaluation) -> Self {
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
    /// Returns the measures of every query in the test set. If there is no test set, the validation set is used, or
    /// else the training set.
    fn new(split: &Split, fit: &Fit) -> Self {
        let (set, data) = split.sets().last().unwrap_or(("train", &split.train));
        let values = fit.evaluations.get(set).into_iter().flat_map(|e| e.means.iter().zip(&e.per_query));
        Self {
            set: set.to_string(),
            queries: data.query_ids.clone(),
            values: values.map(|((measure, _), values)| (measure.to_string(), values.clone())).collect(),
        }
    }
}

/// Returns the mean, or NaN if there are no values; JSON writes NaN as `null`.
pub(in crate::experiment) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    mean_of(values).unwrap_or(f64::NAN)
}

/// Returns the value of every query, averaged over seeds. A query that the convention excludes has no value.
pub(in crate::experiment) fn over_seeds<'a>(
    of_seeds: impl Iterator<Item = &'a Vec<Option<f64>>> + Clone,
) -> Vec<Option<f64>> {
    let queries = of_seeds.clone().next().map_or(0, Vec::len);
    let of_query = |query: usize| of_seeds.clone().map(|values| values[query]).collect::<Option<Vec<f64>>>();
    (0..queries).map(|query| of_query(query).and_then(mean_of)).collect()
}

/// Returns a value for comparisons, in which NaN is below all numbers.
pub(in crate::experiment) fn merit(value: f64) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { value }
}

/// Returns the standard error of the mean: the standard deviation, divided by the square root of the number of values.
/// With fewer than two values, the result is NaN. JSON represents NaN as `null`.
pub(in crate::experiment) fn standard_error(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = mean(values.iter().copied());
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
    fn queries_that_a_convention_excludes_have_no_value() {
        let of_seeds = [vec![Some(1.0), None, Some(0.0)], vec![Some(0.0), None, Some(0.5)]];
        assert_eq!(over_seeds(of_seeds.iter()), [Some(0.5), None, Some(0.25)]);
    }

    #[test]
    fn sets_are_in_the_order_of_use() {
        let sets = Sets { train: 1, validation: None, test: Some(3) };
        assert_eq!(sets.iter().collect::<Vec<_>>(), [("train", &1), ("test", &3)]);
        assert_eq!(serde_json::to_string(&sets).unwrap(), r#"{"train":1,"test":3}"#);
        assert_eq!(serde_json::from_str::<Sets<i32>>(r#"{"train":1,"test":3}"#).unwrap(), sets);
    }
}
