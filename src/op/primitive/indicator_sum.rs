//! [`indicator_sum`](crate::op::indicator_sum()), the soft indicators of SmoothRank.

use super::*;

/// Returns `out_i = sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)`, or 0 at padding. The softmax covers the documents
/// with `mask = 1`.
///
/// The function is differentiable in `x` and `a`.
///
/// # Shapes
/// - `x`, `a`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for
///   padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn indicator_sum(x: Tensor<2>, a: Tensor<2>, mask: Tensor<2>, sigma: f64) -> Tensor<2> {
    assert_alike("indicator_sum", ("x", &x), &[("a", &a), ("mask", &mask)]);
    IndicatorSum { sigma }.run([x, a, mask])
}

/// The inputs are the scores, the values `a` and the mask. The second output holds the denominators of the softmax.
#[derive(Clone, Debug)]
pub struct IndicatorSum {
    pub sigma: f64,
}

impl Primitive for IndicatorSum {
    const DIFFERENTIATED: usize = 2;
    const SAVED_FROM: usize = 0;

    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [x, a, mask] = exactly(inputs);
        let sums = by_rows(&x, |rows| {
            let kernel = self.kernel(&x, &mask, rows);
            let document = mask.rows(rows);
            // A padded row has no members, so its denominator must be kept away from 0.
            let total = kernel.clone().sum(2) - document.clone() + 1.0;
            [(kernel * a.columns()).sum(2) / total.clone() * document, total]
        });
        sums.into()
    }

    /// With `q_i = g_i / total_i` and the kernel `k`, the gradient with respect to `x` at document `k` is
    /// `2 / sigma sum_j k_kj (x_j - x_k) (q_k (a_j - out_k) + q_j (a_k - out_j))`.
    fn definition_gradient<B: Backend>(&self, inputs: Arrays<B>, saved: Arrays<B>, g: Array<B>) -> Arrays<B> {
        let ([x, a, mask], [out, total]) = (exactly(inputs), exactly(saved));
        let q = g * mask.clone() / total;
        let to_x = by_rows(&x, |rows| {
            let pull = self.kernel(&x, &mask, rows) * x.differences(rows);
            let own = (a.columns() - out.rows(rows).column()) * q.rows(rows).column();
            let others = (a.rows(rows).column() - out.columns()) * q.columns();
            [(pull * (own + others)).sum(2) * mask.rows(rows) * (2.0 / self.sigma)]
        });
        to_x.into()
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], n: usize) -> Option<Vec<Vec<T>>> {
        Some(cpu::indicator_sum(first(inputs), n, self.sigma).into())
    }

    fn cpu_gradient<T: Real>(&self, inputs: &[&[T]], saved: &[&[T]], g: &[T], n: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![cpu::indicator_sum_gradient(first(inputs), first(saved), g, n, self.sigma)])
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        gpu::indicator_sum(first(inputs), self.sigma)
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], saved: &[&CubeTensor], g: &CubeTensor) -> Outputs {
        gpu::indicator_sum_gradient(first(inputs), first(saved), g, self.sigma)
    }

    /// The gradient `sum_i q_i k_ij` is the same sum with `q` for `a`, since the kernel is symmetric.
    fn transposed<B: Backend>(&self, inputs: Arrays<B>, saved: Arrays<B>, g: Array<B>) -> Transposed<B> {
        let ([x, _, mask], [_, total]) = (exactly(inputs), exactly(saved));
        Some((vec![x, g * mask.clone() / total.clone(), mask], Some(total)))
    }

    fn shapes(&self, x: [usize; 2]) -> Vec<Vec<usize>> {
        vec![x.to_vec(); 2]
    }
}

impl IndicatorSum {
    /// Returns the kernel `exp(-(x_j - x_i)^2 / sigma)` for some rows `i` and every document `j`, with 0 for padding.
    /// Since the largest kernel of a row is 1 (at `j = i`), the softmax works without subtracting a maximum.
    fn kernel<B: Backend>(&self, x: &Array<B>, mask: &Array<B>, rows: Rows) -> Array<B> {
        (x.differences(rows).square() / -self.sigma).exp() * mask.columns()
    }
}
