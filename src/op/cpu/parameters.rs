//! The parameters of primitives other than tensors, shared by every backend.

use serde::{Deserialize, Serialize};

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

/// The comparison of a noisy document `i` with the others. Document `j` beats `i` with probability
/// `(1 + erf(rate (x_j - x_i) - shift)) / 2`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The steepness of the probability per unit of score, above 0.
    pub rate: f64,
    /// The head start of `i`, which is its own noise if that is known, else 0.
    pub shift: f64,
}

impl Comparison {
    /// Creates the comparison of two scores with independent normal noise of standard deviation `sigma` each.
    pub fn independent(sigma: f64) -> Self {
        Self { rate: 0.5 / sigma, shift: 0.0 }
    }

    /// Creates the comparison of a score with known noise, `noise` times `sigma`, with scores of normal noise. All
    /// noise has the standard deviation `sigma`.
    pub fn given(noise: f64, sigma: f64) -> Self {
        use std::f64::consts::FRAC_1_SQRT_2;
        Self { rate: FRAC_1_SQRT_2 / sigma, shift: noise * FRAC_1_SQRT_2 }
    }
}

/// The noise with which documents are compared.
#[derive(Debug, Clone, PartialEq)]
pub enum ScoreNoise {
    /// Averages over the listed comparisons, whose weights add up to 1. An empty mixture makes all expectations 0.
    Mixture(Vec<(f64, Comparison)>),
    /// Adds independent normal noise to every score. Given the noise of a document, the others beat it independently;
    /// expectations are averaged over this noise.
    Exact {
        /// The standard deviation of the noise of a score, above 0.
        sigma: f64,
    },
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
}

/// The factor that the documents above a document contribute to an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// The factor 1, which leaves a function of only the rank. `b` is not read.
    Nothing,
    /// The sum `b_i + sum of b_j over j above i`.
    Sum,
    /// The product `prod of (1 - b_j) over j above i`.
    Product,
}

impl Above {
    /// Returns the factor that a document above with the value `b` leaves in a product.
    pub(crate) fn left(self, b: f64) -> f64 {
        if self == Self::Product { 1.0 - b } else { 1.0 }
    }

    /// Returns the contribution when no document is above.
    pub(crate) fn nobody(self) -> f64 {
        if self == Self::Sum { 0.0 } else { 1.0 }
    }
}

/// A function of a document's rank and of the documents above it, whose expectation is taken over noisy scores.
#[derive(Debug, Clone, PartialEq)]
pub struct AboveExpectation {
    /// The noise with which documents are compared.
    pub noise: ScoreNoise,
    /// The function of the rank, counted from 0, written as a sum of exponentials.
    pub terms: Vec<ExponentialTerm>,
    /// The contribution of the documents above.
    pub above: Above,
}

impl AboveExpectation {
    /// Returns the comparison if only the rank counts and there is a single comparison with independent noise. The
    /// primitive then also returns the products of the terms, which the gradient needs.
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

/// Any function of a document's rank times a sum or product over the documents above it. The expectation of the product
/// is taken over noisy scores.
#[derive(Debug, Clone, PartialEq)]
pub struct AboveRecursion {
    /// The noise with which documents are compared.
    pub noise: ScoreNoise,
    /// The contribution of the documents above.
    pub above: Above,
}

/// NeuralSort's matrix of a list of `n` documents, optionally with Sinkhorn's scaling. The entries of NeuralSort's
/// matrix are `P_rj = softmax_j(((n + 1 - 2 r) x_j - sum_k |x_j - x_k|) / temperature)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeuralSortMatrix {
    /// The temperature of the relaxed sort, in units of the score, above 0.
    pub temperature: f64,
    /// The number of iterations of Sinkhorn's scaling, each of which scales the columns and the rows; 0 for no scaling.
    pub iterations: usize,
    /// Whether an iteration scales the rows first, like scaling the transposed matrix, instead of the columns.
    pub transposed: bool,
    /// The number of ranks that are needed, from the first.
    pub ranks: usize,
}

impl NeuralSortMatrix {
    /// Returns the iteration whose column scaling comes right before the last row scaling; 0 means before the first
    /// iteration.
    pub fn last_rows(&self) -> usize {
        if self.transposed { self.iterations.saturating_sub(1) } else { self.iterations }
    }

    /// Returns the number of rows that are computed for a list of `documents`; scaling needs every row.
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
        /// The difference of scores from which a pair costs nothing.
        margin: f64,
    },
    /// The squared hinge loss, `max(0, margin - t)^2`.
    SquaredHinge {
        /// The difference of scores from which a pair costs nothing.
        margin: f64,
    },
    /// The exponential loss of RankBoost, `exp(-t)`. Below `t = -60` in float32 or `t = -680` in float64, the tangent
    /// replaces the exponential, so the loss stays finite.
    Exponential,
    /// The fidelity loss of FRank, `1 - sqrt(sigmoid(t))`.
    Fidelity,
    /// The loss `sigmoid(-t)`, a smooth count of the pairs in the wrong order.
    SoftZeroOne,
}
