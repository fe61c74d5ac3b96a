//! Losses that are sums over single documents.

pub(super) mod mse_gain;
