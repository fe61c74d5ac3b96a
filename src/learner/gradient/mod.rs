//! Gradient training: any scorer, any registered loss, any optimiser and schedule of burn.
//!
//! Mini-batches of queries, annealing of the loss's temperature, early stopping and the best epoch by a validation
//! measure. Algorithm 1 of approximation-framework is [`GradientConfig::one_query_a_step`]. An epoch costs one forward
//! and backward pass over the training data and one forward pass over the validation data.
//!
//! The objective of a round is the mean training loss over the epoch's queries, each at the weights it was met with.
//! A query with nothing to learn has loss 0 and counts in the mean.
//!
//! # Determinism
//! The queries of a step, dropout, the noise of a loss and initial weights follow from the seed alone; a killed fit
//! resumes from its last saved epoch and ends in the same bytes.
//!
//! # burn-train
//! [`RankingModel`], [`RankingBatcher`] and [`RankingMetric`] plug into burn's `SupervisedTraining` as they are. The
//! learner itself runs its own loop, and `SupervisedTraining` only around the dashboard: 20 epochs on data of OHSUMED's
//! size take 55 ms here, 52 ms in burn's loop without files, and 145 ms with its checkpoints and logs for a linear
//! scorer; 155, 204 and 352 ms for a perceptron of 64 (`benches/training.rs`, two AVX-512 cores). Our state is saved
//! when saving takes at most a fiftieth of the time, and a killed fit resumes to the same bytes.

mod anneal;
mod batches;
mod config;
mod dashboard;
mod log;
mod model;
mod noise;
mod optimizer;
mod schedule;
mod session;

pub use anneal::AnnealConfig;
pub use config::GradientConfig;
pub use model::{RankingBatcher, RankingModel, TrainingBatch};
pub use optimizer::{ClipConfig, OptimizerConfig};
pub use schedule::ScheduleConfig;

pub use crate::metric::{RankingInput, RankingMetric, RankingOutput};

use std::io::IsTerminal;

use burn::train::Interrupter;
use burn::train::renderer::default_renderer;
use serde::{Deserialize, Serialize};

use self::dashboard::{Dashboard, Shown};
use self::log::MetricsLog;
use self::session::{SavedSession, Session};
use super::checks::trainable;
use super::judge::{counted, mean};
use super::registry::{LearnerEntry, decode, loss, parameters};
use super::rounds::Rounds;
use super::{FitContext, Fitted, Learner, LearnerError, Round, StopReason};
use crate::data::Dataset;
use crate::loss::LossSpec;
use crate::ranker::Model;
use crate::scorer::ScorerConfig;

const NAME: &str = "gradient";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    name: NAME,
    summary: "gradient descent of any scorer on any loss",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of information retrieval \
            measures, Algorithm 1, as one query a step",
    takes_loss: true,
    takes_scorer: true,
    defaults: || parameters(&GradientConfig::default()),
    build: |parts| {
        let scorer = parts.scorer.cloned().unwrap_or_default();
        Ok(Box::new(decode::<GradientConfig>(parts)?.check(&scorer, loss(parts)?)?))
    },
};

/// Trains a scorer by gradient descent on a differentiable loss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gradient {
    config: GradientConfig,
    scorer: ScorerConfig,
    loss: LossSpec,
}

/// What a fit is resumed from; absent until it is first saved.
#[derive(Default, Serialize, Deserialize)]
struct State(Option<SavedSession>);

impl Gradient {
    /// A checked learner: [`GradientConfig::check`].
    ///
    /// # Errors
    /// The first invalid parameter of learner, scorer or loss, by its key.
    pub fn new(config: GradientConfig, scorer: ScorerConfig, loss: LossSpec) -> Result<Self, LearnerError> {
        config.check(&scorer, &loss)
    }

