//! Listwise losses that do not combine a measure with a relaxation.

pub(super) mod list_mle;
pub(super) mod list_net;
pub(super) mod neural_ndcg;
pub(super) mod plackett_luce_ndcg;
pub(super) mod softmax_cross_entropy;
pub(super) mod stochastic_rank;
pub(super) mod teacher_kl;
pub(super) mod xe_ndcg;

pub use neural_ndcg::neural_sort;
