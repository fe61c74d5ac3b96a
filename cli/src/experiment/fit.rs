//! One fit: a split is normalized, the learner trains a ranker on it, and measures are computed.

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::{DType, Device};
use burn_rank::data::{Normalizer, RankingDataset};
use burn_rank::learner::{
    FitContext, Importance, Interrupt, Job, LearnerError, PositionFactor, Progress, Round, StopReason,
};
use burn_rank::measure::{Evaluation, evaluate};
use burn_rank::ranker::{Metadata, Model, Ranker};
use burn_rank::scorer::Scorer;
use burn_rank::workbench::Approximation;
use burn_rank::workbench::{normalizer, predict_together};

use super::config::{Experiment, ExperimentConfig};
use super::error::ExperimentError;
use super::extreme_queries::ExtremeQueries;
use super::members::{MemberReport, fit_members};
use super::split::Split;

/// The measures on each set of queries, keyed by the name of the set.
pub type Evaluations = BTreeMap<&'static str, Evaluation>;

/// Options for running a fit that an [`Experiment`] describes.
pub struct FitOptions<'a> {
    /// The device for tensor operations.
    pub device: &'a Device,
    /// The ranker that the fit starts from ([`ExperimentConfig::start_ranker`]).
    pub start: Option<&'a Ranker>,
    /// The folder in which the learner keeps its state and logs. A fit whose state is in the folder continues.
    pub directory: Option<&'a Path>,
    /// Receives progress.
    pub progress: &'a dyn Progress,
    /// Signals a request to stop early.
    pub interrupt: Interrupt,
}

impl<'a> FitOptions<'a> {
    /// Returns options for a fit that writes no files and reports no progress.
    pub fn new(device: &'a Device) -> Self {
        Self { device, start: None, directory: None, progress: &(), interrupt: Interrupt::default() }
    }
}

/// A fitted experiment.
#[derive(Debug)]
pub struct Fit {
    /// The trained ranker, ready to be saved.
    pub ranker: Ranker,
    /// Every round.
    pub history: Vec<Round>,
    /// The number of the selected round, counted from 1.
    pub best_round: usize,
    /// The reason why the fit ended.
    pub stop: StopReason,
    /// The importance of each feature in the trees of the ranker, if the learner computes it.
    pub importance: Option<Importance>,
    /// The factors of positions; empty if training does not use positions.
    pub positions: Vec<PositionFactor>,
    /// The measures on each set.
    pub evaluations: Evaluations,
    /// The worst and the best queries by the selection measure, from the test set if there is one. Without a test set,
    /// they come from the validation or the training set.
    pub extremes: ExtremeQueries,
    /// How the loss is approximated for the longest list; `None` if it is computed exactly by its formula.
    pub approximation: Option<Approximation>,
    /// The fit of each member; empty without `[[members]]`.
    pub members: Vec<MemberReport>,
}

impl Fit {
    /// Returns the selection measure of the fitted ranker on validation queries. If there are none, returns the measure
    /// on training queries.
    pub fn selection(&self) -> f64 {
        let set = self.evaluations.get("validation").or_else(|| self.evaluations.get("train"));
        set.and_then(|evaluation| evaluation.means.first()).map_or(f64::NAN, |(_, mean)| *mean)
    }
}

/// Runs the experiment on one split with one seed.
///
/// # Errors
/// Returns an [`ExperimentError`] if the data are invalid, the learner fails, or a measure cannot be computed.
pub fn fit(config: &Experiment, split: &Split, seed: u64, options: &FitOptions) -> Result<Fit, ExperimentError> {
    fit_in_place(config, &mut split.clone(), seed, options)
}

