//! The protocol that every fit follows: resume, stop, make a round, measure it, record it, select, save, finish.
//!
//! A learner says what happens in one round ([`Iterative`]); [`Rounds::drive`] does the rest. It measures the scores of
//! every round on training and validation data, keeps the history and the best round, and saves a state that a killed
//! fit continues from.
//!
//! The state is one JSON file in the directory of the fit. It is replaced whole after the first round, then as often as
//! saving takes at most a fiftieth of the time, and at the end. Floats survive the trip exactly, so that a resumed fit
//! ends in the same bytes as one that was never stopped. The file names the fit it belongs to by a hash of learner,
//! parameters, seed, selection measure with its convention, and data. A registered loss is identified with its defaults
//! filled in. So both the resolved configuration of a run and the one it was started with can continue it. Your own
//! loss is identified by its name and by the text of its parameters. The file begins with the checksum of its contents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::checks;
use super::context::{FitContext, Fitted, Importance, Round, StopReason};
use super::judge::Judge;
use super::surrogate_value::SurrogateValue;
use crate::atomic_file;
use crate::data::RankingDataset;
use crate::distributed::Processes;
use crate::json::{self, Map, Value};
use crate::learner::error::LearnerError;
use crate::loss::{LossEntry, OWN_LOSS, RankingLoss, registry};
use crate::measure::mean;
use crate::ranker::Model;
use crate::text::hexadecimal;

/// Name of the state file in the directory of a fit.
pub const STATE_FILE: &str = "state.json";

/// Time of the fit per unit of time spent on saving.
const TIME_PER_SAVE: u32 = 50;

/// A learner under way: what happens in one round.
pub(crate) trait Iterative {
    /// The state of the fit between rounds.
    type State: Serialize + DeserializeOwned;

    /// The state before the first round.
    fn initial(&self) -> Self::State;

    /// Takes up the state that the fit begins with or continues from, after the rounds of its history.
    fn resume(&mut self, _state: &mut Self::State, _history: &History) -> Result<(), LearnerError> {
        Ok(())
    }

    /// Makes the next round, or tells why there is none.
    fn round(&mut self, history: &History, state: &mut Self::State) -> Result<Step, LearnerError>;

    /// The score of every document of a set after the round just made; `None` where the round is not measured on it.
    fn scores(&self, set: Set, data: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>, LearnerError>;

    /// Notes a round that was recorded. Returns an end if the learner's criterion requests one.
    fn recorded(&mut self, _recorded: &Recorded, _state: &mut Self::State) -> Result<Option<StopReason>, LearnerError> {
        Ok(None)
    }

    /// Brings the state up to date before it is saved, where that takes time.
    fn store(&self, _state: &mut Self::State) -> Result<(), LearnerError> {
        Ok(())
    }

    /// Returns the reason that the fit ended, as it is reported. A resumed fit may ask again.
    fn conclude(
        &mut self,
        stop: StopReason,
        _history: &History,
        _state: &Self::State,
    ) -> Result<StopReason, LearnerError> {
        Ok(stop)
    }

    /// Returns the importance of each feature to the model of the best round, if it is known.
    fn importance(&self, _state: &Self::State, _best_round: usize) -> Option<Importance> {
        None
    }

    /// The model of the best round.
    fn model(&self, state: &Self::State, best_round: usize) -> Result<Model, LearnerError>;
}

/// Data that a round is measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    Training,
    Validation,
}

/// The result of a learner's turn.
pub(crate) enum Step {
    /// A round.
    Made(Made),
    /// A round on the way to one that counts: it is never the best.
    Passed(Made),
    /// No further round.
    End(StopReason),
}

/// The learner's record of a round.
pub(crate) struct Made {
    /// The learner's own objective after the round.
    pub(crate) objective: f64,
    /// Further figures, by name.
    pub(crate) figures: Vec<(String, f64)>,
    /// The sum of the losses of the training queries, each times the weight of its query, for a learner that minimizes
    /// a surrogate.
    pub(crate) losses: Option<f64>,
}

impl Made {
    pub(crate) fn new(objective: f64, figures: impl IntoIterator<Item = (impl Into<String>, f64)>) -> Self {
        let figures = figures.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self { objective, figures, losses: None }
    }
}

