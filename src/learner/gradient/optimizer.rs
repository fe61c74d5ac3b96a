//! Configures burn's optimizers, under their usual names, and gradient clipping. The module `descent` performs the
//! steps.

use burn::grad_clipping::GradientClipping;
use serde::{Deserialize, Serialize};

use crate::json::tagged;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks::{at_least, not_negative, parameter, positive};

tagged! {
    "OptimizerConfig"
    /// One of burn's optimizers, chosen by the key `kind`. Its settings have the defaults of its paper.
    ///
    /// For `adamw`, `adafactor`, `muon`, `lion`, `adan` and `lamb`, `weight_decay` is decoupled from the gradient. For
    /// the other optimizers, it is an L2 penalty.
    #[serde(rename_all = "lowercase", deny_unknown_fields)]
    pub enum OptimizerConfig {
        /// Adam (Kingma and Ba, 2015).
        Adam {
            /// Decay rate of the running mean of the gradients, at least 0 and below 1. Default: 0.9.
            #[serde(default = "beta_1")]
            beta_1: f64,
            /// Decay rate of the running mean of the squared gradients, at least 0 and below 1. Default: 0.999.
            #[serde(default = "beta_2")]
            beta_2: f64,
            /// A number above 0 that is added to the denominator of each step. Default: 1e-8.
            #[serde(default = "epsilon")]
            epsilon: f64,
            /// Whether to divide by the root of the largest mean squared gradient so far instead of the current one
            /// (AMSGrad). Default: false.
            #[serde(default)]
            amsgrad: bool,
            /// Weight decay as an L2 penalty, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// AdamW (Loshchilov and Hutter, 2019).
        AdamW {
            /// Decay rate of the running mean of the gradients, at least 0 and below 1. Default: 0.9.
            #[serde(default = "beta_1")]
            beta_1: f64,
            /// Decay rate of the running mean of the squared gradients, at least 0 and below 1. Default: 0.999.
            #[serde(default = "beta_2")]
            beta_2: f64,
            /// A number above 0 that is added to the denominator of each step. Default: 1e-8.
            #[serde(default = "epsilon")]
            epsilon: f64,
            /// Whether to divide by the root of the largest mean squared gradient so far instead of the current one
            /// (AMSGrad). Default: false.
            #[serde(default)]
            amsgrad: bool,
            /// Decoupled weight decay, 0 or above. Default: 0.01.
            #[serde(default = "adam_w_decay")]
            weight_decay: f64,
        },
        /// Gradient descent, optionally with momentum.
        Sgd {
            /// The momentum, at least 0 and below 1. With 0, there is no momentum. Dampening is not used. Default: 0.
            #[serde(default)]
            momentum: f64,
            /// Whether to use Nesterov's momentum, which requires a `momentum` above 0. Default: false.
            #[serde(default)]
            nesterov: bool,
            /// Weight decay as an L2 penalty, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// RMSprop (Tieleman and Hinton, 2012).
        RmsProp {
            /// Decay rate of the running mean of the squared gradients, at least 0 and below 1. Default: 0.99.
            #[serde(default = "rms_alpha")]
            alpha: f64,
            /// The momentum of the scaled gradients, at least 0 and below 1. With 0, there is no momentum. Default: 0.
            #[serde(default)]
            momentum: f64,
            /// A number above 0 that is added to the denominator of each step. Default: 1e-8.
            #[serde(default = "epsilon")]
            epsilon: f64,
            /// Whether to divide the gradient by its standard deviation instead of its root mean square. Default:
            /// false.
            #[serde(default)]
            centered: bool,
            /// Weight decay as an L2 penalty, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// AdaGrad (Duchi et al., 2011).
        AdaGrad {
            /// A number above 0 that is added to the denominator of each step. Default: 1e-8.
            #[serde(default = "epsilon")]
            epsilon: f64,
            /// The decay `d` of the learning rate over the steps, 0 or above. In step `t`, the learning rate is divided
            /// by `1 + (t - 1) d`. Default: 0.
            #[serde(default)]
            lr_decay: f64,
            /// Weight decay as an L2 penalty, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// Lion (Chen et al., 2023).
        Lion {
            /// Weight of the momentum in the direction of a step, at least 0 and below 1. The gradient has the
            /// remaining weight. Default: 0.9.
            #[serde(default = "beta_1")]
            beta_1: f64,
            /// Decay rate of the momentum, at least 0 and below 1. Default: 0.99.
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
            /// Weight decay, 0 or above. It is added to the step before LAMB scales the step of each layer. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// Adafactor (Shazeer and Stern, 2018).
        AdaFactor {
            /// The limit, above 0, on the root mean square of a step. A larger step is scaled down to this limit before
            /// it is multiplied by the learning rate. Default: 1.
            #[serde(default = "one")]
            clip_threshold: f64,
            /// The exponent `e`, above 0. In step `t`, the running mean of the squared gradients has a decay rate of
            /// `1 - t^-e`. Default: 0.8.
            #[serde(default = "decay_exponent")]
            decay_exponent: f64,
            /// Whether to limit the learning rate to `1 / sqrt(t)` in step `t`. Default: true.
            #[serde(default = "yes")]
            relative_step: bool,
            /// Whether to multiply the learning rate by the root mean square of the parameter, or by 0.001 if that is
            /// larger. Default: true.
            #[serde(default = "yes")]
            scale_parameter: bool,
            /// Decoupled weight decay, 0 or above. Default: 0.
            #[serde(default)]
            weight_decay: f64,
        },
        /// Muon (Jordan et al., 2024) for matrices, and AdamW for every other parameter. A parameter counts as a matrix
        /// if it has two dimensions, both larger than 1. Muon's steps are scaled to the usual root mean square of
        /// AdamW's steps (Liu et al., 2025), so both use the same learning rate.
        Muon {
            /// The Nesterov momentum of the matrices, at least 0 and below 1. Default: 0.95.
            #[serde(default = "muon_momentum")]
            momentum: f64,
            /// Decoupled weight decay of all parameters, 0 or above. Default: 0.01.
            #[serde(default = "adam_w_decay")]
            weight_decay: f64,
        },
        /// L-BFGS (Liu and Nocedal, 1989) with a strong Wolfe line search, on all queries at once.
        Lbfgs {
            /// The number of recent steps from which L-BFGS estimates the curvature, at least 1. Default: 10.
            #[serde(default = "history")]
            history: usize,
            /// The maximum number of L-BFGS steps in an epoch, at least 1. Default: 1.
            #[serde(default = "iterations")]
            iterations: usize,
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
fn one() -> f64 {
    1.0
}
fn yes() -> bool {
    true
}
fn decay_exponent() -> f64 {
    0.8
}
fn muon_momentum() -> f64 {
    0.95
}
fn history() -> usize {
    10
}
fn iterations() -> usize {
    1
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
    /// Returns gradient descent without momentum or decay.
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
            Self::AdaFactor { clip_threshold, decay_exponent, weight_decay, .. } => {
                above_zero("clip_threshold", clip_threshold)?;
                above_zero("decay_exponent", decay_exponent)?;
                decay(weight_decay)
            }
            Self::Muon { momentum, weight_decay } => {
                rate("momentum", momentum)?;
                decay(weight_decay)
            }
            Self::Lbfgs { history, iterations } => {
                at_least("optimizer.history", history, 1)?;
                at_least("optimizer.iterations", iterations, 1).map(drop)
            }
        }
    }
}

/// A limit to which the gradient of each parameter tensor is clipped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClipConfig {
    /// Clips each element to `[-value, value]`.
    Value(f64),
    /// Scales a tensor down if its Euclidean norm is larger than this.
    Norm(f64),
}

impl ClipConfig {
    pub(super) fn check(&self) -> Result<(), LearnerError> {
        match *self {
            Self::Value(bound) => positive("clip.value", bound).map(drop),
            Self::Norm(bound) => positive("clip.norm", bound).map(drop),
        }
    }

    pub(super) fn build(self) -> GradientClipping {
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
