//! What every learner with an outer loop keeps between rounds: the history, the best round, and a state that a killed
//! fit continues from.
//!
//! The state is one JSON file in the directory of the fit, replaced whole after the first round, then as often as
//! saving takes at most a fiftieth of the time, and at the end. Floats survive the trip exactly, so that a resumed fit
//! ends in the same bytes as one that was never stopped. The file names the fit it belongs to by a hash of learner,
//! parameters, seed, selection measure with its convention, and data. A second hash has the parameters of the loss with
//! their defaults, so that the resolved configuration of a run continues it as well as the one it was started with.
//!
//! ```text
//! let mut rounds = Rounds::start("name", &params, train, validation, Some(limit), context, State::default)?;
//! let stop = loop {
//!     if let Some(stop) = rounds.stop() { break stop; }
//!     ...                                              // one round on `rounds.state`
//!     if rounds.record(round) { rounds.state.best = ... }
//!     rounds.save_when_due()?;
//! };
//! rounds.finish(stop, |state, best_round| model)
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{FitContext, Fitted, LearnerError, Round, StopReason};
use crate::atomic_file;
use crate::data::Dataset;
use crate::loss::registry;
use crate::ranker::Model;
use crate::text::{beginning, hexadecimal};

/// Name of the state file in the directory of a fit.
pub(crate) const STATE_FILE: &str = "state.json";

/// Time of the fit for each unit of time that saving takes.
const TIME_A_SAVE: u32 = 50;

#[derive(Serialize, Deserialize)]
struct Saved<H, S> {
    fit: String,
    best_round: usize,
    stop: Option<StopReason>,
    /// Absent in states of version 0.1.0.
    #[serde(default)]
    complete_fit: String,
    history: H,
    state: S,
}

/// History, best round and state `S` of a fit under way.
pub(crate) struct Rounds<'a, S> {
    context: &'a FitContext<'a>,
    path: Option<PathBuf>,
    fit: FitHash,
    limit: Option<usize>,
    history: Vec<Round>,
    best_round: usize,
    stopped: Option<StopReason>,
    begun: Instant,
    saving: Duration,
    /// What the learner itself needs to continue.
    pub(crate) state: S,
}

impl<'a, S: Serialize + DeserializeOwned> Rounds<'a, S> {
    /// Begins a fit of at most `limit` rounds, or continues one when the context says so and its directory has a state.
    pub(crate) fn start(
        learner: &'static str,
        params: &impl Serialize,
        train: &Dataset,
        validation: Option<&Dataset>,
        limit: Option<usize>,
        context: &'a FitContext<'a>,
        initial: impl FnOnce() -> S,
    ) -> Result<Self, LearnerError> {
        let path = context.directory.map(|directory| directory.join(STATE_FILE));
        let fit = FitHash::of(learner, params, context, train, validation);
        let saved = match &path {
            Some(path) if context.resume && path.exists() => Some(read::<S>(path, &fit)?),
            _ => None,
        };
        context.progress.begin(learner, limit);
        let (history, best_round, stopped, state) = match saved {
            Some(saved) => (saved.history, saved.best_round, saved.stop, saved.state),
            None => (Vec::new(), 0, None, initial()),
        };
        let (begun, saving) = (Instant::now(), Duration::ZERO);
        Ok(Self { context, path, fit, limit, history, best_round, stopped, begun, saving, state })
    }

    /// Number of the round to come, counted from 1.
    pub(crate) fn next(&self) -> usize {
        self.history.len() + 1
    }

    /// The rounds so far.
    pub(crate) fn history(&self) -> &[Round] {
        &self.history
    }

    /// The best round so far, counted from 1; 0 before the first.
    pub(crate) fn best_round(&self) -> usize {
        self.best_round
    }

    /// Why no further round is to be made: an end read back, all rounds done, or an interruption.
    pub(crate) fn stop(&self) -> Option<StopReason> {
        if self.stopped.is_some() {
            self.stopped
        } else if self.limit.is_some_and(|limit| self.history.len() >= limit) {
            Some(StopReason::Completed)
        } else if self.context.interrupt.requested() {
            Some(StopReason::Interrupted)
        } else {
            None
        }
    }

    /// Whether the last `patience` rounds brought no better one.
    pub(crate) fn stalled(&self, patience: Option<usize>) -> bool {
        patience.is_some_and(|patience| self.history.len() - self.best_round >= patience)
    }

    /// Adds a round. True when it is the best so far: by the selection measure on validation data, else on training
    /// data, else by the smallest objective; the earliest of equals.
    pub(crate) fn record(&mut self, round: Round) -> bool {
        let merit = |round: &Round| round.validation.or(round.train).unwrap_or(-round.objective);
        let improved = match self.best_round.checked_sub(1) {
            Some(best) => merit(&round) > merit(&self.history[best]),
            None => true,
        };
        self.context.progress.round(&round);
        self.history.push(round);
        if improved {
            self.best_round = self.history.len();
        }
        improved
    }

