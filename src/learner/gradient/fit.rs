//! Runs the epochs of a gradient fit.

use std::borrow::Cow;
use std::io::IsTerminal;

use burn::train::Interrupter;

use super::config::{Gradient, NAME};
use super::dashboard::{Dashboard, Shown};
use super::log::MetricsLog;
use super::screen::Screen;
use super::session::{Outcome, SavedSession, Session};
use crate::data::RankingDataset;
use crate::learner::entry::RankingLearner;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks::complete;
use crate::learner::shared::context::{FitContext, Fitted, StopReason};
use crate::learner::shared::judge::counted;
use crate::learner::shared::rounds::{History, Iterative, Made, Recorded, Rounds, Set, Step};
use crate::ranker::Model;

impl Gradient {
    /// Starts burn's dashboard if the context asks for it and the output is a terminal.
    fn dashboard(
        &self,
        session: &Session,
        context: &FitContext,
        first: usize,
    ) -> Result<Option<Dashboard>, LearnerError> {
        if !context.dashboard || !session.data().group().leads() || !std::io::stdout().is_terminal() {
            return Ok(None);
        }
        let interrupter = Interrupter::new();
        let screen = Screen::open(interrupter.clone(), (first > 1).then_some(first - 1), &context.interrupt);
        let (model, epochs, renderer) = (session.model(), self.config.epochs, Box::new(screen));
        Dashboard::start(model, &context.selection, epochs, first, renderer, interrupter, &context.device).map(Some)
    }

    /// Returns whether the selection measure is computed on the training data in this epoch. Without validation data,
    /// the selection measure is computed on the training data in every epoch.
    fn measures_train(&self, epoch: usize, validation: bool) -> bool {
        let every = self.config.evaluate_train_every;
        !validation || (every > 0 && (epoch == 1 || epoch.is_multiple_of(every)))
    }
}

/// A fit with its log and dashboard.
struct Run<'a> {
    learner: &'a Gradient,
    context: &'a FitContext<'a>,
    session: Session<'a>,
    log: MetricsLog,
    dashboard: Option<Dashboard>,
    validates: bool,
    /// The last epoch.
    epoch: usize,
    outcome: Outcome,
}

impl Run<'_> {
    /// Closes the dashboard and releases the terminal.
    fn end_dashboard(&mut self) -> Result<(), LearnerError> {
        let ended = self.dashboard.take().map_or(Ok(()), Dashboard::end);
        self.context.interrupt.forget();
        ended
    }
}

impl Iterative for Run<'_> {
    /// The session as it was last saved, or `None` before the first save.
    type State = Option<SavedSession>;

    fn initial(&self) -> Self::State {
        None
    }

    fn resume(&mut self, state: &mut Self::State, history: &History) -> Result<(), LearnerError> {
        state.take().map_or(Ok(()), |saved| self.session.restore(saved))?;
        self.log = MetricsLog::open(self.context.folder(self.session.data()), history.rounds())?;
        self.dashboard = self.learner.dashboard(&self.session, self.context, history.next())?;
        Ok(())
    }

    fn round(&mut self, history: &History, _: &mut Self::State) -> Result<Step, LearnerError> {
        let stop_requested = self.dashboard.as_ref().is_some_and(Dashboard::stop_requested);
        if self.session.data().group().agree(stop_requested) {
            return Ok(Step::End(StopReason::Interrupted));
        }
        self.epoch = history.next();
        self.outcome = self.session.epoch(self.epoch)?;
        self.context.progress.trained(self.outcome.steps);
        let Outcome { sum, queries, figures, .. } = &mut self.outcome;
        let made = Made::new(*sum / *queries as f64, std::mem::take(figures));
        Ok(Step::Made(Made { losses: Some(*sum), ..made }))
    }

    fn scores(&self, set: Set, _: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>, LearnerError> {
        if set == Set::Training && !self.learner.measures_train(self.epoch, self.validates) {
            return Ok(None);
        }
        Ok(self.session.scores(set, self.epoch)?.map(Cow::Owned))
    }

    fn recorded(&mut self, recorded: &Recorded, _: &mut Self::State) -> Result<Option<StopReason>, LearnerError> {
        self.log.write(recorded.round)?;
        self.session.close_epoch(recorded);
        if let Some(dashboard) = &mut self.dashboard {
            dashboard.show(Shown {
                epoch: self.epoch,
                steps: self.outcome.steps,
                loss: recorded.round.objective,
                learning_rate: self.outcome.learning_rate,
                train: recorded.on_train.map(counted).as_deref(),
                validation: recorded.on_validation.map(counted).as_deref(),
            })?;
        }
        Ok(None)
    }

    fn store(&self, state: &mut Self::State) -> Result<(), LearnerError> {
        *state = Some(self.session.save()?);
        Ok(())
    }

    fn conclude(&mut self, stop: StopReason, _: &History, _: &Self::State) -> Result<StopReason, LearnerError> {
        self.end_dashboard()?;
        Ok(stop)
    }

    fn model(&self, _: &Self::State, _: usize) -> Result<Model, LearnerError> {
        Ok(Model::Scorer(self.session.best().clone()))
    }
}

impl RankingLearner for Gradient {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(
        &self,
        train: &RankingDataset,
        validation: Option<&RankingDataset>,
        context: &FitContext,
    ) -> Result<Fitted, LearnerError> {
        let train = &*train
            .weighted_for_training()
            .map_err(|error| LearnerError::Data { learner: NAME, reason: error.to_string() })?;
        complete(NAME, train, validation)?;
        let rounds = Rounds::of_weighted(NAME, train, validation, context)?;
        let session = Session::start(self, train, validation, context)?;
        let mut run = Run {
            learner: self,
            context,
            session,
            log: MetricsLog::default(),
            dashboard: None,
            validates: validation.is_some(),
            epoch: 0,
            outcome: Outcome::default(),
        };
        let rounds =
            rounds.most(self.config.epochs).patience(self.config.patience).beside_measure(&*self.loss.built)?;
        let fitted = rounds.drive(self, &mut run);
        // The terminal is released first, so the user can read an error.
        run.end_dashboard()?;
        fitted
    }
}
