//! `pair_loss`: sums of a convex (or fidelity) loss over the pairs that the labels order.

use burn::{
    backend::{Backend, Dispatch, ExtensionType, tensor::FloatTensor},
    tensor::Tensor,
};
use serde::{Deserialize, Serialize};

use super::{
    array::{Array, by_rows},
    backend::Pairwise,
    execution::uses_tensor_path,
    shape::assert_same,
};

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
pub(super) const EXPONENTIAL_BOUND: f64 = 60.0;

/// The weight `w_ij` of a pair; always 0 unless `y_i > y_j`. Weights carry no gradient.
#[derive(Debug, Clone)]
// One value a forward pass: boxing the tensors would cost readers more than it saves.
#[allow(clippy::large_enum_variant)]
pub enum PairWeight {
    /// `w_ij = 1`
    Unit,
    /// `w_ij = u_i`, one weight per document: `[batch, documents]`
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
/// - `x`, `labels`, `mask` (1 for a document, 0 for padding), tensors of `weight`, output: `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes.
#[track_caller]
pub fn pair_loss(x: Tensor<2>, labels: Tensor<2>, mask: Tensor<2>, weight: &PairWeight, loss: PairLoss) -> Tensor<2> {
    assert_same("pair_loss", ("x", &x), &[("labels", &labels), ("mask", &mask)]);
    match weight {
        PairWeight::Unit => {}
        PairWeight::Document(u) => assert_same("pair_loss", ("x", &x), &[("document weights", u)]),
        PairWeight::Lambda { gain, discount, rank, .. } => {
            assert_same("pair_loss", ("x", &x), &[("gain", gain), ("discount", discount), ("rank", rank)]);
        }
    }
    let tensor = |tensor: &Tensor<2>| tensor.clone().detach().into_dispatch();
    let weight = match weight {
        PairWeight::Unit => Weight::Unit,
        PairWeight::Document(u) => Weight::Document(tensor(u)),
        PairWeight::Lambda { gain, discount, rank, absolute, gap } => Weight::Lambda {
            gain: tensor(gain),
            discount: tensor(discount),
            rank: tensor(rank),
            absolute: *absolute,
            gap: *gap,
        },
    };
    let (x, labels, mask) = (x.into_dispatch(), tensor(&labels), tensor(&mask));
    Tensor::from_dispatch(if uses_tensor_path() {
        definition::<Dispatch>(x, labels, mask, weight, loss)
    } else {
        Dispatch::pair_loss(x, labels, mask, weight, loss)
    })
}

/// [`PairWeight`] in the tensors of one backend.
#[derive(Debug, Clone, ExtensionType)]
pub enum Weight<B: Backend> {
    /// `w_ij = 1`
    Unit,
    /// `w_ij = u_i`
    Document(FloatTensor<B>),
    /// See [`PairWeight::Lambda`].
    Lambda {
        /// Gains.
        gain: FloatTensor<B>,
        /// Discounts.
        discount: FloatTensor<B>,
        /// Ranks.
        rank: FloatTensor<B>,
        /// Weight of the difference of discounts.
        absolute: f64,
        /// Weight of the discount step.
        gap: f64,
    },
}

impl<B: Backend> Weight<B> {
    /// Weights of the pairs of a chunk of rows: with the row the more relevant document, and with the column.
    fn of_rows(&self, ordered: Array<B>, reversed: Array<B>, rows: (usize, usize)) -> (Array<B>, Array<B>) {
        match self {
            Weight::Unit => (ordered, reversed),
            Weight::Document(u) => {
                let u = Array::<B>(u.clone());
                (ordered * u.rows(rows).column(), reversed * u.columns())
            }
            Weight::Lambda { gain, discount, rank, absolute, gap } => {
                let distance = |values: &FloatTensor<B>| Array::<B>(values.clone()).differences(rows).abs();
                let mut factor = distance(discount) * *absolute;
                if *gap != 0.0 {
                    let ranks = distance(rank).at_least(1.0);
                    factor = factor + (inverse_log2(ranks.clone() + 1.0) - inverse_log2(ranks + 2.0)) * *gap;
                }
                let factor = factor * distance(gain);
                (ordered * factor.clone(), reversed * factor)
            }
        }
    }
}

fn inverse_log2<B: Backend>(x: Array<B>) -> Array<B> {
    x.log().recip() * std::f64::consts::LN_2
}

impl PairLoss {
    /// `l(t)`; `weight` says which pairs count, so that no other can overflow.
    fn value<B: Backend>(self, t: Array<B>, weight: &Array<B>) -> Array<B> {
        match self {
            PairLoss::Logistic => -t.log_sigmoid(),
            PairLoss::Hinge { margin } => (-t + margin).relu(),
            PairLoss::SquaredHinge { margin } => (-t + margin).relu().square(),
            PairLoss::Exponential => {
                let t = weight.select(t);
                let beyond = (-t.clone() - EXPONENTIAL_BOUND).relu();
                (-t.at_least(-EXPONENTIAL_BOUND)).exp() * (beyond + 1.0)
            }
            // 1 - sqrt(p) without the cancellation at p close to 1, nor the infinite slope at p = 0.
            PairLoss::Fidelity => (-t.clone()).sigmoid() / ((t.log_sigmoid() * 0.5).exp() + 1.0),
            PairLoss::SoftZeroOne => (-t).sigmoid(),
        }
    }

