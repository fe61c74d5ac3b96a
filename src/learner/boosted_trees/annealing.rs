//! The loss of each round, where a parameter of it moves.

use super::objective::Objective;
use crate::learner::error::LearnerError;
use crate::learner::shared::anneal::{AnnealConfig, AnnealState};
use crate::loss::TrainingLoss;

/// A parameter of the loss that moves over the rounds.
pub(super) struct Annealing<'a> {
    config: &'a AnnealConfig,
    loss: &'a TrainingLoss,
    parameter: String,
    /// Rounds of the whole way, where the configuration does not say.
    rounds: usize,
    /// The value that the objective has, once one was set.
    value: Option<f64>,
}

impl<'a> Annealing<'a> {
    pub(super) fn new(config: &'a AnnealConfig, loss: &'a TrainingLoss, rounds: usize) -> Result<Self, LearnerError> {
        Ok(Self { config, loss, parameter: config.parameter(loss)?, rounds, value: None })
    }

    /// Sets the loss of a round, counted from 1; returns whether it is another than before.
    pub(super) fn set(
        &mut self,
        objective: &mut Objective,
        state: AnnealState,
        round: usize,
    ) -> Result<bool, LearnerError> {
        let value = state.value(self.config, round, self.rounds);
        if self.value == Some(value) {
            return Ok(false);
        }
        objective.set_loss(self.loss.build_with(&self.parameter, value)?)?;
        self.value = Some(value);
        Ok(true)
    }

    /// Takes note of a round: whether the selection measure rose.
    pub(super) fn observe(&self, state: &mut AnnealState, rose: bool) {
        state.observe(self.config, rose);
    }

    /// The parameter and its value.
    pub(super) fn figure(&self) -> Option<(String, f64)> {
        self.value.map(|value| (self.parameter.clone(), value))
    }
}
