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

/// The measure that selects among rounds, checkpoints and hyper-parameters on validation data.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Measure to maximize.
    pub measure: Measure,
    /// Convention in which the measure is computed.
    pub convention: Convention,
    /// The round to keep whatever is measured, from 1; the fit ends after it. Absent: the best round. A learner that
    /// ends earlier by itself keeps its last round.
    pub round: Option<usize>,
}

impl Selection {
    /// The best round by a measure, in the `standard` convention.
    pub fn best(measure: Measure) -> Self {
        Self { measure, convention: Convention::default(), round: None }
    }
}

/// A request to stop, shared with a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
    /// Rounds after which a fit stops without a request.
    after: Option<usize>,
    at_once: AtOnce,
}

/// The action of a request before the round ends.
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
    /// Asks the learner to stop after the current round. When this returns, nothing is drawn on the terminal any more.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
        if let Some(act) = self.at_once.take() {
            act();
        }
    }

    /// Runs `act` in the thread that requests a stop, unless [`forget`](Self::forget) comes first.
    pub(crate) fn at_once(&self, act: impl FnOnce() + Send + 'static) {
        *self.at_once.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(act));
        // It may have been requested in the meantime.
        if self.requested()
            && let Some(act) = self.at_once.take()
        {
            act();
        }
    }

    /// Forgets what should happen at once on a request.
    pub(crate) fn forget(&self) {
        drop(self.at_once.take());
    }

    /// Returns whether a stop was asked for.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Returns the same request, which also stops after that many rounds of the fit. The fit can be resumed and ends in
    /// the same bytes as one that was never stopped.
    pub fn after(&self, rounds: usize) -> Self {
        Self { after: Some(rounds), ..self.clone() }
    }

    /// Returns whether a fit is to stop that has made so many rounds.
    pub(crate) fn is_due(&self, rounds: usize) -> bool {
        self.requested() || self.after.is_some_and(|after| rounds >= after)
    }
}

/// One round (epoch, boosting round, annealing step, cutting plane) of a learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Number of the round, from 1.
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
    /// The steps of a round are done, and the round is measured next. Learners that take steps call it.
    fn trained(&self, _steps: usize) {}
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

/// All inputs of a fit except its data.
pub struct FitContext<'a> {
    /// Device for tensors, without autodiff.
    pub device: Device,
    /// The single seed of a fit; learners derive one from it for each purpose.
    pub seed: u64,
    /// Measure and convention that select among rounds.
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
    /// The processes that make the fit together: [`OneProcess`](crate::distributed::OneProcess), or several, each with
    /// the same data. Only the directory and the progress of the first count.
    pub processes: &'a dyn Processes,
}

impl FitContext<'_> {
    /// A fit in one process that leaves no files and reports no progress.
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

    /// The folder that this process writes into.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.directory.filter(|_| self.processes.leads())
    }

    /// Whether the first process was asked to stop. All processes must ask at the same point.
    pub(crate) fn interrupted(&self) -> bool {
        self.processes.agree(self.interrupt.requested())
    }
}

/// Reason why a fit ended.
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

impl StopReason {
    /// The reason in words.
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
    /// By feature, the sum of the gains of its splits: twice the decrease of the second-order model of the loss, summed
    /// over queries, before shrinkage.
    pub gain: Vec<f64>,
    /// By feature, the number of its splits.
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
    /// The round that was selected, counted from 1.
    pub best_round: usize,
    /// Reason why the fit ended.
    pub stop: StopReason,
    /// The importance of each feature to the trees that the fit grew, if the learner knows it.
    pub importance: Option<Importance>,
}
