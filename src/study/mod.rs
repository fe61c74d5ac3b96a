//! Studies: checks, on a ranking at hand, of what the papers prove about their surrogates.
//!
//! A study examines scored queries, its [`Subject`], at several values of its parameter. It gives [`Findings`]: tables,
//! curves of the errors, and the claims of the paper with what was found. A claim that does not hold is a finding, not
//! an error.

mod findings;
mod measure_accuracy;
mod position_accuracy;
mod softrank_directness;
mod subject;

pub use findings::{Claim, Curves, Findings, StudyReport, Table};
pub use subject::{ScoredQuery, Subject};

use crate::loss::LossError;
use crate::measure::MeasureError;
use crate::refusal::Refusal;
use crate::text::{did_you_mean, nearest};

/// One study.
#[derive(Debug, Clone, Copy)]
pub struct StudyEntry {
    /// Name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub summary: &'static str,
    /// Where the paper states it.
    pub paper: &'static str,
    /// The parameter that it varies.
    pub parameter: &'static str,
    /// Values of the parameter, unless others are given.
    pub values: &'static [f64],
    run: fn(&Subject, &[f64]) -> Result<Findings, StudyError>,
}

/// Every study.
pub const STUDIES: &[StudyEntry] = &[position_accuracy::ENTRY, measure_accuracy::ENTRY, softrank_directness::ENTRY];

/// Reasons why a study cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A study that does not exist.
    #[error("unknown study `{found}`, expected {known}{}", did_you_mean(.nearest))]
    Unknown {
        /// The name given.
        found: String,
        /// All names.
        known: String,
        /// The nearest name, if one is near.
        nearest: Option<String>,
    },
    /// A value of the parameter that the study cannot use.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A score that is not finite.
    #[error("{origin}: found the score {found}, expected finite numbers")]
    Score {
        /// Where the queries come from.
        origin: String,
        /// The score.
        found: f64,
    },
    /// Scored queries of which none has a relevant and an irrelevant document.
    #[error("{origin}: found no query with a relevant and an irrelevant document, expected one or more")]
    NothingToRank {
        /// Where the queries come from.
        origin: String,
    },
    /// A loss that cannot be computed.
    #[error(transparent)]
    Loss(#[from] LossError),
    /// A measure that cannot be computed.
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

/// Returns the study of this name.
///
/// # Errors
/// [`StudyError::Unknown`] with the nearest name.
pub fn find(name: &str) -> Result<&'static StudyEntry, StudyError> {
    STUDIES.iter().find(|study| study.name == name).ok_or_else(|| {
        let names: Vec<&str> = STUDIES.iter().map(|study| study.name).collect();
        StudyError::Unknown {
            found: name.to_string(),
            known: names.join(", "),
            nearest: nearest(name, names.iter().copied()),
        }
    })
}

impl StudyEntry {
    /// Makes the study at `values` of its parameter, or at its own values if none are given.
    ///
    /// # Errors
    /// Values that are not finite, above 0 and ascending; a subject with nothing to rank, or with scores that are not
    /// finite.
    pub fn run(&self, subject: &Subject, values: &[f64]) -> Result<StudyReport, StudyError> {
        let values = if values.is_empty() { self.values } else { values };
        let beyond = values.iter().find(|value| !(value.is_finite() && **value > 0.0));
        let not_after = || values.windows(2).find(|two| two[0] >= two[1]).map(|two| &two[1]);
        if let Some(found) = beyond.or_else(not_after) {
            let expected = "a finite number above 0, each once and in ascending order";
            return Err(Refusal::new(self.parameter, found, expected).into());
        }
        if subject.queries.is_empty() {
            return Err(StudyError::NothingToRank { origin: subject.origin.clone() });
        }
        let mut scores = subject.queries.iter().flat_map(|query| &query.scores);
        if let Some(&found) = scores.find(|score| !score.is_finite()) {
            return Err(StudyError::Score { origin: subject.origin.clone(), found });
        }
        Ok(StudyReport::new(self, subject, (self.run)(subject, values)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_theorem_holds_on_generated_queries() {
        let subject = Subject::generated(30, 1);
        for study in STUDIES {
            let report = study.run(&subject, &[]).unwrap();
            let findings = &report.findings;
            assert!(!findings.claims.is_empty() && !findings.tables.is_empty(), "{}", study.name);
            // What a figure shows on the paper's data is not a theorem.
            for claim in findings.claims.iter().filter(|claim| claim.source.starts_with("Theorem")) {
                assert_eq!(claim.holds, Some(true), "{}: {claim:?}", study.name);
            }
            for table in &findings.tables {
                for (_, values) in &table.rows {
                    assert_eq!(values.len() + 1, table.columns.len(), "{}: {}", study.name, table.title);
                }
            }
            let written = serde_json::to_string(&report).unwrap();
            assert_eq!(serde_json::from_str::<StudyReport>(&written).unwrap(), report);
        }
    }

    #[test]
    fn what_cannot_be_studied_is_refused() {
        let message = |found: Result<StudyReport, StudyError>| found.unwrap_err().to_string();
        let subject = Subject::generated(2, 1);
        let study = find("measure-accuracy").unwrap();
        assert!(message(study.run(&subject, &[0.0])).starts_with("alpha = 0: expected a finite number above 0"));
        assert!(message(study.run(&subject, &[2.0, 1.0])).starts_with("alpha = 1"));
        let mut endless = subject.clone();
        endless.queries[0].scores[1] = f64::NEG_INFINITY;
        assert!(message(study.run(&endless, &[])).ends_with("found the score -inf, expected finite numbers"));
        let nothing = Subject { origin: "data".into(), queries: Vec::new() };
        assert!(message(study.run(&nothing, &[])).starts_with("data: found no query with a relevant"));
        let unknown = find("softrank-directnes").unwrap_err().to_string();
        assert!(unknown.ends_with("did you mean `softrank-directness`?"), "{unknown}");
    }
}
