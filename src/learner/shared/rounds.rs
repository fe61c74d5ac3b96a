//! The steps that every fit follows: resume, run a round, measure, record, select, save, finish.
//!
//! A learner implements one round ([`Iterative`]), and [`Rounds::drive`] does the rest. This method measures the scores
//! of every round on training and validation data, and keeps the history and the best round. [`Rounds::drive`] also
//! saves a state, so a killed fit can be resumed.
//!
//! The state is one JSON file in the directory of the fit. The file is written after the first round and at the end.
//! Each time, a new file replaces the old one. In between, the state is saved as often as possible without spending
//! more than a fiftieth of the time on saving. Floating-point numbers are saved exactly, so a resumed fit gives
//! bit-identical results. The file contains one hash of the learner and its settings, the seed, the selection measure,
//! the convention, and the data. A state is rejected if its hash differs. The hash is computed with default values for
//! all settings that a registered loss omits. A run can therefore be resumed with its original configuration or with
//! the resolved configuration that it wrote. A user-defined loss contributes its name and the text of its parameters to
//! the hash. The state file begins with the checksum of its contents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::checks;
use super::context::{Fitted, Importance, Job, PositionFactor, Round, StopReason};
use super::judge::{Judge, SurrogateValue};
use crate::atomic_file;
use crate::data::RankingDataset;
use crate::json::{self, Value};
use crate::learner::error::{LearnerError, Result};
use crate::loss::{OWN_LOSS, RankingLoss, registry};
use crate::measure::mean;
use crate::ranker::Model;
use crate::text::hexadecimal;

/// The name of the state file in the directory of a fit.
pub const STATE_FILE: &str = "state.json";

/// The state is saved only if the running time of the fit is at least this multiple of the total time spent on saving.
const TIME_PER_SAVE: u32 = 50;

/// The interface of a learner: its rounds, and the state that is saved between them.
pub(crate) trait Iterative {
    /// The state that is saved after a round, so that the fit can resume.
    type State: Serialize + DeserializeOwned;

    /// Returns the state before the first round.
    fn initial(&self) -> Self::State;

    /// Prepares the learner for the next round, given the initial or saved state and the history of rounds.
    fn resume(&mut self, _state: &mut Self::State, _history: &History) -> Result<()> {
        Ok(())
    }

    /// Runs the next round, or returns the reason why there is none.
    fn round(&mut self, history: &History, state: &mut Self::State) -> Result<Step>;

    /// Returns the score of every document of a set after the latest round. Returns `None` if the round is not measured
    /// on that set.
    fn scores(&self, set: Set, data: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>>;

    /// Observes a recorded round. Returns a reason to stop, if the learner's own stopping criterion is met.
    fn recorded(&mut self, _recorded: &Recorded, _state: &mut Self::State) -> Result<Option<StopReason>> {
        Ok(None)
    }

    /// Updates the state before it is saved. Only learners with a slow update implement this method; all others update
    /// the state in every round.
    fn store(&self, _state: &mut Self::State) -> Result<()> {
        Ok(())
    }

    /// Returns the reason to report for the end of the fit. This method is called again if a finished fit is resumed.
    fn conclude(&mut self, stop: StopReason, _history: &History, _state: &Self::State) -> Result<StopReason> {
        Ok(stop)
    }

    /// Returns the importance of each feature to the model of the best round, if the learner knows it.
    fn importance(&self, _state: &Self::State, _best_round: usize) -> Option<Importance> {
        None
    }

    /// Returns the factors of positions in the best round, if training uses positions.
    fn position_factors(&self, _state: &Self::State, _best_round: usize) -> Vec<PositionFactor> {
        Vec::new()
    }

    /// Returns the model of the best round.
    fn model(&self, state: &Self::State, best_round: usize) -> Result<Model>;
}

/// The training or the validation data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    Training,
    Validation,
}

/// The scores of a sum of models, to which a learner adds one model after another, on the training data and, if there
/// are any, on the validation data.
pub(crate) struct Additive<'a>(pub(crate) Vec<(Set, &'a RankingDataset, Vec<f64>)>);

impl<'a> Additive<'a> {
    /// Starts with no models, so that every score is 0.
    pub(crate) fn new(job: Job<'a>) -> Self {
        let sets = [Set::Training, Set::Validation].into_iter().zip(job.sets());
        Self(sets.map(|(set, (_, data))| (set, data, vec![0.0; data.documents()])).collect())
    }

