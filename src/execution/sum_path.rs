//! `SumPath` determines how fused kernels compute sums over the pairs of a list.

/// The way in which the CPU's fused kernels compute sums over all pairs of a list. Results differ only in the rounding
/// of `f32`. Kernels on GPUs always visit every pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SumPath {
    /// For each list, kernels choose the faster method. The choice depends on the number of documents, and on how many
    /// of them contribute to the sum.
    #[default]
    Auto,
    /// Kernels visit every pair.
    Pairs,
    /// Kernels use a method that takes O(n log n) time, if this sum has such a method for its weights in `f32`.
    Fast,
}

impl SumPath {
    /// Every way to compute sums.
    pub const ALL: &[Self] = &[Self::Auto, Self::Pairs, Self::Fast];

    /// Returns the name of this method on the command line.
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
