//! [`indicator_sum`](crate::op::indicator_sum()), the soft indicators of SmoothRank.

use burn::backend::{Backend, tensor::FloatTensor};
#[cfg(feature = "_cube")]
use burn_cubecl::tensor::CubeTensor;

use super::{Floats, Primitive, Transposed, array::Array, exactly, first, rows::by_rows};
use crate::op::cpu::{self, IndicatorInputs, Real};
#[cfg(feature = "_cube")]
use crate::op::gpu;

/// The inputs are the scores, the values `a` and the mask. The second output holds the denominators of the softmax.
#[derive(Clone, Debug)]
pub struct IndicatorSum {
    pub sigma: f64,
}

impl Primitive for IndicatorSum {
    const DIFFERENTIATED: usize = 2;

    fn definition<B: Backend>(&self, inputs: Floats<B>) -> Floats<B> {
        let [x, a, mask] = exactly(inputs);
        let (out, total) = value::<B>(x, a, mask, self.sigma);
        vec![out, total]
    }

    fn definition_gradient<B: Backend>(&self, inputs: Floats<B>, saved: Floats<B>, g: FloatTensor<B>) -> Floats<B> {
        let ([x, a, mask], [out, total]) = (exactly(inputs), exactly(saved));
        vec![gradient::<B>(x, a, mask, Forward { out, total }, g, self.sigma)]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], n: usize) -> Option<Vec<Vec<T>>> {
        let [x, a, mask] = first(inputs);
        let (out, total) = cpu::indicator_sum(x, a, mask, n, self.sigma);
        Some(vec![out, total])
    }

    fn cpu_gradient<T: Real>(&self, inputs: &[&[T]], saved: &[&[T]], g: &[T], n: usize) -> Option<Vec<Vec<T>>> {
        let ([x, a, mask], [out, total]) = (first(inputs), first(saved));
        Some(vec![cpu::indicator_sum_gradient(IndicatorInputs { x, a, mask, out, total, g }, n, self.sigma)])
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Option<Vec<CubeTensor>> {
        let [x, a, mask] = first(inputs);
        gpu::indicator_sum(x, a, mask, self.sigma).map(Vec::from)
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], saved: &[&CubeTensor], g: &CubeTensor) -> Option<CubeTensor> {
        let [x, a, mask] = first(inputs);
        gpu::indicator_sum_gradient(x, a, mask, first(saved), g, self.sigma)
    }

    /// The gradient `sum_i q_i k_ij` is the same sum with `q` for `a`, since the kernel is symmetric.
    fn transposed<B: Backend>(
        &self,
        inputs: &[FloatTensor<B>],
        saved: &[FloatTensor<B>],
        gradient: &FloatTensor<B>,
    ) -> Option<Transposed<B>> {
        let (x, mask, total) = (inputs[0].clone(), inputs[2].clone(), saved[1].clone());
        let q = Array::<B>(gradient.clone()) * Array(mask.clone()) / Array(total.clone());
        Some((vec![x, q.0, mask], Some(total)))
    }

    fn shapes(&self, x: [usize; 2]) -> Vec<Vec<usize>> {
        vec![x.to_vec(); 2]
    }

    fn saved<V>(&self, outputs: Vec<V>) -> Vec<V> {
        outputs
    }
}

/// Returns the kernel `exp(-(x_j - x_i)^2 / sigma)` for some rows `i` and every document `j`, with 0 for padding. Since
/// the largest kernel of a row is 1 (at `j = i`), the softmax works without subtracting a maximum.
fn kernel<B: Backend>(x: &Array<B>, mask: &Array<B>, rows: (usize, usize), sigma: f64) -> Array<B> {
    (x.differences(rows).square() / -sigma).exp() * mask.columns()
}

/// The tensor definition. The second output holds the denominators of the softmax.
pub fn value<B: Backend>(
    x: FloatTensor<B>,
    a: FloatTensor<B>,
    mask: FloatTensor<B>,
    sigma: f64,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let (x, a, mask) = (Array::<B>(x), Array::<B>(a), Array::<B>(mask));
    let [out, total] = by_rows(&x, |rows| {
        let kernel = kernel(&x, &mask, rows, sigma);
        let document = mask.rows(rows);
        // A padded row has no members, so its denominator must be kept away from 0.
        let total = kernel.clone().sum(2) - document.clone() + 1.0;
        [(kernel * a.columns()).sum(2) / total.clone() * document, total]
    });
    (out.0, total.0)
}

/// The results of [`value`], which the gradient needs.
pub struct Forward<B: Backend> {
    /// The softmax sum of each document.
    pub out: FloatTensor<B>,
    /// The denominator of each softmax.
    pub total: FloatTensor<B>,
}

/// Returns the gradient with respect to `x`. With `q_i = g_i / total_i` and the kernel `k`, the gradient at document
/// `k` is `2 / sigma sum_j k_kj (x_j - x_k) (q_k (a_j - out_k) + q_j (a_k - out_j))`.
pub fn gradient<B: Backend>(
    x: FloatTensor<B>,
    a: FloatTensor<B>,
    mask: FloatTensor<B>,
    forward: Forward<B>,
    gradient: FloatTensor<B>,
    sigma: f64,
) -> FloatTensor<B> {
    let (x, a, mask) = (Array::<B>(x), Array::<B>(a), Array::<B>(mask));
    let out = Array::<B>(forward.out);
    let q = Array::<B>(gradient) * mask.clone() / Array::<B>(forward.total);
    let [to_x] = by_rows(&x, |rows| {
        let pull = kernel(&x, &mask, rows, sigma) * x.differences(rows);
        let own = (a.columns() - out.rows(rows).column()) * q.rows(rows).column();
        let others = (a.rows(rows).column() - out.columns()) * q.columns();
        [(pull * (own + others)).sum(2) * mask.rows(rows) * (2.0 / sigma)]
    });
    to_x.0
}