    /// `l'(t)`
    fn slope<B: Backend>(self, t: Array<B>, weight: &Array<B>) -> Array<B> {
        match self {
            PairLoss::Logistic => -(-t).sigmoid(),
            PairLoss::Hinge { margin } => -(-t + margin).above(0.0),
            PairLoss::SquaredHinge { margin } => (-t + margin).relu() * -2.0,
            PairLoss::Exponential => -(-weight.select(t).at_least(-EXPONENTIAL_BOUND)).exp(),
            PairLoss::Fidelity => (-t.clone()).sigmoid() * (t.log_sigmoid() * 0.5).exp() * -0.5,
            PairLoss::SoftZeroOne => -(t.clone().sigmoid() * (-t).sigmoid()),
        }
    }
}

/// 1 for the pairs of documents that the labels order: with the row the more relevant document, and with the column.
fn order<B: Backend>(labels: &Array<B>, mask: &Array<B>, rows: (usize, usize)) -> (Array<B>, Array<B>) {
    let valid = mask.columns() * mask.rows(rows).column();
    let d = labels.differences(rows);
    ((-d.clone()).above(0.0) * valid.clone(), d.above(0.0) * valid)
}

/// The tensor definition.
pub(super) fn definition<B: Backend>(
    x: FloatTensor<B>,
    labels: FloatTensor<B>,
    mask: FloatTensor<B>,
    weight: Weight<B>,
    loss: PairLoss,
) -> FloatTensor<B> {
    let (x, labels, mask) = (Array::<B>(x), Array::<B>(labels), Array::<B>(mask));
    let [out] = by_rows(&x, |rows| {
        let (ordered, reversed) = order(&labels, &mask, rows);
        let (w, _) = weight.of_rows(ordered, reversed, rows);
        [(loss.value(-x.differences(rows), &w) * w).sum(2)]
    });
    out.0
}

/// Gradient with respect to `x`: row `k` is `g_k sum_j w_kj l'(x_k - x_j) - sum_j g_j w_jk l'(x_j - x_k)`.
pub(super) fn gradient<B: Backend>(
    x: FloatTensor<B>,
    labels: FloatTensor<B>,
    mask: FloatTensor<B>,
    weight: Weight<B>,
    gradient: FloatTensor<B>,
    loss: PairLoss,
) -> FloatTensor<B> {
    let (x, labels, mask) = (Array::<B>(x), Array::<B>(labels), Array::<B>(mask));
    let g = Array::<B>(gradient);
    let [to_x] = by_rows(&x, |rows| {
        let (ordered, reversed) = order(&labels, &mask, rows);
        let (above, below) = weight.of_rows(ordered, reversed, rows);
        let d = x.differences(rows);
        let own = (loss.slope(-d.clone(), &above) * above).sum(2) * g.rows(rows);
        let others = (loss.slope(d, &below) * below * g.columns()).sum(2);
        [own - others]
    });
    to_x.0
}
