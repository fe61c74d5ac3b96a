//! `step_sum`: smoothed counts of the documents ahead (approximation-framework, section 4).

use burn::tensor::{Tensor, activation::sigmoid};
use serde::{Deserialize, Serialize};

use super::differences;

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

impl Step {
    pub(crate) fn apply<const D: usize>(self, t: Tensor<D>) -> Tensor<D> {
        match self {
            Step::Logistic => sigmoid(t),
            Step::Tanh => (t.tanh() + 1.0) * 0.5,
            Step::Erf => (t.erf() + 1.0) * 0.5,
            Step::Arctan => t.atan() / std::f64::consts::PI + 0.5,
        }
    }
}

/// `out_i = sum_j v_j phi(alpha (x_j - x_i))`, the term `j = i` (`v_i / 2`) included.
///
/// Differentiable in `x` and `v`.
///
/// # Shapes
/// - `x`, `v`, output: `[batch, documents]`; give padded documents `v = 0`.
pub fn step_sum(x: Tensor<2>, v: Tensor<2>, alpha: f64, step: Step) -> Tensor<2> {
    let phi = step.apply(differences(&x) * alpha);
    (phi * v.unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim(2)
}
