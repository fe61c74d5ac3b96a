//! The epochs of gradient training.

use std::io::IsTerminal;

use burn::train::Interrupter;
use burn::train::renderer::tui::TuiMetricsRendererWrapper;
use serde::{Deserialize, Serialize};

use super::config::{Gradient, NAME};
use super::dashboard::{Dashboard, Shown};
use super::log::MetricsLog;
use super::session::{SavedSession, Session};
use crate::data::Dataset;
use crate::learner::entry::Learner;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks::trainable;
use crate::learner::shared::context::{FitContext, Fitted, Round, StopReason};
use crate::learner::shared::judge::{counted, mean};
use crate::learner::shared::rounds::Rounds;
use crate::ranker::Model;

/// What a fit is resumed from; absent until it is first saved.
#[derive(Default, Serialize, Deserialize)]
struct State(Option<SavedSession>);

impl Gradient {
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
        let renderer = TuiMetricsRendererWrapper::new(interrupter.clone(), (first > 1).then_some(first - 1));
        let (model, epochs) = (session.model(), self.config.epochs);
        Dashboard::start(model, &context.selection, epochs, first, Box::new(renderer), interrupter, &context.device)
            .map(Some)
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
