//! Losses of pairs of documents.

pub(super) mod approx_kendall_tau;
pub(super) mod fidelity;
pub(super) mod lambda_loss;
pub(super) mod lambda_measure;
pub(super) mod lambda_ndcg;
pub(super) mod pair_sum;
pub(super) mod pairwise_exponential;
pub(super) mod pairwise_hinge;
pub(super) mod pairwise_squared_hinge;
pub(super) mod rank_net;
mod swap_change;
pub(super) mod yeti_loss;

pub use approx_kendall_tau::{ApproxKendallTau, ApproxKendallTauConfig};
pub use fidelity::{Fidelity, FidelityConfig};
pub use lambda_loss::{LambdaLoss, LambdaLossConfig, LambdaLossWeights};
pub use lambda_measure::{LambdaMeasure, LambdaMeasureConfig};
pub use lambda_ndcg::{LambdaNdcg, LambdaNdcgConfig};
pub use pair_sum::PairSum;
pub use pairwise_exponential::{PairwiseExponential, PairwiseExponentialConfig};
pub use pairwise_hinge::{PairwiseHinge, PairwiseHingeConfig};
pub use pairwise_squared_hinge::{PairwiseSquaredHinge, PairwiseSquaredHingeConfig};
pub use rank_net::{RankNet, RankNetConfig};
pub use swap_change::SwapMeasure;
pub use yeti_loss::{YetiLoss, YetiLossConfig};
