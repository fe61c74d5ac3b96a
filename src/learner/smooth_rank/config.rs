//! Configuration of SmoothRank.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::learner::entry::{LearnerConfig, Parts};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Candidates;
use crate::learner::shared::checks;
use crate::loss::{BuiltLoss, Change, LossSpec, RankingLoss, Sharper, Smoothing, key_of_held};
use crate::refusal::Refusal;
use crate::scorer::ScorerConfig;

pub(super) const NAME: &str = "smooth_rank";

/// Returns the default loss, SmoothNDCG with a cut-off at rank 50, as in the paper.
pub fn default_loss() -> LossSpec {
    LossSpec::new("smooth_ndcg").with("k", 50)
}

/// The method that minimizes the objective at each sigma.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// The conjugate gradient method of Polak and Ribiere, as in the paper.
    #[default]
    ConjugateGradient,
    /// L-BFGS, which estimates the curvature from the last ten steps.
    Lbfgs,
}

/// Configuration of [`SmoothRank`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmoothRankConfig {
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
    /// [`Regression`](crate::learner::regression::Regression).
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

    fn check(&self, parts: &Parts) -> Result<SmoothRank, LearnerError> {
        let scorer = parts.scorer_or_default();
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
        let loss = parts.loss.clone().unwrap_or_else(|| default_loss().into()).built()?;
        let built = &loss.built;
        let full = built.changed(Change::FullGradient)?;
        let held = built.about().held.filter(|_| full.is_none());
        if let Some(held) = held.or(built.about().estimates_gradient.then_some("the value")) {
            let name = built.about().name;
            let expected =
                format!("expected a loss with the gradient of its value, to minimize it: {name} holds {held}");
            return Err(Refusal::fault(key_of_held(held), expected).into());
        }
        let Some(smoothing) = built.about().smoothing else {
            return Err(checks::parameter(
                "loss",
                loss.record.name(),
                "a surrogate with a temperature (sigma or alpha)",
            ));
        };
        // Halving is exact, so the last sigma is met.
        let sigmas = std::iter::successors(Some(self.first_sigma), |sigma| Some(sigma / 2.0))
            .take_while(|&sigma| sigma >= self.last_sigma)
            .collect::<Vec<f64>>();
        let learner = SmoothRank { lambdas, sigmas, smoothing, loss, scorer, config: self.clone() };
        // A temperature that the loss rejects is reported before the fit.
        for sigma in learner.sigmas.first().into_iter().chain(learner.sigmas.last()) {
            learner.surrogate(*sigma)?;
        }
        Ok(learner)
    }
}

/// The learner SmoothRank with checked parameters.
#[derive(Debug, Clone)]
pub struct SmoothRank {
    pub(super) lambdas: Vec<f64>,
    pub(super) sigmas: Vec<f64>,
    pub(super) smoothing: Smoothing,
    pub(super) loss: BuiltLoss,
    pub(super) scorer: ScorerConfig,
    pub(super) config: SmoothRankConfig,
}

impl SmoothRank {
    /// Returns the loss for a given sigma, with the exact gradient of its value.
    pub(super) fn surrogate(&self, sigma: f64) -> Result<Arc<dyn RankingLoss>, LearnerError> {
        let temperature = match self.smoothing.sharper {
            Sharper::Smaller => sigma,
            Sharper::Larger => 1.0 / sigma,
        };
        let loss = self.loss.record.build_with(self.smoothing.parameter, temperature)?;
        Ok(loss.changed(Change::FullGradient)?.map_or(loss, Arc::from))
    }
}