/// Fits in the same way as [`fit`], but normalizes the data in place. As a result, memory holds only one copy.
///
/// # Errors
/// As [`fit`].
pub fn fit_in_place(
    config: &Experiment,
    split: &mut Split,
    seed: u64,
    options: &FitOptions,
) -> Result<Fit, ExperimentError> {
    if !config.member_experiments.is_empty() {
        return fit_members(config, split, seed, options);
    }
    let config = &config.fitted_to(split)?;
    split.cut(config.shards())?;
    split.check()?;
    let mut normalizer = match options.start {
        Some(ranker) => ranker.normalizer().clone(),
        None => Normalizer::fit(&split.train, config.normalizer),
    };
    let data_hash = split.train.data_hash();
    for data in split.sets_mut() {
        normalizer.apply(data)?;
    }
    if config.indicates_missing() {
        normalizer = normalizer::with_indicators(normalizer, &split.train);
        split.sets_mut().for_each(|data| normalizer::fill(&normalizer, data));
    }
    fit_normalized(config, split, normalizer, data_hash, seed, options)
}

/// Fits the ranker to data that are already normalized, and computes its measures.
fn fit_normalized(
    config: &Experiment,
    split: &Split,
    normalizer: Normalizer,
    data_hash: String,
    seed: u64,
    options: &FitOptions,
) -> Result<Fit, ExperimentError> {
    let Split { train, validation, .. } = split;
    let context = context(config, seed, options);
    check_measures(config, split)?;
    let approximation = approximation(config, train)?;
    let started = options.start.map(|ranker| config.built.starting_from(ranker.model())).transpose()?;
    let fitted = started.as_ref().unwrap_or(&config.built).fit(Job::new(train, validation.as_ref(), &context))?;

    let scores = |data: &RankingDataset| Ok(predict_together(&fitted.model, data, options.device));
    let (evaluations, extremes) = measured(config, split, scores)?;
    let metadata = Metadata {
        feature_names: feature_names(train, &normalizer),
        config: config.normalized_by(normalizer.kind()).resolved(),
        convention: config.measure.convention.clone(),
        measures: named(&evaluations),
        data_hash,
        seed,
        ..Metadata::default()
    };
    let ranker = Ranker::new(normalizer, fitted.model, metadata)?;
    Ok(Fit {
        ranker,
        history: fitted.history,
        best_round: fitted.best_round,
        stop: fitted.stop,
        importance: fitted.importance,
        positions: fitted.positions,
        evaluations,
        extremes,
        approximation,
        members: Vec::new(),
    })
}

/// Computes the measures of the scores on each set, and lists the extreme queries of the last set.
pub(super) fn measured(
    config: &ExperimentConfig,
    split: &Split,
    scores: impl Fn(&RankingDataset) -> Result<Vec<f32>, ExperimentError>,
) -> Result<(Evaluations, ExtremeQueries), ExperimentError> {
    let measures = config.measures();
    let mut evaluations = Evaluations::new();
    let mut last = None;
    for (name, data) in split.sets() {
        let scores = scores(data)?;
        evaluations.insert(name, evaluate(&data.rankings(&scores), &measures, &config.measure.convention)?);
        last = Some((name, data, scores));
    }
    let (name, data, scores) = last.expect("the training queries are always measured");
    let values = &evaluations[name].per_query[0];
    let extremes = ExtremeQueries::of_report(config.measure.select, data, &scores, values);
    Ok((evaluations, extremes))
}

fn context<'a>(config: &ExperimentConfig, seed: u64, options: &FitOptions<'a>) -> FitContext<'a> {
    FitContext {
        device: options.device.clone(),
        seed,
        selection: config.selection(),
        directory: options.directory,
        progress: options.progress,
        interrupt: options.interrupt.clone(),
    }
}

/// Computes all measures using the labels as scores. Labels that a measure rejects are thus found before the fit.
pub(super) fn check_measures(config: &ExperimentConfig, split: &Split) -> Result<(), ExperimentError> {
    let measures = config.measures();
    split.sets().try_for_each(|(set, data)| {
        let checked = evaluate(&data.rankings(&data.labels), &measures, &config.measure.convention);
        checked.map(drop).map_err(|source| {
            let all = data.labels.first().copied().filter(|first| data.labels.iter().all(|label| label == first));
            ExperimentError::Set { set, all, source }
        })
    })
}

