//! Defines the inputs of a fit other than its data, and the result of a fit.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::data::RankingDataset;
use crate::measure::{Convention, Measure};
use crate::ranker::Model;

/// How the best round of a fit and the best hyper-parameters are chosen on the validation data.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The measure to maximize.
    pub measure: Measure,
    /// The convention under which the measure is computed.
    pub convention: Convention,
    /// The number of the round to keep, counted from 1. The fit stops after this round, whatever its measure. With
    /// `None`, the round with the best measure is kept. If the fit ends before the given round, its last round is kept.
    pub round: Option<usize>,
}

impl Selection {
    /// Keeps the round with the best measure, computed under the convention `standard`.
    pub fn best(measure: Measure) -> Self {
        Self { measure, convention: Convention::default(), round: None }
    }
}

/// A request to stop a fit early. A signal handler can hold a clone, which shares the request.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
    /// The number of rounds after which the fit stops even without a request.
    after: Option<usize>,
}

impl Interrupt {
    /// Asks the learner to stop after the current round.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Returns whether a stop was requested.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Returns a clone of the request that also stops the fit after `rounds` rounds. If this fit is resumed, its final
    /// model is bit-identical to the model of an uninterrupted fit.
    pub fn after(&self, rounds: usize) -> Self {
        Self { after: Some(rounds), ..self.clone() }
    }

    /// Returns whether a fit must stop once it has completed `rounds` rounds.
    pub(crate) fn is_due(&self, rounds: usize) -> bool {
        self.requested() || self.after.is_some_and(|after| rounds >= after)
    }
}

/// The report of a fit about one round. Depending on the learner, a round is an epoch, a boosting round, an annealing
/// step or the fit for one cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The number of the round, counted from 1.
    pub round: usize,
    /// The value of the learner's objective in this round; smaller is better.
    pub objective: f64,
    /// The selection measure on the training data, if it was computed in this round.
    pub train: Option<f64>,
    /// The selection measure on the validation data.
    pub validation: Option<f64>,
    /// Further numbers that the learner reports, by name, such as the learning rate or the duality gap.
    pub figures: Vec<(String, f64)>,
}

/// Receives the progress reports of a fit. An implementation may print reports, whereas learners never print. Methods
/// that an implementation leaves out discard their reports, and `()` discards all.
pub trait Progress: Send + Sync {
    /// Reports the start of a fit, with its number of rounds if that is known.
    fn begin(&self, _learner: &str, _rounds: Option<usize>) {}
    /// Reports that a round has taken its optimizer steps and that its measures will be computed next. Only learners
    /// whose rounds consist of optimizer steps call this method.
    fn trained(&self, _steps: usize) {}
    /// Reports the end of a round.
    fn round(&self, _round: &Round) {}
    /// Reports a warning, for example about a query without pairs or a constant feature.
    fn warn(&self, _message: &str) {}
    /// Reports the end of the fit.
    fn end(&self) {}
}

impl Progress for () {}

/// All inputs of a fit except its data.
pub struct FitContext<'a> {
    /// The device for tensors, without autodiff.
    pub device: Device,
    /// The seed of the fit, from which learners derive the seeds of all random draws.
    pub seed: u64,
    /// The measure and the convention by which the best round is selected.
    pub selection: Selection,
    /// The folder for the saved state and the metrics log, or `None` to write no files. If a group shares the fit, only
    /// its first process writes files. A fit whose state is saved in the folder continues.
    pub directory: Option<&'a Path>,
    /// The receiver of progress reports.
    pub progress: &'a dyn Progress,
    /// The request through which the fit can be stopped early.
    pub interrupt: Interrupt,
}

impl FitContext<'_> {
    /// Creates a context for a fit that writes no files and reports no progress.
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
        Self { device, seed, selection, directory: None, progress: &(), interrupt: Interrupt::default() }
    }
}

/// What a learner fits: the data, and the context of the fit.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The training queries.
    pub train: &'a RankingDataset,
    /// The queries on which the best round is selected, or `None` to select it on the training queries.
    pub validation: Option<&'a RankingDataset>,
    /// All other inputs of the fit.
    pub context: &'a FitContext<'a>,
}

impl<'a> Job<'a> {
    /// Creates the job of fitting a model to `train`.
    pub fn new(train: &'a RankingDataset, validation: Option<&'a RankingDataset>, context: &'a FitContext<'a>) -> Self {
        Self { train, validation, context }
    }

    /// Returns the training and the validation data, each with its name.
    pub(crate) fn sets(&self) -> impl Iterator<Item = (&'static str, &'a RankingDataset)> {
        [("training", Some(self.train)), ("validation", self.validation)]
            .into_iter()
            .filter_map(|(name, data)| Some((name, data?)))
    }

    /// Returns the folder of the fit. If the training data are shared, only the first process of their group gets it.
    pub(crate) fn folder(&self) -> Option<&'a Path> {
        self.context.directory.filter(|_| self.train.group().leads())
    }

    /// Returns whether the first process of the training data's group was asked to stop. Every process must make this
    /// call at the same point of the fit.
    pub(crate) fn interrupted(&self) -> bool {
        self.train.group().agree(self.context.interrupt.requested())
    }

    pub(crate) fn warn(&self, message: &str) {
        self.context.progress.warn(message);
    }
}

/// The reason why a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// All rounds were done.
    Completed,
    /// The learner's own stopping criterion was met.
    Converged,
    /// The selection measure did not improve for the number of rounds that the setting `patience` allows.
    EarlyStopped,
    /// The solver stopped before it reached its tolerance. The fit returns its best result.
    NotConverged,
    /// A stop was requested.
    Interrupted,
}

/// Says in words why a fit stopped.
pub fn in_words(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Completed => "all rounds done",
        StopReason::Converged => "converged",
        StopReason::EarlyStopped => "stopped early",
        StopReason::NotConverged => "not converged",
        StopReason::Interrupted => "interrupted",
    }
}

/// How important each feature is in an ensemble of trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// For each feature, the total gain of all splits on this feature. The gain of a split is twice the decrease in the
    /// second-order approximation of the loss, summed over queries. The learning rate is not applied to the gain.
    pub gain: Vec<f64>,
    /// For each feature, the number of splits on this feature.
    pub splits: Vec<usize>,
}

/// The factor that a fit found for a position, with the number of training documents there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PositionFactor {
    /// The name of the position.
    pub position: String,
    /// The number of training documents at the position.
    pub documents: usize,
    /// What training added to the scores of documents at this position.
    pub factor: f64,
}

/// The result of a fit: the model and the history of all rounds.
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
    /// The importance of each feature, or `None` for learners that do not compute it.
    pub importance: Option<Importance>,
    /// The factors of positions in the selected round; empty if training does not use positions.
    pub positions: Vec<PositionFactor>,
}
