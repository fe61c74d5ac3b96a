//! Parameters of primitives, apart from tensors, on every backend.

use serde::{Deserialize, Serialize};

/// A smooth step `phi`, rising from 0 to 1 with `phi(0) = 1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// `1 / (1 + exp(-t))`
    #[default]
    Logistic,
    /// `(1 + tanh t) / 2`
    Tanh,
    /// `(1 + erf t) / 2`
    Erf,
    /// `1/2 + arctan(t) / pi`
    Arctan,
    /// `exp(t) / 2` for `t < 0`, `1 - exp(-t) / 2` for others: the Laplace distribution function.
    Laplace,
}

/// One term `c z^r` of a discount written as a sum of exponentials, `D(r) = sum_m c_m z_m^r`, `r = 0, 1, ...`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExponentialTerm {
    /// Coefficient `c_m`.
    pub coefficient: f64,
    /// Base `z_m` in (0, 1).
    pub base: f64,
}

/// The comparison of a noisy document with the others: document `j` beats `i` with the chance
/// `(1 + erf(rate (x_j - x_i) - shift)) / 2`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Steepness per unit of score, above 0.
    pub rate: f64,
    /// Head start of `i`: 0, or its own noise where that is given.
    pub shift: f64,
}

impl Comparison {
    /// Two scores with independent normal noise of standard deviation `sigma` each.
    pub fn independent(sigma: f64) -> Self {
        Self { rate: 0.5 / sigma, shift: 0.0 }
    }

    /// Creates a comparison in which the noise of `i` is given, `noise` times `sigma`, and the noise of `j` is normal
    /// with standard deviation `sigma`.
    pub fn given(noise: f64, sigma: f64) -> Self {
        use std::f64::consts::FRAC_1_SQRT_2;
        Self { rate: FRAC_1_SQRT_2 / sigma, shift: noise * FRAC_1_SQRT_2 }
    }
}

/// The noise with which documents are compared.
#[derive(Debug, Clone, PartialEq)]
pub enum ScoreNoise {
    /// By each of some comparisons, with weights that add up to 1. Without any, expectations are 0.
    Mixture(Vec<(f64, Comparison)>),
    /// By independent normal noise of the score of every document, with this standard deviation, above 0. Given the noise
    /// of a document, others beat it independently; expectations are averaged over that noise.
    Exact {
        /// Standard deviation of a score.
        sigma: f64,
    },
}

impl ScoreNoise {
    /// By one comparison.
    pub fn one(comparison: Comparison) -> Self {
        Self::Mixture(vec![(1.0, comparison)])
    }

    /// Standard deviation of exact noise.
    pub fn deviation(&self) -> Option<f64> {
        match self {
            Self::Mixture(_) => None,
            Self::Exact { sigma } => Some(*sigma),
        }
    }
}

/// The contribution of the documents above a document to an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// 1, whatever is above: a function of only the rank. `b` is not read.
    Nothing,
    /// `b_i + sum of b_j over j above i`
    Sum,
    /// `prod of (1 - b_j) over j above i`
    Product,
}

impl Above {
    /// Returns the factor of a document above with the value `b`.
    pub(crate) fn left(self, b: f64) -> f64 {
        if self == Self::Product { 1.0 - b } else { 1.0 }
    }

    /// Returns the contribution of no document.
    pub(crate) fn nobody(self) -> f64 {
        if self == Self::Sum { 0.0 } else { 1.0 }
    }
}

/// A function of a document's rank and of the documents above it, to be averaged over noisy scores.
#[derive(Debug, Clone, PartialEq)]
pub struct AboveExpectation {
    /// The noise with which documents are compared.
    pub noise: ScoreNoise,
    /// The function of the rank, counted from 0, as a sum of exponentials.
    pub terms: Vec<ExponentialTerm>,
    /// The contribution of the documents above.
    pub above: Above,
}

impl AboveExpectation {
    /// The comparison, if only the rank counts and there is one comparison of independent noise. The products of the
    /// terms are outputs then, which the gradient takes.
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

/// Any function of a document's rank times a sum or product over the documents above it, to be averaged over noisy
/// scores.
#[derive(Debug, Clone, PartialEq)]
pub struct AboveRecursion {
    /// The noise with which documents are compared.
    pub noise: ScoreNoise,
    /// The contribution of the documents above.
    pub above: Above,
}

/// NeuralSort's matrix of a list of `n` documents, `P_rj = softmax_j(((n + 1 - 2 r) x_j - sum_k |x_j - x_k|) /
/// temperature)`, and Sinkhorn's scaling of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeuralSortMatrix {
    /// Temperature of the relaxed sort, in scores, above 0.
    pub temperature: f64,
    /// Iterations of Sinkhorn's scaling, each of the columns and of the rows; 0 for none.
    pub iterations: usize,
    /// Scale the rows first in each iteration, as scaling the transposed matrix does, else the columns.
    pub transposed: bool,
    /// Ranks that are needed, from the first.
    pub ranks: usize,
}

impl NeuralSortMatrix {
    /// The iteration whose scaling of the columns comes before the last scaling of the rows; 0 is before the first.
    pub fn last_rows(&self) -> usize {
        if self.transposed { self.iterations.saturating_sub(1) } else { self.iterations }
    }

    /// Number of rows that are computed in a list of `documents`: scaling needs every row.
    pub fn rows(&self, documents: usize) -> usize {
        if self.iterations == 0 { self.ranks.min(documents) } else { documents }
    }
}

/// The loss `l(t)` of one pair with score difference `t = x_i - x_j`, `i` the more relevant document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairLoss {
    /// `log(1 + exp(-t))` (RankNet)
    Logistic,
    /// `max(0, margin - t)` (RankSVM)
    Hinge {
        /// Difference of scores from which a pair costs nothing.
        margin: f64,
    },
    /// `max(0, margin - t)^2`
    SquaredHinge {
        /// Difference of scores from which a pair costs nothing.
        margin: f64,
    },
    /// `exp(-t)` (RankBoost). Below `t = -60` in float32, `t = -680` in float64, its tangent continues it, so that it
    /// stays finite
    Exponential,
    /// `1 - sqrt(sigmoid(t))` (FRank)
    Fidelity,
    /// `sigmoid(-t)`, a smooth count of the pairs in the wrong order
    SoftZeroOne,
}