/// Returns the names of the original features, without the columns that the normalizer adds; `None` if the features
/// have no names.
fn feature_names(train: &RankingDataset, normalizer: &Normalizer) -> Option<Vec<String>> {
    let names = train.feature_names.iter().take(normalizer.features()).cloned().collect::<Vec<_>>();
    Some(names).filter(|names| !names.is_empty())
}

/// Returns how the loss is approximated for the longest list; `None` if it is computed exactly by its formula.
fn approximation(config: &ExperimentConfig, train: &RankingDataset) -> Result<Option<Approximation>, ExperimentError> {
    let Some(loss) = &config.loss else { return Ok(None) };
    let longest = train.offsets.windows(2).map(|query| query[1] - query[0]).max().unwrap_or(0);
    let loss = loss.build().map_err(LearnerError::from)?;
    Ok(loss.about().approximation(longest, DType::F32).map_err(LearnerError::from)?)
}

/// Returns the mean of each measure on each set, under a name such as `validation ndcg@10`.
pub(super) fn named(evaluations: &Evaluations) -> BTreeMap<String, f64> {
    let means = evaluations.iter().flat_map(|(set, evaluation)| evaluation.means.iter().map(move |mean| (set, mean)));
    means.map(|(set, (measure, value))| (format!("{set} {measure}"), *value)).collect()
}

