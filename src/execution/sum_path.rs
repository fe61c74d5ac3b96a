//! `SumPath`: how fused kernels compute sums over the pairs of a list.

/// How fused kernels compute sums over all pairs of a list, on the CPU and on GPUs. Results differ by the rounding of
/// `f32`.
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

impl SumPath {
    /// Every way.
    pub const ALL: &[Self] = &[Self::Auto, Self::Pairs, Self::Fast];

    /// Returns the name of the way on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pairs => "pairs",
            Self::Fast => "fast",
        }
    }

    /// Returns a one-line description.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Auto => "the way that takes less time, list by list",
            Self::Pairs => "every pair is visited",
            Self::Fast => "in O(n log n), wherever such a way exists",
        }
    }
}