    /// Returns the current score of every training or validation document.
    pub(crate) fn on(&self, set: Set) -> &[f64] {
        self.0.iter().find(|(own, ..)| *own == set).map_or(&[], |(_, _, scores)| scores)
    }
}

/// The answer of a learner that is asked for the next round.
pub(crate) enum Step {
    /// A round that may be selected as the best.
    Made(Made),
    /// An intermediate round, which is selected only if the configuration names it.
    Passed(Made),
    /// The fit ends without a further round.
    End(StopReason),
}

/// The report of a learner about a round that it has completed.
pub(crate) struct Made {
    /// The objective that the learner minimizes, evaluated after the round.
    pub(crate) objective: f64,
    /// Further figures, by name.
    pub(crate) figures: Vec<(String, f64)>,
    /// For learners that minimize a surrogate, the weighted sum of the losses of all training queries. It is `None`
    /// with factors of positions, since the scores that are measured have no factors.
    pub(crate) losses: Option<f64>,
}

impl Made {
    pub(crate) fn new(objective: f64, figures: impl IntoIterator<Item = (impl Into<String>, f64)>) -> Self {
        let figures = figures.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self { objective, figures, losses: None }
    }
}

/// A round that has been measured.
pub(crate) struct Recorded<'a> {
    pub(crate) round: &'a Round,
    /// Whether this round replaces the selected round.
    pub(crate) improved: bool,
    /// Whether this round is better than all earlier rounds.
    pub(crate) rose: bool,
}

/// All rounds so far, and the number of the selected round.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The rounds so far.
    pub(crate) rounds: Vec<Round>,
    /// The number of the selected round, counted from 1, or 0 if there is no round yet. This is the best round, or
    /// always the latest round if the configuration names the round to keep.
    pub(crate) best_round: usize,
}

impl History {
    /// Returns the number of the next round, counted from 1.
    pub(crate) fn next(&self) -> usize {
        self.rounds.len() + 1
    }

    /// Returns whether a round is better than the best round so far. Rounds are compared by the selection measure on
    /// the validation data, or on the training data if there are no validation data. Without either measure, the round
    /// with the smaller objective is better. If two rounds are equal, the earlier round stays selected.
    fn would_improve(&self, round: &Round) -> bool {
        self.best_round.checked_sub(1).is_none_or(|best| merit(round) > merit(&self.rounds[best]))
    }

    /// Returns whether a round is better than all earlier rounds.
    fn tops_all(&self, round: &Round) -> bool {
        self.rounds.iter().all(|before| merit(round) > merit(before))
    }

    fn push(&mut self, round: Round, improved: bool) {
        self.rounds.push(round);
        if improved {
            self.best_round = self.rounds.len();
        }
    }
}

/// Returns the number by which rounds are compared; larger is better.
fn merit(round: &Round) -> f64 {
    round.validation.or(round.train).unwrap_or(-round.objective)
}

/// A fit that is ready to run: the data are checked, and the limits on the number of rounds are set.
pub(crate) struct Rounds<'a> {
    pub(crate) learner: &'static str,
    pub(crate) job: Job<'a>,
    judge: Judge,
    surrogate: Option<SurrogateValue>,
    most: Option<usize>,
    patience: Option<usize>,
}

impl<'a> Rounds<'a> {
    /// Checks that the data suit the learner ([`checks::trainable`]), that some query has two labels, and that there
    /// are no weights and no missing values.
    pub(crate) fn new(learner: &'static str, job: Job<'a>) -> Result<Self> {
        checks::unweighted(learner, job.train)?;
        checks::complete(learner, job)?;
        checks::two_labels(learner, job.train)?;
        Self::of_weighted(learner, job)
    }

    /// Checks that the data suit the learner ([`checks::trainable`]). The learner must check weights, missing values,
    /// and whether its loss can learn from the labels.
    pub(crate) fn of_weighted(learner: &'static str, job: Job<'a>) -> Result<Self> {
        checks::trainable(learner, job)?;
        let judge = Judge::new(&job.context.selection)?;
        Ok(Self { learner, job, judge, surrogate: None, most: None, patience: None })
    }

    /// Sets the maximum number of rounds.
    pub(crate) fn most(self, rounds: usize) -> Self {
        Self { most: Some(rounds), ..self }
    }

    /// If a number is given, ends the fit after that many rounds without an improvement.
    pub(crate) fn patience(self, patience: Option<usize>) -> Self {
        Self { patience, ..self }
    }

