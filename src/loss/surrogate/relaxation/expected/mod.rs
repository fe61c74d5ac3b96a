//! Expectations over noisy scores, as in SoftRank (softrank-directness, section III).
//!
//! Under this relaxation, every operation that a measure may use has an expectation. Sums that compare documents with
//! each other are cheap if the discount `D` is completely monotone and has no cut-off. A completely monotone discount
//! is a sum of exponentials, `D(1 + r) = sum_m c_m z_m^r`. If every `y` beats `x` independently, with probability
//! `pi_yx`, the expectations for one exponential are:
//!
//! - `E[z^R] = P = prod_y (1 + pi_yx (z - 1))`,
//! - `E[z^R sum of b_y above x] = P sum_y b_y pi_yx z / (1 + pi_yx (z - 1))`,
//! - `E[z^R prod of (1 - b_y) above x] = prod_y (1 + pi_yx (z (1 - b_y) - 1))`.
//!
//! The cost is O(M n) for each document with a nonzero weight, where `M` is the number of exponentials. `M` is about 14
//! in float32 and 24 in float64. With a cut-off `k`, or for another function of the rank, [`above_recursion`] updates
//! the rank distribution trial by trial in O(k n). With [`RankModel::Exact`], all documents together take O(M n log n)
//! or O(k n log n) in float32 on a CPU. In float64 or on other devices, the exact model takes `Q` times as long as
//! independent trials. `Q` is about `29 sqrt(1 + ln n)`. [`above_expectation`] and [`above_recursion`] state how much
//! memory they need.
//!
//! Measures that only compare documents in pairs, such as Kendall's tau, have the same value in both models.

mod expected_discount;
mod exponential_fit;
mod method;
#[cfg(test)]
mod tests;

use burn::tensor::{Tensor, TensorData};

use crate::loss::lists::{Lists, places_like};
use crate::loss::surrogate::position_function::PositionFunction;
use crate::op::{
    Above, AboveExpectation, AboveRecursion, Comparison, ScoreNoise, above_expectation, above_recursion, differences,
    mask_of_counted, noisy_rank_recursion,
};
pub(super) use expected_discount::ExpectedDiscount;
pub use method::{Approximation, RankExpectationMethod, RankModel};

/// The ranks of lists whose scores have Gaussian noise. The surrogate tends to the measure as `sigma` tends to 0. For a
/// sum of a function of one document's rank, the error is within the bound in Theorem 2.
pub(crate) struct ExpectedRanks {
    /// The standard deviation of a noisy score, above 0.
    pub(super) sigma: f64,
    /// How to compute expectations of functions of the rank. Expectations that involve several documents are computed
    /// by exponentials or trial by trial.
    pub(super) evaluation: RankExpectationMethod,
    /// The model for the distribution of ranks. Measures that depend on the first relevant document need
    /// [`RankModel::Exact`].
    pub(super) model: RankModel,
    pub(super) lists: Lists,
}

impl ExpectedRanks {
    /// Returns the noise that decides how two documents compare.
    fn noise(&self) -> ScoreNoise {
        self.model.noise(self.sigma)
    }

    /// Returns whether an expectation can be computed by a sum of exponentials with these parameters and the cut-off
    /// `k`.
    fn may_use_exponentials(&self, k: Option<usize>) -> bool {
        use RankExpectationMethod::{Auto, Exponentials};
        k.is_none() && matches!(self.evaluation, Auto | Exponentials)
    }

    /// Returns the parameters of the expectation of `f` within the cut-off `k`, or `None` if `f` is not a discount.
    fn discount(&self, f: &PositionFunction, k: Option<usize>) -> Option<ExpectedDiscount> {
        let Self { sigma, evaluation, model, .. } = *self;
        Some(ExpectedDiscount { discount: f.discount()?.clone(), k, sigma, evaluation, model })
    }

    /// Returns `a_x E[f(R_x) (b_x + sum of b_y over y above x)]`, or `a_x E[f(R_x) prod of (1 - b_y) over y above x]`,
    /// as `above` says, within the cut-off `k`, `[batch, documents]`.
    pub(crate) fn over_those_above(
        &self,
        above: Above,
        a: Tensor<2>,
        f: &PositionFunction,
        b: Tensor<2>,
        k: Option<usize>,
    ) -> Tensor<2> {
        let (scores, mask) = (self.lists.scores.clone(), self.lists.mask.clone());
        let [batch, n] = scores.dims();
        let k = k.filter(|&k| k < self.lists.longest());
        if self.may_use_exponentials(k)
            && let Some(discount) = self.discount(f, k)
            && let Some(fit) = discount.fit(self.lists.longest(), scores.dtype())
        {
            let expectation = AboveExpectation { noise: self.noise(), terms: fit.terms.clone(), above };
            return above_expectation(scores, a, b, mask, &expectation);
        }
        let ranks = k.unwrap_or(n).min(n);
        let values = TensorData::new(f.at_ranks(ranks), [1, ranks]);
        let values = Tensor::<2>::from_data(values, (&scores.device(), scores.dtype())).repeat_dim(0, batch);
        above_recursion(scores, a, b, mask, values, &AboveRecursion { noise: self.noise(), above })
    }

    /// Returns `E[f(R_x)]` within the cut-off `k`, `[batch, documents]`.
    pub(crate) fn of_rank(&self, f: &PositionFunction, k: Option<usize>) -> Tensor<2> {
        if let Some(expected) = self.discount(f, k) {
            return expected.expectation(&self.lists);
        }
        let (noise, mask) = (self.noise(), self.lists.mask.clone());
        if self.may_use_exponentials(k)
            && let Some(term) = f.exponential()
        {
            let expectation = AboveExpectation { noise, terms: vec![term], above: Above::Nothing };
            return above_expectation(self.lists.scores.clone(), mask.clone(), mask.clone(), mask, &expectation);
        }
        let [_, n] = self.lists.scores.dims();
        let a = mask_of_counted(&mask, self.lists.needed.clone());
        noisy_rank_recursion(self.lists.scores.clone(), a, mask, &noise, &f.at_ranks(k.unwrap_or(n).min(n)))
    }

    /// Returns `a_x P(R_x <= k)`, `[batch, documents]`, with a separate cut-off `k` for each query, `[batch]`.
    pub(crate) fn within(&self, a: Tensor<2>, k: Tensor<1>) -> Tensor<2> {
        let (scores, mask) = (self.lists.scores.clone(), self.lists.mask.clone());
        let inside = places_like(&scores).lower_equal(k.unsqueeze_dim::<2>(1).expand(scores.dims()));
        let values = inside.float().cast(scores.dtype());
        let recursion = AboveRecursion { noise: self.noise(), above: Above::Nothing };
        above_recursion(scores, a, mask.clone(), mask, values, &recursion)
    }

    /// Returns the probability that document `y` is above document `x`, at `[.., x, y]`.
    pub(crate) fn above(&self) -> Tensor<3> {
        let Comparison { rate, .. } = Comparison::independent(self.sigma);
        ((differences(&self.lists.scores) * rate).erf() + 1.0) * 0.5
    }
}
