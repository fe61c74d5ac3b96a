//! Surrogates and baselines: one file a loss, always config, `init`, `forward`.
//!
//! Every loss takes `scores [B, N]`, `labels [B, N]` and a Boolean `mask [B, N]` (true for a document) and keeps the
//! promises stated at [`RankingLoss`].

mod bounds;
mod exponential_fit;
mod lists;

pub use bounds::{
    PairAggregation, PermutationError, PermutationSet, TypeOneBound, TypeTwoBound, TypeTwoLoss, permutation_scores,
    score_coefficients,
};
pub use burn::nn::loss::Reduction;
pub use exponential_fit::{ExponentialFit, ExponentialFitError, exponential_fit, is_completely_monotone};
pub use lists::Lists;

use std::fmt::Debug;

use burn::tensor::{Bool, Tensor};

use crate::measure::Gain;

/// Why a loss cannot be built or applied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LossError {
    /// A parameter out of its range.
    #[error("{loss}.{parameter} = {found}: expected {expected}")]
    Parameter { loss: &'static str, parameter: &'static str, found: String, expected: &'static str },
    /// A name that no registered loss has.
    #[error("unknown loss `{found}`{}", hint(.nearest))]
    UnknownLoss { found: String, nearest: Option<&'static str> },
    /// A parameter that the loss does not have.
    #[error("{loss}: unknown parameter `{found}`{}", hint(.nearest))]
    UnknownParameter { loss: &'static str, found: String, nearest: Option<String> },
    /// Tensors of different shapes.
    #[error("{what} has shape {found:?}, scores have shape {expected:?}")]
    Shape { what: &'static str, found: [usize; 2], expected: [usize; 2] },
    /// A label outside the domain of the gain.
    #[error("query {query}, document {document}: label {found}, expected {expected}")]
    Label { query: usize, document: usize, found: f64, expected: String },
    /// A score that is not finite at a document.
    #[error("query {query}, document {document}: score {found}, expected a finite number")]
    Score { query: usize, document: usize, found: f64 },
}

fn hint<S: AsRef<str>>(nearest: &Option<S>) -> String {
    nearest.as_ref().map(|n| format!("; did you mean `{}`?", n.as_ref())).unwrap_or_default()
}

/// How the surrogate value and the loss are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// The value is a normalised measure in `[0, 1]`: `loss = 1 - value`.
    NormalisedMeasure,
    /// The value is a measure without a fixed upper end: `loss = -value`.
    Measure,
    /// A loss to minimise: `value = loss`.
    Loss,
}

/// A differentiable ranking loss.
///
/// # Promises
/// - padding never matters: value and gradient are bit-equal whatever the padded scores and labels hold (NaN included);
/// - a query with nothing to learn has loss 0 and gradient 0, and counts in a mean;
/// - permuting the documents of a query permutes the gradient and keeps the value;
/// - value and gradient are finite for `|score| <= 1e4`.
///
/// `forward*` panic, as burn's own modules do, when shapes differ; values are not read back from the device. Use
/// [`try_forward`](RankingLoss::try_forward) where the input has not been checked before.
pub trait RankingLoss: Debug + Send + Sync {
    /// Registered name, as in configuration files.
    fn name(&self) -> &'static str;

    /// How value and loss are related.
    fn orientation(&self) -> Orientation;

    /// Gain whose domain the labels must be in; `None` when any finite label will do.
    fn gain(&self) -> Option<&Gain>;

    /// Loss of each query of clean lists, `[B]`. Degenerate queries are zeroed by the caller.
    fn query_losses(&self, lists: &Lists) -> Tensor<1>;

    /// Which queries have something to learn, `[B]`: by default those with two documents of different labels.
    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_two_labels()
    }

    /// Loss of each query.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    /// - output: `[batch]`
    fn forward_no_reduction(&self, scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>) -> Tensor<1> {
        let lists = Lists::new(scores, labels, mask);
        let skipped = self.learnable(&lists).bool_not();
        self.query_losses(&lists).mask_fill(skipped, 0.0)
    }

    /// Reduced loss: mean (`Mean`, `Auto`, `BatchMean`) or sum over the queries of the batch.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    /// - output: `[1]`
    fn forward(&self, scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>, reduction: Reduction) -> Tensor<1> {
        reduce(self.forward_no_reduction(scores, labels, mask), reduction)
    }
}

/// Reduces per-query losses `[B]` to `[1]`.
pub fn reduce(losses: Tensor<1>, reduction: Reduction) -> Tensor<1> {
    match reduction {
        Reduction::Sum => losses.sum(),
        Reduction::Mean | Reduction::Auto | Reduction::BatchMean => losses.mean(),
    }
}
