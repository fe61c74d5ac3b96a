//! SmoothRank minimizes a surrogate of a ranking measure again and again, each time with less smoothing (smoothrank,
//! Algorithm 1).
//!
//! ```text
//! w = w_0, the ridge regression on the loss's gains
//! for sigma = 64, 32, ..., 1/64:    w = argmin, from w, of    lambda ||w - w_0||^2 + sum_q loss_q(w; sigma)
//! ```
//!
//! The ridge regression predicts the gains of the documents. The gains are given by the gain function of the loss, or
//! are `2^y - 1` if the loss has none. Since `loss_q` is `1 - A_q`, where `A_q` is the smoothed measure, the objective
//! equals equation (13) plus a constant. Any registered surrogate with a temperature can be used. The default is
//! SmoothNDCG with a cut-off at rank 50, as in section 7. If the temperature of a surrogate is called `alpha`, then
//! `alpha = 1 / sigma`. The objective for each sigma is minimized by conjugate gradients. Only `lambda` is chosen on
//! validation data, by comparing the models for the last sigma. According to section 5.2 of the paper, choosing sigma
//! in the same way is too unstable. For every lambda, the first sigma starts from the ridge regression, not from the
//! solution for another lambda.
//!
//! Each round minimizes the objective for one sigma and one lambda. A round computes the surrogate a few dozen times,
//! and each computation costs O(n^2) per query. A query whose labels are all equal does not contribute.

mod descent;
mod fit;
mod kernel;
mod objective;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::learner::prelude::*;
use crate::loss::{Change, LossSpec, Smoothing, key_of_held_constant};

const NAME: &str = "smooth_rank";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "conjugate gradients on a surrogate that is annealed from smooth to sharp, from ridge regression",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, Algorithm 1",
    takes_loss: true,
    takes_scorer: true,
    ..LearnerEntry::of::<SmoothRankConfig>(NAME)
};

/// Returns the default loss, SmoothNDCG with a cut-off at rank 50, as in the paper.
pub(crate) fn default_loss() -> LossSpec {
    LossSpec::new("smooth_ndcg").with("k", 50)
}

/// The method that minimizes the objective at each sigma.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Optimizer {
    /// The conjugate gradient method of Polak and Ribiere, as in the paper.
    #[default]
    ConjugateGradient,
    /// L-BFGS, which estimates the curvature from the last ten steps.
    Lbfgs,
}

/// Configuration of [`SmoothRank`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SmoothRankConfig {
    /// The penalty on the distance `||w - w_0||^2`: one value above 0, or a list from which the best value is chosen on
    /// validation data.
    pub lambda: Candidates,
    /// The sigma with which the annealing starts; must be above 0.
    pub first_sigma: f64,
    /// The lower limit of sigma, above 0 and at most `first_sigma`. Sigma is halved as long as it does not fall below
    /// this limit.
    pub last_sigma: f64,
    /// The method that minimizes the objective at each sigma.
    pub optimizer: Optimizer,
    /// The maximum number of optimizer steps for each sigma, at least 1.
    pub steps: usize,
    /// The minimization for one sigma ends when a step decreases the objective by at most this fraction of its value.
    /// Must be at least 0.
    pub tolerance: f64,
    /// The penalty of the ridge regression whose solution is `w_0`; must be above 0. See
    /// [`Regression`](crate::learner::regression::RegressionConfig).
    pub start_lambda: f64,
    /// Whether this regression gives the relevant documents and all other documents the same total weight.
    pub start_balanced: bool,
    /// The number of kernel PCA components that replace the features. Must be at least 1. `None` keeps the features.
    pub kernel_components: Option<usize>,
    /// The maximum number of training documents from which kernel PCA computes the components, at least 1.
    pub kernel_landmarks: usize,
    /// The parameter `gamma > 0` of the kernel `exp(-gamma ||x - x'||^2)`.
    pub kernel_gamma: f64,
}

impl Default for SmoothRankConfig {
    fn default() -> Self {
        Self {
            lambda: Candidates::powers_of_ten(-6, 3),
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

impl LearnerConfig for SmoothRankConfig {
    type RankingLearner = SmoothRank;

    fn check(&self, parts: &Parts) -> Result<SmoothRank> {
        let scorer = parts.scorer_or_default();
        self.lambda.check("lambda")?;
        checks::positive("first_sigma", self.first_sigma)?;
        checks::positive("last_sigma", self.last_sigma)?;
        let expected = format_args!("at most first_sigma = {}", self.first_sigma);
        checks::require("last_sigma", self.last_sigma, self.last_sigma <= self.first_sigma, expected)?;
        checks::at_least("steps", self.steps, 1)?;
        checks::not_negative("tolerance", self.tolerance)?;
        checks::positive("start_lambda", self.start_lambda)?;
        checks::positive("kernel_gamma", self.kernel_gamma)?;
        checks::at_least("kernel_landmarks", self.kernel_landmarks, 1)?;
        scorer.check()?;
        checks::without_batch_norm(&scorer, checks::NO_STATISTICS)?;
        if let Some(components) = self.kernel_components {
            checks::at_least("kernel_components", components, 1)?;
            let is_linear = matches!(scorer, ScorerConfig::Linear(_));
            checks::require("kernel_components", components, is_linear, "none, or a linear scorer")?;
        }
        let loss = parts.loss.clone().unwrap_or_else(|| default_loss().into()).built()?;
        let built = &loss.built;
        let full = built.changed(Change::FullGradient)?;
        let held = built.about().held_constant.filter(|_| full.is_none());
        if let Some(held) = held.or(built.about().estimates_gradient.then_some("the value")) {
            let name = built.about().name;
            let expected =
                format!("expected a loss with the gradient of its value, to minimize it: {name} holds {held}");
            return Err(Refusal::fault(key_of_held_constant(held), expected).into());
        }
        let Some(smoothing) = built.about().smoothing else {
            let expected = "a surrogate with a temperature (sigma or alpha)";
            return Err(checks::parameter("loss", loss.record.name(), expected));
        };
        // Halving is exact, so the last sigma is met.
        let sigmas = std::iter::successors(Some(self.first_sigma), |sigma| Some(sigma / 2.0))
            .take_while(|&sigma| sigma >= self.last_sigma)
            .collect::<Vec<f64>>();
        let learner = SmoothRank { sigmas, smoothing, loss, scorer, config: self.clone() };
        // A temperature that the loss rejects is reported before the fit.
        for sigma in learner.sigmas.first().into_iter().chain(learner.sigmas.last()) {
            learner.surrogate(*sigma)?;
        }
        Ok(learner)
    }
}

/// The learner SmoothRank with checked parameters.
#[derive(Debug, Clone)]
pub(crate) struct SmoothRank {
    sigmas: Vec<f64>,
    smoothing: Smoothing,
    loss: BuiltLoss,
    scorer: ScorerConfig,
    config: SmoothRankConfig,
}

impl SmoothRank {
    /// Returns the loss for a given sigma, with the exact gradient of its value.
    fn surrogate(&self, sigma: f64) -> Result<Arc<dyn RankingLoss>> {
        let temperature = if self.smoothing.larger_is_sharper() { 1.0 / sigma } else { sigma };
        let loss = self.loss.record.build_with(self.smoothing.parameter, temperature)?;
        Ok(loss.changed(Change::FullGradient)?.map_or(loss, Arc::from))
    }
}
