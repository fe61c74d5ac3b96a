//! The rounds of SmoothRank: one sigma of one lambda each.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::config::{NAME, SmoothRank, SmoothRankConfig};
use super::descent::{self, Descent, Limits};
use super::kernel::KernelMap;
use super::linear::LinearObjective;
use super::network::NetworkObjective;
use super::objective::Objective;
use crate::data::Dataset;
use crate::learner::entry::Learner;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks;
use crate::learner::shared::context::{FitContext, Fitted, Round, StopReason};
use crate::learner::shared::gains::{balanced_weights, start_gain, start_gains};
use crate::learner::shared::judge::{Judge, counted, mean};
use crate::learner::shared::rounds::Rounds;
use crate::learner::shared::surrogate_value::SurrogateValue;
use crate::learner::solver::normal_equations::NormalEquations;
use crate::scorer::ScorerConfig;

#[derive(Serialize, Deserialize)]
struct State {
    /// Weights after the last round.
    weights: Vec<f64>,
    /// Weights of the best round.
    best: Vec<f64>,
    /// Whether the best round ended for want of steps.
    best_cut_short: bool,
}

impl SmoothRank {
    /// Ridge regression on gains.
    pub(super) fn ridge(&self, train: &Dataset) -> Result<Vec<f64>, LearnerError> {
        let targets = start_gains(NAME, train, &*self.loss.build()?)?;
        let weights = if self.config.start_balanced { balanced_weights(train) } else { vec![1.0; train.documents()] };
        let equations = NormalEquations::new(train, &targets, &weights, true);
        let solution = equations.solve(self.config.start_lambda).ok_or_else(|| LearnerError::Solver {
            learner: NAME,
            reason: format!(
                "the ridge regression of the start is singular at learner.start_lambda = {}: raise it",
                self.config.start_lambda
            ),
        })?;
        // A model holds its weights as `f32`.
        if !solution.weights.iter().all(|&weight| (weight as f32).is_finite()) {
            let reason = "the ridge regression of the start has infinite weights: lower the labels or their gains";
            return Err(LearnerError::Solver { learner: NAME, reason: reason.into() });
        }
        Ok(solution.weights)
    }

    fn limits(&self) -> Limits {
        Limits { steps: self.config.steps, tolerance: self.config.tolerance }
    }

    /// Algorithm 1 from `centre`, for each lambda.
    fn anneal(
        &self,
        objective: &dyn Objective,
        centre: &[f64],
        train: &Dataset,
        validation: Option<&Dataset>,
        context: &FitContext,
    ) -> Result<Fitted, LearnerError> {
        let judge = Judge::of_selection(context)?;
        let params = (&self.config, &self.loss, &self.scorer);
        let limit = Some(self.lambdas.len() * self.sigmas.len());
        let initial = || State { weights: centre.to_vec(), best: centre.to_vec(), best_cut_short: false };
        let in_measure = SurrogateValue::of(&*self.surrogate(self.config.first_sigma)?, train)?;
        let mut rounds = Rounds::start(NAME, &params, train, validation, limit, context, initial)?;
        let stop = loop {
            if let Some(stop) = rounds.stop() {
                break stop;
            }
            let round = rounds.next();
            let (lambda, step) = (self.lambdas[(round - 1) / self.sigmas.len()], (round - 1) % self.sigmas.len());
            let sigma = self.sigmas[step];
            let start = if step == 0 { centre } else { &rounds.state.weights };
            let loss = self.surrogate(sigma)?;
            let optimizer = self.config.optimizer;
            let Descent { weights, objectives, gradient_norm, evaluations, cut_short } =
                descent::minimise(objective, &*loss, lambda, centre, start, optimizer, self.limits())?;
            let (on_train, on_validation) = objective.merits(&weights, &judge)?;
            let objective_value = objectives[objectives.len() - 1];
            let mut figures = [
                ("lambda", lambda),
                ("sigma", sigma),
                ("steps", (objectives.len() - 1) as f64),
                ("evaluations", evaluations as f64),
                ("gradient_norm", gradient_norm),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec();
            let away: f64 = weights.iter().zip(centre).map(|(weight, at)| (weight - at).powi(2)).sum();
            if let Some(value) = &in_measure {
                figures.push(value.figure(objective_value - lambda * away));
                figures.extend(value.exact_figure(&on_train));
            }
            let made = Round {
                round,
                objective: objective_value,
                train: mean(&counted(&on_train)),
                validation: on_validation,
                figures,
            };
            if step + 1 < self.sigmas.len() {
                rounds.pass(made);
            } else if rounds.record(made) {
                rounds.state.best.clone_from(&weights);
                rounds.state.best_cut_short = cut_short;
            }
            rounds.state.weights = weights;
            rounds.save_when_due()?;
        };
        if rounds.state.best_cut_short && stop != StopReason::Interrupted {
            context.progress.warn(&format!(
                "{NAME}: the last sigma of lambda = {} ended after learner.steps = {} steps, above learner.tolerance",
                self.lambdas[(rounds.best_round() - 1) / self.sigmas.len()],
                self.config.steps
            ));
        }
        rounds.finish(stop, |state, _| Ok(objective.model(&state.best)))
    }
}

impl Learner for SmoothRank {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        checks::learnable(NAME, &self.loss, &*self.surrogate(self.config.first_sigma)?, train, context)?;
        if !matches!(self.scorer, ScorerConfig::Linear(_)) {
            let objective = NetworkObjective::new(&self.scorer, train, validation, context)?;
            let gain = start_gain(&*self.loss.build()?);
            let centre = objective.regression(gain, self.config.start_lambda, self.config.optimizer, self.limits())?;
            return self.anneal(&objective, &centre, train, validation, context);
        }
        let objective = match self.config.kernel_components {
            None => LinearObjective::new(Cow::Borrowed(train), validation.map(Cow::Borrowed), None, &context.device)?,
            Some(components) => {
                let SmoothRankConfig { kernel_landmarks, kernel_gamma, .. } = self.config;
                let map = KernelMap::new(train, kernel_landmarks, components, kernel_gamma, context.seed);
                let mapped = |data| Cow::Owned(map.map(data));
                let (train, validation) = (mapped(train), validation.map(mapped));
                LinearObjective::new(train, validation, Some(map), &context.device)?
            }
        };
        self.anneal(&objective, &self.ridge(&objective.train)?, train, validation, context)
    }
}
