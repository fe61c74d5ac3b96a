//! SoftRank's distribution of ranks, and expectations of discounts under this distribution (softrank-directness,
//! section III).
//!
//! If every score has variance `sigma^2`, document `k` beats `j` with probability `pi_kj = (1 + erf((s_k - s_j) / (2
//! sigma))) / 2`. The rank of `j`, counted from 0, is modeled as the number of successes in independent trials with
//! these probabilities. The rank distribution follows from `p_j(r) <- p_j(r - 1) pi_kj + p_j(r) (1 - pi_kj)` over all
//! `k != j`. The expectation of a discount, `E[D(1 + R_j)] = sum_r D(1 + r) p_j(r)`, is evaluated in three ways:
//!
//! | evaluation | of | time | memory |
//! |---|---|---|---|
//! | recursion | any discount | O(n^3) | as [`above_recursion`](crate::op::above_recursion()) |
//! | cutoff | a discount that is 0 below rank k | O(k n^2) | as [`above_recursion`](crate::op::above_recursion()) |
//! | exponentials | a completely monotone discount, no cut-off | O(M n^2) | as [`above_expectation`] |
//!
//! With [`RankModel::Exact`], the trials are independent only when the noise on the score of `j` is fixed. The
//! evaluation is therefore repeated for `Q` values of this noise, which takes `Q` times as long. In float32 on a CPU,
//! all documents share the same noise values. The evaluation then takes O(M n log n) or O(k n log n).

use std::sync::Arc;

use burn::tensor::DType;

use super::exponential_fit::{ExponentialFit, exponential_fit, is_completely_monotone};
use super::method::{Approximation, RankExpectationMethod, RankModel};
use crate::loss::prelude::*;
use crate::op::{Above, AboveExpectation, above_expectation, mask_of_counted, noisy_rank_recursion};

/// A rank discount, and how to compute its expectation over the rank distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedDiscount {
    /// The function that maps a rank to its discount.
    pub discount: Discount,
    /// The last rank that counts; `None` counts all ranks.
    pub k: Option<usize>,
    /// The standard deviation of a noisy score; must be above 0.
    pub sigma: f64,
    /// How to compute the expectation of the discount.
    pub evaluation: RankExpectationMethod,
    /// The model for the distribution of ranks.
    pub model: RankModel,
}

