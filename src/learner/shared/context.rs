//! What a fit is given besides data, and what it gives back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::measure::{Convention, Measure};
use crate::ranker::Model;

/// The measure that selects among rounds, checkpoints and hyper-parameters on validation data.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Measure to maximise.
    pub measure: Measure,
    /// Convention it is taken in.
    pub convention: Convention,
}

/// A request to stop, shared with a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Asks the learner to stop after the current round.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One round (epoch, boosting round, annealing step, cutting plane) of a learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Counted from 1.
    pub round: usize,
    /// The learner's own objective after the round.
    pub objective: f64,
    /// Selection measure on the training data, where the learner computes it.
    pub train: Option<f64>,
    /// Selection measure on the validation data.
    pub validation: Option<f64>,
    /// Further figures of this learner, by name (learning rate, sigma, bound, working set, duality gap).
    pub figures: Vec<(String, f64)>,
}

/// Receives the progress of a fit. Implementations print; learners never do.
pub trait Progress: Send + Sync {
    /// A fit of `rounds` rounds (if known) begins.
    fn begin(&self, learner: &str, rounds: Option<usize>);
    /// A round has ended.
    fn round(&self, round: &Round);
    /// Something the user should know (a query without pairs, a constant feature).
    fn warn(&self, message: &str);
    /// The fit has ended.
    fn end(&self);
}

/// Discards all progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _: &str, _: Option<usize>) {}
    fn round(&self, _: &Round) {}
    fn warn(&self, _: &str) {}
    fn end(&self) {}
}

/// What a fit is given besides data.
pub struct FitContext<'a> {
    /// Device of tensor work; without autodiff.
    pub device: Device,
    /// The one seed; split it by purpose.
    pub seed: u64,
    /// What selects among rounds.
    pub selection: Selection,
    /// Folder for resumable state and metric logs; nothing is written when absent.
    pub directory: Option<&'a Path>,
    /// Continue from the state in `directory`, if there is one.
    pub resume: bool,
    /// Draw burn's terminal dashboard where the learner has one.
    pub dashboard: bool,
    /// Receives progress.
    pub progress: &'a dyn Progress,
    /// Asks for an early stop.
    pub interrupt: Interrupt,
}

/// Why a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// All rounds were done.
    Completed,
    /// The learner's own criterion was met.
    Converged,
    /// No progress on validation for the stated patience.
    EarlyStopped,
    /// The solver ended without meeting its tolerance; the best iterate is returned.
    NotConverged,
    /// A stop was asked for.
    Interrupted,
}

/// A fitted model with the history of its fit.
#[derive(Debug)]
pub struct Fitted {
    /// The selected model.
    pub model: Model,
    /// Every round, in order.
    pub history: Vec<Round>,
    /// The round that was selected, counted from 1.
    pub best_round: usize,
    /// Why the fit ended.
    pub stop: StopReason,
}

/// Why a fit failed.
#[derive(Debug, thiserror::Error)]
pub enum LearnerError {
    /// A parameter out of its range.
    #[error("learner.{parameter} = {found}: expected {expected}")]
    Parameter {
        /// Configuration key, below `learner`.
        parameter: String,
        /// The value given.
        found: String,
        /// What would have been valid.
        expected: String,
    },
    /// A table `[learner]` that cannot be read: an unknown learner or key, a value of another type, a section that the
    /// learner does not read or lacks, or parameters of the loss that it does not take.
    #[error("learner.{key}: {message}")]
    Config {
        /// Configuration key, below `learner`.
        key: String,
        /// What was found there, and what was expected.
        message: String,
    },
    /// Data that this learner cannot learn from.
    #[error("{learner}: {reason}")]
    Data {
        /// Registered name of the learner.
        learner: &'static str,
        /// What is wrong with the data, and what to change.
        reason: String,
    },
    /// A loss that cannot be built, or refuses the labels.
    #[error(transparent)]
    Loss(#[from] crate::loss::LossError),
    /// A scorer that cannot be built.
    #[error(transparent)]
    Scorer(#[from] crate::scorer::ScorerError),
    /// A measure that cannot be taken: its convention or the labels do not allow it.
    #[error(transparent)]
    Measure(#[from] crate::measure::MeasureError),
    /// State that cannot be written or read back.
    #[error("{path}: {reason}")]
    State {
        /// The state file.
        path: std::path::PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// The solver broke down.
    #[error("{learner}: {reason}")]
    Solver {
        /// Registered name of the learner.
        learner: &'static str,
        /// What went wrong, and what to change.
        reason: String,
    },
}
