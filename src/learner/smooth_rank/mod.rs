//! SmoothRank: a surrogate of an information retrieval measure, minimised less and less smoothed (smoothrank,
//! Algorithm 1).
//!
//! ```text
//! w = w_0, the ridge regression on the loss's gains
//! for sigma = 64, 32, ..., 1/64:    w = argmin, from w, of    lambda ||w - w_0||^2 + sum_q loss_q(w; sigma)
//! ```
//!
//! The gains are the loss's own, `2^y - 1` for a loss without. `loss_q = 1 - A_q` for the smooth measure `A_q`, so that
//! the objective is equation (13) plus a constant. Any registered surrogate with a temperature will do: SmoothNDCG (the
//! default, cut off at 50 as in section 7), both SmoothAPs, and those of the other papers, whose `alpha` is taken as
//! `1 / sigma`. Each sigma is minimised by conjugate gradients; `lambda` is chosen on validation data at the last sigma
//! (choosing sigma too was found too unstable, section 5.2). No lambda starts from another one's solution.
//!
//! A round is one sigma of one lambda. Its cost is that of some tens of evaluations of the surrogate, O(n^2) a query.
//! A query without two labels adds nothing.

mod descent;
mod kernel;
mod linear;
mod network;
mod surrogate;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use descent::Optimizer;

use super::regression::{NormalEquations, balanced_weights, start_gain, start_gains};
use crate::data::Dataset;
use crate::learner::entry::{self, Learner, LearnerEntry};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Grid;
use crate::learner::shared::checks;
use crate::learner::shared::context::{FitContext, Fitted, Round, StopReason};
use crate::learner::shared::judge::{Judge, counted, mean};
use crate::learner::shared::rounds::Rounds;
use crate::learner::shared::surrogate_value::SurrogateValue;
use crate::loss::{LossSpec, RankingLoss, Sharper, Smoothing};
use crate::ranker::Model;
use crate::scorer::ScorerConfig;
use descent::{Descent, Limits};
use kernel::KernelMap;
use linear::LinearObjective;
use network::NetworkObjective;

const NAME: &str = "smooth_rank";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    name: NAME,
    summary: "conjugate gradients on a surrogate that is annealed from smooth to sharp, from ridge regression",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, Algorithm 1",
    takes_loss: true,
    takes_scorer: true,
    defaults: || entry::parameters(&SmoothRankConfig::default()),
    build: |parts| {
        let loss = parts.loss.cloned().unwrap_or_else(default_loss);
        let scorer = parts.scorer.cloned().unwrap_or_default();
        Ok(Box::new(entry::decode::<SmoothRankConfig>(parts)?.check(&loss, &scorer)?))
    },
};

/// SmoothNDCG at 50, the paper's choice.
pub fn default_loss() -> LossSpec {
    LossSpec::new("smooth_ndcg").with("k", 50)
}

/// Configuration of [`SmoothRank`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmoothRankConfig {
    /// Weight of `||w - w_0||^2`, above 0: one value, or several to choose from on validation data.
    pub lambda: Grid,
    /// First sigma, above 0.
    pub first_sigma: f64,
    /// Sigma is halved while it is at least this, above 0 and at most `first_sigma`.
    pub last_sigma: f64,
    /// How each sigma is minimised.
    pub optimizer: Optimizer,
    /// Most steps at one sigma, at least 1.
    pub steps: usize,
    /// A sigma ends when a step decreases the objective by less than this share, 0 or above.
    pub tolerance: f64,
    /// Penalty of the ridge regression that gives `w_0`, above 0; see [`Regression`](super::regression::Regression).
    pub start_lambda: f64,
    /// Whether that regression gives relevant and other documents the same total weight.
    pub start_balanced: bool,
    /// Components of kernel PCA that stand for the features, at least 1; none for the features themselves.
    pub kernel_components: Option<usize>,
    /// Most documents that kernel PCA is made from, at least 1.
    pub kernel_landmarks: usize,
    /// `gamma > 0` of the kernel `exp(-gamma ||x - x'||^2)`.
    pub kernel_gamma: f64,
}

