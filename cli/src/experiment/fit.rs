//! One fit: a split is normalized, the learner trains a ranker on it, and measures are computed. The members of
//! `[[members]]` are fitted one after the other, each as a separate experiment, and their rankers are joined.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use burn::tensor::{DType, Device};
use burn_rank::data::{DataError, Normalizer, NormalizerKind, Positions, RankingDataset};
use burn_rank::learner::{
    FitContext, Importance, Interrupt, Job, LearnerError, PositionFactor, Progress, Round, StopReason,
};
use burn_rank::measure::{Evaluation, evaluate};
use burn_rank::ranker::{Member, Members, Metadata, Model, Ranker};
use burn_rank::refusal::Refusal;
use burn_rank::scorer::Scorer;
use burn_rank::seed::seed_for;
use burn_rank::workbench::{Approximation, normalizer, predict_together};
use serde::{Deserialize, Serialize};

use super::config::{Experiment, ExperimentConfig, Standardize};
use super::error::{ExperimentError, OutputError};
use super::extreme_queries::ExtremeQueries;
use super::folder::MEMBER;
use super::split::Split;

/// The measures on each set of queries, keyed by the name of the set.
pub type Evaluations = BTreeMap<&'static str, Evaluation>;

/// Fits a normalizer to training queries. If missing values are `indicated`, the normalizer also fills them and adds
/// the columns that mark them.
///
/// # Errors
/// Returns a [`DataError`] if a normalized copy of the data takes more memory than is free.
pub(crate) fn fit_normalizer(
    train: &RankingDataset,
    kind: NormalizerKind,
    indicated: bool,
) -> Result<Normalizer, DataError> {
    if indicated { Normalizer::fit_with_indicators(train, kind) } else { Ok(Normalizer::fit(train, kind)) }
}

/// Options for running a fit that an [`Experiment`] describes.
pub struct FitOptions<'a> {
    /// The device for tensor operations.
    pub device: &'a Device,
    /// The ranker that the fit starts from.
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