impl ExpectedDiscount {
    /// Checks the parameters. Error messages use `loss` as the name of the loss.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, `k` is 0, or the exponent is negative or not finite.
    /// Also returns an error if `evaluation` is `exponentials` and the discount is not completely monotone.
    pub fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::positive(loss, "sigma", self.sigma)?;
        error::cutoff(loss, self.k)?;
        if let Discount::Power { exponent } = self.discount {
            error::not_negative(loss, "exponent", exponent)?;
        }
        let cause = match self.k {
            Some(k) => Some(format!("a discount with k = {k}")),
            None => (!is_completely_monotone(&self.discount)).then(|| format!("{:?}", self.discount)),
        };
        if let Some(cause) = cause.filter(|_| self.evaluation == RankExpectationMethod::Exponentials) {
            let expected = format!("auto, recursion or cutoff: {cause} is not completely monotone");
            return Err(LossError::parameter(loss, "evaluation", "exponentials", expected));
        }
        Ok(())
    }

    /// Approximates the discount by a sum of exponentials and measures the error. The approximation is for lists of up
    /// to `n` documents and scores of the given type.
    ///
    /// The error of the fit is at most 1e-8 in float64. In float32, the error is at most `2e-9 n`, with `n` rounded up
    /// to a power of two, or 2e-6 if that is larger. The bound grows with `n` because `n` rounding errors add up.
    ///
    /// Returns `None` if the discount is not completely monotone, or if lists of `n` documents are too long for this
    /// tolerance.
    pub fn fit(&self, n: usize, scores: DType) -> Option<Arc<ExponentialFit>> {
        let tolerance = tolerance(n, scores);
        exponential_fit(&self.discount, n, tolerance, scores).filter(|fit| fit.error(scores) <= tolerance)
    }

    /// Returns the method that computes the expectation for lists of `n` documents. `Auto` uses a cut-off only if it is
    /// below `n`.
    pub fn resolve(&self, n: usize) -> RankExpectationMethod {
        match (self.evaluation, self.k) {
            (RankExpectationMethod::Auto, Some(k)) if k < n => RankExpectationMethod::Cutoff,
            (RankExpectationMethod::Auto, _) if is_completely_monotone(&self.discount) => {
                RankExpectationMethod::Exponentials
            }
            (RankExpectationMethod::Auto, _) => RankExpectationMethod::Recursion,
            (chosen, _) => chosen,
        }
    }

    /// Returns the method that computes the expectation and its measured errors. Both are for lists of up to `n`
    /// documents and scores of the given type.
    ///
    /// # Errors
    /// Returns an error if `evaluation = "exponentials"` is set and no fit reaches the tolerance of [`fit`](Self::fit).
    pub(crate) fn approximation(
        &self,
        loss: &'static str,
        n: usize,
        scores: DType,
    ) -> Result<Approximation, LossError> {
        let exact = |evaluation| Approximation { documents: n, evaluation, terms: 0, error_f64: 0.0, error_f32: 0.0 };
        let evaluation = self.resolve(n);
        if evaluation != RankExpectationMethod::Exponentials {
            return Ok(exact(evaluation));
        }
        let tolerance = tolerance(n, scores);
        match exponential_fit(&self.discount, n, tolerance, scores) {
            Some(fit) if fit.error(scores) <= tolerance => Ok(Approximation {
                terms: fit.terms.len(),
                error_f64: fit.error_f64,
                error_f32: fit.error_f32,
                ..exact(evaluation)
            }),
            Some(fit) if self.evaluation == RankExpectationMethod::Exponentials => {
                let (length, terms, found) = (fit.length, fit.terms.len(), fit.error(scores));
                let expected = format!(
                    "auto or recursion: discount {:?}, ranks 1 to {length}: {terms} exponentials leave an error of \
                     {found:.1e}, expected at most {tolerance:.1e}",
                    self.discount
                );
                Err(LossError::parameter(loss, "evaluation", "exponentials", expected))
            }
            _ => Ok(exact(RankExpectationMethod::Recursion)),
        }
    }

    /// Returns the expected discount, `E[D(1 + R_j)]`, of every document `j`.
    ///
    /// # Shapes
    /// - output: `[batch, documents]`, with finite but meaningless values at padding and at documents whose expectation
    ///   is not needed
    pub fn expectation(&self, lists: &Lists) -> Tensor<2> {
        let (scores, mask) = (lists.scores.clone(), lists.mask.clone());
        let a = mask_of_counted(&mask, lists.needed.clone());
        let noise = self.model.noise(self.sigma);
        let evaluation = self.resolve(lists.longest());
        // A fit that misses its tolerance is not used; the recursion is exact.
        if evaluation == RankExpectationMethod::Exponentials
            && let Some(fit) = self.fit(lists.longest(), scores.dtype())
        {
            let expectation = AboveExpectation { noise, terms: fit.terms.clone(), above: Above::Nothing };
            return above_expectation(scores, a, mask.clone(), mask, &expectation);
        }
        let [_, n] = mask.dims();
        let ranks = if evaluation == RankExpectationMethod::Cutoff { self.k.unwrap_or(n).min(n) } else { n };
        noisy_rank_recursion(scores, a, mask, &noise, &discount_table(&self.discount, ranks, self.k))
    }
}

