//! The primitives: sums over one list, of which nearly every loss is a short composition. Most of the time goes into
//! those over pairs; once these are fast, a backend's own operations would be the slowest part, hence the others.
//!
//! | primitive | value for document i |
//! |---|---|
//! | [`step_sum`] | `sum_j v_j phi(alpha (x_j - x_i))` |
//! | [`rank_expectation`] | `sum_m c_m prod_{j != i} (1 + pi_ji (z_m - 1))`, `pi_ji` the probability that `j` beats `i` |
//! | [`rank_recursion`] | `sum_r D_r p_i(r)`, `p_i` the distribution of the rank of `i` in SoftRank |
//! | [`indicator_sum`] | `sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)` |
//! | [`pair_loss`] | `sum_j w_ij l(x_i - x_j)` |
//! | [`rank`] | `1 + #{j ahead of i}`, by comparison, no gradient |
//! | [`at_rank`] | `table[rank_i - 1]`, no gradient |
//! | [`log_softmax`] | `x_i - log sum_j exp(x_j)` |
//! | [`log2_discount`] | `1 / log2(1 + p_i)` |
//! | [`exp2`] | `2^x_i`, no gradient |
//! | [`ideal_dcg`] | one value a list: the largest sum of gains times discounts, no gradient |
//!
//! Inputs are clean (finite at padded places) and 2-D, `[batch, documents]`. Inputs of one call have one shape:
//! anything else panics with both shapes, before anything is computed.
//!
//! Some losses do their main work with the backend's own operations. `neural_ndcg`, `smooth_rr` in its general form and
//! [`sum_with_none_above`](crate::loss::MeasureContext::sum_with_none_above) hold tensors over pairs, `[B, N, N]`,
//! outside the memory budget; `list_mle` takes suffix sums over `[B, N]`.

mod array;
mod at_rank;
mod autodiff;
mod backend;
#[cfg(feature = "_cube")]
mod cube;
mod execution;
mod exp2;
// Unit tests run on Flex, whatever the features.
#[cfg(any(feature = "flex", test))]
mod flex;
mod ideal_dcg;
mod indicator_sum;
#[cfg(any(feature = "flex", feature = "_cube", test))]
#[cfg_attr(not(any(feature = "flex", test)), allow(dead_code, unused_imports))]
mod kernel;
mod log2_discount;
mod log_softmax;
mod pair_loss;
mod rank;
mod rank_expectation;
mod rank_recursion;
pub(crate) mod shape;
mod step_sum;

pub use crate::execution::{Execution, Instructions, InstructionsError, PrimitivePath, with_tensor_path};
pub use at_rank::at_rank;
pub use exp2::exp2;
pub use ideal_dcg::ideal_dcg;
pub use indicator_sum::indicator_sum;
pub use log_softmax::log_softmax;
pub use log2_discount::log2_discount;
pub use pair_loss::{PairLoss, PairWeight, pair_loss};
pub use rank::rank;
pub use rank_expectation::{ExponentialTerm, rank_expectation};
pub use rank_recursion::rank_recursion;
pub use step_sum::{Step, step_sum};

use burn::tensor::Tensor;

/// `x_j - x_i` for every ordered pair: `[B, N]` to `[B, N (i), N (j)]`.
pub(crate) fn differences(x: &Tensor<2>) -> Tensor<3> {
    let columns: Tensor<3> = x.clone().unsqueeze_dim(1);
    let rows: Tensor<3> = x.clone().unsqueeze_dim(2);
    columns - rows
}

#[cfg(test)]
mod tests {
    use burn::backend::{Backend, Flex, tensor::FloatTensor};
    use burn::tensor::{Device, TensorData};

    use super::*;

    const SHAPE: [usize; 2] = [2, 3];
    const LABELS: [f32; 6] = [2.0, 0.0, 1.0, 1.0, 0.0, 0.0];
    const MASK: [f32; 6] = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0];
    const X: [f32; 6] = [0.3, -0.2, 1.1, 0.4, 0.5, 0.0];
    const DISCOUNTS: [f64; 3] = [1.0, 0.5, 0.25];
    const TERMS: [ExponentialTerm; 1] = [ExponentialTerm { coefficient: 0.5, base: 0.9 }];

    /// Every definition, on a backend of which only burn's own operations are known: one that called a primitive
    /// through the extension would not compile here, and would panic inside [`with_tensor_path`] on such a backend.
    fn definitions<B: Backend>() -> Vec<FloatTensor<B>> {
        let device = B::Device::default();
        let tensor = |values: [f32; 6]| B::float_from_data(TensorData::new(values.to_vec(), SHAPE), &device);
        let (x, labels, mask) = (|| tensor(X), || tensor(LABELS), || tensor(MASK));
        let weight = pair_loss::Weight::Document(labels());
        vec![
            step_sum::definition::<B>(x(), labels(), 2.0, Step::Erf),
            rank_expectation::definition::<B>(x(), mask(), 0.7, &TERMS).0,
            rank_recursion::definition::<B>(x(), mask(), 0.7, &DISCOUNTS),
            indicator_sum::definition::<B>(x(), labels(), mask(), 0.7).0,
            pair_loss::definition::<B>(x(), labels(), mask(), weight, PairLoss::Logistic),
            rank::definition::<B>(x(), mask()),
            at_rank::definition::<B>(rank::definition::<B>(x(), mask()), DISCOUNTS.to_vec()),
            log_softmax::definition::<B>(x(), mask()),
            log2_discount::definition::<B>(B::float_exp(x())),
            exp2::definition::<B>(x()),
            ideal_dcg::definition::<B>(labels(), mask(), DISCOUNTS.to_vec()),
        ]
    }

    #[test]
    fn definitions_call_definitions_only() {
        let tensor =
            |values: [f32; 6]| Tensor::<2>::from_data(TensorData::new(values.to_vec(), SHAPE), &Device::flex());
        let (x, labels, mask) = (|| tensor(X), || tensor(LABELS), || tensor(MASK));
        let weight = PairWeight::Document(labels());
        let primitives = || -> Vec<TensorData> {
            let values = [
                step_sum(x(), labels(), 2.0, Step::Erf),
                rank_expectation(x(), mask(), 0.7, &TERMS),
                rank_recursion(x(), mask(), 0.7, &DISCOUNTS),
                indicator_sum(x(), labels(), mask(), 0.7),
                pair_loss(x(), labels(), mask(), &weight, PairLoss::Logistic),
                rank(x(), mask()),
                at_rank(rank(x(), mask()), DISCOUNTS.to_vec()),
                log_softmax(x(), mask()),
                log2_discount(x().exp()),
                exp2(x()),
            ];
            let ideal = ideal_dcg(labels(), mask(), DISCOUNTS.to_vec()).into_data();
            values.into_iter().map(Tensor::into_data).chain([ideal]).collect()
        };
        let read = |data: &TensorData| data.iter::<f64>().collect::<Vec<_>>();
        let expected: Vec<Vec<f64>> = definitions::<Flex>().into_iter().map(|value| read(&value.into_data())).collect();
        let on_the_tensor_path = with_tensor_path(primitives);
        assert_eq!(on_the_tensor_path.iter().map(read).collect::<Vec<_>>(), expected);
        for (found, expected) in primitives().iter().zip(&expected) {
            for (found, expected) in read(found).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    }
}