/// The fit of one member, as reports have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberReport {
    /// The name of the member.
    pub name: String,
    /// The weight of its standardized scores.
    pub weight: f64,
    /// The constant that its scores are divided by, with `standardize = "fixed"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// The seed of its fit.
    pub seed: u64,
    /// The number of completed rounds.
    pub rounds: usize,
    /// The number of the best round, counted from 1.
    pub best_round: usize,
    /// The reason why its fit ended.
    pub stop: StopReason,
    /// Its measures by itself, under names such as `validation ndcg@10`.
    pub measures: BTreeMap<String, f64>,
    /// The importance of each feature in its trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<Importance>,
    /// Its factors of positions; empty if its training does not use positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<PositionFactor>,
    /// Every round.
    pub history: Vec<Round>,
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
    let data_hash = split.train.data_hash();
    // The configuration names positions for another setting or member.
    if config.data.read.positions && !config.learner_entry().is_some_and(|entry| entry.takes_positions) {
        split.train.positions = Positions::default();
    }
    let normalizer = normalize(config, split, options.start)?;
    let Split { train, validation, .. } = &*split;
    let context = FitContext {
        directory: options.directory,
        progress: options.progress,
        interrupt: options.interrupt.clone(),
        ..FitContext::new(options.device.clone(), seed, config.selection())
    };
    check_measures(config, split)?;
    let approximation = approximation(config, train)?;
    let started = options.start.map(|ranker| config.built.starting_from(ranker.model())).transpose()?;
    let fitted = started.as_ref().unwrap_or(&config.built).fit(Job::new(train, validation.as_ref(), &context))?;

    let scores = |data: &RankingDataset| Ok(predict_together(&fitted.model, data, options.device));
    let (evaluations, extremes) = measured(config, split, scores)?;
    // The names of the original features, without the columns that the normalizer adds.
    let names: Vec<String> = train.feature_names.iter().take(normalizer.features()).cloned().collect();
    let metadata = Metadata {
        feature_names: Some(names).filter(|names| !names.is_empty()),
        config: ExperimentConfig { normalizer: normalizer.kind(), ..config.config.clone() }.resolved(),
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

/// Fits the normalizer, or takes the normalizer of the ranker from which the fit starts, and normalizes all sets.
fn normalize(config: &Experiment, split: &mut Split, start: Option<&Ranker>) -> Result<Normalizer, DataError> {
    let mut normalizer = match start {
        Some(ranker) => ranker.normalizer().clone(),
        None => Normalizer::fit(&split.train, config.normalizer),
    };
    split.sets_mut().try_for_each(|data| normalizer.apply(data))?;
    if config.indicates_missing() {
        normalizer = normalizer::with_indicators(normalizer, &split.train);
        split.sets_mut().for_each(|data| normalizer::fill(&normalizer, data));
    }
    Ok(normalizer)
}

/// Fits all members and joins them. A stopped fit joins the members that made a round before the stop. Each member
/// keeps its state in a separate folder. A run that was stopped continues with the member that was being fitted,
/// because a finished fit ends at once when it is resumed.
///
/// # Errors
/// As [`fit`]; the error of a member names it.
fn fit_members(config: &Experiment, split: &Split, seed: u64, options: &FitOptions) -> Result<Fit, ExperimentError> {
    check_measures(config, split)?;
    if config.standardize == Standardize::Fixed && split.validation.is_none() {
        let expected = "\"query\", or validation queries, whose deviations are the constants";
        return Err(Refusal::new("standardize", "\"fixed\"", expected).into());
    }
    let mut resolved = config.config.clone();
    let (mut reports, mut members, mut stop) = (Vec::new(), Vec::new(), StopReason::Completed);
    for (number, (member, experiment)) in config.config.members.iter().zip(&*config.member_experiments).enumerate() {
        // The first member has the seed of the run.
        let seed = if number == 0 { seed } else { seed_for(seed, "members", number as u64) };
        let directory = options.directory.map(|folder| folder.join(format!("{MEMBER}{}", number + 1)));
        if let Some(folder) = &directory {
            fs::create_dir_all(folder).map_err(OutputError::unwritable(folder))?;
        }
        let interrupt = options.interrupt.clone();
        let own = FitOptions { directory: directory.as_deref(), interrupt, start: None, ..*options };
        let fitted =
            fit(experiment, split, seed, &own).map_err(ExperimentError::job(format!("member `{}`", member.name)))?;
        resolved.members[number].normalizer = fitted.ranker.normalizer().kind();
        reports.push(MemberReport {
            name: member.name.clone(),
            weight: member.weight,
            deviation: None,
            seed,
            rounds: fitted.history.len(),
            best_round: fitted.best_round,
            stop: fitted.stop,
            measures: named(&fitted.evaluations),
            importance: fitted.importance,
            positions: fitted.positions,
            history: fitted.history,
        });
        members.push(Member { name: member.name.clone(), weight: member.weight, ranker: fitted.ranker });
        if fitted.stop == StopReason::Interrupted {
            stop = fitted.stop;
            // A member without a round scores all documents alike.
            if members.len() > 1 && reports.last().is_some_and(|report| report.rounds == 0) {
                reports.pop();
                members.pop();
            }
            // The best ranker so far needs a weight, even if the finished members have the weight 0.
            if members.iter().all(|member| member.weight == 0.0) {
                members.iter_mut().for_each(|member| member.weight = 1.0);
            }
            break;
        }
    }
    let mut members = Members::new(members)?;
    let is_blank = stop == StopReason::Interrupted && reports.iter().all(|report| report.rounds == 0);
    if let (Standardize::Fixed, Some(validation), false) = (config.standardize, &split.validation, is_blank) {
        members = members.with_fixed_deviations(validation, options.device)?;
        let deviations = members.fixed_deviations().into_iter().flatten();
        reports.iter_mut().zip(deviations).for_each(|(report, deviation)| report.deviation = Some(*deviation));
    }
    let ranker = Ranker::of_members(members)?;
    let (evaluations, extremes) = measured(config, split, |data| Ok(ranker.predict(data, options.device)?))?;
    let metadata = Metadata {
        config: resolved.resolved(),
        convention: config.measure.convention.clone(),
        measures: named(&evaluations),
        data_hash: split.train.data_hash(),
        seed,
        ..ranker.metadata().clone()
    };
    Ok(Fit {
        ranker: ranker.with_metadata(metadata)?,
        history: Vec::new(),
        best_round: 0,
        stop,
        importance: None,
        positions: Vec::new(),
        evaluations,
        extremes,
        approximation: None,
        members: reports,
    })
}

/// Computes the measures of the scores on each set, and lists the extreme queries of the last set.
fn measured(
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

/// Returns how the loss is approximated for the longest list; `None` if it is computed exactly by its formula.
fn approximation(config: &ExperimentConfig, train: &RankingDataset) -> Result<Option<Approximation>, ExperimentError> {
    let Some(loss) = &config.loss else { return Ok(None) };
    let longest = train.offsets.windows(2).map(|query| query[1] - query[0]).max().unwrap_or(0);
    let loss = loss.build().map_err(LearnerError::from)?;
    Ok(loss.about().approximation(longest, DType::F32).map_err(LearnerError::from)?)
}

/// Returns the mean of each measure on each set, under a name such as `validation ndcg@10`.
fn named(evaluations: &Evaluations) -> BTreeMap<String, f64> {
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
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    /// Requests a stop when the fit with this number begins.
    struct StopAt(AtomicUsize, Interrupt);

    impl Progress for StopAt {
        fn begin(&self, _learner: &str, _rounds: Option<usize>) {
            if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.1.request();
            }
        }
    }

    #[test]
    fn a_member_that_was_stopped_before_its_first_round_is_left_out() {
        let member = "[[members]]\nlearner = { kind = \"gradient\", epochs = 1 }\nloss = { name = \"list_net\" }\n\
                      scorer = { kind = \"linear\" }\n";
        let text = format!("standardize = \"fixed\"\n[data.synthetic]\n{member}{member}");
        let document = Document::parse(Path::new("a.toml"), text, &[]).unwrap();
        let config = Experiment::from_document(&document).unwrap();
        let device = Device::flex();
        for (at, deviations) in [(1, 0), (2, 1), (3, 2)] {
            let progress = &StopAt(AtomicUsize::new(at), Interrupt::default());
            let interrupt = progress.1.clone();
            let options = FitOptions { progress, interrupt, ..FitOptions::new(&device) };
            let fit = fit(&config, &split(), 1, &options).unwrap();
            assert_eq!(fit.stop == StopReason::Interrupted, at < 3);
            assert_eq!(fit.members.iter().filter_map(|member| member.deviation).count(), deviations);
            assert_eq!(fit.members.len(), deviations.max(1));
        }
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
