//! The primitives on burn's `CubeBackend`: kernels for GPUs, and tensor definitions where a device or a type has none.

use burn::backend::tensor::FloatTensor;
use burn_cubecl::CubeBackend;

use super::{pair_weight::Weight, pairwise::Pairwise};
use crate::op::cpu::{AboveExpectation, AboveRecursion, Comparison, ExponentialTerm, PairLoss, Step};
use crate::op::definition::{
    above_expectation, above_recursion, distance_sum, indicator_sum, pair_loss, rank, rank_expectation, rank_recursion,
    step_sum,
};
use crate::op::gpu;

impl Pairwise for CubeBackend {
    fn step_sum(x: FloatTensor<Self>, v: FloatTensor<Self>, alpha: f64, step: Step) -> FloatTensor<Self> {
        gpu::step_sum(&x, &v, None, alpha, step).unwrap_or_else(|| step_sum::value::<Self>(x, v, alpha, step))
    }

    fn counted_step_sum(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        gpu::step_sum(&x, &v, Some(&counted), alpha, step)
            .unwrap_or_else(|| step_sum::counted::<Self>(x, v, counted, alpha, step))
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

    fn rank_recursion(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        gpu::rank_recursion(&x, &mask, comparison, &discounts)
            .unwrap_or_else(|| rank_recursion::value::<Self>(x, mask, comparison, &discounts))
    }

    fn rank_recursion_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        gpu::rank_recursion_gradient(&x, &mask, &gradient, comparison, &discounts)
            .unwrap_or_else(|| rank_recursion::gradient::<Self>(x, mask, gradient, comparison, &discounts))
    }

    fn above_expectation(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        expectation: AboveExpectation,
    ) -> FloatTensor<Self> {
        gpu::above_expectation(&x, &a, &b, &mask, &expectation)
            .unwrap_or_else(|| above_expectation::value::<Self>(x, a, b, mask, &expectation))
    }

    fn above_expectation_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        expectation: AboveExpectation,
    ) -> FloatTensor<Self> {
        gpu::above_expectation_gradient(&x, &a, &b, &mask, &gradient, &expectation)
            .unwrap_or_else(|| above_expectation::gradient::<Self>(x, a, b, mask, gradient, &expectation))
    }

    fn above_recursion(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        values: FloatTensor<Self>,
        recursion: AboveRecursion,
    ) -> FloatTensor<Self> {
        gpu::above_recursion(&x, &a, &b, &mask, &values, &recursion)
            .unwrap_or_else(|| above_recursion::value::<Self>(x, a, b, mask, values, &recursion))
    }

    fn above_recursion_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        values: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        recursion: AboveRecursion,
    ) -> FloatTensor<Self> {
        gpu::above_recursion_gradient(&x, &a, &b, &mask, &values, &gradient, &recursion)
            .unwrap_or_else(|| above_recursion::gradient::<Self>(x, a, b, mask, values, gradient, &recursion))
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

    fn distance_sum(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        gpu::distance_sum(&x, &mask).unwrap_or_else(|| distance_sum::value::<Self>(x, mask))
    }

    fn distance_sum_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        gpu::distance_sum_gradient(&x, &mask, &gradient)
            .unwrap_or_else(|| distance_sum::gradient::<Self>(x, mask, gradient))
    }

    fn rank(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        gpu::rank(&x, &mask).unwrap_or_else(|| rank::value::<Self>(x, mask))
    }
}
