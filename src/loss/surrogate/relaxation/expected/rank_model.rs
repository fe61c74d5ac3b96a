//! How the trials of a document depend on each other, and the comparisons of documents that follow.

use serde::{Deserialize, Serialize};

use crate::op::Comparison;

/// What is taken for the distribution of ranks when scores are noisy. The chance that one document beats another is the
/// same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankModel {
    /// SoftRank's: other documents beat a document independently of each other, although all of them meet the same noise
    /// of that document. The trials of tied documents then fail together too seldom: of `R` tied relevant documents at
    /// the top the expected reciprocal rank is `R 2^(1 - R)`, not 1.
    #[default]
    Independent,
    /// That of the noisy scores: given the noise of a document, others do beat it independently. Expectations are
    /// averaged over that noise, at `12 + 8 ln n` values for `n` documents: an error below 1e-6 up to 5000.
    Exact,
}

/// Range of a document's own noise, in standard deviations. Beyond it lies a chance below 1e-10.
const RANGE: f64 = 6.5;

/// Nodes of the trapezoidal rule for lists of `n` documents. The error of a chance that a document of a list is the
/// first one, summed over the documents, stays below 5e-7 up to 5000 documents: the rule converges faster than any power
/// for a smooth function that vanishes at both ends, and much faster than Gauss and Hermite's here.
fn nodes(n: usize) -> usize {
    12 + (8.0 * (n.max(1) as f64).ln()).ceil() as usize
}

impl RankModel {
    /// How documents compare in lists of `n` documents with noise of standard deviation `sigma`, with weights that add
    /// up to 1.
    pub(super) fn mixture(self, sigma: f64, n: usize) -> Vec<(f64, Comparison)> {
        if self == RankModel::Independent {
            return vec![(1.0, Comparison::independent(sigma))];
        }
        let nodes = nodes(n);
        let noise = |node: usize| RANGE * (2.0 * node as f64 / (nodes - 1) as f64 - 1.0);
        let density = |noise: f64| (-0.5 * noise * noise).exp();
        let total: f64 = (0..nodes).map(|node| density(noise(node))).sum();
        (0..nodes).map(noise).map(|noise| (density(noise) / total, Comparison::given(noise, sigma))).collect()
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, Tensor};

    use super::*;

    fn erf(t: f64) -> f64 {
        let t = Tensor::<1>::from_data([t], (&Device::flex(), DType::F64));
        t.erf().into_data().iter::<f64>().sum()
    }

    /// Sum over the documents of the chance to be the first, for scores that each occur several times. It is 1 whatever
    /// the scores are.
    fn first(scores: &[(f64, usize)]) -> f64 {
        let n = scores.iter().map(|(_, count)| count).sum();
        let chance = |own: f64| -> f64 {
            let given = |&(weight, Comparison { rate, shift }): &(f64, Comparison)| {
                let below = |&(other, count): &(f64, usize)| {
                    let count = count - usize::from(other == own);
                    (0.5 * (1.0 - erf(rate * (other - own) - shift))).powi(count as i32)
                };
                weight * scores.iter().map(below).product::<f64>()
            };
            RankModel::Exact.mixture(1.0, n).iter().map(given).sum()
        };
        scores.iter().map(|&(own, count)| count as f64 * chance(own)).sum()
    }

    #[test]
    fn one_document_is_the_first() {
        for n in [2, 3, 5, 10, 20, 60, 200, 1000, 5000] {
            let tied = first(&[(0.0, n)]);
            assert!((tied - 1.0).abs() < 5e-7, "{n} tied: {tied}");
            for gap in [0.5, 1.0, 2.0, 3.5, 6.0] {
                for above in [1, n / 2, n - 1] {
                    let found = first(&[(gap, above), (0.0, n - above)]);
                    assert!((found - 1.0).abs() < 5e-7, "{above} of {n}, {gap} above: {found}");
                }
            }
        }
    }

    #[test]
    fn independent_trials_are_one_comparison() {
        assert_eq!(RankModel::Independent.mixture(0.25, 7), [(1.0, Comparison { rate: 2.0, shift: 0.0 })]);
    }
}
