//! What primitives take beside tensors, on every backend.

use serde::{Deserialize, Serialize};

/// A smooth step `phi`, rising from 0 to 1 with `phi(0) = 1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// `1 / (1 + exp(-t))`
    #[default]
    Logistic,
    /// `(1 + tanh t) / 2`
    Tanh,
    /// `(1 + erf t) / 2`
    Erf,
    /// `1/2 + arctan(t) / pi`
    Arctan,
}

/// One term `c z^r` of a discount written as a sum of exponentials, `D(r) = sum_m c_m z_m^r`, `r = 0, 1, ...`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExponentialTerm {
    /// Coefficient `c_m`.
    pub coefficient: f64,
    /// Base `z_m` in (0, 1).
    pub base: f64,
}

/// The loss `l(t)` of one pair with score difference `t = x_i - x_j`, `i` the more relevant document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairLoss {
    /// `log(1 + exp(-t))` (RankNet)
    Logistic,
    /// `max(0, margin - t)` (RankSVM)
    Hinge {
        /// Difference of scores from which a pair costs nothing.
        margin: f64,
    },
    /// `max(0, margin - t)^2`
    SquaredHinge {
        /// Difference of scores from which a pair costs nothing.
        margin: f64,
    },
    /// `exp(-t)` (RankBoost), continued by its tangent below `t = -60`, so that it stays finite in float32
    Exponential,
    /// `1 - sqrt(sigmoid(t))` (FRank)
    Fidelity,
    /// `sigmoid(-t)`, a smooth count of the pairs in the wrong order
    SoftZeroOne,
}

/// `-t` beyond which [`PairLoss::Exponential`] is its tangent.
pub const EXPONENTIAL_BOUND: f64 = 60.0;
