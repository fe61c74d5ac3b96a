//! Pointwise losses, which are sums over single documents.

pub(super) mod mse_gain;
