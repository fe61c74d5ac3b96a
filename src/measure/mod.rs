//! Exact measures of a ranked list, and the conventions that give them a meaning. No burn below this point.

mod convention;

pub use convention::{Discount, Gain};
