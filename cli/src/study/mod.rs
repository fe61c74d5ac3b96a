//! Studies check the claims of papers, on generated data or on the user's rankings.
//!
//! A study examines a [`Source`]: generated data, rankings, training data, or finished cross-validations. It returns
//! [`Findings`]: tables, curves, and the claims of a paper. Each claim has a [`Verdict`] and the numbers on which it is
//! based. Even if a claim fails, the study itself succeeds, and reports the failure as a finding.

mod bounds;
mod discounts;
mod entry;
mod errors;
mod findings;
mod measure_accuracy;
mod position_accuracy;
mod positions;
mod smoothness;
mod softrank_directness;
mod source;
mod training;
mod truncation;
mod verdict;

pub(crate) use entry::{Domain, Over, Parameter, StudyEntry};
pub(crate) use findings::{About, Claim, Curves, Findings, StudyReport, Table};
pub(crate) use source::{Material, RunSubject, Runs, ScoredQuery, Source, Subject};
pub(crate) use verdict::Verdict;

// Imports for the studies, which take them with `use super::*`.
use burn::tensor::{DType, Device};
use burn_rank::data::RankingDataset;
use burn_rank::loss::LossSpec;
use burn_rank::measure::{Convention, Measure};
use burn_rank::op::Step;
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::{did_you_mean, nearest};
use chacha20::ChaCha8Rng;
use rand::RngExt;

use entry::Setting;
use positions::{largest_difference, largest_error, positions, theorem_3, theorem_5, theorem_6};
use source::{GENERATED, RANKING, RANKINGS, RUNS, Result, TRAINING, discount, gain, random, relevant};
use training::{Linear, LinearQuery, norm};
use verdict::{Bounded, Judged, Mean, ROUNDING, falls, mean};

use crate::experiment::ExperimentError;
use crate::number::short;
use crate::plot::Scale;

/// Every study.
pub const STUDIES: &[StudyEntry] = &[
    position_accuracy::ENTRY,
    measure_accuracy::ENTRY,
    softrank_directness::ENTRY,
    smoothness::ENTRY,
    truncation::ENTRY,
    discounts::ENTRY,
    bounds::ENTRY,
    errors::ENTRY,
];

/// Returns the study with this name.
///
/// # Errors
/// Returns an error with the most similar name.
pub fn find(name: &str) -> Result<&'static StudyEntry> {
    STUDIES.iter().find(|study| study.name == name).ok_or_else(|| {
        let names: Vec<&str> = STUDIES.iter().map(|study| study.name).collect();
        let near = did_you_mean(&nearest(name, names.iter().copied()));
        ExperimentError::Input(format!("unknown study `{name}`, expected {}{near}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_gives_whole_tables_and_a_record_that_is_read_back() {
        let source = Source::Generated { queries: 12, seed: 1 };
        for study in STUDIES {
            let report = study.run(&source, &[], true, &|_, _, _| ()).unwrap();
            let findings = &report.findings;
            assert!(!findings.claims.is_empty() && !findings.tables.is_empty(), "{}", study.name);
            for table in &findings.tables {
                for (_, values) in &table.rows {
                    assert_eq!(values.len() + 1, table.columns.len(), "{}: {}", study.name, table.title);
                }
            }
            for curves in &findings.curves {
                assert!(curves.curves.iter().all(|(_, values)| values.len() == curves.at.len()), "{}", curves.title);
            }
            let written = serde_json::to_string(&report).unwrap();
            assert_eq!(serde_json::from_str::<StudyReport>(&written).unwrap(), report);
        }
    }

    #[test]
    fn what_cannot_be_studied_is_refused() {
        let subject = Subject::generated(2, 1);
        let study = find("measure-accuracy").unwrap();
        let refused =
            |source: Source, over: &[Over]| study.run(&source, over, true, &|_, _, _| ()).unwrap_err().to_string();
        let over = |name: Option<&str>, values: &[f64]| vec![(name.map(str::to_string), values.to_vec())];
        let given = || Source::Ranking(subject.clone());
        let message = refused(given(), &over(None, &[0.0]));
        assert!(message.starts_with("alpha = 0: expected a finite number above 0"), "{message}");
        assert!(refused(given(), &over(None, &[2.0, 1.0])).starts_with("alpha = 1"));
        let message = refused(given(), &over(Some("betta"), &[1.0]));
        assert!(message.contains("no parameter `betta`") && message.ends_with("did you mean `beta`?"), "{message}");
        let mut endless = subject.clone();
        endless.queries[0].scores[1] = f64::NEG_INFINITY;
        let message = refused(Source::Ranking(endless), &[]);
        assert!(message.ends_with("found the score -inf, expected finite numbers"), "{message}");
        let nothing = Subject { origin: "data".into(), queries: Vec::new() };
        assert!(refused(Source::Ranking(nothing), &[]).starts_with("data: found no query with a relevant"));
        let two = Source::Rankings(subject.clone(), subject.clone());
        assert!(refused(two, &[]).starts_with("measure-accuracy: found two rankings, expected generated data or"));
        let unknown = find("softrank-directnes").unwrap_err().to_string();
        assert!(unknown.ends_with("did you mean `softrank-directness`?"), "{unknown}");
    }
}
