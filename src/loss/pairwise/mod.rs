//! Pairwise losses, which are sums over pairs of documents.

pub(super) mod adr_mse;
pub(super) mod approx_kendall_tau;
pub(super) mod fidelity;
pub(super) mod lambda_loss;
pub(super) mod lambda_measure;
pub(super) mod lambda_ndcg;
pub(super) mod margin_mse;
pub(super) mod pair_sum;
pub(super) mod pairwise_exponential;
pub(super) mod pairwise_hinge;
pub(super) mod pairwise_squared_hinge;
pub(super) mod rank_net;
mod swap_change;
pub(super) mod yeti_loss;

pub use lambda_loss::LambdaLossWeights;
pub use pair_sum::PairSum;
pub use swap_change::SwapMeasure;
