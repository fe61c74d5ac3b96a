//! RankBoost minimizes the exponential loss over pairs by adding weak rankers, each of which compares a single feature
//! with a threshold.
//!
//! The algorithm comes from Freund, Iyer, Schapire and Singer, "An efficient boosting algorithm for combining
//! preferences", JMLR 4 (2003). The loss of RankBoost is a mean over the pairs of documents `i, j` of one query with
//! `y_j < y_i`:
//!
//! ```text
//! loss(H) = mean over pairs of exp(H_j - H_i),    D(j, i) = exp(H_j - H_i) / sum of all
//! ```
//!
//! A weak ranker is `h(x) = 1[x_f > theta]`. The potential of a document is `pi_i = sum_j D(j, i) - sum_j D(i, j)`: the
//! weights of the pairs that `i` should win, minus the weights of the pairs that `i` should lose. The edge of a weak
//! ranker is `r = sum_i pi_i h(x_i)`. Pairs are never formed. Computing all potentials costs O(documents x labels), and
//! finding the best weak ranker costs O(documents x features). Each round adds `alpha h`, where `h` has the largest
//! `|r|` and `alpha = 1/2 ln((1 + r) / (1 - r))`. If `r` is negative, so is `alpha`. A round multiplies the loss by at
//! most `sqrt(1 - r^2)`, so the loss never grows. Sums of exponentials are stored relative to their largest term. The
//! loss and the potentials therefore stay finite however large the scores become.
//!
//! If several weak rankers have equal edges, the one with the lowest feature number is chosen. If they also share the
//! feature, the one with the lowest threshold is chosen. The fit ends when every edge is 0, or when one weak ranker
//! orders every pair correctly. A weak ranker that orders every pair correctly gets the largest possible weight
//! `alpha`, about 14. The model is a sum of trees with a single split each.

mod config;
mod fit;
mod potentials;
#[cfg(test)]
mod tests;

pub use config::{RankBoost, RankBoostConfig};

use config::NAME;

use super::entry::LearnerEntry;

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "boosting of feature thresholds on the exponential loss of pairs",
    paper: "Freund, Iyer, Schapire and Singer, An efficient boosting algorithm for combining preferences; the baseline \
            of Xu et al., Direct optimization of evaluation measures in learning to rank, section 6",
    rounds_key: Some("rounds"),
    ..LearnerEntry::of::<RankBoostConfig>(NAME)
};
