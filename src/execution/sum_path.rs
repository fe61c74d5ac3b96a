//! `SumPath`: how the fused kernels of the CPU take sums over the pairs of a list.

/// How the fused kernels of the CPU take sums over all pairs of a list. Results differ by the rounding of `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SumPath {
    /// The way that takes less time, by the list's own number of documents and of those that count.
    #[default]
    Auto,
    /// Every pair is visited.
    Pairs,
    /// In O(n log n), wherever such a way exists: results in `f32`, weights that follow the labels and scores.
    Fast,
}
