//! The probability generating function of ranks, at the base of every term. See [`rank_expectation`](crate::op::rank_expectation()).

use burn::backend::{Backend, tensor::FloatTensor};

use super::{array::Array, rows::by_rows};
use crate::op::cpu::ExponentialTerm;

/// `pi_ji` from `t = (x_j - x_i) / (2 sigma)`.
fn beats<B: Backend>(t: Array<B>) -> Array<B> {
    (t.erf() + 1.0) * 0.5
}

/// `prod_j (1 + pi_j (z - 1))` over the documents. Near 1 the factors of a long list would all be rounded the same way; their
/// logarithms keep what makes them differ from 1.
fn product<B: Backend>(beats: &Array<B>, base: f64) -> Array<B> {
    let above = beats.clone() * (base - 1.0);
    if base > 0.5 { above.log_1p().sum(2).exp() } else { (above + 1.0).product(2) }
}

/// The tensor definition: the expectation, and the product of every term, `[batch, documents, terms]`.
pub fn value<B: Backend>(
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
        let products: Vec<_> = terms.iter().map(|term| product(&beats, term.base)).collect();
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
pub fn gradient<B: Backend>(
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