/// A round in the history, with the value of the selection measure on each query (`None` where it does not count).
pub(crate) struct Recorded<'a> {
    pub(crate) round: &'a Round,
    /// Whether it is the selected round so far.
    pub(crate) improved: bool,
    /// Whether it is better than all before.
    pub(crate) rose: bool,
    /// The values on the training data, if the round was measured on them.
    pub(crate) on_train: Option<&'a [Option<f64>]>,
    /// The values on the validation data, if there are any.
    pub(crate) on_validation: Option<&'a [Option<f64>]>,
}

/// The rounds so far, and which is the best.
#[derive(Debug, Default)]
pub(crate) struct History {
    rounds: Vec<Round>,
    /// The selected round so far: the best one, or the last one if the round to keep is given.
    best_round: usize,
}

impl History {
    /// Number of the next round, counted from 1.
    pub(crate) fn next(&self) -> usize {
        self.rounds.len() + 1
    }

    /// The rounds so far.
    pub(crate) fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// The selected round so far, counted from 1; 0 before the first.
    pub(crate) fn best_round(&self) -> usize {
        self.best_round
    }

    /// Whether a round is better than the best before. They are compared by the selection measure on validation data,
    /// else on training data, else by the smallest objective; the earliest of equals stays.
    fn would_improve(&self, round: &Round) -> bool {
        self.best_round.checked_sub(1).is_none_or(|best| merit(round) > merit(&self.rounds[best]))
    }

    /// Whether a round is better than every one before.
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

/// Returns the figure that rounds are compared by.
fn merit(round: &Round) -> f64 {
    round.validation.or(round.train).unwrap_or(-round.objective)
}

/// A fit before it runs: its data and context, checked, and its limits.
pub(crate) struct Rounds<'a> {
    pub(crate) learner: &'static str,
    pub(crate) train: &'a RankingDataset,
    pub(crate) validation: Option<&'a RankingDataset>,
    pub(crate) context: &'a FitContext<'a>,
    judge: Judge,
    surrogate: Option<SurrogateValue>,
    most: Option<usize>,
    patience: Option<usize>,
}

impl<'a> Rounds<'a> {
    /// Checks that `learner` can learn from the data ([`checks::trainable`]), which have no weights and no missing
    /// values.
    pub(crate) fn new(
        learner: &'static str,
        train: &'a RankingDataset,
        validation: Option<&'a RankingDataset>,
        context: &'a FitContext<'a>,
    ) -> Result<Self, LearnerError> {
        checks::unweighted(learner, train)?;
        checks::complete(learner, train, validation)?;
        Self::of_weighted(learner, train, validation, context)
    }

    /// As [`new`](Self::new), for a learner that takes weights of queries and documents, and checks the rest itself.
    pub(crate) fn of_weighted(
        learner: &'static str,
        train: &'a RankingDataset,
        validation: Option<&'a RankingDataset>,
        context: &'a FitContext<'a>,
    ) -> Result<Self, LearnerError> {
        checks::trainable(learner, train, validation, context)?;
        let judge = Judge::from_context(context)?;
        Ok(Self { learner, train, validation, context, judge, surrogate: None, most: None, patience: None })
    }

    /// At most so many rounds.
    pub(crate) fn most(self, rounds: usize) -> Self {
        Self { most: Some(rounds), ..self }
    }

    /// Ends after that many rounds without a better one, if a number is given.
    pub(crate) fn patience(self, patience: Option<usize>) -> Self {
        Self { patience, ..self }
    }

    /// Reports the value of a loss next to its measure, from [`Made::losses`].
    pub(crate) fn beside_measure(self, loss: &dyn RankingLoss) -> Result<Self, LearnerError> {
        Ok(Self { surrogate: SurrogateValue::new(loss, self.train)?, ..self })
    }

    /// Runs a learner from its first round, or from where its state was saved, to its end.
    pub(crate) fn drive<L: Iterative>(self, params: &impl Serialize, learner: &mut L) -> Result<Fitted, LearnerError> {
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
        // An interrupted fit continues when it is resumed; any other end is kept.
        run.stopped = (stop != StopReason::Interrupted).then_some(stop);
        learner.store(&mut run.state)?;
        run.save()?;
        self.context.progress.end();
        let model = learner.model(&run.state, run.history.best_round)?;
        let importance = learner.importance(&run.state, run.history.best_round);
        Ok(Fitted { model, best_round: run.history.best_round, history: run.history.rounds, stop, importance })
    }