    /// Makes every round report the mean value of a surrogate, computed from [`Made::losses`], next to the measure that
    /// it approximates.
    pub(crate) fn beside_measure(self, loss: &dyn RankingLoss) -> Result<Self> {
        Ok(Self { surrogate: SurrogateValue::new(loss, self.job.train)?, ..self })
    }

    /// Runs a learner to its end, from its first round or from its saved state.
    pub(crate) fn drive<L: Iterative>(self, params: &impl Serialize, learner: &mut L) -> Result<Fitted> {
        let mut run = Run::start(&self, params, learner)?;
        learner.resume(&mut run.state, &run.history)?;
        let stop = loop {
            if let Some(stop) = self.stop(&run) {
                break stop;
            }
            match learner.round(&run.history, &mut run.state)? {
                Step::Made(made) => run.stopped = self.record(&mut run, learner, made, true)?,
                Step::Passed(made) => run.stopped = self.record(&mut run, learner, made, false)?,
                Step::End(stop) => break stop,
            }
            if run.due() {
                learner.store(&mut run.state)?;
                run.save()?;
            }
        };
        let stop = learner.conclude(stop, &run.history, &run.state)?;
        // An interrupted fit continues when it is resumed. Any other end is final.
        run.stopped = (stop != StopReason::Interrupted).then_some(stop);
        learner.store(&mut run.state)?;
        run.save()?;
        self.job.context.progress.end();
        let model = learner.model(&run.state, run.history.best_round)?;
        let importance = learner.importance(&run.state, run.history.best_round);
        let positions = learner.position_factors(&run.state, run.history.best_round);
        let (best_round, history) = (run.history.best_round, run.history.rounds);
        Ok(Fitted { model, best_round, history, stop, importance, positions })
    }

    /// Returns the reason why the fit should not run another round, or `None` if the fit continues. The fit ends if the
    /// learner or a saved state has ended it, or if the context asks it to stop. It also ends after the maximum number
    /// of rounds, or after too many rounds without an improvement.
    fn stop<S>(&self, run: &Run<S>) -> Option<StopReason> {
        let (made, taken) = (run.history.rounds.len(), self.job.context.selection.round);
        if run.stopped.is_some() {
            run.stopped
        } else if self.most.into_iter().chain(taken).any(|most| made >= most) {
            Some(StopReason::Completed)
        } else if self.job.train.group().agree(self.job.context.interrupt.is_due(made)) {
            Some(StopReason::Interrupted)
        } else {
            let is_over = |patience| taken.is_none() && made - run.history.best_round >= patience;
            self.patience.is_some_and(is_over).then_some(StopReason::EarlyStopped)
        }
    }

    /// Measures a round and adds it to the history. If `counts` is false, the round is selected only if the
    /// configuration names it.
    fn record<L: Iterative>(
        &self,
        run: &mut Run<L::State>,
        learner: &mut L,
        made: Made,
        counts: bool,
    ) -> Result<Option<StopReason>> {
        let measured = |set, data: &RankingDataset| {
            let scores = learner.scores(set, data)?;
            scores.map(|scores| self.judge.shared_values(data, &scores)).transpose()
        };
        let on_train = measured(Set::Training, self.job.train)?;
        let on_validation = self.job.validation.map(|data| measured(Set::Validation, data)).transpose()?.flatten();
        let Made { objective, mut figures, losses } = made;
        if let (Some(surrogate), Some(losses)) = (&self.surrogate, losses) {
            figures.push(surrogate.figure(losses));
            figures.extend(on_train.as_deref().and_then(|values| surrogate.exact_figure(values)));
        }
        let [train, validation] = [on_train, on_validation].map(|values| values.as_deref().and_then(mean));
        let round = Round { round: run.history.next(), objective, train, validation, figures };
        let given = self.job.context.selection.round;
        let (is_given, counts) = (given.is_some(), counts || given == Some(round.round));
        let rose = counts && if is_given { run.history.tops_all(&round) } else { run.history.would_improve(&round) };
        // If the configuration names the round to keep, the selected round is always the latest one.
        let improved = if is_given { counts } else { rose };
        self.job.context.progress.round(&round);
        let stop = learner.recorded(&Recorded { round: &round, improved, rose }, &mut run.state)?;
        run.history.push(round, improved);
        Ok(stop)
    }
}

