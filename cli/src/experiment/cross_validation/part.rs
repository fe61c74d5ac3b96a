//! The division of a cross-validation into parts, which independent processes run.

use std::fmt;
use std::str::FromStr;

use burn_rank::refusal::Refusal;

/// One of several processes that share the fits of a cross-validation. With `of` parts, part `number` runs every
/// `of`-th fit, starting with fit `number`. Fits are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    number: usize,
    of: usize,
}

impl Part {
    /// Returns part `number` out of `of` parts. Parts are counted from 1.
    ///
    /// # Errors
    /// Returns a [`Refusal`] if the number is 0 or above `of`.
    pub fn new(number: usize, of: usize) -> Result<Self, Refusal> {
        if (1..=of).contains(&number) { Ok(Self { number, of }) } else { Err(refused(format!("{number}/{of}"))) }
    }

    /// Returns the part that runs a fit when there are `of` parts. Fits are counted from 0.
    pub(super) fn of_fit(fit: usize, of: usize) -> Self {
        Self { number: fit % of + 1, of }
    }

    /// Returns the number of parts.
    pub(crate) fn of(self) -> usize {
        self.of
    }
}

impl FromStr for Part {
    type Err = Refusal;

    /// Reads `I/N`, such as `3/16`.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let (number, of) = numbers.ok_or_else(|| refused(text))?;
        Self::new(number, of)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

fn refused(found: impl fmt::Display) -> Refusal {
    Refusal::new("part", format!("`{found}`"), "I/N, with I from 1 to N, as in 3/16")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fit_falls_to_one_part() {
        let parts: Vec<Part> = (1..=3).map(|number| Part::new(number, 3).unwrap()).collect();
        let fits = |part: &Part| (0..8).filter(|&fit| Part::of_fit(fit, 3) == *part).collect::<Vec<_>>();
        assert_eq!(parts.iter().map(fits).collect::<Vec<_>>(), [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5]]);
    }

    #[test]
    fn a_part_is_read_as_it_is_written() {
        let part: Part = "3/16".parse().unwrap();
        assert_eq!((part, part.to_string()), (Part::new(3, 16).unwrap(), "3/16".to_string()));
        for text in ["0/3", "4/3", "0/0", "x", "", "1", "1/", "-1/3", "1/3/5"] {
            let message = text.parse::<Part>().unwrap_err().to_string();
            assert_eq!(message, format!("part = `{text}`: expected I/N, with I from 1 to N, as in 3/16"));
        }
    }
}
