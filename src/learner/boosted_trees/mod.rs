//! Gradient boosting of regression trees on any registered loss.
//!
//! Friedman, Greedy function approximation, Annals of Statistics 29 (2001), as smoothrank (section 6) proposes for its
//! surrogates: only the derivatives of the loss with respect to the scores are needed. In every round
//!
//! ```text
//! tree  = fit of the derivatives at the scores f          (see `tree`)
//! f    <- f + learning_rate * step * tree
//! ```
//!
//! `steps` chooses the value of a leaf:
//!
//! - `newton`: slope over second derivative, for a loss that has them (`lambda_ndcg`, with which this is LambdaMART,
//!   `rank_net` and others). `step = 1`.
//! - `balance`, the default of other losses with a temperature: how much the slopes of its documents agree in
//!   direction, times two spreads of scores (see `derivatives`). `step = 1`. A smoothed measure is not convex, so its
//!   second derivative does not tell how far to go. But the documents may move about as far as the scores are spread
//!   out.
//! - `line_search`, the default of the rest: the tree is a least-squares fit of the negative gradient. `step` is
//!   searched along it in powers of two, starting from the step of the previous round. The loss then decreases by at
//!   least half of the decrease that its slope predicts (see `member`).
//!
//! Some surrogates (SmoothNDCG and its relatives, whose indicators are a softmax) are flat where all scores are equal,
//! which is where boosting starts. For these the first tree is a regression on the loss's gains (`2^y - 1` if it has
//! none), and its step is searched. In the same way smoothrank starts from ridge regression.
//!
//! The loss decides the effect of weights of documents; in that regression they multiply the gains.
//!
//! With `anneal` a parameter of the loss moves over the rounds, as the temperature does over the rounds of SmoothRank.
//! Every round takes the derivatives anew, and its objective is the loss at its own value.
//!
//! With `seeds`, that many sums of trees grow side by side, each with separate samples. Their mean is measured,
//! selected and saved, as one sum of trees. A fit may start from the trees of another (`start_from`).
//!
//! Cost of a round: the derivatives, O(documents x features) per level of the tree (`histogram`), and a walk of every
//! validation document through the tree. The fit ends early when no tree lowers the loss, or when the validation data have seen no better
//! round for `patience` rounds.

mod annealing;
mod buffers;
mod config;
mod derivatives;
mod fit;
mod histogram;
mod member;
mod objective;
mod sample;
mod split;
mod sums;
#[cfg(test)]
mod tests;
mod tree;

pub use config::{BoostedTrees, BoostedTreesConfig, Steps};

use config::NAME;

use super::entry::LearnerEntry;

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "gradient boosting of regression trees on any loss; LambdaMART with lambda_ndcg",
    paper: "Friedman, Greedy function approximation: a gradient boosting machine; Chapelle and Wu, Gradient descent \
            optimization of smoothed information retrieval metrics, section 6",
    takes_loss: true,
    takes_document_weights: true,
    takes_missing: true,
    streams: true,
    rounds_key: Some("rounds"),
    ..LearnerEntry::of::<BoostedTreesConfig>(NAME)
};