/// Returns a hash that identifies a fit, computed from the learner, its settings, the seed, the selection measure and
/// the data.
fn fit_hash(rounds: &Rounds, params: &impl Serialize) -> String {
    let context = rounds.job.context;
    let mut params = json::to_value(params).unwrap_or_default();
    each_loss(&mut params);
    let mut hash = Sha256::new();
    hash.update(rounds.learner);
    hash.update(params.to_string());
    hash.update(context.seed.to_le_bytes());
    // Some learners also fit the selection measure.
    hash.update(context.selection.measure.to_string());
    hash.update(serde_json::to_vec(&context.selection.convention).unwrap_or_default());
    if let Some(round) = context.selection.round {
        hash.update(round.to_le_bytes());
    }
    for (_, data) in rounds.job.sets() {
        hash.update(data.fingerprint());
    }
    hexadecimal(&hash.finalize())
}

/// Fills in the default of every parameter that a registered loss in a learner's settings, or its teacher, leaves out.
/// Then sorts the parameters by name.
fn each_loss(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(each_loss),
        Value::Object(table) => {
            // The parameters of an unregistered loss stay as they are.
            if table.get(OWN_LOSS).is_some() {
                return;
            }
            match table.get("name").and_then(Value::as_str).and_then(|name| registry::find(name).ok()) {
                Some(entry) => {
                    let mut all = BTreeMap::from_iter(entry.complete(table));
                    if let Some(teacher) = all.get_mut(registry::TEACHER)
                        && let Ok(completed) = registry::completed_teacher(teacher)
                    {
                        *teacher = completed;
                        each_loss(teacher);
                    }
                    table.clear();
                    table.extend(all);
                }
                None => table.values_mut().for_each(each_loss),
            }
        }
        _ => {}
    }
}

#[derive(Serialize, Deserialize)]
struct Saved<H, S> {
    fit: String,
    best_round: usize,
    stop: Option<StopReason>,
    history: H,
    state: S,
}

/// A fit in progress: its history and its state, with the file to which both are saved.
struct Run<S> {
    path: Option<PathBuf>,
    fit: String,
    history: History,
    stopped: Option<StopReason>,
    state: S,
    begun: Instant,
    saving: Duration,
}

impl<S: Serialize + DeserializeOwned> Run<S> {
    /// Begins a fit, or continues the one whose state is saved in the folder.
    fn start(rounds: &Rounds, params: &impl Serialize, learner: &impl Iterative<State = S>) -> Result<Self> {
        let path = rounds.job.folder().map(|directory| directory.join(STATE_FILE));
        let fit = fit_hash(rounds, params);
        let saved = read::<S>(path.as_deref(), &fit, rounds.job.train)?;
        let context = rounds.job.context;
        context.progress.begin(rounds.learner, rounds.most.into_iter().chain(context.selection.round).min());
        let (history, stopped, state) = match saved {
            Some(Saved { history, best_round, stop, state, .. }) => {
                (History { rounds: history, best_round }, stop, state)
            }
            None => (History::default(), None, learner.initial()),
        };
        let (begun, saving) = (Instant::now(), Duration::ZERO);
        Ok(Self { path, fit, history, stopped, state, begun, saving })
    }

    /// Returns whether saving has taken a small enough share of the time for the state to be saved again.
    fn due(&self) -> bool {
        self.path.is_some() && self.begun.elapsed() >= TIME_PER_SAVE * self.saving
    }

    fn save(&mut self) -> Result<()> {
        let start = Instant::now();
        if let Some(path) = &self.path {
            let saved = Saved {
                fit: self.fit.clone(),
                best_round: self.history.best_round,
                stop: self.stopped,
                history: &self.history.rounds,
                state: &self.state,
            };
            let unsaved = |reason: String| LearnerError::State { path: path.clone(), reason };
            let bytes = serde_json::to_vec(&saved).map_err(|error| unsaved(error.to_string()))?;
            atomic_file::replace(path, &with_checksum(&bytes)).map_err(|error| unsaved(error.to_string()))?;
        }
        self.saving += start.elapsed();
        Ok(())
    }
}

/// The first characters of a state file. The SHA-256 checksum of the remaining fields follows.
const CHECKSUM: &str = r#"{"sha256":""#;

/// Adds the checksum of a JSON object as its first field.
fn with_checksum(object: &[u8]) -> Vec<u8> {
    let fields = &object[1..];
    let sum = hexadecimal(&Sha256::digest(fields));
    [CHECKSUM.as_bytes(), sum.as_bytes(), b"\",", fields].concat()
}

