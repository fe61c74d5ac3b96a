//! The primitives on GPUs: kernels in CubeCL, one source for CUDA, ROCm, Metal, Vulkan and WebGPU.
//!
//! Values are computed in `f32`. A tensor of another type, and a device that cannot run a kernel, gets the tensor
//! definition and its analytic gradient in row chunks; the log says so once. Nothing is stored for a pair, nothing is
//! added atomically: see [`tile`].
//!
//! The kernels are those of burn's `CubeBackend`. burn's default features wrap it in kernel fusion, as a type that no
//! crate can ask for; so our GPU features turn fusion on, there is one type, and [`fusion`] brings the kernels to it.

mod fusion;
mod indicator_sum;
mod launch;
mod pair_loss;
mod rank;
mod rank_expectation;
mod real;
mod step_sum;
mod tile;

use burn::backend::tensor::FloatTensor;
use burn_cubecl::CubeBackend;

use super::{ExponentialTerm, PairLoss, Step, backend::Pairwise, pair_loss::Weight};

impl Pairwise for CubeBackend {
    fn step_sum(x: FloatTensor<Self>, v: FloatTensor<Self>, alpha: f64, step: Step) -> FloatTensor<Self> {
        step_sum::step_sum(&x, &v, alpha, step)
            .unwrap_or_else(|| super::step_sum::definition::<Self>(x, v, alpha, step))
    }

    fn step_sum_gradient(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        step_sum::step_sum_gradient(&x, &v, &gradient, alpha, step)
            .unwrap_or_else(|| super::step_sum::gradient::<Self>(x, v, gradient, alpha, step))
    }

    fn rank_expectation(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        match rank_expectation::rank_expectation(&x, &mask, sigma, &terms) {
            Some([out, products]) => (out, products),
            None => super::rank_expectation::definition::<Self>(x, mask, sigma, &terms),
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
        rank_expectation::rank_expectation_gradient(&x, &mask, &products, &gradient, sigma, &terms)
            .unwrap_or_else(|| super::rank_expectation::gradient::<Self>(x, mask, products, gradient, sigma, &terms))
    }

    fn indicator_sum(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        match indicator_sum::indicator_sum(&x, &a, &mask, sigma) {
            Some([out, total]) => (out, total),
            None => super::indicator_sum::definition::<Self>(x, a, mask, sigma),
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
        indicator_sum::indicator_sum_gradient(&x, &a, &mask, [&out, &total], &gradient, sigma).unwrap_or_else(|| {
            let forward = super::indicator_sum::Forward { out, total };
            super::indicator_sum::gradient::<Self>(x, a, mask, forward, gradient, sigma)
        })
    }

    fn pair_loss(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        weight: Weight<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        pair_loss::pair_loss(&x, &labels, &mask, &weight, loss)
            .unwrap_or_else(|| super::pair_loss::definition::<Self>(x, labels, mask, weight, loss))
    }

    fn pair_loss_gradient(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        weight: Weight<Self>,
        gradient: FloatTensor<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        pair_loss::pair_loss_gradient(&x, &labels, &mask, &weight, &gradient, loss)
            .unwrap_or_else(|| super::pair_loss::gradient::<Self>(x, labels, mask, weight, gradient, loss))
    }

    fn rank(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        rank::rank(&x, &mask).unwrap_or_else(|| super::rank::definition::<Self>(x, mask))
    }
}
