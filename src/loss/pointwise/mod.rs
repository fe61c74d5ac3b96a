//! Losses that look at each document alone.

pub(super) mod mse_gain;

pub use mse_gain::{MseGain, MseGainConfig};
