//! Pointwise losses, which sum over single documents.

pub(super) mod mse_gain;