/// Returns the largest error of a fit for lists of up to `n` documents and scores of the given type.
fn tolerance(n: usize, scores: DType) -> f64 {
    if scores == DType::F64 { 1e-8 } else { (2e-9 * n.next_power_of_two() as f64).max(2e-6) }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Bool, DType, Device, TensorData};

    use super::*;
    use crate::op::{Comparison, ScoreNoise};
    use crate::testing::{uniform, values};

    /// Returns `p_j(r)` for the first `ranks` ranks, each computed as the expectation of a discount that counts only
    /// this rank. The values at padding are 0.
    ///
    /// # Shapes
    /// - output: `[batch, documents, ranks]`
    fn rank_distribution(lists: &Lists, sigma: f64, ranks: usize) -> Tensor<3> {
        let probability = |rank: usize| {
            let counts: Vec<f64> = (0..=rank).map(|other| f64::from(u8::from(other == rank))).collect();
            let noise = ScoreNoise::one(Comparison::independent(sigma));
            noisy_rank_recursion(lists.scores.clone(), lists.mask.clone(), lists.mask.clone(), &noise, &counts)
        };
        Tensor::stack((0..ranks).map(probability).collect(), 2)
    }

    /// Creates one query of float64 scores without padding.
    fn lists(scores: &[f64]) -> Lists {
        let device = Device::flex();
        let shape = [1, scores.len()];
        let scores = Tensor::<2>::from_data(TensorData::new(scores.to_vec(), shape), (&device, DType::F64));
        Lists::padded(scores.clone(), scores.zeros_like(), Tensor::<2, Bool>::full(shape, true, &device))
    }

    fn expected(discount: Discount, k: Option<usize>, evaluation: RankExpectationMethod) -> ExpectedDiscount {
        ExpectedDiscount { discount, k, sigma: 0.4, evaluation, model: RankModel::Independent }
    }

    #[test]
    fn equal_scores_have_binomial_ranks() {
        for ranks in 1..4 {
            let p = values(rank_distribution(&lists(&[0.7; 3]), 1.0, ranks));
            assert_eq!(p.len(), 3 * ranks);
            for (found, expected) in p.iter().zip([0.25, 0.5, 0.25][..ranks].repeat(3)) {
                assert!((found - expected).abs() < 1e-15, "{p:?}");
            }
        }
    }

    #[test]
    fn two_documents_by_hand() {
        // pi = (1 + erf(1 / 2)) / 2 = 0.760249938906523...
        let p = values(rank_distribution(&lists(&[1.0, 0.0]), 1.0, 2));
        let wins = 0.760_249_938_906_523_3;
        for (found, expected) in p.iter().zip([wins, 1.0 - wins, 1.0 - wins, wins]) {
            assert!((found - expected).abs() < 1e-12, "{p:?}");
        }
    }

    #[test]
    fn the_expectation_is_of_the_discount_not_of_the_rank() {
        let found =
            values(expected(Discount::Log2, None, RankExpectationMethod::Recursion).expectation(&lists(&[0.0; 3])))[0];
        let of_discount = 0.25 * 1.0 + 0.5 / 3f64.log2() + 0.25 * 0.5;
        let at_expected_rank = Discount::Log2.at(2);
        assert!((found - of_discount).abs() < 1e-12);
        assert!(found - at_expected_rank > 0.05, "Jensen's gap: {found} above {at_expected_rank}");
    }

    #[test]
    fn the_three_evaluations_agree() {
        let discounts = [Discount::Log2, Discount::Natural, Discount::Zipf, Discount::Power { exponent: 0.5 }];
        for n in [2, 5, 40, 300] {
            let lists = lists(&uniform(1, n));
            for discount in discounts.clone() {
                let by = |evaluation| values(expected(discount.clone(), None, evaluation).expectation(&lists));
                let recursion = by(RankExpectationMethod::Recursion);
                for other in [RankExpectationMethod::Cutoff, RankExpectationMethod::Exponentials] {
                    for (a, b) in recursion.iter().zip(by(other)) {
                        assert!((a - b).abs() < 1e-7, "{discount:?}, n = {n}, {other:?}: {a} {b}");
                    }
                }
            }
            let by = |evaluation| values(expected(Discount::Log2, Some(3), evaluation).expectation(&lists));
            for (a, b) in by(RankExpectationMethod::Recursion).iter().zip(by(RankExpectationMethod::Cutoff)) {
                assert!((a - b).abs() < 1e-12, "cut-off, n = {n}: {a} {b}");
            }
        }
    }

    #[test]
    fn every_completely_monotone_discount_has_a_fit_in_both_precisions() {
        let exponents = [0.05, 0.5, 1.5, 3.0].map(|exponent| Discount::Power { exponent });
        for discount in
            [Discount::Log2, Discount::Natural, Discount::Zipf, Discount::Exponential].into_iter().chain(exponents)
        {
            let expected = expected(discount, None, RankExpectationMethod::Auto);
            for (n, tolerance) in [(100, 2e-6), (1000, 2.1e-6), (10_000, 3.3e-5)] {
                assert!(expected.fit(n, DType::F32).unwrap().error(DType::F32) <= tolerance, "{expected:?}, n = {n}");
            }
            assert!(expected.fit(2000, DType::F64).unwrap().error(DType::F64) <= 1e-8, "{expected:?}");
        }
    }

    #[test]
    fn auto_takes_the_cheapest_that_applies() {
        let resolved = |discount, k, n| expected(discount, k, RankExpectationMethod::Auto).resolve(n);
        assert_eq!(resolved(Discount::Log2, None, 100), RankExpectationMethod::Exponentials);
        assert_eq!(resolved(Discount::Log2, Some(10), 100), RankExpectationMethod::Cutoff);
        assert_eq!(resolved(Discount::Log2, Some(100), 100), RankExpectationMethod::Exponentials);
        assert_eq!(resolved(Discount::Letor, None, 100), RankExpectationMethod::Recursion);
    }

    #[test]
    fn an_evaluation_that_does_not_apply_is_refused() {
        let refused =
            expected(Discount::Letor, None, RankExpectationMethod::Exponentials).check("soft_ndcg").unwrap_err();
        let message =
            "soft_ndcg.evaluation = exponentials: expected auto, recursion or cutoff: Letor is not completely monotone";
        assert_eq!(refused.to_string(), message);
        let cut =
            expected(Discount::Log2, Some(2), RankExpectationMethod::Exponentials).check("soft_ndcg").unwrap_err();
        assert!(cut.to_string().contains("a discount with k = 2 is not completely monotone"), "{cut}");
        assert!(
            expected(Discount::Power { exponent: -1.0 }, None, RankExpectationMethod::Auto).check("soft_ndcg").is_err()
        );
    }
}
