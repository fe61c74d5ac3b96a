//! A number of bytes as written in a configuration, such as `"1 GiB"`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(u64);

/// The units, largest first.
const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

impl ByteSize {
    /// Returns a size of `mib` MiB.
    pub const fn mib(mib: u64) -> Self {
        Self(mib << 20)
    }

    /// Returns the number of bytes, limited to the largest `usize`.
    pub fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let digits = text.find(|c: char| !c.is_ascii_digit())?;
            let (number, unit) = (&text[..digits], text[digits..].trim_start());
            let shift = UNITS.iter().find(|(name, _)| *name == unit)?.1;
            let bytes = number.parse::<u64>().ok()?.checked_mul(1 << shift)?;
            (bytes > 0).then_some(Self(bytes))
        };
        let expected = "a whole number above 0 with a unit (B, KiB, MiB, GiB, TiB), as in \"1 GiB\"";
        parsed().ok_or_else(|| format!("found {text:?}, expected {expected}"))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let unit = UNITS.iter().find(|(_, shift)| self.0 >> shift << shift == self.0 && self.0 >> shift > 0);
        let (unit, shift) = unit.copied().unwrap_or(("B", 0));
        write!(formatter, "{} {unit}", self.0 >> shift)
    }
}

impl TryFrom<String> for ByteSize {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ByteSize> for String {
    fn from(size: ByteSize) -> Self {
        size.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_back_as_they_are_written() {
        for text in ["1 GiB", "512 MiB", "3 KiB", "1500 B", "2 TiB"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
        assert_eq!("1GiB".parse::<ByteSize>().unwrap().bytes(), 1 << 30);
        assert_eq!("1024 MiB".parse::<ByteSize>().unwrap().to_string(), "1 GiB");
        for text in ["", "1", "0 MiB", "1 GB", "-1 MiB", "1.5 GiB", "99999999999 TiB"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }
}
