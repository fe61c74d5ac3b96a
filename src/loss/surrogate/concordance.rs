//! The number of correctly ordered pairs minus the number of inverted pairs, computed from each form of relaxation.

use burn::tensor::Tensor;

use super::relaxation::{Indicators, PairSteps};
use crate::loss::lists::{Lists, sum_documents};
use crate::op::{PairLoss, PairWeight, Step, differences, pair_loss};

/// Computes the concordance from smooth steps that approximate "document `y` is above document `x`". The function
/// `pairs` returns the number of pairs with different labels in each query, `[B]`.
pub(super) fn by_steps(lists: &Lists, steps: &PairSteps, pairs: impl Fn() -> Tensor<1>) -> Tensor<1> {
    let PairSteps { by, steepness, step } = steps;
    let by = Lists { scores: by.clone(), ..lists.clone() }.centered();
    // (1 + tanh t) / 2 is the logistic step of 2 t.
    let logistic = match step {
        Step::Logistic => *steepness,
        Step::Tanh => 2.0 * steepness,
        Step::Erf | Step::Arctan | Step::Laplace => {
            let t = differences(&by) * *steepness;
            let chances = match step {
                Step::Erf => (t.erf() + 1.0) * 0.5,
                Step::Laplace => laplace(t),
                _ => t.atan() * std::f64::consts::FRAC_1_PI + 0.5,
            };
            return by_chances(lists, chances);
        }
    };
    let (labels, mask) = (lists.labels.clone(), lists.mask.clone());
    let misplaced = pair_loss(by * logistic, labels, mask, &PairWeight::Unit, PairLoss::SoftZeroOne);
    pairs() - sum_documents(misplaced) * 2.0
}

/// Returns `exp(t) / 2` for `t < 0` and `1 - exp(-t) / 2` otherwise; no exponential overflows.
fn laplace(t: Tensor<3>) -> Tensor<3> {
    let below = t.clone().lower_elem(0.0);
    // The absolute value would not do, because its derivative at 0 is 0.
    let small = t.clone().neg().mask_where(below.clone(), t).exp() * 0.5;
    (small.clone().neg() + 1.0).mask_where(below, small)
}

/// Computes the concordance from the probability that `y` is above `x`, at `[.., x, y]`.
pub(super) fn by_chances(lists: &Lists, chances: Tensor<3>) -> Tensor<1> {
    sum_pairs((chances * -2.0 + 1.0) * more_relevant(lists))
}

/// Computes the concordance from soft indicators, by comparing the document at each rank with the documents at later
/// ranks.
pub(super) fn by_indicators(lists: &Lists, indicators: &Indicators) -> Tensor<1> {
    let at_ranks = indicators.matrix(&lists.mask);
    let ordered = more_relevant(lists);
    let order = ordered.clone() - ordered.swap_dims(1, 2);
    // [.., r, i]: documents at rank r that are less relevant than i, minus those that are more relevant.
    let lower = at_ranks.clone().matmul(order.swap_dims(1, 2));
    let below = lower.clone().sum_dim(1) - lower.cumsum(1);
    sum_documents((at_ranks * below).sum_dim(2).squeeze_dim(2))
}

/// Returns 1 at `[.., x, y]` if document `x` has a larger label than document `y`, and 0 otherwise.
fn more_relevant(lists: &Lists) -> Tensor<3> {
    let larger = differences(&lists.labels).lower_elem(0.0).float().cast(lists.mask.dtype());
    larger * lists.mask.clone().unsqueeze_dim::<3>(2) * lists.mask.clone().unsqueeze_dim::<3>(1)
}

/// Sums over all pairs, from `[B, N, N]` to `[B]`.
fn sum_pairs(x: Tensor<3>) -> Tensor<1> {
    sum_documents(x.sum_dim(2).squeeze_dim(2))
}
