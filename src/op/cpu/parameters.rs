//! The non-tensor parameters of primitives, shared by every backend.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::real::Real;

/// A smooth step `phi` that rises from 0 to 1, with `phi(0) = 1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The logistic step, `1 / (1 + exp(-t))`.
    #[default]
    Logistic,
    /// The tanh step, `(1 + tanh t) / 2`.
    Tanh,
    /// The erf step, `(1 + erf t) / 2`.
    Erf,
    /// The arctan step, `1/2 + arctan(t) / pi`.
    Arctan,
    /// The Laplace distribution function, `exp(t) / 2` for `t < 0` and `1 - exp(-t) / 2` otherwise.
    Laplace,
}

/// One term `c z^r` of a discount that is a sum of exponentials, `D(r) = sum_m c_m z_m^r` for `r = 0, 1, ...`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExponentialTerm {
    /// The coefficient `c_m` of the term.
    pub coefficient: f64,
    /// The base `z_m` of the term, in (0, 1).
    pub base: f64,
}

/// How document `i` is compared with the others under noise. Document `j` beats `i` with probability
/// `(1 + erf(rate (x_j - x_i) - shift)) / 2`. Kernels use it in the number type of the scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison<T = f64> {
    /// How steeply the probability rises with the score difference; must be above 0.
    pub rate: T,
    /// The noise of `i` on the scale of `rate (x_j - x_i)` if it is known, and 0 otherwise.
    pub shift: T,
}

impl Comparison {
    /// Creates the comparison of two scores with independent normal noise of standard deviation `sigma` each.
    pub fn independent(sigma: f64) -> Self {
        Self { rate: 0.5 / sigma, shift: 0.0 }
    }

    /// Returns the comparison in the number type `T`.
    pub(crate) fn in_type<T: Real>(self) -> Comparison<T> {
        Comparison { rate: T::from_f64(self.rate), shift: T::from_f64(self.shift) }
    }

    /// Creates the comparison of a score that has the known noise `noise * sigma` with scores that have normal noise.
    /// The noise of each score has the standard deviation `sigma`.
    pub fn given(noise: f64, sigma: f64) -> Self {
        use std::f64::consts::FRAC_1_SQRT_2;
        Self { rate: FRAC_1_SQRT_2 / sigma, shift: noise * FRAC_1_SQRT_2 }
    }
}

/// Comparisons with weights that add up to 1.
pub type Mixture = [(f64, Comparison)];

/// How noise enters the comparison of two documents.
#[derive(Debug, Clone, PartialEq)]
pub enum ScoreNoise {
    /// Several comparisons with weights that add up to 1; an expectation is averaged over them. An empty mixture makes
    /// all expectations 0.
    Mixture(Vec<(f64, Comparison)>),
    /// Adds independent normal noise to every score. If the noise of a document is known, the others rank above it
    /// independently; expectations are averaged over this noise.
    Exact {
        /// The standard deviation of the noise of a score; must be above 0.
        sigma: f64,
    },
}

/// The noise of a document is integrated from minus to plus this number of standard deviations. The probability outside
/// this range is below 1e-10.
pub const NOISE_RANGE: f64 = 6.5;

/// The step of the trapezoidal rule for a list of one document (see [`noise_step`]).
pub const NOISE_STEP: f64 = 0.45;

/// Returns the step of the trapezoidal rule over a noisy score, in standard deviations, for lists of `n` documents. The
/// step shrinks with `n`, because the highest noisy score of many tied documents lies farther above their common score.
/// For up to a million documents, the probabilities of being ranked first add up to 1 with an error below 2e-7. The
/// trapezoidal rule converges faster than any power of the step for a smooth function that vanishes at both ends. For
/// noisy scores, the trapezoidal rule converges much faster than Gauss-Hermite quadrature.
pub(super) fn noise_step(n: usize) -> f64 {
    NOISE_STEP / (1.0 + (n.max(1) as f64).ln()).sqrt()
}

