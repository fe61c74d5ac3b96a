//! Operations on lists that measures under relaxations share: the concordance of pairs, products over the documents
//! above each document, and the logistic function.
//!
//! The concordance is the number of correctly ordered pairs minus the number of inverted pairs, computed from each form
//! of relaxation.
//!
//! In burn, the derivatives of the logistic function and of its logarithm are `value (1 - value)` and one minus the
//! value. If the value is near 1, these formulas leave few accurate digits, and none for arguments of 17 and above in
//! float32. The derivatives here stay accurate.

use burn::tensor::{Bool, Tensor, activation};

use super::relaxation::{Indicators, PairSteps};
use crate::loss::lists::{Lists, order_of_ranks, sum_documents};
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

/// For each document `x`, returns the product of `factors_y` over the documents `y` with `r_y < r_x`, in O(n log n)
/// time and memory. Factors of 0 are allowed, because the products are computed without division.
///
/// # Shapes
/// - `ranks` (distinct whole numbers from 1), `factors`, output: `[batch, documents]`
pub(super) fn product_above(ranks: Tensor<2>, factors: Tensor<2>) -> Tensor<2> {
    let [_, n] = factors.dims();
    let by_rank = factors.gather(1, order_of_ranks(ranks.clone()));
    let mut products = moved(by_rank, 1);
    let mut reach = 1;
    while reach < n {
        products = products.clone() * moved(products, reach);
        reach *= 2;
    }
    // The clamp keeps indices in range, whatever the ranks of NaN are.
    products.gather(1, (ranks - 1.0).int().clamp(0, n as i64 - 1))
}

/// Shifts the values by `by` places and fills the first places with ones.
fn moved(values: Tensor<2>, by: usize) -> Tensor<2> {
    let [batch, n] = values.dims();
    let by = by.min(n);
    let ones = Tensor::ones([batch, by], (&values.device(), values.dtype()));
    if by == n { ones } else { Tensor::cat(vec![ones, values.narrow(1, 0, n - by)], 1) }
}

/// Returns `1 / (1 + exp(-t))`.
pub(super) fn sigmoid<const D: usize>(t: Tensor<D>) -> Tensor<D> {
    let (above, smaller) = smaller(t);
    smaller.clone().mask_where(above, smaller.neg() + 1.0)
}

/// Returns `-log(1 + exp(-t))`.
pub(super) fn log_sigmoid<const D: usize>(t: Tensor<D>) -> Tensor<D> {
    let (above, smaller) = smaller(t.clone());
    activation::log_sigmoid(t).mask_where(above, smaller.neg().log1p())
}

/// Returns whether `t` is above 0, and the smaller of `sigmoid(t)` and `sigmoid(-t)`.
fn smaller<const D: usize>(t: Tensor<D>) -> (Tensor<D, Bool>, Tensor<D>) {
    // The absolute value would not do, because its derivative at 0 is 0.
    let above = t.clone().greater_elem(0.0);
    let smaller = activation::sigmoid(t.clone().mask_where(above.clone(), t.neg()));
    (above, smaller)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::values;
    use burn::tensor::{DType, Device};

    #[test]
    fn products_run_over_the_ranks_ahead() {
        let options = (&Device::flex().autodiff(), DType::F64);
        let ranks = Tensor::<2>::from_data([[3.0f64, 1.0, 2.0, 5.0, 4.0], [1.0, 2.0, 3.0, 4.0, 5.0]], options);
        let factors = Tensor::<2>::from_data([[0.0f64, 2.0, 3.0, 7.0, 5.0], [0.5, 0.0, 0.0, 4.0, 1.0]], options);
        let factors = factors.require_grad();
        let products = product_above(ranks, factors.clone());
        assert_eq!(values(products.clone()), [6.0, 1.0, 2.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 0.0]);
        // Each product's derivative by a factor is the product of the others ahead, though one of them is 0.
        let weights = Tensor::<2>::from_data([[1.0f64, 1.0, 1.0, 1.0, 10.0], [1.0; 5]], options);
        let gradient = values(factors.grad(&(products * weights).sum().backward()).unwrap());
        // First list, by rank: factors 2, 3, 0, 5, 7; products 1, 2, 6, 0, 0 with weights 1, 1, 1, 10, 1.
        assert_eq!(gradient, [6.0 * 10.0 + 30.0, 1.0 + 3.0, 2.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn one_document_has_nothing_above() {
        let one = Tensor::<2>::from_floats([[1.0]], &Device::flex());
        assert_eq!(product_above(one.clone(), one * 0.25).into_scalar::<f32>(), 1.0);
    }

    #[test]
    fn derivatives_keep_their_digits_on_both_sides() {
        const POINTS: [f32; 9] = [-60.0, -20.0, -3.0, -0.5, 0.0, 0.5, 3.0, 20.0, 60.0];
        let exact = |t: f64| 1.0 / (1.0 + (-t).exp());
        for is_log in [false, true] {
            let function = if is_log { log_sigmoid } else { sigmoid };
            let expected =
                |t: f64| if is_log { [-(-t).exp().ln_1p(), exact(-t)] } else { [exact(t), exact(t) * exact(-t)] };
            let t = Tensor::<1>::from_floats(POINTS, &Device::flex().autodiff()).require_grad();
            let value = function(t.clone());
            let slopes = t.grad(&value.clone().sum().backward()).unwrap().into_data();
            let found = value.into_data().iter::<f64>().zip(slopes.iter::<f64>()).collect::<Vec<_>>();
            for (t, (value, slope)) in POINTS.into_iter().zip(found) {
                let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-6;
                let [exact_value, exact_slope] = expected(f64::from(t));
                assert!(near(value, exact_value) && near(slope, exact_slope), "{t}: {value} {slope}");
            }
        }
    }
}
