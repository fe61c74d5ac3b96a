//! `Pairwise`: the primitives as a backend extension. Default bodies are the tensor definitions and their analytic
//! gradients in chunks of rows, so that memory stays bounded on every backend; a backend overrides what it does faster.

use burn::backend::{Backend, backend_extension, tensor::FloatTensor};

use super::{
    ExponentialTerm, PairLoss, Step, indicator_sum,
    pair_loss::{self, Weight},
    rank, rank_expectation, step_sum,
};

/// The primitives of this module on one backend; a backend not listed here cannot be enabled by a feature of this crate.
#[backend_extension(
    Autodiff,
    Flex,
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(any(feature = "cuda", feature = "vulkan", feature = "wgpu", feature = "metal", feature = "rocm"))
)]
pub trait Pairwise: Backend {
    /// See [`step_sum()`](super::step_sum()).
    fn step_sum(x: FloatTensor<Self>, v: FloatTensor<Self>, alpha: f64, step: Step) -> FloatTensor<Self> {
        step_sum::definition::<Self>(x, v, alpha, step)
    }

    /// Gradients of [`step_sum`](Self::step_sum) in `x` and `v`.
    fn step_sum_gradient(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        step_sum::gradient::<Self>(x, v, gradient, alpha, step)
    }

    /// See [`rank_expectation()`](super::rank_expectation()); also the products of the terms,
    /// `[batch, documents, terms]`, without a gradient.
    fn rank_expectation(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        rank_expectation::definition::<Self>(x, mask, sigma, &terms)
    }

    /// Gradient of [`rank_expectation`](Self::rank_expectation) in `x`.
    fn rank_expectation_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        products: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> FloatTensor<Self> {
        rank_expectation::gradient::<Self>(x, mask, products, gradient, sigma, &terms)
    }

    /// See [`indicator_sum()`](super::indicator_sum()); also the denominator of each softmax, without a gradient.
    fn indicator_sum(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        indicator_sum::definition::<Self>(x, a, mask, sigma)
    }

    /// Gradients of [`indicator_sum`](Self::indicator_sum) in `x` and `a`.
    fn indicator_sum_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        out: FloatTensor<Self>,
        total: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigma: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let forward = indicator_sum::Forward { out, total };
        indicator_sum::gradient::<Self>(x, a, mask, forward, gradient, sigma)
    }

    /// See [`pair_loss()`](super::pair_loss()).
    fn pair_loss(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        #[extension_type] weight: Weight<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        pair_loss::definition::<Self>(x, labels, mask, weight, loss)
    }

    /// Gradient of [`pair_loss`](Self::pair_loss) in `x`.
    fn pair_loss_gradient(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        #[extension_type] weight: Weight<Self>,
        gradient: FloatTensor<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        pair_loss::gradient::<Self>(x, labels, mask, weight, gradient, loss)
    }

    /// See [`rank()`](super::rank()).
    fn rank(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        rank::definition::<Self>(x, mask)
    }
}

#[cfg(feature = "ndarray")]
#[expect(deprecated, reason = "supported for users of older models")]
impl Pairwise for burn::backend::NdArray {}

#[cfg(any(feature = "cuda", feature = "vulkan", feature = "wgpu", feature = "metal", feature = "rocm"))]
impl Pairwise for burn::backend::Cube {}
