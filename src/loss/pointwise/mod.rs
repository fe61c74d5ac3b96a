//! Pointwise losses, which are sums over single documents.

pub(super) mod binary_cross_entropy;
pub(super) mod mse_gain;
pub(super) mod teacher_mse;
