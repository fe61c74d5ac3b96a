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
use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::data::RankingDataset;
use burn_rank::loss::{Lists, LossSpec};
use burn_rank::measure::{Convention, Measure};
use burn_rank::op::Step;
use burn_rank::seed::seed_for;
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::{did_you_mean, nearest};
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use entry::{Result, Setting};
use source::{GENERATED, RANKING, RANKINGS, RUNS, TRAINING, discount, gain, relevant};
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

/// Returns the random number generator for a purpose and a number.
fn random(seed: u64, purpose: &str, number: usize) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed_for(seed, purpose, number as u64))
}

/// Returns the approximate position and the exact rank of each document.
fn positions(scores: &[f64], alpha: f64, step: Step) -> (Vec<f64>, Vec<f64>) {
    let device = Device::flex();
    let shape = [1, scores.len()];
    let tensor = Tensor::<2>::from_data(TensorData::new(scores.to_vec(), shape), (&device, DType::F64));
    let mask = Tensor::<2>::ones(shape, &device).greater_elem(0.0);
    let lists = Lists::padded(tensor.clone(), tensor.zeros_like(), mask);
    let values = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect();
    (values(lists.approximate_positions(alpha, step)), values(lists.ranks()))
}

/// Returns `epsilon` of Corollary 4: the largest difference between a document's position and its rank, with the
/// logistic step.
fn largest_error(scores: &[f64], alpha: f64) -> f64 {
    let (approximate, ranks) = positions(scores, alpha, Step::Logistic);
    largest_difference(&approximate, &ranks)
}

/// Returns the largest difference of corresponding values.
fn largest_difference(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f64::max)
}

/// Returns the bound of Theorem 3 and Corollary 4 on the difference between a position and a rank. The bound is `None`
/// for equal scores, which the theorems do not cover.
fn theorem_3(documents: usize, alpha: f64, delta: f64) -> Option<f64> {
    (delta > 0.0).then(|| (documents - 1) as f64 / ((alpha * delta).exp() + 1.0))
}

/// Returns the bound of Theorem 5 on the error of ApproxAP, for a query with `relevant` relevant documents. Returns
/// `None` if the theorem does not apply.
fn theorem_5(relevant: usize, epsilon: f64, beta: f64) -> Option<f64> {
    let sum = |term: &dyn Fn(f64) -> f64| (1..=relevant).map(|i| term(i as f64)).sum::<f64>();
    (epsilon < 0.5).then(|| {
        sum(&|i| 1.0 / (i - epsilon)) / (1.0 + (beta * (1.0 - 2.0 * epsilon)).exp())
            + 2.0 * epsilon * sum(&|i| 1.0 / (i * (i - epsilon)))
    })
}

/// Returns the bound of Theorem 6 on the error of ApproxNDCG.
fn theorem_6(epsilon: f64) -> f64 {
    epsilon / (2.0 * std::f64::consts::LN_2)
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

    /// Compares positions with their definition, a sum of steps over the other documents.
    #[test]
    fn positions_are_sums_of_steps() {
        let scores = [0.3, -0.2, 0.9, 0.1];
        let (found, ranks) = positions(&scores, 3.0, Step::Logistic);
        assert_eq!(ranks, [2.0, 4.0, 1.0, 3.0]);
        for (x, position) in found.iter().enumerate() {
            let others = (0..4).filter(|y| *y != x).map(|y| 1.0 / (1.0 + (3.0 * (scores[x] - scores[y])).exp()));
            assert!((position - 1.0 - others.sum::<f64>()).abs() < 1e-12);
        }
    }
}