    /// Whether there is a directory to save in, and saving has taken little of the time so far.
    pub(crate) fn due(&self) -> bool {
        self.path.is_some() && self.begun.elapsed() >= TIME_A_SAVE * self.saving
    }

    /// Adds a round on the way to one that counts: it is never the best.
    pub(crate) fn pass(&mut self, round: Round) {
        self.context.progress.round(&round);
        self.history.push(round);
    }

    /// Saves the state if it is due.
    pub(crate) fn save_when_due(&mut self) -> Result<(), LearnerError> {
        if self.due() { self.save() } else { Ok(()) }
    }

    fn save(&mut self) -> Result<(), LearnerError> {
        let start = Instant::now();
        if let Some(path) = &self.path {
            let saved = Saved {
                fit: self.fit.given.clone(),
                best_round: self.best_round,
                stop: self.stopped,
                complete_fit: self.fit.complete.clone(),
                history: &self.history,
                state: &self.state,
            };
            let bytes = serde_json::to_vec(&saved).map_err(|error| state_error(path, error))?;
            atomic_file::replace(path, &bytes).map_err(|error| state_error(path, error))?;
        }
        self.saving += start.elapsed();
        Ok(())
    }

    /// Ends the fit with the model of the best round.
    pub(crate) fn finish(
        mut self,
        stop: StopReason,
        model: impl FnOnce(S, usize) -> Result<Model, LearnerError>,
    ) -> Result<Fitted, LearnerError> {
        // An interrupted fit goes on when it is resumed; any other end is kept.
        self.stopped = (stop != StopReason::Interrupted).then_some(stop);
        self.save()?;
        self.context.progress.end();
        Ok(Fitted {
            model: model(self.state, self.best_round)?,
            history: self.history,
            best_round: self.best_round,
            stop,
        })
    }
}

