//! Relaxations, which replace the ranks of documents so that a measure has a gradient with respect to the scores.
//!
//! | relaxation | source | in place of the rank |
//! |---|---|---|
//! | [`Exact`] | | the rank itself; no gradient |
//! | [`Approximate`] | approximation-framework, section 4 | `p_x = 1 + sum_{y != x} phi(alpha (s_y - s_x))`; cut-offs and comparisons by sigmoids of steepness `beta` |
//! | [`SigmoidRanks`] | smoothrank, equations 4, 5 and 9 | the same by the logistic step; comparisons by that step between scores |
//! | [`Indicator`] | smoothrank, section 4 | `h_ij` in place of "document i is at rank j" |
//! | [`Expected`] | softrank-directness, section III | ranks of noisy scores, and expectations over them |
//! | [`NeuralSort`] | Grover et al., Stochastic optimization of sorting networks via continuous relaxations; PiRank | rows of NeuralSort's matrix |
//! | [`SoftSort`] | Prillo and Eisenschlos, SoftSort | `softmax_i(-|s_i - s_d(r)| / sigma)` in place of "document i is at rank r" |
//! | [`SmoothIndicators`] | Thonet et al., SmoothI | softmax of scores, less what was found at the ranks above |
//! | [`ProjectedRanks`] | Blondel et al., Fast differentiable sorting and ranking | projection of `-s / sigma` on the orders of the ranks |
//! | [`GumbelNoise`] | Bruch et al., A stochastic treatment of learning to rank scoring functions | any of the others at scores with Gumbel noise, averaged over draws |
//!
//! To write a relaxation, implement [`Relaxation`] and return one of the three variants of [`Relaxed`]. Every
//! relaxation works with every [`PositionMeasure`](super::PositionMeasure) whose operations it defines.

mod approximate;
mod exact;
pub mod expected;
mod gumbel_noise;
mod indicator;
mod neural_sort;
mod projected_ranks;
mod relaxed;
mod sigmoid_ranks;
mod smooth_indicators;
mod soft_sort;

pub use approximate::Approximate;
pub use exact::Exact;
pub use expected::{Expected, RankModel};
pub use gumbel_noise::GumbelNoise;
pub use indicator::Indicator;
pub use neural_sort::NeuralSort;
pub use projected_ranks::ProjectedRanks;
pub use relaxed::{Indicators, PairSteps, Positions, RankExpectations, Relaxation, Relaxed};
pub use sigmoid_ranks::SigmoidRanks;
pub use smooth_indicators::SmoothIndicators;
pub use soft_sort::SoftSort;
