//! `pair_loss`: sums of a convex (or fidelity) loss over the pairs that the labels order.

use burn::tensor::{
    Tensor,
    activation::{relu, sigmoid, softplus},
};
use serde::{Deserialize, Serialize};

use super::differences;

/// The loss `l(t)` of one pair with score difference `t = x_i - x_j`, `i` the more relevant document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairLoss {
    /// `log(1 + exp(-t))` (RankNet)
    Logistic,
    /// `max(0, margin - t)` (RankSVM)
    Hinge { margin: f64 },
    /// `max(0, margin - t)^2`
    SquaredHinge { margin: f64 },
    /// `exp(-t)` (RankBoost)
    Exponential,
    /// `1 - sqrt(sigmoid(t))` (FRank)
    Fidelity,
}

/// The weight `w_ij` of a pair; always 0 unless `y_i > y_j`. Weights carry no gradient.
#[derive(Debug, Clone)]
pub enum PairWeight {
    /// `w_ij = 1`
    Unit,
    /// `w_ij = u_i`, one weight a document: `[batch, documents]`
    Document(Tensor<2>),
    /// `w_ij = |g_i - g_j| (absolute |d_i - d_j| + gap |D(|r_i - r_j|) - D(|r_i - r_j| + 1)|)`, `D(r) = 1/log2(1 + r)`:
    /// LambdaRank (`absolute = 1, gap = 0`), LambdaLoss NDCG-Loss2 (`0, 1`) and 2++ (`1, mu`).
    Lambda {
        /// Gains, divided by the ideal DCG: `[batch, documents]`
        gain: Tensor<2>,
        /// Discount at each document's rank (0 below a cut-off): `[batch, documents]`
        discount: Tensor<2>,
        /// 1-based rank of each document: `[batch, documents]`
        rank: Tensor<2>,
        /// Weight of the difference of discounts.
        absolute: f64,
        /// Weight of the discount step at the rank difference.
        gap: f64,
    },
}

/// `out_i = sum_j w_ij l(x_i - x_j)` over the pairs with `y_i > y_j`.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `labels`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
pub fn pair_loss(x: Tensor<2>, labels: Tensor<2>, mask: Tensor<2>, weight: &PairWeight, loss: PairLoss) -> Tensor<2> {
    let t = differences(&x).neg();
    let ordered = differences(&labels).lower_elem(0.0).float().cast(x.dtype());
    let valid = mask.clone().unsqueeze_dim::<3>(1) * mask.unsqueeze_dim::<3>(2);
    let mut w = ordered * valid;
    match weight {
        PairWeight::Unit => {}
        PairWeight::Document(u) => w = w * u.clone().detach().unsqueeze_dim::<3>(2),
        PairWeight::Lambda { gain, discount, rank, absolute, gap } => {
            let gains = differences(&gain.clone().detach()).abs();
            let mut factor = differences(&discount.clone().detach()).abs() * *absolute;
            if *gap != 0.0 {
                let distance = differences(&rank.clone().detach()).abs().clamp_min(1.0);
                let at = |d: Tensor<3>| (d + 1.0).log().recip() * std::f64::consts::LN_2;
                factor = factor + (at(distance.clone()) - at(distance + 1.0)) * *gap;
            }
            w = w * gains * factor;
        }
    }
    let value = match loss {
        PairLoss::Logistic => softplus(t.neg(), 1.0),
        PairLoss::Hinge { margin } => relu(t.neg() + margin),
        PairLoss::SquaredHinge { margin } => relu(t.neg() + margin).powi_scalar(2),
        // Pairs that do not count must not overflow: inf * 0 is NaN.
        PairLoss::Exponential => (t.neg().mask_fill(w.clone().equal_elem(0.0), 0.0)).exp(),
        PairLoss::Fidelity => sigmoid(t).sqrt().neg() + 1.0,
    };
    (value * w).sum_dim(2).squeeze_dim(2)
}
