//! Configures burn's optimizers, under their usual names, and gradient clipping. The module `descent` performs the
//! steps.

use burn::grad_clipping::GradientClipping;

use crate::json::{tagged, to_value};
use crate::learner::prelude::*;
use crate::learner::shared::checks::{not_negative, positive, rate, require};

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
            #[serde(default = "thousandths::<900>")]
            beta_1: f64,
            /// Decay rate of the running mean of the squared gradients, at least 0 and below 1. Default: 0.999.
            #[serde(default = "thousandths::<999>")]
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
            #[serde(default = "thousandths::<900>")]
            beta_1: f64,
            /// Decay rate of the running mean of the squared gradients, at least 0 and below 1. Default: 0.999.
            #[serde(default = "thousandths::<999>")]
            beta_2: f64,
            /// A number above 0 that is added to the denominator of each step. Default: 1e-8.
            #[serde(default = "epsilon")]
            epsilon: f64,
            /// Whether to divide by the root of the largest mean squared gradient so far instead of the current one
            /// (AMSGrad). Default: false.
            #[serde(default)]
            amsgrad: bool,
            /// Decoupled weight decay, 0 or above. Default: 0.01.
            #[serde(default = "thousandths::<10>")]
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
            #[serde(default = "thousandths::<990>")]
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
            #[serde(default = "thousandths::<900>")]
            beta_1: f64,
            /// Decay rate of the momentum, at least 0 and below 1. Default: 0.99.
            #[serde(default = "thousandths::<990>")]
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
            #[serde(default = "thousandths::<1000>")]
            clip_threshold: f64,
            /// The exponent `e`, above 0. In step `t`, the running mean of the squared gradients has a decay rate of
            /// `1 - t^-e`. Default: 0.8.
            #[serde(default = "thousandths::<800>")]
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
            #[serde(default = "thousandths::<950>")]
            momentum: f64,
            /// Decoupled weight decay of all parameters, 0 or above. Default: 0.01.
            #[serde(default = "thousandths::<10>")]
            weight_decay: f64,
        },
        /// L-BFGS (Liu and Nocedal, 1989) with a strong Wolfe line search, on all queries at once.
        Lbfgs {
            /// The number of recent steps from which L-BFGS estimates the curvature, at least 1. Default: 10.
            #[serde(default = "number::<10>")]
            history: usize,
            /// The maximum number of L-BFGS steps in an epoch, at least 1. Default: 1.
            #[serde(default = "number::<1>")]
            iterations: usize,
        },
    }
}

/// Returns `N / 1000`, as the default of a setting.
fn thousandths<const N: u16>() -> f64 {
    f64::from(N) / 1000.0
}

/// Returns `N`, as the default of a setting.
fn number<const N: usize>() -> usize {
    N
}

fn epsilon() -> f64 {
    1e-8
}

fn yes() -> bool {
    true
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self::Adam { beta_1: 0.9, beta_2: 0.999, epsilon: epsilon(), amsgrad: false, weight_decay: 0.0 }
    }
}

impl OptimizerConfig {
    /// Returns gradient descent without momentum or decay.
    pub fn plain_sgd() -> Self {
        Self::Sgd { momentum: 0.0, nesterov: false, weight_decay: 0.0 }
    }

    /// Checks the settings. Each has the same range with every optimizer.
    pub(super) fn check(&self) -> Result<()> {
        let settings = to_value(self).unwrap_or_default();
        for (key, value) in settings.as_object().into_iter().flatten() {
            // In JSON, a number that is not finite is null.
            let Some(value) = value.as_f64().or(value.is_null().then_some(f64::NAN)) else { continue };
            let name = format!("optimizer.{key}");
            match key.as_str() {
                "beta_1" | "beta_2" | "momentum" | "alpha" => rate(&name, value),
                "epsilon" | "clip_threshold" | "decay_exponent" => positive(&name, value),
                "history" | "iterations" => require(&name, value, value >= 1.0, "at least 1"),
                "weight_decay" | "lr_decay" => not_negative(&name, value),
                _ => unreachable!("{name} has no range"),
            }?;
        }
        let lacks_momentum = matches!(*self, Self::Sgd { momentum: 0.0, nesterov: true, .. });
        require("optimizer.nesterov", true, !lacks_momentum, "false where momentum is 0")
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
    pub(super) fn check(&self) -> Result<()> {
        match *self {
            Self::Value(bound) => positive("clip.value", bound),
            Self::Norm(bound) => positive("clip.norm", bound),
        }
    }

    pub(super) fn build(self) -> GradientClipping {
        match self {
            Self::Value(bound) => GradientClipping::Value(bound as f32),
            Self::Norm(bound) => GradientClipping::Norm(bound as f32),
        }
    }
}
