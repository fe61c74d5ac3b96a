//! Exact measures of a ranked list, and the conventions that give them a meaning. No burn below this point.

mod convention;

pub use convention::{Convention, Discount, EmptyQuery, Gain, Ties};

/// A measure of one ranked list, with its cut-off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// Normalised discounted cumulative gain, over the first `k` documents if given.
    Ndcg(Option<usize>),
    /// Average precision.
    Ap(Option<usize>),
}
