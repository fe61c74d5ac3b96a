//! AdaRank boosts a measure directly: it minimizes `sum_q exp(-E(f, q))`, an upper bound on `sum_q (1 - E(f, q))`.
//!
//! Section 5.1 and Figure 6 of [direct-optimization](crate::loss#papers) describe the algorithm. `E(f, q)` in `[0, 1]`
//! is the value of the measure on query `q`:
//!
//! ```text
//! P_1(q) = 1/m
//! round t:  h_t     = weak ranker for P_t              phi_t = sum_q P_t(q) E(h_t, q)
//!           alpha_t = 1/2 ln((1 + phi_t) / (1 - phi_t))
//!           f_t     = f_(t-1) + alpha_t h_t            P_(t+1)(q) ~ exp(-E(f_t, q))
//! ```
//!
//! Theorem 4 bounds the mean measure on the training data from below:
//! `mean_q E(f_T, q) >= 1 - prod_t exp(-delta_t) sqrt(1 - phi_t^2)`. In this bound,
//! `delta_t = min_q (E(f_t, q) - E(f_(t-1), q) - alpha_t E(h_t, q))` and `E(f_0, q) = 0`. Every round reports the right
//! side of this inequality under the name `bound`. Weak rankers are single features. With a section `[loss]` or
//! `[scorer]`, weak rankers are burn scorers, trained with any surrogate loss.
//!
//! The paper leaves some details open, which this implementation settles as follows:
//! - Among equally good weak rankers, the first feature is chosen, and its descending order is preferred to its
//!   ascending order.
//! - With `reuse = false`, a feature can be chosen only once, and the fit ends when no feature is left.
//! - A weak ranker with `phi = 1` would have an infinite weight. Therefore, `phi` is capped just below 1, and the fit
//!   ends.
//! - Queries that the convention leaves out have no weight.
//!
//! `E(feature, query)` is computed once, in parallel. Each round then costs O(queries x features) to choose a feature,
//! and one evaluation of the measure for `f_t`. AdaRank as published settles on one or two features, because `exp(-E)`
//! hardly changes `P`. This implementation does the same.

mod config;
mod feature;
mod fit;
mod scorer;
#[cfg(test)]
mod tests;
mod weak;

pub use config::{AdaRank, AdaRankConfig, Directions, Emphasis};
pub use fit::BOUND;

use config::NAME;

use super::entry::LearnerEntry;

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "boosting of any measure in [0, 1]; weak rankers are single features, or scorers trained by a loss",
    paper: "Xu, Li, Liu, Peng, Lu and Ma, Direct optimization of evaluation measures in learning to rank, section 5.1 \
            and Figure 6",
    takes_loss: true,
    takes_scorer: true,
    rounds_key: Some("rounds"),
    ..LearnerEntry::of::<AdaRankConfig>(NAME)
};