/// Returns whether the first field of a state is the checksum of its other fields.
fn has_its_checksum(state: &[u8]) -> bool {
    let rest = state.strip_prefix(CHECKSUM.as_bytes());
    let parts = rest.and_then(|rest| rest.split_at_checked(2 * <Sha256 as Digest>::output_size()));
    parts.is_some_and(|(sum, rest)| {
        let fields = rest.strip_prefix(b"\",");
        fields.is_some_and(|fields| hexadecimal(&Sha256::digest(fields)).as_bytes() == sum)
    })
}

/// Returns the saved state, or `None` if there is none. The first process reads the state and sends it to the others.
fn read<S: DeserializeOwned>(
    path: Option<&Path>,
    fit: &str,
    train: &RankingDataset,
) -> Result<Option<Saved<Vec<Round>, S>>> {
    let there = path.filter(|path| path.exists());
    let unusable = |path: &Path, reason: String| LearnerError::UnusableState { path: path.to_owned(), reason };
    let bytes = there.map(|path| std::fs::read(path).map_err(|error| unusable(path, error.to_string()))).transpose()?;
    let bytes = train.group().broadcast(bytes.unwrap_or_default());
    if bytes.is_empty() && there.is_none() {
        return Ok(None);
    }
    let path = path.unwrap_or(Path::new(STATE_FILE));
    if !has_its_checksum(&bytes) {
        let reason = "found a damaged state, whose checksum does not match its contents; remove it to start again";
        return Err(unusable(path, reason.to_string()));
    }
    let head: Saved<IgnoredAny, IgnoredAny> =
        serde_json::from_slice(&bytes).map_err(|error| unusable(path, error.to_string()))?;
    if head.fit != fit {
        let reason = "state of another fit (other learner, parameters, seed, selection measure or data): \
                      choose another directory";
        return Err(unusable(path, reason.to_string()));
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| unusable(path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::FitContext;
    use crate::learner::shared::share::linear_model;
    use crate::learner::testing;
    use crate::loss::LossSpec;

    #[test]
    fn a_loss_is_the_same_with_its_teacher_in_any_order_and_with_its_defaults() {
        let written = |teacher: &str| serde_json::from_str::<Value>(&format!("{{\"loss\": {teacher}}}")).unwrap();
        let completed = |mut value: Value| {
            each_loss(&mut value);
            value.to_string()
        };
        let one = written("{\"name\": \"list_net\", \"teacher\": {\"name\": \"teacher_kl\", \"scale\": \"query\"}}");
        let two = written("{\"teacher\": {\"scale\": \"query\", \"name\": \"teacher_kl\"}, \"name\": \"list_net\"}");
        let spec: LossSpec = serde_json::from_value(one["loss"].clone()).unwrap();
        let mut resolved = spec.resolved().unwrap();
        resolved.insert("name".into(), "list_net".into());
        assert_eq!(completed(one.clone()), completed(two));
        assert_eq!(completed(one), completed(json::json!({"loss": resolved})));
    }

    /// A learner with prescribed objectives, whose scores rank the two documents correctly only in round 2.
    struct Counter<'a> {
        objectives: &'a [f64],
        ends_after: Option<usize>,
        /// Makes the fit fail at its end.
        dies: bool,
        right: bool,
    }

    fn counter(objectives: &[f64]) -> Counter<'_> {
        Counter { objectives, ends_after: None, dies: false, right: false }
    }

    impl Iterative for Counter<'_> {
        type State = Vec<f64>;

        fn initial(&self) -> Vec<f64> {
            vec![0.1 + 0.2, f64::MIN_POSITIVE, -1e300]
        }

        fn round(&mut self, history: &History, state: &mut Vec<f64>) -> Result<Step> {
            let Some(&objective) = self.objectives.get(history.rounds.len()) else {
                return Ok(Step::End(StopReason::Converged));
            };
            self.right = history.next() == 2;
            state.push(1.0 / objective);
            let made = Made::new(objective, [("figure", 1.0 / 3.0)]);
            Ok(if objective < 0.0 { Step::Passed(made) } else { Step::Made(made) })
        }

        fn scores(&self, _: Set, _: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>> {
            Ok(Some(Cow::Owned(if self.right { vec![0.0, 1.0] } else { vec![1.0, 0.0] })))
        }

        fn recorded(&mut self, recorded: &Recorded, _: &mut Vec<f64>) -> Result<Option<StopReason>> {
            Ok((Some(recorded.round.round) == self.ends_after).then_some(StopReason::Converged))
        }

        fn conclude(&mut self, stop: StopReason, _: &History, _: &Vec<f64>) -> Result<StopReason> {
            let reason = "died".to_string();
            if self.dies { Err(LearnerError::Solver { learner: "test", reason }) } else { Ok(stop) }
        }

        fn model(&self, state: &Vec<f64>, _: usize) -> Result<Model> {
            Ok(linear_model(state, 0.0, &burn::tensor::Device::flex()))
        }
    }

    fn drive(counter: &mut Counter, params: i32, context: &FitContext) -> Result<Fitted, String> {
        let data = testing::two_documents();
        let rounds = Rounds::new("test", Job::new(&data, None, context)).unwrap();
        rounds.most(4).patience(Some(3)).drive(&params, counter).map_err(|error| error.to_string())
    }

    #[test]
    fn the_earliest_of_the_best_rounds_is_kept_and_a_round_on_the_way_never_is() {
        let context = testing::context(None);
        let fitted = drive(&mut counter(&[3.0, 2.0, 1.0]), 0, &context).unwrap();
        assert_eq!((fitted.best_round, fitted.stop), (2, StopReason::Converged));
        assert_eq!(fitted.history[1].train, Some(1.0));
        let passed = drive(&mut counter(&[3.0, -2.0, 1.0]), 0, &context).unwrap();
        assert_eq!((passed.best_round, passed.history.len()), (1, 3));
    }

    #[test]
    fn a_fit_ends_by_its_rounds_its_patience_or_the_learner() {
        let context = testing::context(None);
        let long = [1.0; 9];
        let most = drive(&mut counter(&long), 0, &context).unwrap();
        assert_eq!((most.history.len(), most.stop), (4, StopReason::Completed));
        let ended = drive(&mut Counter { ends_after: Some(1), ..counter(&long) }, 0, &context).unwrap();
        assert_eq!((ended.history.len(), ended.stop), (1, StopReason::Converged));
        let data = testing::two_documents();
        let rounds = Rounds::new("test", Job::new(&data, None, &context)).unwrap().most(9).patience(Some(2));
        let fitted = rounds.drive(&(), &mut counter(&long)).unwrap();
        assert_eq!((fitted.history.len(), fitted.best_round, fitted.stop), (4, 2, StopReason::EarlyStopped));
    }

    #[test]
    fn a_round_that_is_given_is_taken_whatever_is_measured_and_ends_the_fit() {
        let taken = |objectives: &[f64], round| {
            let mut context = testing::context(None);
            context.selection.round = Some(round);
            let fitted = drive(&mut counter(objectives), 0, &context).unwrap();
            (fitted.best_round, fitted.history.len(), fitted.stop)
        };
        // The second is the best, and patience would end the fit after the fifth.
        let objectives = [3.0, 2.0, 1.0, 1.0];
        assert_eq!(taken(&objectives, 3), (3, 3, StopReason::Completed));
        assert_eq!(taken(&objectives, 1), (1, 1, StopReason::Completed));
        assert_eq!(taken(&objectives, 9), (4, 4, StopReason::Completed), "no more than the learner makes");
        assert_eq!(taken(&[3.0, -2.0, 1.0], 2), (2, 2, StopReason::Completed), "a round on the way");
        assert_eq!(taken(&[3.0, -2.0, -1.0, 1.0], 3), (3, 3, StopReason::Completed), "after another");
    }

    #[test]
    fn a_state_of_a_round_that_is_given_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut context = testing::context(Some(folder.path()));
        context.selection.round = Some(2);
        drive(&mut counter(&[3.0, 2.0, 1.0]), 1, &context).unwrap();
        assert_eq!(drive(&mut counter(&[3.0, 2.0, 1.0]), 1, &context).unwrap().history.len(), 2);
        context.selection.round = Some(3);
        assert!(drive(&mut counter(&[3.0, 2.0, 1.0]), 1, &context).unwrap_err().contains("state of another fit"));
    }

    #[test]
    fn a_state_is_read_back_exactly_and_only_by_its_own_fit() {
        let folder = tempfile::tempdir().unwrap();
        let mut context = testing::context(Some(folder.path()));
        let progress = testing::StopAfter { rounds: 1, interrupt: context.interrupt.clone() };
        context.progress = &progress;
        let part = drive(&mut counter(&[3.0, 2.0]), 1, &context).unwrap();
        assert_eq!((part.history.len(), part.stop), (1, StopReason::Interrupted));

        let context = testing::context(Some(folder.path()));
        let rest = drive(&mut counter(&[3.0, 2.0]), 1, &context).unwrap();
        let whole = drive(&mut counter(&[3.0, 2.0]), 1, &testing::context(None)).unwrap();
        assert_eq!((&rest.history, rest.best_round, rest.stop), (&whole.history, 2, StopReason::Converged));
        let weights = |fitted: &Fitted| testing::linear_weights(&fitted.model);
        assert_eq!(weights(&rest), weights(&whole));
        let other = drive(&mut counter(&[3.0, 2.0]), 2, &context);
        assert!(other.unwrap_err().contains("state of another fit"));
    }

    /// A regression test: AdaRank and RankBoost once ran an extra round when they resumed a fit that had been killed
    /// after its last round.
    #[test]
    fn a_fit_that_dies_between_its_last_round_and_its_end_makes_no_further_round() {
        let folder = tempfile::tempdir().unwrap();
        let context = testing::context(Some(folder.path()));
        let ends = || Counter { ends_after: Some(1), ..counter(&[3.0, 2.0]) };
        assert_eq!(drive(&mut Counter { dies: true, ..ends() }, 0, &context).unwrap_err(), "test: died");
        let resumed = drive(&mut ends(), 0, &context).unwrap();
        assert_eq!((resumed.history.len(), resumed.stop), (1, StopReason::Converged));
    }

    #[test]
    fn a_state_is_read_back_by_the_same_loss_however_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let data = testing::two_documents();
        let context = testing::context(Some(folder.path()));
        let brief = LossSpec::new("approx_ndcg").with("beta", 10.0);
        let fit = |loss: &LossSpec, context: &FitContext| {
            let rounds = Rounds::new("test", Job::new(&data, None, context)).unwrap().most(1);
            rounds.drive(&(1.5f32, loss.clone()), &mut counter(&[1.0])).is_ok()
        };
        assert!(fit(&brief, &context));
        let reads = |loss: &LossSpec| fit(loss, &context);
        let entry = registry::find("approx_ndcg").unwrap();
        let complete = LossSpec { name: brief.name.clone(), params: entry.defaults(&json::Map::new()) };
        assert!(reads(&brief) && reads(&complete) && reads(&LossSpec::new("approx_ndcg")));
        assert!(!reads(&brief.with("beta", 9.0)) && !reads(&LossSpec::new("smooth_ndcg")));
    }

    #[test]
    fn a_state_with_any_other_byte_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let context = testing::context(Some(folder.path()));
        drive(&mut counter(&[3.0, 2.0]), 1, &context).unwrap();
        let path = folder.path().join(STATE_FILE);
        let whole = std::fs::read(&path).unwrap();
        serde_json::from_slice::<json::Map>(&whole).unwrap();
        let context = testing::context(Some(folder.path()));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] = if damaged[at] == b'7' { b'8' } else { b'7' };
            std::fs::write(&path, &damaged).unwrap();
            let error = drive(&mut counter(&[3.0, 2.0]), 1, &context).unwrap_err();
            assert!(error.contains("damaged state"), "{at}: {error}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(drive(&mut counter(&[3.0, 2.0]), 1, &context).unwrap_err().contains("damaged state"), "{at}");
        }
        std::fs::write(&path, &whole).unwrap();
        drive(&mut counter(&[3.0, 2.0]), 1, &context).unwrap();
    }

    #[test]
    fn a_state_belongs_to_one_selection_measure_in_one_convention() {
        let folder = tempfile::tempdir().unwrap();
        let mut context = testing::context(Some(folder.path()));
        let again = |context: &FitContext| drive(&mut counter(&[1.0]), 0, context).err();
        assert_eq!(again(&context), None);
        assert_eq!(again(&context), None);
        context.selection.measure = crate::measure::Measure::Ndcg(Some(10));
        assert!(again(&context).unwrap().contains("selection measure"));
        context = FitContext { selection: testing::context(None).selection, ..context };
        context.selection.convention = crate::measure::Convention::default();
        assert!(again(&context).unwrap().contains("selection measure"));
    }
}
