//! Instruction sets for which the fused CPU kernels are compiled.

use std::fmt;

/// An instruction set for which the fused CPU kernels are compiled.
///
/// Rust never reorders or fuses floating-point operations, so kernels differ only in whether a multiply-add is rounded
/// once or twice. Kernels for [`Neon`](Self::Neon), [`Avx2`](Self::Avx2) and [`Avx512`](Self::Avx512) round a
/// multiply-add once; kernels for [`Baseline`](Self::Baseline) round it twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Instructions {
    /// The instruction set for which the whole crate is compiled, without fused multiply-adds; every processor supports
    /// it.
    Baseline,
    /// NEON with fused multiply-add, which every 64-bit ARM processor supports.
    Neon,
    /// AVX2 with fused multiply-add (x86-64).
    Avx2,
    /// AVX-512 F, BW, DQ and VL, with AVX2 and fused multiply-add (x86-64).
    Avx512,
}

impl Instructions {
    /// Every instruction set, with the best one last.
    pub const ALL: &[Self] = &[Self::Baseline, Self::Neon, Self::Avx2, Self::Avx512];

    /// Returns the name of the set, as used on the command line, in configuration files and in `run.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Returns a one-line description.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Baseline => "every processor, no fused multiply-add",
            Self::Neon => "64-bit ARM, fused multiply-add",
            Self::Avx2 => "x86-64 with AVX2 and FMA",
            Self::Avx512 => "x86-64 with AVX-512 F, BW, DQ, VL and FMA",
        }
    }

    /// Returns whether this processor supports the set.
    pub fn is_found(self) -> bool {
        match self {
            Self::Baseline => true,
            Self::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_found()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// Returns the sets that this processor supports, with the best one last.
    pub fn found() -> Vec<Self> {
        Self::ALL.iter().copied().filter(|set| set.is_found()).collect()
    }

    /// Returns the best set that this processor supports. Kernels use the best set unless an
    /// [`Execution`](super::Execution) chooses another one.
    pub fn best() -> Self {
        Target::best().instructions
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// The settings of an execution that kernels need: an instruction set that the processor supports, and the way to
/// compute sums. Both constructors check the processor, so code compiled for the instruction set of a `Target` is safe
/// to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    instructions: Instructions,
    sums: SumPath,
}

impl Target {
    pub(crate) fn new(set: Instructions) -> Option<Self> {
        set.is_found().then_some(Self { instructions: set, sums: SumPath::Auto })
    }

    pub(crate) fn best() -> Self {
        let baseline = Self { instructions: Instructions::Baseline, sums: SumPath::Auto };
        Instructions::ALL.iter().rev().find_map(|&set| Self::new(set)).unwrap_or(baseline)
    }

    pub(crate) fn with_sums(self, sums: SumPath) -> Self {
        Self { sums, ..self }
    }

    #[inline]
    pub(crate) fn instructions(self) -> Instructions {
        self.instructions
    }

    pub(crate) fn sums(self) -> SumPath {
        self.sums
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_set_is_found_and_no_better_one() {
        let found = Instructions::found();
        assert_eq!(found.first(), Some(&Instructions::Baseline));
        assert_eq!(found.last(), Some(&Instructions::best()));
        for &set in Instructions::ALL {
            assert_eq!(Target::new(set).is_some(), found.contains(&set), "{set}");
        }
    }
}
