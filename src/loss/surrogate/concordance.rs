//! Pairs of documents in the order of their labels minus those in the other order, under each form of relaxation.

use burn::tensor::{Int, Tensor};

use super::relaxation::{Indicators, PairSteps};
use crate::loss::lists::{Lists, sum_documents};
use crate::op::{PairLoss, PairWeight, Step, differences, pair_loss};

/// By a smooth step between two documents; `pairs` gives the number of pairs of each query, `[B]`.
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

/// `exp(t) / 2` for `t < 0`, `1 - exp(-t) / 2` for others, without an exponential that overflows.
fn laplace(t: Tensor<3>) -> Tensor<3> {
    let below = t.clone().lower_elem(0.0);
    // Not the absolute value, whose derivative at 0 is 0.
    let small = t.clone().neg().mask_where(below.clone(), t).exp() * 0.5;
    (small.clone().neg() + 1.0).mask_where(below, small)
}

/// By the chance that `y` is above `x`, at `[.., x, y]`.
pub(super) fn by_chances(lists: &Lists, chances: Tensor<3>) -> Tensor<1> {
    sum_pairs((chances * -2.0 + 1.0) * more_relevant(lists))
}

/// By soft indicators: the document at one rank and the document at a rank below it. Each place of the list is looked up
/// by itself.
pub(super) fn by_indicators(lists: &Lists, Indicators { at_ranks, ranks }: &Indicators) -> Tensor<1> {
    let [batch, n] = lists.mask.dims();
    let device = lists.mask.device();
    let places = Tensor::<1, Int>::arange(0..n as i64, &device).unsqueeze::<2>().expand([batch, n]);
    let column = |place: usize| {
        let only = places.clone().equal_elem(place as i64).float().cast(lists.mask.dtype());
        at_ranks(only * lists.mask.clone()) * lists.mask.clone()
    };
    // [.., d, i]: document i at the rank of document d.
    let indicators = Tensor::<2>::stack::<3>((0..n).map(column).collect(), 2);
    // [.., d, e]: pairs in order minus others if the document at the rank of d is above the one at the rank of e.
    let ordered = more_relevant(lists);
    let order = ordered.clone() - ordered.swap_dims(1, 2);
    let met = indicators.clone().matmul(order).matmul(indicators.swap_dims(1, 2));
    let above = differences(ranks).greater_elem(0.0).float().cast(lists.mask.dtype());
    sum_pairs(met * above)
}

/// 1 at `[.., x, y]` for documents `x` of a larger label than `y`, else 0.
fn more_relevant(lists: &Lists) -> Tensor<3> {
    let larger = differences(&lists.labels).lower_elem(0.0).float().cast(lists.mask.dtype());
    larger * lists.mask.clone().unsqueeze_dim::<3>(2) * lists.mask.clone().unsqueeze_dim::<3>(1)
}

/// Sums over all pairs: `[B, N, N]` to `[B]`.
fn sum_pairs(x: Tensor<3>) -> Tensor<1> {
    sum_documents(x.sum_dim(2).squeeze_dim(2))
}
