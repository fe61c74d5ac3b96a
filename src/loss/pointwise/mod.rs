//! Losses of each document alone.

pub(super) mod mse_gain;

pub use mse_gain::{MseGain, MseGainConfig};
