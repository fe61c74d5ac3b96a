//! The context of a fit, which holds all its inputs except the data, and the result of a fit.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::distributed::{OneProcess, Processes};
use crate::measure::{Convention, Measure};
use crate::ranker::Model;

/// The measure that selects rounds, checkpoints and hyper-parameters on validation data.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The measure to maximize.
    pub measure: Measure,
    /// The convention in which the measure is computed.
    pub convention: Convention,
    /// The number, counted from 1, of the round to keep and to stop after, regardless of the measure. `None` selects
    /// the best round. A learner that ends earlier keeps its last round.
    pub round: Option<usize>,
}

impl Selection {
    /// Selects the best round by a measure, in the `standard` convention.
    pub fn best(measure: Measure) -> Self {
        Self { measure, convention: Convention::default(), round: None }
    }
}

/// A request to stop a fit, which a signal handler can share.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
    /// The number of rounds after which a fit stops without a request.
    after: Option<usize>,
    at_once: AtOnce,
}

/// The action that runs at once when a stop is requested, before the round ends.
#[derive(Clone, Default)]
struct AtOnce(Arc<Mutex<Option<Act>>>);

type Act = Box<dyn FnOnce() + Send>;

impl AtOnce {
    fn take(&self) -> Option<Act> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for AtOnce {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("AtOnce")
    }
}

impl Interrupt {
    /// Asks the learner to stop after the current round. When this function returns, nothing draws on the terminal any
    /// more.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
        if let Some(act) = self.at_once.take() {
            act();
        }
    }

    /// Registers `act` to run in the thread that requests a stop, unless [`forget`](Self::forget) is called first.
    pub(crate) fn at_once(&self, act: impl FnOnce() + Send + 'static) {
        *self.at_once.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(act));
        // A stop may have been requested in the meantime.
        if self.requested()
            && let Some(act) = self.at_once.take()
        {
            act();
        }
    }

    /// Removes the action that would run when a stop is requested.
    pub(crate) fn forget(&self) {
        drop(self.at_once.take());
    }

    /// Returns whether a stop was requested.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Returns a request that shares this one and also stops the fit after `rounds` rounds. A fit that is then resumed
    /// ends in the same bytes as one that was never stopped.
    pub fn after(&self, rounds: usize) -> Self {
        Self { after: Some(rounds), ..self.clone() }
    }

    /// Returns whether a fit must stop after `rounds` rounds.
    pub(crate) fn is_due(&self, rounds: usize) -> bool {
        self.requested() || self.after.is_some_and(|after| rounds >= after)
    }
}

/// One round of a learner, such as an epoch, a boosting round, an annealing step or a cutting plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The number of the round, counted from 1.
    pub round: usize,
    /// The value of the learner's own objective after the round.
    pub objective: f64,
    /// The selection measure on the training data, if the learner computes it.
    pub train: Option<f64>,
    /// The selection measure on the validation data.
    pub validation: Option<f64>,
    /// Further figures of the learner by name, such as the learning rate or the duality gap.
    pub figures: Vec<(String, f64)>,
}

/// Receives the progress of a fit. Implementations may print, but learners never do.
pub trait Progress: Send + Sync {
    /// Reports the start of a fit, with its number of rounds if that is known.
    fn begin(&self, learner: &str, rounds: Option<usize>);
    /// Reports that the steps of a round are done and that its measurement begins. Only learners that take steps call
    /// this method.
    fn trained(&self, _steps: usize) {}
    /// Reports the end of a round.
    fn round(&self, round: &Round);
    /// Reports a warning, for example about a query without pairs or a constant feature.
    fn warn(&self, message: &str);
    /// Reports the end of the fit.
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

/// All inputs of a fit except its data.
pub struct FitContext<'a> {
    /// The device for tensors, without autodiff.
    pub device: Device,
    /// The seed of the fit, from which learners derive one for each purpose.
    pub seed: u64,
    /// The measure and the convention that select among rounds.
    pub selection: Selection,
    /// The folder for resumable state and metric logs, or `None` to write nothing.
    pub directory: Option<&'a Path>,
    /// Whether to continue from the state in `directory`, if there is one.
    pub resume: bool,
    /// Whether to draw burn's terminal dashboard, if the learner has one.
    pub dashboard: bool,
    /// The receiver of progress reports.
    pub progress: &'a dyn Progress,
    /// The request that asks for an early stop.
    pub interrupt: Interrupt,
    /// The processes that make the fit together, either [`OneProcess`](crate::distributed::OneProcess) or several with
    /// the same data. Only the directory and the progress of the first process are used.
    pub processes: &'a dyn Processes,
}

impl FitContext<'_> {
    /// Describes a fit in one process that writes no files and reports no progress.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use burn_rank::learner::{FitContext, Selection};
    /// use burn_rank::measure::Measure;
    ///
    /// let context = FitContext::new(Device::flex(), 1, Selection::best(Measure::Ndcg(Some(10))));
    /// assert!(context.directory.is_none());
    /// ```
    pub fn new(device: Device, seed: u64, selection: Selection) -> Self {
        Self {
            device,
            seed,
            selection,
            directory: None,
            resume: false,
            dashboard: false,
            progress: &NoProgress,
            interrupt: Interrupt::default(),
            processes: &OneProcess,
        }
    }

    /// Returns the folder into which this process writes, if any.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.directory.filter(|_| self.processes.leads())
    }

    /// Returns whether the first process was asked to stop. All processes must call this method at the same point.
    pub(crate) fn interrupted(&self) -> bool {
        self.processes.agree(self.interrupt.requested())
    }
}

/// The reason why a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// All rounds were done.
    Completed,
    /// The learner's own criterion was met.
    Converged,
    /// The selection measure did not improve within the given patience.
    EarlyStopped,
    /// The solver ended before it reached its tolerance, and the best iterate is returned.
    NotConverged,
    /// A stop was requested.
    Interrupted,
}

impl StopReason {
    /// Returns the reason in words.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Completed => "all rounds done",
            Self::Converged => "converged",
            Self::EarlyStopped => "stopped early",
            Self::NotConverged => "not converged",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The importance of each feature to a sum of trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// For each feature, the sum of the gains of its splits. A gain is twice the decrease of the second-order model of
    /// the loss, summed over queries, before shrinkage.
    pub gain: Vec<f64>,
    /// For each feature, the number of its splits.
    pub splits: Vec<usize>,
}

/// A fitted model with the history of its fit.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fitted {
    /// The selected model.
    pub model: Model,
    /// Every round, in order.
    pub history: Vec<Round>,
    /// The number of the selected round, counted from 1.
    pub best_round: usize,
    /// The reason why the fit ended.
    pub stop: StopReason,
    /// The importance of each feature to the trees, if the learner grows trees.
    pub importance: Option<Importance>,
}
