//! Findings of a study.

use std::collections::BTreeMap;

use burn_rank::ranker::Versions;
use serde::{Deserialize, Serialize};

use super::subject::Subject;
use super::verdict::{Judged, Verdict};
use crate::plot::Scale;

/// The record of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyReport {
    /// Name of the study.
    pub study: String,
    /// The purpose of the study, in one line.
    pub summary: String,
    /// The place in the paper that states the claims.
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

/// The tables, curves and claims of a study.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// The subject of the study.
    #[serde(flatten)]
    pub about: About,
    /// The tables; the first one has a row for each value of the study's parameter.
    pub tables: Vec<Table>,
    /// Curves.
    pub curves: Vec<Curves>,
    /// The claims of the paper, each with what the study found.
    pub claims: Vec<Claim>,
}

/// The subject of a study.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The origin of the queries.
    pub subject: String,
    /// The number of queries with something to rank, if the study examines scored queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<usize>,
    /// The number of documents of the examined queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<usize>,
    /// The number of queries with equal scores, which the theorems do not cover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied_queries: Option<usize>,
}

/// Numbers in named rows and columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The title of the table.
    pub title: String,
    /// Names of the columns; the first column holds the row names.
    pub columns: Vec<String>,
    /// The name and the values of each row; `None` if a value is not defined.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// Curves of numbers over the values of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// The title of the plot.
    pub title: String,
    /// The parameter.
    pub parameter: String,
    /// The values of the parameter.
    pub at: Vec<f64>,
    /// The scale of the parameter's axis.
    pub across: Scale,
    /// The scale of the vertical axis.
    pub upward: Scale,
    /// The name and the values of each curve.
    pub curves: Vec<(String, Vec<Option<f64>>)>,
}

/// A claim of the paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The theorem, table or example that states the claim.
    pub source: String,
    /// The claim, in words.
    pub claim: String,
    /// The finding, in words.
    pub found: String,
    /// The verdict on the claim.
    pub verdict: Verdict,
    /// The numbers that the verdict is based on.
    pub numbers: BTreeMap<String, f64>,
}

impl Claim {
    pub(super) fn new(source: impl Into<String>, claim: impl Into<String>, judged: Judged) -> Self {
        let Judged { verdict, found, numbers } = judged;
        Self { source: source.into(), claim: claim.into(), found, verdict, numbers }
    }
}

impl Findings {
    /// Adds the tables, curves and claims of other findings.
    pub(super) fn extend(&mut self, other: Findings) {
        self.tables.extend(other.tables);
        self.curves.extend(other.curves);
        self.claims.extend(other.claims);
    }

    /// Returns the number of claims with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|claim| claim.verdict == verdict).count()
    }
}

impl About {
    /// Describes a subject other than scored queries.
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
}

impl Table {
    /// Creates a table without rows.
    pub(super) fn new<S: Into<String>>(title: impl Into<String>, columns: impl IntoIterator<Item = S>) -> Self {
        Self { title: title.into(), columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row, in which values that are not finite become `None`.
    pub(super) fn row(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) {
        let values = values.into_iter().map(|value| value.filter(|value| value.is_finite())).collect();
        self.rows.push((name.into(), values));
    }
}

impl Curves {
    /// Creates a plot without curves, with both axes logarithmic.
    pub(super) fn new(title: impl Into<String>, parameter: impl Into<String>, at: &[f64]) -> Self {
        let (title, parameter, at) = (title.into(), parameter.into(), at.to_vec());
        Self { title, parameter, at, across: Scale::Log, upward: Scale::Log, curves: Vec::new() }
    }

    /// Makes the axis of the parameter linear.
    pub(super) fn linear_across(mut self) -> Self {
        self.across = Scale::Linear;
        self
    }

    /// Makes the vertical axis linear.
    pub(super) fn linear_upward(mut self) -> Self {
        self.upward = Scale::Linear;
        self
    }

    /// Adds a curve, in which values that are not finite become `None`.
    pub(super) fn curve(mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let values = values.into_iter().map(|value| value.filter(|value| value.is_finite())).collect();
        self.curves.push((name.into(), values));
        self
    }
}
