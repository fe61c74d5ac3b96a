//! The files that record a run: `report.json` holds its results, and `run.json` holds facts such as times. On the CPU,
//! the same configuration and seed give the same bytes in `report.json`; `run.json` may differ each time.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use burn_rank::data::{RankingDataset, Statistics};
use burn_rank::json::{Map, Value};
use burn_rank::learner::{Importance, PositionFactor, Round, StopReason};
use burn_rank::measure::{Convention, Evaluation, Measure};
use burn_rank::op::Execution;
use burn_rank::ranker::{Estimate, Model, Ranker};
use burn_rank::workbench::ranker::Versions;
use burn_rank::workbench::{Approximation, mean_of, memory};
use serde::{Deserialize, Serialize};

use super::config::grid::names_of_labels;
use super::config::{ExperimentConfig, Rung};
use super::extreme_queries::ExtremeQueries;
use super::fit::{Fit, MemberReport, linear_weights};
use super::split::Split;

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
    /// The expected quality of a refit, from the cross-validation that chose its setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
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

/// The value of each measure, in the order of the configuration; `null` if a measure has no value.
pub type Measures = Map;

/// How a search drew and fitted its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchReport {
    /// `random` or `successive_halving`.
    pub kind: String,
    /// The number of trials per fold.
    pub trials: usize,
    /// The rungs of successive halving.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Rung>,
}

/// One trial of a search in one fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The number of the trial, counted from 1.
    pub trial: usize,
    /// The value that the trial drew for each key.
    pub values: Map,
    /// The selection measure on validation queries at the trial's best round, averaged over seeds.
    pub validation: Option<f64>,
    /// The maximum, over the trial's seeds, of the number of rounds completed.
    pub rounds: usize,
    /// With successive halving, the selection measure at the end of every rung that the trial reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Option<f64>>,
}

/// The result of the grid point or trial that a fold selected, averaged over seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldResult {
    /// The number of the fold, counted from 1.
    pub fold: usize,
    /// The grid point or the trial with the best validation measure.
    pub selected: String,
    /// The selection measure on validation queries. If there are none, the measure on training queries is used (see
    /// [`selected_on`](CrossValidation::selected_on)).
    pub validation: f64,
    /// The measures on test queries.
    pub measures: Measures,
    /// The standard error of each measure over the fold's test queries.
    pub standard_errors: Measures,
    /// The reason why each fit ended, one per seed; absent in older results.
    #[serde(default)]
    pub stops: Vec<StopReason>,
    /// Every trial of a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
}

/// The table of results from a cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidation {
    /// Name of the experiment.
    pub name: String,
    /// The convention by which all measures are computed.
    pub convention: Convention,
    /// The number of test queries in all folds.
    pub queries: usize,
    /// The number of test queries without a relevant document.
    pub empty_queries: usize,
    /// The mean of each test measure over the folds, as in published tables.
    pub measures: Measures,
    /// The standard error of each mean: the standard deviation over all test queries, divided by the square root of
    /// their number.
    pub standard_errors: Measures,
    /// The seeds over which results are averaged.
    pub seeds: Vec<u64>,
    /// The result of each fold.
    pub folds: Vec<FoldResult>,
    /// The queries on which settings and rounds are selected: `validation`, or `training` if there are no validation
    /// queries.
    #[serde(default = "validation")]
    pub selected_on: String,
    /// How a search drew and fitted its trials; `None` without a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchReport>,
}

/// The results of one point of a grid on validation queries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// A short name, which says how the point differs from the others.
    pub name: String,
    /// The label of the point, with all its keys.
    pub setting: String,
    /// The mean of the selection measure over folds.
    pub validation: f64,
    /// The standard error of the mean over folds; NaN for a single fold.
    pub standard_error: f64,
    /// The numbers of the folds that select the point.
    pub folds: Vec<usize>,
    /// The index of the point in the grid.
    #[serde(skip)]
    pub index: usize,
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
            estimate: fit.ranker.metadata().estimate.clone(),
            versions: Versions::current(),
        }
    }
}

impl FitReport {
    pub(super) fn new(fit: &Fit, seed: u64) -> Self {
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
        let of = |data: &RankingDataset| DataReport { statistics: data.statistics(), hash: data.data_hash() };
        let (validation, test) = (split.validation.as_ref().map(of), split.test.as_ref().map(of));
        Self { train: of(&split.train), validation, test }
    }

    /// Returns texts that differ for other data: the hash of each set, after its name, and the names of the features,
    /// which the hashes leave out.
    pub(crate) fn identity(&self, feature_names: &[String]) -> Vec<String> {
        let hashes = self.iter().map(|(set, data)| format!("{set} {}", data.hash));
        hashes.chain(feature_names.iter().cloned()).collect()
    }
}

