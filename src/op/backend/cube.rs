//! The primitives on burn's `CubeBackend`: kernels for GPUs, and tensor definitions where a device or a type has none.

use burn::backend::tensor::FloatTensor;
use burn_cubecl::CubeBackend;

use super::{pair_weight::Weight, pairwise::Pairwise};
use crate::op::cpu::{ExponentialTerm, PairLoss, Step};
use crate::op::definition::{indicator_sum, pair_loss, rank, rank_expectation, step_sum};
use crate::op::gpu;

impl Pairwise for CubeBackend {
    fn step_sum(x: FloatTensor<Self>, v: FloatTensor<Self>, alpha: f64, step: Step) -> FloatTensor<Self> {
        gpu::step_sum(&x, &v, alpha, step).unwrap_or_else(|| step_sum::value::<Self>(x, v, alpha, step))
    }

    fn step_sum_gradient(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        gpu::step_sum_gradient(&x, &v, &gradient, alpha, step)
            .unwrap_or_else(|| step_sum::gradient::<Self>(x, v, gradient, alpha, step))
    }

    fn rank_expectation(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        match gpu::rank_expectation(&x, &mask, sigma, &terms) {
            Some([out, products]) => (out, products),
            None => rank_expectation::value::<Self>(x, mask, sigma, &terms),
        }
    }

    fn rank_expectation_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        products: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> FloatTensor<Self> {
        gpu::rank_expectation_gradient(&x, &mask, &products, &gradient, sigma, &terms)
            .unwrap_or_else(|| rank_expectation::gradient::<Self>(x, mask, products, gradient, sigma, &terms))
    }

    fn indicator_sum(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        match gpu::indicator_sum(&x, &a, &mask, sigma) {
            Some([out, total]) => (out, total),
            None => indicator_sum::value::<Self>(x, a, mask, sigma),
        }
    }

    fn indicator_sum_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        out: FloatTensor<Self>,
        total: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigma: f64,
    ) -> FloatTensor<Self> {
        gpu::indicator_sum_gradient(&x, &a, &mask, [&out, &total], &gradient, sigma).unwrap_or_else(|| {
            let forward = indicator_sum::Forward { out, total };
            indicator_sum::gradient::<Self>(x, a, mask, forward, gradient, sigma)
        })
    }

    fn pair_loss(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        weight: Weight<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        gpu::pair_loss(&x, &labels, &mask, weight.as_ref(), loss)
            .unwrap_or_else(|| pair_loss::value::<Self>(x, labels, mask, weight, loss))
    }

    fn pair_loss_gradient(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        weight: Weight<Self>,
        gradient: FloatTensor<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        gpu::pair_loss_gradient(&x, &labels, &mask, weight.as_ref(), &gradient, loss)
            .unwrap_or_else(|| pair_loss::gradient::<Self>(x, labels, mask, weight, gradient, loss))
    }

    fn rank(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        gpu::rank(&x, &mask).unwrap_or_else(|| rank::value::<Self>(x, mask))
    }
}