    /// Returns the reason to make no further round: an end that was saved or requested, all rounds done, an
    /// interruption, or no better round for too long.
    fn stop<S>(&self, run: &Run<S>) -> Option<StopReason> {
        let (made, taken) = (run.history.rounds.len(), self.context.selection.round);
        if run.stopped.is_some() {
            run.stopped
        } else if self.most.into_iter().chain(taken).any(|most| made >= most) {
            Some(StopReason::Completed)
        } else if self.context.processes.agree(self.context.interrupt.is_due(made)) {
            Some(StopReason::Interrupted)
        } else if self
            .patience
            .filter(|_| taken.is_none())
            .is_some_and(|patience| made - run.history.best_round >= patience)
        {
            Some(StopReason::EarlyStopped)
        } else {
            None
        }
    }

    /// Measures a round and adds it to the history; with `counts` it may be the best.
    fn record<L: Iterative>(
        &self,
        run: &mut Run<L::State>,
        learner: &mut L,
        made: Made,
        counts: bool,
    ) -> Result<Option<StopReason>, LearnerError> {
        let measured = |set, data: &RankingDataset| -> Result<Option<Vec<Option<f64>>>, LearnerError> {
            let scores = learner.scores(set, data)?;
            scores.map(|scores| self.judge.shared_values(data, &scores, self.context.processes)).transpose()
        };
        let on_train = measured(Set::Training, self.train)?;
        let on_validation = self.validation.map(|data| measured(Set::Validation, data)).transpose()?.flatten();
        let Made { objective, mut figures, losses } = made;
        if let Some(surrogate) = &self.surrogate {
            figures.extend(losses.map(|losses| surrogate.figure(losses)));
            figures.extend(on_train.as_deref().and_then(|values| surrogate.exact_figure(values)));
        }
        let average = |values: &Option<Vec<Option<f64>>>| values.as_deref().and_then(mean);
        let (train, validation) = (average(&on_train), average(&on_validation));
        let round = Round { round: run.history.next(), objective, train, validation, figures };
        let is_given = self.context.selection.round.is_some();
        let rose = counts && if is_given { run.history.tops_all(&round) } else { run.history.would_improve(&round) };
        // If the round to take is given, it is the last one so far.
        let improved = if is_given { counts } else { rose };
        self.context.progress.round(&round);
        let (on_train, on_validation) = (on_train.as_deref(), on_validation.as_deref());
        let recorded = Recorded { round: &round, improved, rose, on_train, on_validation };
        let stop = learner.recorded(&recorded, &mut run.state)?;
        run.history.push(round, improved);
        Ok(stop)
    }
}

/// Returns the hash that identifies a fit: a hash of learner, parameters, seed, selection measure and data.
fn fit_hash(rounds: &Rounds, params: &impl Serialize) -> String {
    let context = rounds.context;
    let mut params = json::to_value(params).unwrap_or_default();
    each_loss(&mut params);
    let mut hash = Sha256::new();
    hash.update(rounds.learner);
    hash.update(params.to_string());
    hash.update(context.seed.to_le_bytes());
    // The measure that selects is also what some learners fit.
    hash.update(context.selection.measure.to_string());
    hash.update(serde_json::to_vec(&context.selection.convention).unwrap_or_default());
    if let Some(round) = context.selection.round {
        hash.update(round.to_le_bytes());
    }
    for data in [Some(rounds.train), rounds.validation].into_iter().flatten() {
        hash.update(data.fingerprint());
    }
    hexadecimal(&hash.finalize())
}

/// Gives every registered loss in the parameters of a learner all its own parameters, by name.
fn each_loss(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(each_loss),
        Value::Object(table) => {
            // The parameters of a loss that is not registered stay as they are.
            if table.get(OWN_LOSS).is_some() {
                return;
            }
            match table.get("name").and_then(Value::as_str).and_then(|name| registry::find(name).ok()) {
                Some(entry) => complete_loss(entry, table),
                None => table.values_mut().for_each(each_loss),
            }
        }
        _ => {}
    }
}

fn complete_loss(entry: &LossEntry, table: &mut Map) {
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    all.extend(entry.complete(table));
    all.extend(std::mem::take(table));
    table.extend(all);
}

#[derive(Serialize, Deserialize)]
struct Saved<H, S> {
    fit: String,
    best_round: usize,
    stop: Option<StopReason>,
    history: H,
    state: S,
}