impl<T> Sets<T> {
    /// Returns the names and values of the sets that exist.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &T)> {
        let sets =
            [("train", Some(&self.train)), ("validation", self.validation.as_ref()), ("test", self.test.as_ref())];
        sets.into_iter().filter_map(|(name, set)| Some((name, set?)))
    }
}

impl SetMeasures {
    /// Returns the means of an evaluation, with their standard errors.
    pub fn from_evaluation(evaluation: &Evaluation) -> Self {
        let Evaluation { queries, empty_queries, means, per_query, .. } = evaluation;
        let (mut measures, mut standard_errors) = (Measures::new(), Measures::new());
        for ((measure, mean), values) in means.iter().zip(per_query) {
            let values: Vec<f64> = values.iter().copied().flatten().collect();
            measures.insert(measure.to_string(), Value::from(*mean));
            standard_errors.insert(measure.to_string(), Value::from(standard_error(&values)));
        }
        Self { queries: *queries, empty_queries: *empty_queries, measures, standard_errors }
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

impl FoldResult {
    /// Returns the trials, beginning with the selected one. The others are sorted by the rung at which they were
    /// dropped, with the latest rung first. Within a rung, they are sorted by quality, then by number.
    pub fn ranked_trials(&self) -> Vec<&Trial> {
        let merit = |trial: &Trial| trial.validation.unwrap_or(f64::NEG_INFINITY);
        let mut trials: Vec<&Trial> = self.trials.iter().collect();
        trials.sort_by(|a, b| b.rungs.len().cmp(&a.rungs.len()).then(merit(b).total_cmp(&merit(a))));
        trials
    }
}

fn validation() -> String {
    "validation".to_string()
}

impl CrossValidationReport {
    /// Returns the points of the grid, from the best mean to the worst. Without a grid of two or more points, there are
    /// none.
    pub fn standings(&self) -> Vec<Standing> {
        if self.points.len() < 2 {
            return Vec::new();
        }
        let names = names_of_labels(&self.points, &self.config);
        let of = |(index, name): (usize, String)| {
            let values = self.of_folds(index);
            let setting = self.points[index].clone();
            let won = self.result.folds.iter().filter(|fold| fold.selected == setting);
            Standing {
                name,
                folds: won.map(|fold| fold.fold).collect(),
                validation: mean(values.iter().copied()),
                standard_error: standard_error(&values),
                setting,
                index,
            }
        };
        let mut standings: Vec<Standing> = names.into_iter().enumerate().map(of).collect();
        standings.sort_by(|a, b| merit(b.validation).total_cmp(&merit(a.validation)));
        standings
    }

    /// Returns the selection measure of a point of the grid in every fold.
    fn of_folds(&self, point: usize) -> Vec<f64> {
        self.details.iter().map(|details| details.points.get(point).copied().unwrap_or(f64::NAN)).collect()
    }

    /// Says which point is the best, and how far the second is from it. Also returns whether the folds decide between
    /// the two. Without a grid, there is nothing to say.
    pub fn verdict(&self) -> Option<(String, bool)> {
        let standings = self.standings();
        let [best, second, ..] = standings.as_slice() else { return None };
        let both = self.of_folds(best.index).into_iter().zip(self.of_folds(second.index));
        let differences: Vec<f64> = both.map(|(best, other)| best - other).collect();
        let difference = mean(differences.iter().copied());
        let error = standard_error(&differences);
        let in_words = if error.is_finite() { format!(" \u{b1} {error:.4}") } else { String::new() };
        let decided = difference > 0.0 && (difference >= 2.0 * error || error.is_nan());
        let open = if decided { "" } else { " The folds do not decide between them." };
        let on = &self.result.selected_on;
        let value = format!("{} {:.4}", self.selection, best.validation);
        let words = match difference {
            0.0 => format!("{} and {} have the same mean on {on} queries, {value}.", best.name, second.name),
            _ => format!(
                "{} has the highest mean on {on} queries, {value}. Second is {}, {difference:.4}{in_words} lower.{open}",
                best.name, second.name
            ),
        };
        Some((words, decided))
    }

    /// Returns the mean of each test measure over the queries of all folds.
    pub fn query_means(&self) -> Measures {
        let of = |name: &String| {
            let values = self.details.iter().filter_map(|details| details.per_query.values.get(name)).flatten();
            (name.clone(), Value::from(mean(values.copied().flatten())))
        };
        self.result.measures.keys().map(of).collect()
    }
}

/// Returns the mean, or NaN if there are no values; JSON writes NaN as `null`.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    mean_of(values).unwrap_or(f64::NAN)
}

/// Returns the value of every query, averaged over seeds. A query that the convention excludes has no value.
pub(super) fn over_seeds<'a>(of_seeds: impl Iterator<Item = &'a Vec<Option<f64>>> + Clone) -> Vec<Option<f64>> {
    let queries = of_seeds.clone().next().map_or(0, Vec::len);
    let of_query = |query: usize| of_seeds.clone().map(|values| values[query]).collect::<Option<Vec<f64>>>();
    (0..queries).map(|query| of_query(query).and_then(mean_of)).collect()
}