impl Default for SmoothRankConfig {
    fn default() -> Self {
        Self {
            lambda: Grid::powers_of_ten(-6, 3),
            first_sigma: 64.0,
            last_sigma: 1.0 / 64.0,
            optimizer: Optimizer::default(),
            steps: 30,
            tolerance: 1e-6,
            start_lambda: 1e-3,
            start_balanced: false,
            kernel_components: None,
            kernel_landmarks: 500,
            kernel_gamma: 1.0,
        }
    }
}

impl SmoothRankConfig {
    /// Checks every parameter, with the surrogate to minimise, whose own temperature is not read, and the scorer to
    /// fit.
    ///
    /// # Errors
    /// The first parameter out of its range; a loss without a temperature; kernel components of another scorer than a
    /// linear one.
    pub fn check(&self, loss: &LossSpec, scorer: &ScorerConfig) -> Result<SmoothRank, LearnerError> {
        let lambdas = self.lambda.positive("lambda")?;
        checks::positive("first_sigma", self.first_sigma)?;
        checks::positive("last_sigma", self.last_sigma)?;
        if self.last_sigma > self.first_sigma {
            let expected = format!("at most first_sigma = {}", self.first_sigma);
            return Err(checks::parameter("last_sigma", self.last_sigma, expected));
        }
        checks::at_least("steps", self.steps, 1)?;
        checks::not_negative("tolerance", self.tolerance)?;
        checks::positive("start_lambda", self.start_lambda)?;
        checks::positive("kernel_gamma", self.kernel_gamma)?;
        checks::at_least("kernel_landmarks", self.kernel_landmarks, 1)?;
        scorer.check()?;
        if let Some(components) = self.kernel_components {
            checks::at_least("kernel_components", components, 1)?;
            if !matches!(scorer, ScorerConfig::Linear(_)) {
                return Err(checks::parameter("kernel_components", components, "none, or a linear scorer"));
            }
        }
        loss.build()?;
        let Some(smoothing) = loss.smoothing()? else {
            return Err(checks::parameter("loss", &loss.name, "a surrogate with a temperature (sigma or alpha)"));
        };
        // Halving is exact, so that the last sigma is met.
        let sigmas = std::iter::successors(Some(self.first_sigma), |sigma| Some(sigma / 2.0))
            .take_while(|&sigma| sigma >= self.last_sigma)
            .collect::<Vec<f64>>();
        let (loss, scorer) = (loss.clone(), scorer.clone());
        let learner = SmoothRank { lambdas, sigmas, smoothing, loss, scorer, config: self.clone() };
        // A temperature that the loss refuses is known before the fit.
        for sigma in learner.sigmas.first().into_iter().chain(learner.sigmas.last()) {
            learner.surrogate(*sigma)?;
        }
        Ok(learner)
    }
}

/// SmoothRank, its parameters checked.
#[derive(Debug, Clone)]
pub struct SmoothRank {
    lambdas: Vec<f64>,
    sigmas: Vec<f64>,
    smoothing: Smoothing,
    loss: LossSpec,
    scorer: ScorerConfig,
    config: SmoothRankConfig,
}

/// Scores as a function of weights, with the losses of the training data.
trait Objective {
    /// The sum of the losses over training queries, and its derivative by each weight.
    fn value_and_gradient(&self, weights: &[f64], loss: &dyn RankingLoss) -> (f64, Vec<f64>);

    /// The measure of each training query, `None` where it does not count, and the mean on the validation data, where
    /// there are any and one query counts.
    fn merits(&self, weights: &[f64], judge: &Judge) -> Result<(Vec<Option<f64>>, Option<f64>), LearnerError>;

    /// The model with these weights.
    fn model(&self, weights: &[f64]) -> Model;
}

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
    fn surrogate(&self, sigma: f64) -> Result<Box<dyn RankingLoss>, LearnerError> {
        let temperature = match self.smoothing.sharper {
            Sharper::Smaller => sigma,
            Sharper::Larger => 1.0 / sigma,
        };
        Ok(self.loss.with(self.smoothing.parameter, temperature).build()?)
    }

    /// Ridge regression on gains.
    fn ridge(&self, train: &Dataset) -> Result<Vec<f64>, LearnerError> {
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

#[cfg(test)]
mod tests;
