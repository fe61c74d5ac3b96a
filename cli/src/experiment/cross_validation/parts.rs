//! Cross-validation in parts: each process leaves its fits in one shared folder, and a final command merges them.

use burn_rank::refusal::Refusal;

use super::PlannedFits;
use super::jobs::Pass;
use super::keeping::keep;
use super::options::CrossValidationOptions;
use super::part::Part;
use super::summary::summarize;
use crate::experiment::config::{ExperimentConfig, SearchConfig};
use crate::experiment::error::ExperimentError;
use crate::experiment::folder::OutputFolder;
use crate::experiment::record::CrossValidationReport;
use crate::experiment::refit::Chosen;

/// An error message names at most this number of parts.
const NAMED: usize = 8;

/// The number of finished fits of one part of a cross-validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartDone {
    /// The number of fits of the part.
    pub fits: usize,
    /// The number of fits of all parts.
    pub all: usize,
}

impl PlannedFits<'_> {
    /// Runs the fits of one part of a cross-validation, each in a separate folder, and skips fits that are already done.
    /// Several processes, on one machine or several, can run their parts in the same folder at the same time.
    ///
    /// # Errors
    /// Returns the same errors as [`run`](Self::run). Rejects successive halving, because it compares the trials of all
    /// parts between its rungs.
    pub fn run_part(&self, part: Part, options: &CrossValidationOptions) -> Result<PartDone, ExperimentError> {
        self.config.check_parts()?;
        self.with_jobs(|jobs| {
            let numbers: Vec<usize> = (0..jobs.count()).filter(|&fit| Part::of_fit(fit, part.of()) == part).collect();
            let all = numbers.len();
            jobs.run(
                &Pass { numbers: &numbers, rounds: None, finished_count: true, resume: true, before: 0, all },
                options,
            )?;
            Ok(PartDone { fits: all, all: jobs.count() })
        })
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
        self.with_jobs(|jobs| {
            let made = jobs.made(folder);
            let missing: Vec<usize> = (0..made.len()).filter(|&fit| made[fit].is_none()).collect();
            if let Some(&first) = missing.first() {
                let advice = advice(&missing, folder.parts());
                let (missing, all) = (missing.len(), made.len());
                return Err(ExperimentError::Missing { missing, all, first: jobs.label(first), advice });
            }
            let mut results: Vec<_> = made.into_iter().flatten().collect();
            keep(self.config, jobs, &mut results, options)?;
            Ok((summarize(self.config, jobs, &results)?, jobs.best_of_all(&results)))
        })
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
    use super::advice;

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