/// Returns a value for comparisons, in which NaN is below all numbers.
pub(super) fn merit(value: f64) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { value }
}

/// Returns the standard error of the mean: the standard deviation, divided by the square root of the number of values.
/// With fewer than two values, the result is NaN. JSON represents NaN as `null`.
pub(super) fn standard_error(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (n - 1.0) / n).sqrt()
}

/// Facts that may change when a run is repeated, such as device and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Device name.
    pub device: String,
    /// The processor and the system, for example `x86_64 linux`.
    #[serde(default)]
    pub platform: String,
    /// The instructions that the fused CPU kernels used, for example `avx512`. Older records leave this empty.
    #[serde(default)]
    pub instructions: String,
    /// The number of threads in the processor pool.
    pub threads: usize,
    /// The time that this process spent on fits, in seconds.
    pub fit_seconds: f64,
    /// The total time in seconds, including reading and reporting.
    pub total_seconds: f64,
    /// The largest resident memory of the process in MiB, if the system reports it.
    pub peak_memory_mib: Option<f64>,
    /// The time at the end of the run, in seconds since 1970.
    pub finished: u64,
}

impl RunRecord {
    /// Returns the record of a run that ends now. It records the CPU instructions and the number of threads that the
    /// calling thread uses.
    pub fn new(device: &str, fit: Duration, total: Duration) -> Self {
        Self {
            device: device.to_string(),
            platform: format!("{} {}", std::env::consts::ARCH, std::env::consts::OS),
            instructions: Execution::current().instructions().to_string(),
            threads: rayon::current_num_threads(),
            fit_seconds: fit.as_secs_f64(),
            total_seconds: total.as_secs_f64(),
            peak_memory_mib: memory::peak().map(|bytes| bytes as f64 / f64::from(1 << 20)),
            finished: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        }
    }
}

/// The largest number of features to report; those with the largest gains are chosen.
const FEATURES: usize = 8;

/// The approximate number of training documents to sample; every sampled query is complete.
const DOCUMENTS: usize = 1000;

/// The number of steps into which the values of a feature are divided. Each step contains the same number of documents.
const STEPS: usize = 20;

/// How the mean score depends on the value of one feature. For each value, all sampled training documents are given
/// this value and then scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialDependence {
    /// The number of the feature, counted from 1.
    pub feature: usize,
    /// The quantiles of the normalized feature in the sample: its smallest value, its largest value, and 19 values
    /// between them. A value that many documents share appears more than once.
    pub values: Vec<f32>,
    /// For each value, the mean score of all sampled documents after they were given this value.
    pub scores: Vec<f64>,
    /// How a missing value changes the scores. This is absent if every sampled document has the feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingValue>,
}

/// How many documents lack a feature, and the mean score when the feature is missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MissingValue {
    /// The share of sampled documents that lack the feature; always above 0.
    pub share: f64,
    /// The mean score of all sampled documents if none of them had the feature.
    pub score: f64,
}

impl PartialDependence {
    /// Returns the partial dependence for the features with the largest gains, in descending order of gain. The result
    /// is empty if the ranker is not a sum of trees or its importance is unknown. `train` holds the normalized training
    /// queries of the fit.
    fn of_ranker(ranker: &Ranker, importance: Option<&Importance>, train: &RankingDataset) -> Vec<Self> {
        let (Model::Trees(trees), Some(importance)) = (ranker.model(), importance) else { return Vec::new() };
        let Some(sample) = sample(train) else { return Vec::new() };
        let width = sample.feature_count;
        let largest = largest(importance);
        let of_feature = |feature: usize| {
            let column = || sample.features.to_slice().iter().skip(feature).step_by(width).copied();
            let mut present: Vec<f32> = column().filter(|value| !value.is_nan()).collect();
            present.sort_by(f32::total_cmp);
            let share = (sample.documents() - present.len()) as f64 / sample.documents() as f64;
            let mut values = quantiles(&present);
            values.push(f32::NAN);
            let mut scores = trees.partial_dependence(sample.features.to_slice(), feature, &values);
            values.pop();
            let without = scores.pop().unwrap_or_default();
            let missing = (share > 0.0).then_some(MissingValue { share, score: without });
            Self { feature: feature + 1, values, scores, missing }
        };
        largest.into_iter().map(of_feature).collect()
    }
}

/// Returns training queries at even intervals, with all their documents.
fn sample(train: &RankingDataset) -> Option<RankingDataset> {
    let wanted = (DOCUMENTS * train.queries()).div_ceil(train.documents().max(1)).clamp(1, train.queries().max(1));
    let spaced: Vec<usize> = (0..wanted).map(|place| place * train.queries() / wanted).collect();
    let sample = train.select(&spaced);
    (sample.documents() > 0).then_some(sample)
}