/// History and state of a fit under way, and the file that they are saved in.
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
    /// Begins a fit, or continues one when the context says so and its directory has a state.
    fn start(
        rounds: &Rounds,
        params: &impl Serialize,
        learner: &impl Iterative<State = S>,
    ) -> Result<Self, LearnerError> {
        let path = rounds.context.folder().map(|directory| directory.join(STATE_FILE));
        let fit = fit_hash(rounds, params);
        let saved =
            if rounds.context.resume { read::<S>(path.as_deref(), &fit, rounds.context.processes)? } else { None };
        rounds
            .context
            .progress
            .begin(rounds.learner, rounds.most.into_iter().chain(rounds.context.selection.round).min());
        let (history, stopped, state) = match saved {
            Some(Saved { history, best_round, stop, state, .. }) => {
                (History { rounds: history, best_round }, stop, state)
            }
            None => (History::default(), None, learner.initial()),
        };
        let (begun, saving) = (Instant::now(), Duration::ZERO);
        Ok(Self { path, fit, history, stopped, state, begun, saving })
    }

    /// Whether there is a directory to save in, and saving has taken little of the time so far.
    fn due(&self) -> bool {
        self.path.is_some() && self.begun.elapsed() >= TIME_PER_SAVE * self.saving
    }

    fn save(&mut self) -> Result<(), LearnerError> {
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

/// The beginning of a state, before the SHA-256 of all that follows it.
const CHECKSUM: &str = r#"{"sha256":""#;

/// A JSON object with the checksum of its fields as the first one.
fn with_checksum(object: &[u8]) -> Vec<u8> {
    let fields = &object[1..];
    let sum = hexadecimal(&Sha256::digest(fields));
    [CHECKSUM.as_bytes(), sum.as_bytes(), b"\",", fields].concat()
}

/// Whether the checksum of a state matches its fields.
fn has_its_checksum(state: &[u8]) -> bool {
    let rest = state.strip_prefix(CHECKSUM.as_bytes());
    let parts = rest.and_then(|rest| rest.split_at_checked(2 * <Sha256 as Digest>::output_size()));
    parts.is_some_and(|(sum, rest)| {
        let fields = rest.strip_prefix(b"\",");
        fields.is_some_and(|fields| hexadecimal(&Sha256::digest(fields)).as_bytes() == sum)
    })
}

/// The state that the first process finds at its path, if there is one.
fn read<S: DeserializeOwned>(
    path: Option<&Path>,
    fit: &str,
    processes: &dyn Processes,
) -> Result<Option<Saved<Vec<Round>, S>>, LearnerError> {
    let there = path.filter(|path| path.exists());
    let unusable = |path: &Path, reason: String| LearnerError::UnusableState { path: path.to_owned(), reason };
    let bytes = there.map(|path| std::fs::read(path).map_err(|error| unusable(path, error.to_string()))).transpose()?;
    let bytes = processes.broadcast(bytes.unwrap_or_default());
    if bytes.is_empty() && there.is_none() {
        return Ok(None);
    }
    let path = path.unwrap_or(Path::new(STATE_FILE));
    if !has_its_checksum(&bytes) {
        let reason = "found a damaged state, whose checksum is not that of its contents; remove it to start again";
        return Err(unusable(path, reason.to_string()));
    }
    #[derive(Deserialize)]
    struct Head {
        fit: String,
    }
    let head: Head = serde_json::from_slice(&bytes).map_err(|error| unusable(path, error.to_string()))?;
    if head.fit != fit {
        let reason = "state of another fit (other learner, parameters, seed, selection measure or data): \
                      choose another directory, or do not resume";
        return Err(unusable(path, reason.to_string()));
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| unusable(path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::shared::linear;
    use crate::learner::testing;
    use crate::loss::LossSpec;

    /// A learner whose rounds have given objectives; its scores order two documents wrong, but right in round 2.
    struct Counter<'a> {
        objectives: &'a [f64],
        ends_after: Option<usize>,
        /// Fails where the fit would be finished.
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

        fn round(&mut self, history: &History, state: &mut Vec<f64>) -> Result<Step, LearnerError> {
            let Some(&objective) = self.objectives.get(history.rounds().len()) else {
                return Ok(Step::End(StopReason::Converged));
            };
            self.right = history.next() == 2;
            state.push(1.0 / objective);
            let made = Made::new(objective, [("figure", 1.0 / 3.0)]);
            Ok(if objective < 0.0 { Step::Passed(made) } else { Step::Made(made) })
        }

        fn scores(&self, _: Set, _: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>, LearnerError> {
            Ok(Some(Cow::Owned(if self.right { vec![0.0, 1.0] } else { vec![1.0, 0.0] })))
        }

        fn recorded(&mut self, recorded: &Recorded, _: &mut Vec<f64>) -> Result<Option<StopReason>, LearnerError> {
            Ok((Some(recorded.round.round) == self.ends_after).then_some(StopReason::Converged))
        }

        fn conclude(&mut self, stop: StopReason, _: &History, _: &Vec<f64>) -> Result<StopReason, LearnerError> {
            let reason = "died".to_string();
            if self.dies { Err(LearnerError::Solver { learner: "test", reason }) } else { Ok(stop) }
        }

        fn model(&self, state: &Vec<f64>, _: usize) -> Result<Model, LearnerError> {
            Ok(linear::model(state, 0.0, &burn::tensor::Device::flex()))
        }
    }

    fn drive(counter: &mut Counter, params: i32, context: &FitContext) -> Result<Fitted, String> {
        let data = testing::two_documents();
        let rounds = Rounds::new("test", &data, None, context).unwrap();
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
        let rounds = Rounds::new("test", &data, None, &context).unwrap().most(9).patience(Some(2));
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
        assert_eq!(taken(&[3.0, -2.0, 1.0], 2), (1, 2, StopReason::Completed), "a round on the way is none to take");
    }

    #[test]
    fn a_state_of_a_round_that_is_given_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut context = testing::context(Some(folder.path()));
        context.selection.round = Some(2);
        drive(&mut counter(&[3.0, 2.0, 1.0]), 1, &context).unwrap();
        context.resume = true;
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

        let mut context = testing::context(Some(folder.path()));
        context.resume = true;
        let rest = drive(&mut counter(&[3.0, 2.0]), 1, &context).unwrap();
        let whole = drive(&mut counter(&[3.0, 2.0]), 1, &testing::context(None)).unwrap();
        assert_eq!((&rest.history, rest.best_round, rest.stop), (&whole.history, 2, StopReason::Converged));
        let weights = |fitted: &Fitted| testing::linear_weights(&fitted.model);
        assert_eq!(weights(&rest), weights(&whole));
        let other = drive(&mut counter(&[3.0, 2.0]), 2, &context);
        assert!(other.unwrap_err().contains("state of another fit"));
    }

    /// AdaRank and RankBoost once made a further round after they had ended by their own criterion and died before the
    /// end was saved.
    #[test]
    fn a_fit_that_dies_between_its_last_round_and_its_end_makes_no_further_round() {
        let folder = tempfile::tempdir().unwrap();
        let mut context = testing::context(Some(folder.path()));
        let ends = || Counter { ends_after: Some(1), ..counter(&[3.0, 2.0]) };
        assert_eq!(drive(&mut Counter { dies: true, ..ends() }, 0, &context).unwrap_err(), "test: died");
        context.resume = true;
        let resumed = drive(&mut ends(), 0, &context).unwrap();
        assert_eq!((resumed.history.len(), resumed.stop), (1, StopReason::Converged));
    }

    #[test]
    fn a_state_is_read_back_by_the_same_loss_however_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let data = testing::two_documents();
        let mut context = testing::context(Some(folder.path()));
        let brief = LossSpec::new("approx_ndcg").with("beta", 10.0);
        let fit = |loss: &LossSpec, context: &FitContext| {
            let rounds = Rounds::new("test", &data, None, context).unwrap().most(1);
            rounds.drive(&(1.5f32, loss.clone()), &mut counter(&[1.0])).is_ok()
        };
        assert!(fit(&brief, &context));
        context.resume = true;
        let reads = |loss: &LossSpec| fit(loss, &context);
        let entry = registry::find("approx_ndcg").unwrap();
        let complete = LossSpec { name: brief.name.clone(), params: entry.defaults(&Map::new()) };
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
        let context = FitContext { resume: true, ..testing::context(Some(folder.path())) };
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
        context.resume = true;
        assert_eq!(again(&context), None);
        context.selection.measure = crate::measure::Measure::Ndcg(Some(10));
        assert!(again(&context).unwrap().contains("selection measure"));
        context = FitContext { selection: testing::context(None).selection, ..context };
        context.selection.convention = crate::measure::Convention::default();
        assert!(again(&context).unwrap().contains("selection measure"));
    }
}
