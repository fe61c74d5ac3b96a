//! Instruction sets for which the fused CPU kernels are compiled, and ways to compute sums, with their names.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::{did_you_mean, nearest};

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

/// The reason why instructions cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstructionsError {
    /// There is no instruction set of this name.
    #[error("instructions `{found}`: expected one of {}{}", names(Instructions::ALL), did_you_mean(.nearest))]
    Unknown {
        /// The name given.
        found: String,
        /// The instruction set with the most similar name, if any name is similar enough.
        nearest: Option<String>,
    },
    /// This processor lacks the instruction set.
    #[error("instructions `{found}`: this processor does not have them, expected {}", one_of(&Instructions::found()))]
    NotFound {
        /// The set.
        found: Instructions,
    },
}

fn names(sets: &[Instructions]) -> String {
    sets.iter().map(|set| set.name()).collect::<Vec<_>>().join(", ")
}

fn one_of(sets: &[Instructions]) -> String {
    match sets {
        [only] => only.name().to_owned(),
        sets => format!("one of {}", names(sets)),
    }
}

fn find(name: &str) -> Option<Instructions> {
    Instructions::ALL.iter().copied().find(|set| set.name() == name)
}

impl FromStr for Instructions {
    type Err = InstructionsError;

    fn from_str(name: &str) -> Result<Self, InstructionsError> {
        find(name).ok_or_else(|| {
            let nearest = nearest(name, Self::ALL.iter().map(|set| set.name()));
            InstructionsError::Unknown { found: name.to_owned(), nearest }
        })
    }
}

impl Serialize for Instructions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Instructions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const NAMES: &[&str] = &["baseline", "neon", "avx2", "avx512"];
        let name = String::deserialize(deserializer)?;
        find(&name).ok_or_else(|| D::Error::unknown_variant(&name, NAMES))
    }
}

impl Serialize for SumPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
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

    #[test]
    fn sets_are_found_by_their_names() {
        for &set in Instructions::ALL {
            assert_eq!(set.name().parse(), Ok(set));
            let written = serde_json::to_string(&set).unwrap();
            assert_eq!(written, format!("\"{set}\""));
            assert_eq!(serde_json::from_str::<Instructions>(&written).unwrap(), set);
        }
        let message = "avx3".parse::<Instructions>().unwrap_err().to_string();
        assert!(message.starts_with("instructions `avx3`: expected one of baseline, neon, avx2, avx512; did you"));
        let message = serde_json::from_str::<Instructions>("\"sse\"").unwrap_err().to_string();
        let expected = "unknown variant `sse`, expected one of `baseline`, `neon`, `avx2`, `avx512`";
        assert!(message.starts_with(expected), "{message}");
    }
}
