//! Gradient boosting of regression trees on any registered loss.
//!
//! The method is Friedman's (Greedy function approximation, Annals of Statistics 29, 2001). Section 6 of
//! [smoothrank](crate::loss#papers) proposes the method for its surrogates. The method needs only the derivatives of
//! the loss with respect to the scores. Every round computes
//!
//! ```text
//! tree  = fit of the derivatives at the scores f          (see `tree`)
//! f    <- f + learning_rate * step * tree
//! ```
//!
//! The key `steps` chooses the method that computes leaf values:
//!
//! - `newton` divides the sum of the first derivatives in a leaf by the sum of the second derivatives. This method
//!   needs a loss with second derivatives, such as `rank_net` or `lambda_ndcg` (LambdaMART). `step = 1`.
//! - `balance`, the default of other losses with a temperature, moves the scores in a leaf by up to two standard
//!   deviations of a query's scores. The distance is greater if the slopes of the leaf's documents agree in sign (see
//!   `derivatives`). `step = 1`. A smoothed measure is not convex, so its second derivative does not tell how far to
//!   move. The standard deviation of the scores is a suitable distance for smoothed measures.
//! - `line_search`, the default of the remaining losses, fits the tree to the negative gradient by least squares. The
//!   `step` along the tree is the step of the previous round times a power of two. This step must decrease the loss by
//!   nearly half of what the slope predicts (see `member`).
//!
//! Boosting starts at equal scores. Some surrogates, such as SmoothNDCG with softmax indicators, have almost no slope
//! there. For these surrogates, the first tree fits the loss's gains by regression, or fits `2^y - 1` if the loss has
//! no gains. A line search finds the step length of this tree. SmoothRank also starts from a regression on gains.
//!
//! Each loss defines how it uses document weights. In the regression of the first tree, document weights multiply the
//! gains.
//!
//! With `anneal`, a parameter of the loss changes over the rounds, as the temperature does in SmoothRank. Every round
//! computes the derivatives and the objective with the current value of the parameter.
//!
//! With `seeds`, several tree ensembles grow side by side, each on its own random samples. The scores of these
//! ensembles are averaged, and the fit saves one ensemble with the averaged scores. A fit may start from the trees of
//! another fit (`starting_from`).
//!
//! With `position`, the loss sees the scores plus the factors of the positions at which training documents were shown.
//! After each tree, every factor takes a Newton step (see `positions`).
//!
//! A round computes the derivatives, grows a tree, and adds the tree's values to the validation scores. Growing a tree
//! takes O(documents x features) per level (`histogram`). The fit ends early when no tree lowers the loss, or after
//! `patience` rounds without a better selection measure.

mod config;
mod fit;
mod histogram;
mod member;
mod objective;
mod positions;
mod split;
mod sums;
#[cfg(test)]
mod tests;
mod tree;

pub use config::{BoostedTreesConfig, Steps};

use config::NAME;

use super::entry::LearnerEntry;

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "gradient boosting of regression trees on any loss; LambdaMART with lambda_ndcg",
    paper: "Friedman, Greedy function approximation: a gradient boosting machine; Chapelle and Wu, Gradient descent \
            optimization of smoothed information retrieval metrics, section 6",
    takes_loss: true,
    takes_document_weights: true,
    takes_teacher: true,
    takes_missing: true,
    takes_positions: true,
    streams: true,
    rounds_key: Some("rounds"),
    ..LearnerEntry::of::<BoostedTreesConfig>(NAME)
};
