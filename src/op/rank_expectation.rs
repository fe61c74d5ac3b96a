//! `rank_expectation`: expected discounts under the Poisson-binomial rank of SoftRank (softrank-directness, section
//! III), through the probability generating function, O(M n^2) time.

use burn::{
    backend::{Backend, Dispatch, tensor::FloatTensor},
    tensor::Tensor,
};

use super::{
    array::{Array, by_rows},
    backend::Pairwise,
    execution::uses_tensor_path,
    shape::assert_same,
};

/// One term `c z^r` of a discount written as a sum of exponentials, `D(r) = sum_m c_m z_m^r`, `r = 0, 1, ...`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExponentialTerm {
    /// Coefficient `c_m`.
    pub coefficient: f64,
    /// Base `z_m` in (0, 1).
    pub base: f64,
}

/// `out_i = sum_m c_m prod_{j != i} (1 + m_j pi_ji (z_m - 1))` with
/// `pi_ji = (1 + erf((x_j - x_i) / (2 sigma))) / 2`, the probability that `j` beats `i`; 0 at padding.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes.
#[track_caller]
pub fn rank_expectation(x: Tensor<2>, mask: Tensor<2>, sigma: f64, terms: &[ExponentialTerm]) -> Tensor<2> {
    assert_same("rank_expectation", ("x", &x), &[("mask", &mask)]);
    if terms.is_empty() {
        return x.zeros_like();
    }
    let (x, mask, terms) = (x.into_dispatch(), mask.into_dispatch(), terms.to_vec());
    let (out, _) = if uses_tensor_path() {
        definition::<Dispatch>(x, mask, sigma, &terms)
    } else {
        Dispatch::rank_expectation(x, mask, sigma, terms)
    };
    Tensor::from_dispatch(out)
}

/// `pi_ji` from `t = (x_j - x_i) / (2 sigma)`.
fn beats<B: Backend>(t: Array<B>) -> Array<B> {
    (t.erf() + 1.0) * 0.5
}

/// The tensor definition: the expectation, and the product of every term, `[batch, documents, terms]`.
pub(super) fn definition<B: Backend>(
    x: FloatTensor<B>,
    mask: FloatTensor<B>,
    sigma: f64,
    terms: &[ExponentialTerm],
) -> (FloatTensor<B>, FloatTensor<B>) {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let [_, documents] = x.dims();
    let index = x.indices(documents);
    let [out, products] = by_rows(&x, |rows| {
        let others = index.differences(rows).equals_zero() * -1.0 + 1.0;
        let beats = beats(x.differences(rows) / (2.0 * sigma)) * mask.columns() * others;
        let products: Vec<_> = terms.iter().map(|term| (beats.clone() * (term.base - 1.0) + 1.0).product(2)).collect();
        let out = products
            .iter()
            .zip(terms)
            .map(|(product, term)| product.clone() * term.coefficient)
            .reduce(|sum, term| sum + term)
            .unwrap_or_else(|| x.rows(rows) * 0.0);
        [out * mask.rows(rows), Array::stack_last(products)]
    });
    (out.0, products.0)
}

/// Gradient with respect to `x`. With `u_m = z_m - 1` and `Q_ij = sum_m c_m u_m P_im / (1 + pi_ji u_m)` (the products
/// over the other documents), row `k` is `sum_j pi'_kj (g_j Q_jk - g_k Q_kj)`.
pub(super) fn gradient<B: Backend>(
    x: FloatTensor<B>,
    mask: FloatTensor<B>,
    products: FloatTensor<B>,
    gradient: FloatTensor<B>,
    sigma: f64,
    terms: &[ExponentialTerm],
) -> FloatTensor<B> {
    let (x, mask, products) = (Array::<B>(x), Array::<B>(mask), Array::<B>(products));
    let g = Array::<B>(gradient) * mask.clone();
    let products: Vec<_> = (0..terms.len()).map(|m| products.slice_last(m) * g.clone()).collect();
    let slope = 0.25 * std::f64::consts::FRAC_2_SQRT_PI / sigma;
    let [to_x] = by_rows(&x, |rows| {
        let t = x.differences(rows) / (2.0 * sigma);
        let (ahead, behind) = (beats(t.clone()), beats(-t.clone()));
        let flow = products
            .iter()
            .zip(terms)
            .map(|(product, term)| {
                let u = term.base - 1.0;
                let from_others = product.columns() / (behind.clone() * u + 1.0);
                let from_own = product.rows(rows).column() / (ahead.clone() * u + 1.0);
                (from_others - from_own) * (term.coefficient * u)
            })
            .reduce(|sum, term| sum + term)
            .unwrap_or_else(|| t.clone() * 0.0);
        let density = (-t.square()).exp() * slope;
        [(density * flow * mask.columns()).sum(2) * mask.rows(rows)]
    });
    to_x.0
}