/// Returns the indices of the features with the largest gains. Features without gain are left out. Ties go to the first
/// feature.
fn largest(importance: &Importance) -> Vec<usize> {
    let gain = &importance.gain;
    let mut order: Vec<usize> = (0..gain.len()).filter(|&feature| gain[feature] > 0.0).collect();
    order.sort_by(|&a, &b| gain[b].total_cmp(&gain[a]));
    order.truncate(FEATURES);
    order
}

/// Returns [`STEPS`] + 1 evenly spaced quantiles of ascending values, or none if there are no values.
fn quantiles(ascending: &[f32]) -> Vec<f32> {
    let Some(last) = ascending.len().checked_sub(1) else { return Vec::new() };
    (0..=STEPS).map(|step| ascending[(step * last + STEPS / 2) / STEPS]).collect()
}

#[cfg(test)]
mod tests {
    use burn_rank::data::{Normalizer, NormalizerKind};
    use burn_rank::ranker::{Metadata, TreeEnsemble};
    use burn_rank::workbench::ranker::{Node, trees};

    use super::*;

    fn ranker(trees: TreeEnsemble) -> Ranker {
        let empty =
            RankingDataset::builder().features(vec![0.0; 3], 3).labels(vec![0.0]).query_sizes(&[1]).build().unwrap();
        Ranker::new(Normalizer::fit(&empty, NormalizerKind::None), Model::Trees(trees), Metadata::default()).unwrap()
    }

    /// Returns 100 queries with 30 documents each. The first feature is the document's number, the second is missing in
    /// every third document, and the third feature is always 0.
    fn train() -> RankingDataset {
        let row = |d: usize| [d as f32, if d.is_multiple_of(3) { f32::NAN } else { 1.0 }, 0.0];
        let features = (0..3000).flat_map(row).collect();
        let labels = (0..3000).map(|d| (d % 2) as f32).collect();
        RankingDataset::builder().features(features, 3).labels(labels).query_sizes(&[30; 100]).build().unwrap()
    }

    #[test]
    fn scores_are_those_of_the_sample_with_the_feature_replaced() {
        let split = |feature, threshold, left, right, missing_left| Node::Split {
            feature,
            threshold,
            left,
            right,
            missing_left,
        };
        let leaf = |value| Node::Leaf { value };
        let tree = vec![split(0, 1500.0, 1, 2, false), leaf(-1.0), split(1, 0.5, 3, 4, true), leaf(4.0), leaf(2.0)];
        let ranker = ranker(trees(3, [tree]).unwrap());
        let importance = Importance { gain: vec![5.0, 7.0, 0.0], splits: vec![1, 1, 0] };
        let found = PartialDependence::of_ranker(&ranker, Some(&importance), &train());
        assert_eq!(found.iter().map(|found| found.feature).collect::<Vec<_>>(), [2, 1]);
        // 34 of 100 queries, the first to the last.
        let sample = sample(&train()).unwrap();
        assert_eq!((sample.documents(), sample.features.to_slice()[0]), (1020, 0.0));
        let Model::Trees(trees) = ranker.model() else { panic!("trees") };
        let mean = |feature: usize, value: f32| {
            let mut replaced = sample.features.clone();
            replaced.to_mut_slice().iter_mut().skip(feature).step_by(3).for_each(|own| *own = value);
            trees.scores(replaced.to_slice()).iter().sum::<f64>() / 1020.0
        };
        for found in &found {
            assert_eq!((found.values.len(), found.scores.len()), (STEPS + 1, STEPS + 1));
            for (&value, score) in found.values.iter().zip(&found.scores) {
                assert!((score - mean(found.feature - 1, value)).abs() < 1e-12, "{found:?}");
            }
        }
        assert_eq!(found[0].values, [1.0; STEPS + 1]);
        let missing = found[0].missing.unwrap();
        assert!((missing.share - 1.0 / 3.0).abs() < 1e-12 && (missing.score - mean(1, f32::NAN)).abs() < 1e-12);
        assert!(found[1].missing.is_none());
        assert!(found[1].values.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(PartialDependence::of_ranker(&ranker, None, &train()).is_empty());
    }

    #[test]
    fn quantiles_are_values_that_occur() {
        let ascending: Vec<f32> = (0..=40).map(|i| i as f32).collect();
        let expected: Vec<f32> = (0..=20).map(|i| 2.0 * i as f32).collect();
        assert_eq!(quantiles(&ascending), expected);
        assert_eq!(quantiles(&[3.0]), [3.0; STEPS + 1]);
        assert!(quantiles(&[]).is_empty());
    }

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
