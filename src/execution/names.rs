//! Parses the names of instruction sets and of ways to compute sums.

use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Instructions, SumPath};

/// The reason why instructions cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstructionsError {
    /// There is no instruction set of this name.
    #[error("instructions `{found}`: expected one of {}{}", names(Instructions::ALL), crate::text::did_you_mean(.nearest))]
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
        find(name).ok_or_else(|| InstructionsError::Unknown {
            found: name.to_owned(),
            nearest: crate::text::nearest(name, Instructions::ALL.iter().map(|set| set.name())),
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
