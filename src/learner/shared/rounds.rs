//! What every learner with an outer loop keeps between rounds: the history, the best round, and a state that a killed
//! fit continues from.
//!
//! The state is one JSON file in the directory of the fit, replaced whole after the first round, then as often as
//! saving takes at most a fiftieth of the time, and at the end. Floats survive the trip exactly, so that a resumed fit
//! ends in the same bytes as one that was never stopped. The file names the fit it belongs to by a hash of learner,
//! parameters, seed, selection measure with its convention, and data.
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

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::context::{FitContext, Fitted, Round, StopReason};
use crate::atomic_file;
use crate::data::Dataset;
use crate::learner::error::LearnerError;
use crate::ranker::Model;
use crate::text::hexadecimal;

/// Name of the state file in the directory of a fit.
pub(crate) const STATE_FILE: &str = "state.json";

/// Time of the fit for each unit of time that saving takes.
const TIME_A_SAVE: u32 = 50;

#[derive(Serialize, Deserialize)]
struct Saved<H, S> {
    fit: String,
    best_round: usize,
    stop: Option<StopReason>,
    history: H,
    state: S,
}

/// History, best round and state `S` of a fit under way.
pub(crate) struct Rounds<'a, S> {
    context: &'a FitContext<'a>,
    path: Option<PathBuf>,
    fit: String,
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
        let fit = fit_hash(learner, params, context, train, validation);
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
                fit: self.fit.clone(),
                best_round: self.best_round,
                stop: self.stopped,
                history: &self.history,
                state: &self.state,
            };
            let bytes = serde_json::to_vec(&saved).map_err(|error| state_error(path, error))?;
            atomic_file::write(path, &bytes).map_err(|error| state_error(path, error))?;
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

fn state_error(path: &Path, reason: impl ToString) -> LearnerError {
    LearnerError::State { path: path.to_owned(), reason: reason.to_string() }
}

fn read<S: DeserializeOwned>(path: &Path, fit: &str) -> Result<Saved<Vec<Round>, S>, LearnerError> {
    let bytes = std::fs::read(path).map_err(|error| state_error(path, error))?;
    #[derive(Deserialize)]
    struct Head {
        fit: String,
    }
    let head: Head = serde_json::from_slice(&bytes).map_err(|error| state_error(path, error))?;
    if head.fit != fit {
        let reason = "state of another fit (other learner, parameters, seed, selection measure or data): \
                      choose another directory, or do not resume";
        return Err(state_error(path, reason));
    }
    serde_json::from_slice(&bytes).map_err(|error| state_error(path, error))
}

fn fit_hash(
    learner: &str,
    params: &impl Serialize,
    context: &FitContext,
    train: &Dataset,
    validation: Option<&Dataset>,
) -> String {
    let mut hash = Sha256::new();
    hash.update(learner);
    hash.update(serde_json::to_vec(params).unwrap_or_default());
    hash.update(context.seed.to_le_bytes());
    // The measure that selects is also what some learners fit.
    hash.update(context.selection.measure.to_string());
    hash.update(serde_json::to_vec(&context.selection.convention).unwrap_or_default());
    for data in [Some(train), validation].into_iter().flatten() {
        hash.update(data.data_hash());
    }
    hexadecimal(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing;
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

        context.resume = true;
        let again = Rounds::start("test", &1, &data, None, None, &context, Vec::<f64>::new).unwrap();
        assert_eq!(again.state, vec![0.1 + 0.2, f64::MIN_POSITIVE, -1e300]);
        assert_eq!(again.history(), [round(1, 1.0 / 3.0)]);
        let other = Rounds::start("test", &2, &data, None, None, &context, Vec::<f64>::new);
        assert!(other.err().unwrap().to_string().contains("state of another fit"));
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
