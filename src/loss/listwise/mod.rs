//! Losses of a whole list that are not a measure seen through a relaxation.

pub(super) mod list_mle;
pub(super) mod list_net;
pub(super) mod neural_ndcg;
pub(super) mod plackett_luce_ndcg;
pub(super) mod softmax_cross_entropy;
pub(super) mod stochastic_rank;
pub(super) mod xe_ndcg;

pub use list_mle::{ListMle, ListMleConfig};
pub use list_net::{ListNet, ListNetConfig};
pub use neural_ndcg::{NeuralNdcg, NeuralNdcgConfig, neural_sort};
pub use plackett_luce_ndcg::{PlackettLuceNdcg, PlackettLuceNdcgConfig};
pub use softmax_cross_entropy::{SoftmaxCrossEntropy, SoftmaxCrossEntropyConfig};
pub use stochastic_rank::{StochasticRank, StochasticRankConfig};
pub use xe_ndcg::{XeNdcg, XeNdcgConfig};
