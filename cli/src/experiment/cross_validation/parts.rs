//! Cross-validation in parts: each process leaves its fits in one shared folder, and a final command merges them.

use std::fmt;
use std::str::FromStr;

use burn_rank::refusal::Refusal;

use super::jobs::Pass;
use super::{CrossValidationOptions, PlannedFits};
use crate::experiment::config::{ExperimentConfig, SearchConfig};
use crate::experiment::error::ExperimentError;
use crate::experiment::folder::OutputFolder;
use crate::experiment::record::CrossValidationReport;
use crate::experiment::refit::Chosen;

/// An error message names at most this number of parts.
const NAMED: usize = 8;

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
    fn of_fit(fit: usize, of: usize) -> Self {
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

impl PlannedFits<'_> {
    /// Runs the fits of one part of a cross-validation, each in a separate folder, and skips fits that are already
    /// done. Several processes, on one machine or several, can run their parts in the same folder at the same time.
    /// Returns the number of fits of the part.
    ///
    /// # Errors
    /// Returns the same errors as [`run`](Self::run). Rejects successive halving, because it compares the trials of all
    /// parts between its rungs.
    pub fn run_part(&self, part: Part, options: &CrossValidationOptions) -> Result<usize, ExperimentError> {
        self.config.check_parts()?;
        let numbers: Vec<usize> = (0..self.count()).filter(|&fit| Part::of_fit(fit, part.of()) == part).collect();
        self.run_pass(&Pass::new(&numbers), options)?;
        Ok(numbers.len())
    }

    /// Merges the fits that the parts of a cross-validation left in its folder. The report equals the report of a run
    /// without parts. For the selected fits, keeps the files that the options ask for. Also returns the setting with
    /// the best mean selection measure over all folds and seeds.
    ///
    /// # Errors
    /// Returns [`ExperimentError::Missing`] if a part has not finished all its fits. Also returns any error that
    /// [`run_part`](Self::run_part) can return.
    pub fn merge(
        &self,
        folder: &OutputFolder,
        options: &CrossValidationOptions,
    ) -> Result<(CrossValidationReport, Chosen), ExperimentError> {
        self.config.check_parts()?;
        let made = self.made(folder);
        let missing: Vec<usize> = (0..made.len()).filter(|&fit| made[fit].is_none()).collect();
        if let Some(&first) = missing.first() {
            let (advice, first) = (advice(&missing, folder.parts()), self.job(first).label());
            return Err(ExperimentError::Missing { missing: missing.len(), all: made.len(), first, advice });
        }
        self.end(made.into_iter().flatten().collect(), options)
    }
}

impl ExperimentConfig {
    /// Rejects a run in parts if the search is successive halving, because its fits wait for each other.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for the key `search.kind` if the search is successive halving.
    pub(crate) fn check_parts(&self) -> Result<(), Refusal> {
        let Some(SearchConfig::SuccessiveHalving { .. }) = self.search else { return Ok(()) };
        let expected = "`random` where fits are made in parts: successive halving compares trials between its rungs";
        Err(Refusal::new("search.kind", "`successive_halving`", expected))
    }
}

/// Returns advice on which parts to run again.
fn advice(missing: &[usize], of: Option<usize>) -> String {
    let Some(of) = of else { return "cv --part I/N makes them".to_string() };
    let mut parts: Vec<Part> = missing.iter().map(|&fit| Part::of_fit(fit, of)).collect();
    parts.sort();
    parts.dedup();
    let names: Vec<String> = parts.iter().take(NAMED).map(Part::to_string).collect();
    let more = match parts.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = if parts.len() == 1 { "part" } else { "parts" };
    format!("run {what} {}{more} again", names.join(", "))
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

    #[test]
    fn the_parts_to_run_again_are_named() {
        assert_eq!(advice(&[2, 5], Some(3)), "run part 3/3 again");
        assert_eq!(advice(&[2, 3, 5], Some(3)), "run parts 1/3, 3/3 again");
        let many: Vec<usize> = (0..20).collect();
        let named = "1/12, 2/12, 3/12, 4/12, 5/12, 6/12, 7/12, 8/12";
        assert_eq!(advice(&many, Some(12)), format!("run parts {named} and 4 more again"));
        assert_eq!(advice(&[1], None), "cv --part I/N makes them");
    }
}
