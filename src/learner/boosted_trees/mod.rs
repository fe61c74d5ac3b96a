//! Gradient boosting of regression trees on any registered loss.
//!
//! The method is Friedman's (Greedy function approximation, Annals of Statistics 29, 2001), which section 6 of
//! smoothrank proposes for its surrogates. The method needs only the derivatives of the loss with respect to the
//! scores. Every round computes
//!
//! ```text
//! tree  = fit of the derivatives at the scores f          (see `tree`)
//! f    <- f + learning_rate * step * tree
//! ```
//!
//! The key `steps` chooses how the value of a leaf is computed:
//!
//! - `newton` divides the slope by the second derivative, for losses that have one, such as `rank_net` and
//!   `lambda_ndcg` (LambdaMART). `step = 1`.
//! - `balance`, the default of other losses with a temperature, moves a leaf by up to two spreads of the scores. The
//!   distance depends on how much the slopes of the leaf's documents agree (see `derivatives`). `step = 1`. A smoothed
//!   measure is not convex, so its second derivative does not tell how far to move. The spread of the scores is a
//!   suitable distance for smoothed measures.
//! - `line_search`, the default of the remaining losses, fits the tree to the negative gradient by least squares. The
//!   `step` along the tree is searched in powers of two, starting from the step of the previous round. The step must
//!   decrease the loss by about half of what the slope predicts (see `member`).
//!
//! Some surrogates, such as SmoothNDCG with its softmax indicators, are flat where all scores are equal, which is where
//! boosting starts. For a flat surrogate, the first tree is a regression on the loss's gains, or on `2^y - 1`, and its
//! step is searched. SmoothRank also starts from a regression on gains.
//!
//! The loss decides how the weights of documents act. In the regression of the first tree, document weights multiply
//! the gains.
//!
//! With `anneal`, a parameter of the loss changes over the rounds, like the temperature in SmoothRank. Every round
//! computes the derivatives and the objective with the current value of the parameter.
//!
//! With `seeds`, several sums of trees grow in parallel, each with its own samples. The mean of these sums is measured,
//! selected and saved as one sum of trees. A fit may start from the trees of another fit (`start_from`).
//!
//! A round computes the derivatives, grows the tree in O(documents x features) per level (`histogram`), and passes
//! every validation document through the tree. The fit ends early when no tree lowers the loss, or after `patience`
//! rounds without a better selection measure.

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