    /// Draws burn's dashboard where one is wanted and there is a terminal to draw on.
    fn dashboard(
        &self,
        session: &Session,
        context: &FitContext,
        first: usize,
    ) -> Result<Option<Dashboard>, LearnerError> {
        if !context.dashboard || !std::io::stdout().is_terminal() {
            return Ok(None);
        }
        let interrupter = Interrupter::new();
        // burn's dashboard where this build has it, lines of text elsewhere.
        let renderer = default_renderer(interrupter.clone(), (first > 1).then_some(first - 1));
        let (model, epochs) = (session.model(), self.config.epochs);
        Dashboard::start(model, &context.selection, epochs, first, renderer, interrupter, &context.device).map(Some)
    }

    /// Whether the training data are measured in an epoch: at intervals, and always where nothing else selects.
    fn measures_train(&self, epoch: usize, validation: bool) -> bool {
        let every = self.config.evaluate_train_every;
        !validation || (every > 0 && (epoch == 1 || epoch.is_multiple_of(every)))
    }
}

impl Learner for Gradient {
    fn name(&self) -> &'static str {
        NAME
    }

    fn draws_dashboard(&self) -> bool {
        true
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        trainable(NAME, train, validation, context)?;
        let mut session = Session::start(&self.config, &self.scorer, &self.loss, train, validation, context)?;
        let limit = Some(self.config.epochs);
        let mut rounds = Rounds::start(NAME, self, train, validation, limit, context, State::default)?;
        if let Some(saved) = rounds.state.0.take() {
            session.restore(saved)?;
        }
        let log = MetricsLog::open(context.directory, rounds.history())?;
        let dashboard = self.dashboard(&session, context, rounds.next())?;
        let mut run = Run { learner: self, session, rounds, log, dashboard, validates: validation.is_some() };
        let stop = run.run_all_epochs();
        // The terminal is given back first, so that an error can be read.
        if let Some(dashboard) = run.dashboard {
            dashboard.end()?;
        }
        let stop = stop?;
        run.rounds.state = State(Some(run.session.save()?));
        run.rounds.finish(stop, |_, _| Ok(Model::Scorer(run.session.into_best())))
    }
}

/// A fit with all that accompanies it.
struct Run<'a> {
    learner: &'a Gradient,
    session: Session<'a>,
    rounds: Rounds<'a, State>,
    log: MetricsLog,
    dashboard: Option<Dashboard>,
    validates: bool,
}

impl Run<'_> {
    /// Trains until something stops it.
    fn run_all_epochs(&mut self) -> Result<StopReason, LearnerError> {
        loop {
            if let Some(stop) = self.rounds.stop() {
                return Ok(stop);
            }
            if self.rounds.stalled(self.learner.config.patience) {
                return Ok(StopReason::EarlyStopped);
            }
            if self.dashboard.as_ref().is_some_and(Dashboard::stop_requested) {
                return Ok(StopReason::Interrupted);
            }
            self.epoch()?;
            if self.rounds.due() {
                self.rounds.state = State(Some(self.session.save()?));
                self.rounds.save_when_due()?;
            }
        }
    }

    /// Trains, measures and reports one epoch.
    fn epoch(&mut self) -> Result<(), LearnerError> {
        let epoch = self.rounds.next();
        let mut outcome = self.session.epoch(epoch)?;
        let train = self.learner.measures_train(epoch, self.validates).then(|| self.session.measure_train(epoch));
        let train = train.transpose()?;
        outcome.figures.extend(train.as_deref().and_then(|values| self.session.exact_figure(values)));
        let train = train.as_deref().map(counted);
        let validation = self.session.measure_validation(epoch)?.as_deref().map(counted);
        let round = Round {
            round: epoch,
            objective: outcome.loss,
            train: train.as_deref().and_then(mean),
            validation: validation.as_deref().and_then(mean),
            figures: outcome.figures,
        };
        self.log.write(&round)?;
        let improved = self.rounds.record(round);
        self.session.close_epoch(improved);
        if let Some(dashboard) = &mut self.dashboard {
            dashboard.show(Shown {
                epoch,
                steps: outcome.steps,
                loss: outcome.loss,
                learning_rate: outcome.learning_rate,
                train: train.as_deref(),
                validation: validation.as_deref(),
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