/// Returns the number of points of the trapezoidal rule over the noise of a document, for lists of `n` documents.
fn nodes(n: usize) -> usize {
    1 + (2.0 * NOISE_RANGE / noise_step(n)).ceil() as usize
}

impl ScoreNoise {
    /// Returns a mixture of only one comparison.
    pub fn one(comparison: Comparison) -> Self {
        Self::Mixture(vec![(1.0, comparison)])
    }

    /// Returns the standard deviation of exact noise, or `None` for a mixture.
    pub fn deviation(&self) -> Option<f64> {
        match self {
            Self::Mixture(_) => None,
            Self::Exact { sigma } => Some(*sigma),
        }
    }

    /// Returns the number of comparisons in lists of `n` documents.
    pub(crate) fn comparisons(&self, n: usize) -> usize {
        match self {
            Self::Mixture(mixture) => mixture.len(),
            Self::Exact { .. } => nodes(n),
        }
    }

    /// Returns the comparisons in lists of `n` documents, with weights that add up to 1. Exact noise needs about
    /// `29 sqrt(1 + ln n)` comparisons, one for each value of the document's own noise.
    pub fn mixture(&self, n: usize) -> Cow<'_, Mixture> {
        match self {
            Self::Mixture(mixture) => Cow::Borrowed(mixture),
            Self::Exact { sigma } => {
                let nodes = nodes(n);
                let noise = |node: usize| NOISE_RANGE * (2.0 * node as f64 / (nodes - 1) as f64 - 1.0);
                let density = |noise: f64| (-0.5 * noise * noise).exp();
                let total: f64 = (0..nodes).map(|node| density(noise(node))).sum();
                let compared = |noise| (density(noise) / total, Comparison::given(noise, *sigma));
                Cow::Owned((0..nodes).map(noise).map(compared).collect())
            }
        }
    }
}

/// The contribution of the documents above a document to its expectation. It is computed from the numbers `b` of these
/// documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// The factor 1, so that only the rank matters. The numbers `b` are ignored.
    Nothing,
    /// `b_i` plus the sum of `b_j` over the documents `j` above `i`.
    Sum,
    /// The product of `1 - b_j` over the documents `j` above `i`.
    Product,
}

impl Above {
    /// Returns the factor by which a document above changes the product, which is `1 - b` for a product and 1
    /// otherwise.
    pub(crate) fn left(self, b: f64) -> f64 {
        if self == Self::Product { 1.0 - b } else { 1.0 }
    }

    /// Returns the contribution if no document ranks above, without the document's own `b`.
    pub(crate) fn nobody(self) -> f64 {
        if self == Self::Sum { 0.0 } else { 1.0 }
    }
}

/// The expectation, over noisy scores, of a function of a document's rank times the contribution of the documents above
/// it.
#[derive(Debug, Clone, PartialEq)]
pub struct AboveExpectation {
    /// The noise of the scores.
    pub noise: ScoreNoise,
    /// The function of the rank, counted from 0, as a sum of exponentials.
    pub terms: Vec<ExponentialTerm>,
    /// The contribution of the documents above.
    pub above: Above,
}

