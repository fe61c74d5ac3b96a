//! The findings of a study.

use std::collections::BTreeMap;

use burn_rank::workbench::ranker::Versions;
use serde::{Deserialize, Serialize};

use super::{Judged, RunSubject, Subject, Verdict};
use crate::plot::Scale;

/// A study with its findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyReport {
    /// Name of the study.
    pub study: String,
    /// The subject of the study, in one line.
    pub summary: String,
    /// The paper, with the figures and theorems that the study checked.
    pub paper: String,
    /// Whether the study was quick, with fewer values, epochs and samples.
    #[serde(default)]
    pub quick: bool,
    /// The findings of the study.
    #[serde(flatten)]
    pub findings: Findings,
    /// Versions.
    pub versions: Versions,
}

/// The findings of a study: tables, curves, and verdicts on claims.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// The subject that was examined.
    #[serde(flatten)]
    pub about: About,
    /// The tables; the first has a row for each value of the parameter.
    pub tables: Vec<Table>,
    /// Curves.
    pub curves: Vec<Curves>,
    /// The claims of the paper, with the verdict on each.
    pub claims: Vec<Claim>,
}

/// The subject of a study.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Where the queries come from.
    pub subject: String,
    /// The number of queries with both a relevant and an irrelevant document. It is given only if queries with scores
    /// were examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<usize>,
    /// The number of documents in these queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<usize>,
    /// The number of queries in which two scores are equal; the theorems do not cover them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied_queries: Option<usize>,
}

/// A table of numbers with names for its rows and columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The title of the table.
    pub title: String,
    /// The titles of the columns, beginning with the column of row names.
    pub columns: Vec<String>,
    /// Each row with its name and values; `None` for undefined values.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// A plot of one or more curves over the values of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// The title of the plot.
    pub title: String,
    /// The parameter.
    pub parameter: String,
    /// The values of the parameter, on the horizontal axis.
    pub at: Vec<f64>,
    /// Whether the horizontal axis is linear or logarithmic.
    pub across: Scale,
    /// Whether the vertical axis is linear or logarithmic.
    pub upward: Scale,
    /// Each curve with its name and values; `None` for undefined values.
    pub curves: Vec<(String, Vec<Option<f64>>)>,
}

/// A claim of the paper, with what the study found about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The theorem, table or example that states the claim.
    pub source: String,
    /// The claim, in words.
    pub claim: String,
    /// The finding, in words.
    pub found: String,
    /// Whether the claim holds.
    pub verdict: Verdict,
    /// The numbers on which the verdict is based, keyed by name.
    pub numbers: BTreeMap<String, f64>,
}

impl Claim {
    pub(super) fn new(source: impl Into<String>, claim: impl Into<String>, judged: Judged) -> Self {
        let Judged { verdict, found, numbers } = judged;
        Self { source: source.into(), claim: claim.into(), found, verdict, numbers }
    }
}

impl Findings {
    /// Returns the number of claims with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|claim| claim.verdict == verdict).count()
    }
}

impl About {
    /// Describes a subject that is not a list of queries with scores.
    pub(super) fn text(subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..Self::default() }
    }

    /// Describes scored queries.
    pub(super) fn queries(subject: &Subject) -> Self {
        Self {
            subject: subject.origin.clone(),
            queries: Some(subject.queries.len()),
            documents: Some(subject.documents()),
            tied_queries: Some(subject.queries.iter().filter(|query| query.smallest_difference() == 0.0).count()),
        }
    }

    /// Describes the test queries of runs.
    pub(super) fn runs<'a>(runs: impl IntoIterator<Item = &'a RunSubject>) -> Self {
        let runs: Vec<&RunSubject> = runs.into_iter().collect();
        let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
        let queries = runs.first().map_or_else(Self::default, |run| Self::queries(&run.subject));
        let subject = format!("test queries of all folds: {}", names.join(", "));
        Self { subject, tied_queries: None, ..queries }
    }
}

impl Table {
    /// Creates a table without rows.
    pub(super) fn new<S: Into<String>>(title: impl Into<String>, columns: impl IntoIterator<Item = S>) -> Self {
        Self { title: title.into(), columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds rows, each with its name.
    pub(super) fn with<V: IntoIterator<Item = Option<f64>>>(mut self, rows: impl Iterator<Item = (String, V)>) -> Self {
        rows.for_each(|(name, values)| self.row(name, values));
        self
    }

    /// Adds a row.
    pub(super) fn row(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) {
        self.rows.push((name.into(), finite(values)));
    }
}

/// Values that are not finite are stored as `None`.
fn finite(values: impl IntoIterator<Item = Option<f64>>) -> Vec<Option<f64>> {
    values.into_iter().map(|value| value.filter(|value| value.is_finite())).collect()
}

impl Curves {
    /// Creates a plot without curves. `scales` are the scales of the horizontal and the vertical axis.
    pub(super) fn new(title: impl Into<String>, parameter: &str, at: &[f64], scales: [Scale; 2]) -> Self {
        let ([across, upward], parameter) = (scales, parameter.to_string());
        Self { title: title.into(), parameter, at: at.to_vec(), across, upward, curves: Vec::new() }
    }

    /// Adds a curve.
    pub(super) fn curve(mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        self.curves.push((name.into(), finite(values)));
        self
    }
}