/// Whether the file is a state, by how it begins: states may be large.
pub(crate) fn is_state(path: &Path) -> bool {
    let (opening, next) = (r#"{"fit":""#, r#"","best_round":"#);
    let hash = 2 * <Sha256 as Digest>::output_size();
    let head = beginning(path, opening.len() + hash + next.len());
    let after = head.as_deref().and_then(|head| head.strip_prefix(opening));
    let fit = after.and_then(|after| after.strip_suffix(next));
    fit.is_some_and(|fit| fit.len() == hash && fit.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn state_error(path: &Path, reason: impl ToString) -> LearnerError {
    LearnerError::State { path: path.to_owned(), reason: reason.to_string() }
}

fn read<S: DeserializeOwned>(path: &Path, fit: &FitHash) -> Result<Saved<Vec<Round>, S>, LearnerError> {
    let bytes = std::fs::read(path).map_err(|error| state_error(path, error))?;
    #[derive(Deserialize)]
    struct Head {
        fit: String,
        #[serde(default)]
        complete_fit: String,
    }
    let head: Head = serde_json::from_slice(&bytes).map_err(|error| state_error(path, error))?;
    if head.fit != fit.given && head.complete_fit != fit.complete {
        let reason = "state of another fit (other learner, parameters, seed, selection measure or data): \
                      choose another directory, or do not resume";
        return Err(state_error(path, reason));
    }
    serde_json::from_slice(&bytes).map_err(|error| state_error(path, error))
}

/// What a fit is known by.
struct FitHash {
    /// With the parameters of the loss as they were given.
    given: String,
    /// With all of them.
    complete: String,
}

impl FitHash {
    fn of(
        learner: &str,
        params: &impl Serialize,
        context: &FitContext,
        train: &Dataset,
        validation: Option<&Dataset>,
    ) -> Self {
        let data: Vec<String> = [Some(train), validation].into_iter().flatten().map(Dataset::data_hash).collect();
        let of = |params: &[u8]| {
            let mut hash = Sha256::new();
            hash.update(learner);
            hash.update(params);
            hash.update(context.seed.to_le_bytes());
            // The measure that selects is also what some learners fit.
            hash.update(context.selection.measure.to_string());
            hash.update(serde_json::to_vec(&context.selection.convention).unwrap_or_default());
            data.iter().for_each(|data| hash.update(data));
            hexadecimal(&hash.finalize())
        };
        let mut complete = serde_json::to_value(params).unwrap_or_default();
        complete_losses(&mut complete);
        Self {
            given: of(&serde_json::to_vec(params).unwrap_or_default()),
            complete: of(complete.to_string().as_bytes()),
        }
    }
}

/// Gives every loss in the parameters of a learner all its parameters, by name.
fn complete_losses(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(complete_losses),
        Value::Object(table) => {
            let entry = table.get("name").and_then(Value::as_str).and_then(|name| registry::find(name).ok());
            let Some(entry) = entry else { return table.values_mut().for_each(complete_losses) };
            let mut all: BTreeMap<String, Value> = (entry.defaults)().into_iter().collect();
            all.extend(std::mem::take(table));
            table.extend(all);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing;
    use crate::loss::LossSpec;
    use crate::scorer::{LinearScorer, Scorer};

    fn round(number: usize, validation: f64) -> Round {
        Round { round: number, objective: 0.1, train: None, validation: Some(validation), figures: Vec::new() }
    }

    fn no_model(_: Vec<f64>, _: usize) -> Result<Model, LearnerError> {
        let device = burn::tensor::Device::flex();
        Ok(Model::Scorer(Scorer::Linear(LinearScorer::from_weights(&[0.0], 0.0, &device))))
    }

    #[test]
    fn the_earliest_of_the_best_rounds_is_kept() {
        let data = testing::two_documents();
        let context = testing::context(None);
        let mut rounds = Rounds::start("test", &(), &data, None, Some(3), &context, Vec::<f64>::new).unwrap();
        assert_eq!([rounds.record(round(1, 0.5)), rounds.record(round(2, 0.7))], [true, true]);
        assert_eq!(rounds.stop(), None);
        assert!(!rounds.record(round(3, 0.7)));
        assert_eq!((rounds.best_round(), rounds.stop()), (2, Some(StopReason::Completed)));
    }

    #[test]
    fn a_state_is_read_back_exactly_and_only_by_its_own_fit() {
        let folder = tempfile::tempdir().unwrap();
        let data = testing::two_documents();
        let mut context = testing::context(Some(folder.path()));
        context.interrupt.request();
        let mut rounds = Rounds::start("test", &1, &data, None, None, &context, Vec::<f64>::new).unwrap();
        rounds.state = vec![0.1 + 0.2, f64::MIN_POSITIVE, -1e300];
        rounds.record(round(1, 1.0 / 3.0));
        assert_eq!(rounds.stop(), Some(StopReason::Interrupted));
        rounds.finish(StopReason::Interrupted, no_model).unwrap();

        let path = folder.path().join(STATE_FILE);
        assert!(is_state(&path));
        let other = folder.path().join("other.json");
        for text in ["", "{}", r#"{"fit":"0123","best_round":1}"#, r#"{"best_round":1,"fit":"0"}"#] {
            std::fs::write(&other, text).unwrap();
            assert!(!is_state(&other), "{text}");
        }

        context.resume = true;
        let again = Rounds::start("test", &1, &data, None, None, &context, Vec::<f64>::new).unwrap();
        assert_eq!(again.state, vec![0.1 + 0.2, f64::MIN_POSITIVE, -1e300]);
        assert_eq!(again.history(), [round(1, 1.0 / 3.0)]);
        let other = Rounds::start("test", &2, &data, None, None, &context, Vec::<f64>::new);
        assert!(other.err().unwrap().to_string().contains("state of another fit"));
    }

    #[test]
    fn a_state_is_read_back_by_the_same_loss_however_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let data = testing::two_documents();
        let mut context = testing::context(Some(folder.path()));
        let brief = LossSpec::new("approx_ndcg").with("beta", 10.0);
        let params = |loss: &LossSpec| (1.5f32, loss.clone());
        let rounds = Rounds::start("test", &params(&brief), &data, None, Some(0), &context, Vec::<f64>::new).unwrap();
        rounds.finish(StopReason::Completed, no_model).unwrap();
        context.resume = true;
        let read = |loss: &LossSpec| {
            Rounds::start("test", &params(loss), &data, None, Some(0), &context, Vec::<f64>::new).is_ok()
        };
        let entry = registry::find("approx_ndcg").unwrap();
        let complete = LossSpec { name: brief.name.clone(), params: (entry.defaults)() };
        assert!(read(&brief) && read(&complete) && read(&LossSpec::new("approx_ndcg")));
        assert!(!read(&brief.with("beta", 9.0)) && !read(&LossSpec::new("smooth_ndcg")));
        // A state of version 0.1.0 knows the loss as it was given.
        let path = folder.path().join(STATE_FILE);
        let mut state: serde_json::Map<String, Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        state.remove("complete_fit").unwrap();
        std::fs::write(&path, serde_json::to_vec(&state).unwrap()).unwrap();
        assert!(read(&brief) && !read(&complete));
    }

    #[test]
    fn a_state_belongs_to_one_selection_measure_in_one_convention() {
        let folder = tempfile::tempdir().unwrap();
        let data = testing::two_documents();
        let mut context = testing::context(Some(folder.path()));
        let rounds = Rounds::start("test", &(), &data, None, Some(0), &context, Vec::<f64>::new).unwrap();
        rounds.finish(StopReason::Completed, no_model).unwrap();
        context.resume = true;
        let refused = |context: &FitContext| {
            let again = Rounds::start("test", &(), &data, None, Some(0), context, Vec::<f64>::new);
            again.err().map(|error| error.to_string())
        };
        assert_eq!(refused(&context), None);
        context.selection.measure = crate::measure::Measure::Ndcg(Some(10));
        assert!(refused(&context).unwrap().contains("selection measure"));
        context = FitContext { selection: testing::context(None).selection, ..context };
        context.selection.convention = crate::measure::Convention::default();
        assert!(refused(&context).unwrap().contains("selection measure"));
    }
}
