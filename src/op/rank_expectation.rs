//! `rank_expectation`: expected discounts under the Poisson-binomial rank of SoftRank (softrank-directness, section III),
//! through the probability generating function, O(M n^2) time.

use burn::tensor::Tensor;

use super::differences;

/// One term `c z^r` of a discount written as a sum of exponentials, `D(r) = sum_m c_m z_m^r`, `r = 0, 1, ...`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExponentialTerm {
    /// Coefficient `c_m`.
    pub coefficient: f64,
    /// Base `z_m` in (0, 1).
    pub base: f64,
}

/// `out_i = sum_m c_m prod_{j != i} (1 + m_j pi_ji (z_m - 1))` with
/// `pi_ji = (1 + erf((x_j - x_i) / (2 sigma))) / 2`, the probability that `j` beats `i`.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
pub fn rank_expectation(x: Tensor<2>, mask: Tensor<2>, sigma: f64, terms: &[ExponentialTerm]) -> Tensor<2> {
    let [_, n] = x.dims();
    let beats = ((differences(&x) / (2.0 * sigma)).erf() + 1.0) * 0.5;
    let off_diagonal = Tensor::<2>::eye(n, &x.device()).cast(x.dtype()).neg() + 1.0;
    let beats = beats * mask.unsqueeze_dim::<3>(1) * off_diagonal.unsqueeze_dim::<3>(0);
    let mut out = x.zeros_like();
    for term in terms {
        let product = (beats.clone() * (term.base - 1.0) + 1.0).prod_dim(2);
        out = out + product.squeeze_dim::<2>(2) * term.coefficient;
    }
    out
}