/// Returns the weights that a linear ranker gives to the normalized features. The weights of the
/// [columns](Normalizer::indicated) that mark missing values come last.
pub fn linear_weights(ranker: &Ranker) -> Option<Vec<f32>> {
    match ranker.model() {
        Model::Scorer(Scorer::Linear(scorer)) => Some(scorer.weights().0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use burn_rank::workbench::json::json;

    use super::super::agreement::agree;
    use super::super::config::Document;
    use super::super::record::{DataReport, Sets, TrainReport};
    use super::*;
    use crate::testing::{Reads, in_processes, streamed_and_counted};
    use burn_rank::data::SynthConfig;
    use burn_rank::workbench::distributed::ProcessGroup;
    use burn_rank::workbench::testing::{self, CHUNK, own};

    const SHARDS: usize = 5;

    fn config(normalizer: &str, scorer: &str) -> Experiment {
        let text = format!(
            "normalizer = \"{normalizer}\"\nscorer = {{ {scorer} }}\nloss = {{ name = \"list_net\" }}\n\
             learner = {{ kind = \"gradient\", epochs = 4, batch_queries = 6, shards = {SHARDS}, evaluate_train_every = 2 }}\n\
             [data.synthetic]\n"
        );
        let document = Document::parse(Path::new("a.toml"), text, &[]).unwrap();
        Experiment::from_document(&document).unwrap()
    }

    /// Returns sets of 40, 11 and 3 queries with 6 features. The test set is so small that some shards of it are empty.
    fn split() -> Split {
        let config =
            SynthConfig { queries: 54, features: 6, median_length: 9.0, max_length: 30, ..SynthConfig::default() };
        let all = config.generate().unwrap();
        let set = |queries: std::ops::Range<usize>| all.select(&queries.collect::<Vec<_>>());
        Split { fold: 1, train: set(0..40), validation: Some(set(40..51)), test: Some(set(51..54)) }
    }

    /// Returns copies of the sets that are streamed from memory, and a counter of reads for each set.
    fn streamed(split: &Split, window: usize) -> (Split, Vec<Reads>) {
        let mut streamed = split.clone();
        let stream = |data: &mut RankingDataset| {
            let (file, reads) = streamed_and_counted(data, window);
            *data = file;
            reads
        };
        let reads = streamed.sets_mut().map(stream).collect();
        (streamed, reads)
    }

    /// Trains in the same way as `burn-rank train`, and returns the bytes of the ranker and of the report.
    fn train(
        config: &Experiment,
        mut split: Split,
        folder: Option<&Path>,
        rounds: Option<usize>,
        group: &ProcessGroup,
    ) -> (Vec<u8>, TrainReport) {
        let (fit, data) = fit_to(config, &mut split, folder, rounds, group);
        (fit.ranker.to_bytes(), TrainReport::new(config, data, &split, &fit))
    }

    fn fit_to(
        config: &Experiment,
        split: &mut Split,
        folder: Option<&Path>,
        rounds: Option<usize>,
        group: &ProcessGroup,
    ) -> (Fit, Sets<DataReport>) {
        split.cut(config.shards()).unwrap();
        split.sets_mut().for_each(|data| burn_rank::workbench::dataset::share_with(data, group));
        agree(group, config, Some(split)).unwrap();
        split.check().unwrap();
        let interrupt = rounds.map_or_else(Interrupt::default, |rounds| Interrupt::default().after(rounds));
        let device = Device::flex();
        let options = FitOptions { directory: folder, interrupt, ..FitOptions::new(&device) };
        let data = Sets::from_split(split);
        (fit_in_place(config, split, config.seed, &options).unwrap(), data)
    }

    #[test]
    fn more_shards_than_queries_are_refused_before_they_take_memory() {
        for shards in [41, usize::MAX / 2] {
            let error = split().cut(shards).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("learner.shards = {shards}: expected at most 40, the number of training queries")
            );
        }
    }

    /// Both the ranker and the report name the normalizer that `auto` chose.
    #[test]
    fn auto_names_the_normalizer_that_it_took() {
        let (auto, gauss) = (config("auto", "kind = \"linear\""), config("gauss", "kind = \"linear\""));
        let whole = train(&auto, split(), None, None, &ProcessGroup::default());
        assert!(whole == train(&gauss, split(), None, None, &ProcessGroup::default()));
        assert_eq!(whole.1.config["normalizer"], json!("gauss"));
    }

    #[test]
    fn each_process_reads_its_shards_and_all_make_the_fit_of_one() {
        let attention = "kind = \"attention\", width = 4, heads = 1, blocks = 1";
        let perceptron = "kind = \"mlp\", hidden = [4]";
        for (normalizer, scorer, window) in [
            ("z_score", perceptron, 1 << 20),
            ("z_score", perceptron, 1 << 10),
            ("query_min_max", attention, 1 << 20),
            ("quantile", "kind = \"linear\"", 1 << 10),
        ] {
            let (config, split) = (config(normalizer, scorer), split());
            let whole = train(&config, streamed(&split, window).0, None, None, &ProcessGroup::default());
            if window == 1 << 20 {
                assert!(
                    train(&config, split.clone(), None, None, &ProcessGroup::default()) == whole,
                    "in memory, {normalizer}"
                );
            }
            for count in 1..4 {
                let made = in_processes(count, |group| {
                    let (streamed, reads) = streamed(&split, window);
                    let made = train(&config, streamed, None, None, group);
                    let mut cut = split.clone();
                    cut.cut(SHARDS).unwrap();
                    for (data, reads) in cut.sets_mut().zip(reads) {
                        let parts = testing::parts(data);
                        let own = &parts[own(SHARDS, group)];
                        let bound = |query: usize| data.offsets[query] * data.feature_count;
                        let values = bound(own[0].start)..bound(own[own.len() - 1].end);
                        for (at, reads) in reads.lock().unwrap().iter().enumerate() {
                            assert_eq!(*reads > 0, values.contains(&at), "value {at}, {values:?}, {count} processes");
                        }
                    }
                    made
                });
                assert!(made.iter().all(|made| *made == whole), "{normalizer}, {count} processes");
            }
        }
    }

    /// Returns three sets with 10 features each. Their documents fill more than 3 chunks, more than 1 chunk, and less
    /// than 1 chunk.
    fn large_split() -> Split {
        let config =
            SynthConfig { queries: 2000, features: 10, median_length: 9.0, max_length: 30, ..SynthConfig::default() };
        let all = config.generate().unwrap();
        let set = |queries: std::ops::Range<usize>| all.select(&queries.collect::<Vec<_>>());
        let split =
            Split { fold: 1, train: set(0..1400), validation: Some(set(1400..1980)), test: Some(set(1980..2000)) };
        assert!(split.train.documents() > 3 * CHUNK && split.validation.as_ref().unwrap().documents() > CHUNK);
        split
    }

    fn trees(normalizer: &str, learner: &str) -> Experiment {
        let text = format!(
            "normalizer = \"{normalizer}\"\nloss = {{ name = \"lambda_ndcg\" }}\n\
             learner = {{ kind = \"boosted_trees\", rounds = 3, leaves = 4, {learner} }}\n[data.synthetic]\n"
        );
        let document = Document::parse(Path::new("a.toml"), text, &[]).unwrap();
        Experiment::from_document(&document).unwrap()
    }

    #[test]
    fn each_process_reads_its_share_and_all_grow_the_trees_of_one() {
        let split = large_split();
        // Ten columns in one pass and in two; the columns exchanged one by one, in twos and all at once.
        for (normalizer, learner, window) in [
            ("z_score", "bins = 16", 1 << 16),
            ("quantile", "bins = 16, subsample = 0.5", 1 << 17),
            ("query_min_max", "bins = 255", 1 << 20),
        ] {
            let config = trees(normalizer, learner);
            let whole = train(&config, split.clone(), None, None, &ProcessGroup::default());
            for count in 1..4 {
                let made = in_processes(count, |group| {
                    let (mut streamed, reads) = streamed(&split, window);
                    let (fit, data_of) = fit_to(&config, &mut streamed, None, None, group);
                    for (data, reads) in streamed.clone().sets_mut().zip(reads) {
                        let own = testing::own_rows(data);
                        for (row, reads) in reads.lock().unwrap().chunks(data.feature_count).enumerate() {
                            // Queries at the ends are normalized as a whole.
                            let is_far = (30..CHUNK - 30).contains(&(row % CHUNK));
                            if is_far || normalizer != "query_min_max" {
                                assert_eq!(reads[0] > 0, own.contains(&row), "row {row}, {own:?}, {count} processes");
                            }
                        }
                    }
                    // The report reads a few queries more.
                    (fit.ranker.to_bytes(), TrainReport::new(&config, data_of, &streamed, &fit))
                });
                assert!(made.iter().all(|made| *made == whole), "{normalizer}, {count} processes");
            }
        }
    }

    #[test]
    fn trees_that_were_stopped_go_on_in_another_number_of_processes() {
        let (config, split) = (trees("z_score", "bins = 16"), large_split());
        let fit = |folder: Option<&Path>, rounds, group: &ProcessGroup| {
            train(&config, streamed(&split, 1 << 16).0, folder, rounds, group)
        };
        let whole = train(&config, split.clone(), None, None, &ProcessGroup::default());
        let folder = tempfile::tempdir().unwrap();
        let stopped = in_processes(3, |group| fit(Some(folder.path()), Some(1), group));
        assert!(stopped.iter().all(|stopped| *stopped != whole));
        let made = in_processes(2, |group| fit(Some(folder.path()), None, group));
        assert!(made.iter().all(|made| *made == whole));
    }

    #[test]
    fn a_fit_that_was_stopped_goes_on_in_another_number_of_processes() {
        let (config, split) = (config("z_score", "kind = \"linear\""), split());
        let fit = |folder: Option<&Path>, rounds, group: &ProcessGroup| {
            train(&config, streamed(&split, 1 << 10).0, folder, rounds, group)
        };
        let whole = fit(None, None, &ProcessGroup::default());
        for (count, other) in [(1, 3), (3, 2), (2, 1)] {
            let folder = tempfile::tempdir().unwrap();
            let stopped = in_processes(count, |group| fit(Some(folder.path()), Some(2), group));
            assert!(stopped.iter().all(|stopped| *stopped != whole));
            let made = in_processes(other, |group| fit(Some(folder.path()), None, group));
            assert!(made.iter().all(|made| *made == whole), "{count} processes, resumed in {other}");
        }
    }
}
