//! Optimisers and gradient clipping by configuration: burn's own, under their usual names.

use burn::grad_clipping::GradientClipping;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdaGradConfig, AdamConfig, AdamWConfig, AdanConfig, LambConfig, LionConfig, ModuleOptimizer, RmsPropConfig,
    SgdConfig,
};

use serde::{Deserialize, Serialize};

use crate::json::tagged;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks::{not_negative, parameter, positive};

tagged! {
    "OptimizerConfig"
    /// An optimiser of burn, told apart by `kind`, with the defaults of its paper.
    ///
    /// `weight_decay` is decoupled from the gradient for `adamw`, `lion`, `adan` and `lamb`, and an L2 penalty for the
    /// others.
    #[serde(rename_all = "lowercase", deny_unknown_fields)]
    pub enum OptimizerConfig {
        /// Adam (Kingma and Ba, 2015).
        Adam {
            /// Decay of the mean gradient, at least 0 and below 1. Default: 0.9.
            #[serde(default = "beta_1")]
            beta_1: f64,
            /// Decay of the mean squared gradient, at least 0 and below 1. Default: 0.999.
            #[serde(default = "beta_2")]
            beta_2: f64,
            /// Added to the denominator, above 0. Default: 1e-8.
            #[serde(default = "epsilon")]
            epsilon: f64,
            /// Divide by the root of the largest mean squared gradient so far (AMSGrad). Default: false.
            #[serde(default)]
            amsgrad: bool,
            /// Weight decay as an L2 penalty, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// AdamW (Loshchilov and Hutter, 2019).
        AdamW {
            /// Decay of the mean gradient, at least 0 and below 1. Default: 0.9.
            #[serde(default = "beta_1")]
            beta_1: f64,
            /// Decay of the mean squared gradient, at least 0 and below 1. Default: 0.999.
            #[serde(default = "beta_2")]
            beta_2: f64,
            /// Added to the denominator, above 0. Default: 1e-8.
            #[serde(default = "epsilon")]
            epsilon: f64,
            /// Divide by the root of the largest mean squared gradient so far (AMSGrad). Default: false.
            #[serde(default)]
            amsgrad: bool,
            /// Decoupled weight decay, 0 or above. Default: 0.01.
            #[serde(default = "adam_w_decay")]
            weight_decay: f64,
        },
        /// Gradient descent, with momentum if given.
        Sgd {
            /// Momentum, without dampening, at least 0 and below 1; 0 for none. Default: 0.
            #[serde(default)]
            momentum: f64,
            /// Nesterov's momentum; false where `momentum` is 0. Default: false.
            #[serde(default)]
            nesterov: bool,
            /// Weight decay as an L2 penalty, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// RMSprop (Tieleman and Hinton, 2012).
        RmsProp {
            /// Decay of the mean squared gradient, at least 0 and below 1. Default: 0.99.
            #[serde(default = "rms_alpha")]
            alpha: f64,
            /// Momentum of the scaled gradients, at least 0 and below 1; 0 for none. Default: 0.
            #[serde(default)]
            momentum: f64,
            /// Added to the denominator, above 0. Default: 1e-8.
            #[serde(default = "epsilon")]
            epsilon: f64,
            /// Divide by the standard deviation of the gradient, not by its root mean square. Default: false.
            #[serde(default)]
            centered: bool,
            /// Weight decay as an L2 penalty, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// AdaGrad (Duchi et al., 2011).
        AdaGrad {
            /// Added to the denominator, above 0. Default: 1e-8.
            #[serde(default = "epsilon")]
            epsilon: f64,
            /// Decay `d` of the learning rate, which is divided by `1 + (t - 1) d` in step `t`; 0 or above. Default: 0.
            #[serde(default)]
            lr_decay: f64,
            /// Weight decay as an L2 penalty, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// Lion (Chen et al., 2023).
        Lion {
            /// Share of the momentum in the direction of a step, at least 0 and below 1. Default: 0.9.
            #[serde(default = "beta_1")]
            beta_1: f64,
            /// Decay of the momentum, at least 0 and below 1. Default: 0.99.
            #[serde(default = "lion_beta_2")]
            beta_2: f64,
            /// Decoupled weight decay, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// Adan (Xie et al., 2022), with its own defaults.
        Adan {
            /// Decoupled weight decay, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// LAMB (You et al., 2020), with its own defaults.
        Lamb {
            /// Weight decay, added to the step before it is scaled by layer, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
    }
}

fn beta_1() -> f64 {
    0.9
}
fn beta_2() -> f64 {
    0.999
}
fn epsilon() -> f64 {
    1e-8
}
fn adam_w_decay() -> f64 {
    0.01
}
fn rms_alpha() -> f64 {
    0.99
}
fn lion_beta_2() -> f64 {
    0.99
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self::Adam { beta_1: beta_1(), beta_2: beta_2(), epsilon: epsilon(), amsgrad: false, weight_decay: 0.0 }
    }
}

impl OptimizerConfig {
    /// Gradient descent without momentum or decay.
    pub fn plain_sgd() -> Self {
        Self::Sgd { momentum: 0.0, nesterov: false, weight_decay: 0.0 }
    }

    pub(super) fn check(&self) -> Result<(), LearnerError> {
        match *self {
            Self::Adam { beta_1, beta_2, epsilon, weight_decay, .. }
            | Self::AdamW { beta_1, beta_2, epsilon, weight_decay, .. } => {
                rate("beta_1", beta_1)?;
                rate("beta_2", beta_2)?;
                above_zero("epsilon", epsilon)?;
                decay(weight_decay)
            }
            Self::Sgd { momentum, nesterov, weight_decay } => {
                rate("momentum", momentum)?;
                if nesterov && momentum == 0.0 {
                    return Err(parameter("optimizer.nesterov", nesterov, "false where momentum is 0"));
                }
                decay(weight_decay)
            }
            Self::RmsProp { alpha, momentum, epsilon, weight_decay, .. } => {
                rate("alpha", alpha)?;
                rate("momentum", momentum)?;
                above_zero("epsilon", epsilon)?;
                decay(weight_decay)
            }
            Self::AdaGrad { epsilon, lr_decay, weight_decay } => {
                above_zero("epsilon", epsilon)?;
                not_negative("optimizer.lr_decay", lr_decay)?;
                decay(weight_decay)
            }
            Self::Lion { beta_1, beta_2, weight_decay } => {
                rate("beta_1", beta_1)?;
                rate("beta_2", beta_2)?;
                decay(weight_decay)
            }
            Self::Adan { weight_decay } | Self::Lamb { weight_decay } => decay(weight_decay),
        }
    }

    /// The optimiser, with gradients clipped before it sees them.
    pub(super) fn build(&self, clip: Option<&ClipConfig>) -> ModuleOptimizer {
        let penalty = |decay: f64| (decay > 0.0).then(|| WeightDecayConfig::new(decay as f32));
        let optimizer = match *self {
            Self::Adam { beta_1, beta_2, epsilon, amsgrad, weight_decay } => AdamConfig::new()
                .with_beta_1(beta_1 as f32)
                .with_beta_2(beta_2 as f32)
                .with_epsilon(epsilon as f32)
                .with_amsgrad(amsgrad)
                .with_weight_decay(penalty(weight_decay))
                .init(),
            Self::AdamW { beta_1, beta_2, epsilon, amsgrad, weight_decay } => AdamWConfig::new()
                .with_beta_1(beta_1 as f32)
                .with_beta_2(beta_2 as f32)
                .with_epsilon(epsilon as f32)
                .with_amsgrad(amsgrad)
                .with_weight_decay(weight_decay as f32)
                .init(),
            Self::Sgd { momentum, nesterov, weight_decay } => {
                let momentum = (momentum > 0.0)
                    .then(|| MomentumConfig::new().with_momentum(momentum).with_dampening(0.0).with_nesterov(nesterov));
                SgdConfig::new().with_momentum(momentum).with_weight_decay(penalty(weight_decay)).init()
            }
            Self::RmsProp { alpha, momentum, epsilon, centered, weight_decay } => RmsPropConfig::new()
                .with_alpha(alpha as f32)
                .with_momentum(momentum as f32)
                .with_epsilon(epsilon as f32)
                .with_centered(centered)
                .with_weight_decay(penalty(weight_decay))
                .init(),
            Self::AdaGrad { epsilon, lr_decay, weight_decay } => AdaGradConfig::new()
                .with_epsilon(epsilon as f32)
                .with_lr_decay(lr_decay)
                .with_weight_decay(penalty(weight_decay))
                .init(),
            Self::Lion { beta_1, beta_2, weight_decay } => LionConfig::new()
                .with_beta_1(beta_1 as f32)
                .with_beta_2(beta_2 as f32)
                .with_weight_decay(weight_decay as f32)
                .init(),
            Self::Adan { weight_decay } => AdanConfig::new().with_weight_decay(weight_decay as f32).init(),
            Self::Lamb { weight_decay } => LambConfig::new().with_weight_decay(weight_decay as f32).init(),
        };
        match clip {
            Some(clip) => optimizer.with_grad_clipping(clip.build()),
            None => optimizer,
        }
    }
}

/// Bound on the gradient of each parameter tensor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClipConfig {
    /// Each element into `[-value, value]`.
    Value(f64),
    /// Each tensor scaled down to this Euclidean norm.
    Norm(f64),
}

impl ClipConfig {
    pub(super) fn check(&self) -> Result<(), LearnerError> {
        match *self {
            Self::Value(bound) => positive("clip.value", bound).map(drop),
            Self::Norm(bound) => positive("clip.norm", bound).map(drop),
        }
    }

    fn build(self) -> GradientClipping {
        match self {
            Self::Value(bound) => GradientClipping::Value(bound as f32),
            Self::Norm(bound) => GradientClipping::Norm(bound as f32),
        }
    }
}

fn rate(key: &str, value: f64) -> Result<(), LearnerError> {
    if (0.0..1.0).contains(&value) {
        Ok(())
    } else {
        Err(parameter(&format!("optimizer.{key}"), value, "at least 0 and below 1"))
    }
}

fn above_zero(key: &str, value: f64) -> Result<(), LearnerError> {
    positive(&format!("optimizer.{key}"), value).map(drop)
}

fn decay(value: f64) -> Result<(), LearnerError> {
    not_negative("optimizer.weight_decay", value).map(drop)
}