impl AboveExpectation {
    /// Returns the comparison if only the rank matters and all ranks follow from one comparison, in which each score
    /// has independent noise. With independent ranks, the primitive also returns the products of the terms, so that the
    /// gradient need not recompute them.
    pub(crate) fn of_independent_ranks(&self) -> Option<Comparison> {
        match (&self.noise, self.above) {
            (ScoreNoise::Mixture(mixture), Above::Nothing) => match mixture[..] {
                [(1.0, comparison)] if comparison.shift == 0.0 => Some(comparison),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A function of a document's rank times the contribution of the documents above. The function is given by its values.
/// The expectation is taken over noisy scores.
#[derive(Debug, Clone, PartialEq)]
pub struct AboveRecursion {
    /// The noise of the scores.
    pub noise: ScoreNoise,
    /// The contribution of the documents above.
    pub above: Above,
}

/// NeuralSort's matrix of a list of `n` documents, with or without Sinkhorn's scaling. The entries of NeuralSort's
/// matrix are `P_rj = softmax_j(((n + 1 - 2 r) x_j - sum_k |x_j - x_k|) / temperature)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeuralSortMatrix {
    /// The temperature of the relaxed sort, above 0, in the same unit as the scores.
    pub temperature: f64,
    /// The number of iterations of Sinkhorn's scaling, each of which scales all columns and all rows; 0 for no scaling.
    pub iterations: usize,
    /// Whether each iteration scales the rows before the columns instead of after them, which is the same as scaling
    /// the transposed matrix.
    pub transposed: bool,
    /// The number of ranks, counted from the first, for which a result is needed.
    pub ranks: usize,
}

impl NeuralSortMatrix {
    /// Returns the index of the column factors that the last scaling of the rows uses. Index `k` stands for the factors
    /// after `k` iterations.
    pub fn last_rows(&self) -> usize {
        if self.transposed { self.iterations.saturating_sub(1) } else { self.iterations }
    }

    /// Returns the number of rows to compute for a list of `documents`. Without scaling, only the rows of the needed
    /// ranks are computed.
    pub fn rows(&self, documents: usize) -> usize {
        if self.iterations == 0 { self.ranks.min(documents) } else { documents }
    }
}

/// The loss `l(t)` of one pair with the score difference `t = x_i - x_j`, where `i` is the more relevant document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairLoss {
    /// The logistic loss of RankNet, `log(1 + exp(-t))`.
    Logistic,
    /// The hinge loss of RankSVM, `max(0, margin - t)`.
    Hinge {
        /// The difference of scores above which the loss of a pair is 0.
        margin: f64,
    },
    /// The squared hinge loss, `max(0, margin - t)^2`.
    SquaredHinge {
        /// The difference of scores above which the loss of a pair is 0.
        margin: f64,
    },
    /// The exponential loss of RankBoost, `exp(-t)`. Below `t = -60` in float32, or `t = -680` in float64, the loss
    /// continues as its tangent, so that it stays finite.
    Exponential,
    /// The fidelity loss of FRank, `1 - sqrt(sigmoid(t))`.
    Fidelity,
    /// The loss `sigmoid(-t)`, whose sum is a smooth count of the pairs in the wrong order.
    SoftZeroOne,
}

/// The smallest spread of scores that are not all equal.
pub const FLOOR: f64 = 0.3;

/// The variance below which scores count as equal.
pub const EQUAL: f64 = 1e-24;

/// In lists with fewer documents than this, the divisor depends on the length of the list.
pub const SHORT: f64 = 8.0;

/// What centered scores are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divisor {
    /// Nothing.
    One,
    /// Their spread, times `max(8 / n, 1)^power` in a list of `n` documents.
    Spread { power: u32, is_differentiated: bool },
}

/// The shortest gradient that is scaled to length 1. A shorter gradient is divided by this length instead of by its own
/// length.
pub const SHORTEST_GRADIENT: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::super::ranks::trial::beats;
    use super::*;

    /// Returns the sum, over all documents, of the probability of being ranked first; the test scores include many
    /// ties. The probabilities of being ranked first add up to 1 for any scores.
    fn first(scores: &[(f64, usize)]) -> f64 {
        let n = scores.iter().map(|(_, count)| count).sum();
        let chance = |own: f64| -> f64 {
            let given = |&(weight, Comparison { rate, shift }): &(f64, Comparison)| {
                let below = |&(other, count): &(f64, usize)| {
                    let count = count - usize::from(other == own);
                    beats::<f64, false>(rate * (other - own) - shift).1.powi(count as i32)
                };
                weight * scores.iter().map(below).product::<f64>()
            };
            ScoreNoise::Exact { sigma: 1.0 }.mixture(n).iter().map(given).sum()
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
}
