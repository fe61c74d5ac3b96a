//! Findings of a study.

use serde::{Deserialize, Serialize};

use super::{StudyEntry, Subject};
use crate::measure::mean_of;
use crate::ranker::Versions;

/// The record of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyReport {
    /// Name of the study.
    pub study: String,
    /// What it shows.
    pub summary: String,
    /// Where the paper states it.
    pub paper: String,
    /// Where the scored queries come from.
    pub subject: String,
    /// Queries with something to rank.
    pub queries: usize,
    /// Their documents.
    pub documents: usize,
    /// Queries with equal scores, about which the theorems say nothing.
    pub tied_queries: usize,
    /// What was found.
    #[serde(flatten)]
    pub findings: Findings,
    /// Versions.
    pub versions: Versions,
}

/// Tables, curves and claims.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Tables; the first has one row for each value of the study's parameter.
    pub tables: Vec<Table>,
    /// Curves over the parameter.
    pub curves: Vec<Curves>,
    /// What the paper claims, and whether it holds here.
    pub claims: Vec<Claim>,
}

/// Figures by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What is shown.
    pub title: String,
    /// Names of the columns; the first is that of the row names.
    pub columns: Vec<String>,
    /// Name and values of each row; `None` for a value that is not defined.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// Positive figures over the values of a parameter, for a logarithmic axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// What is shown.
    pub title: String,
    /// The parameter.
    pub parameter: String,
    /// Its values.
    pub at: Vec<f64>,
    /// Name and figures of each curve.
    pub curves: Vec<(String, Vec<Option<f64>>)>,
}

/// A claim of the paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The theorem, table or example.
    pub source: String,
    /// What is claimed.
    pub claim: String,
    /// What was found.
    pub found: String,
    /// Whether the finding agrees with the claim; `None` if the queries at hand decide nothing.
    pub holds: Option<bool>,
}

impl Claim {
    /// Returns `holds`, `fails`, or `open` if the queries at hand decide nothing.
    pub fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "holds",
            Some(false) => "fails",
            None => "open",
        }
    }
}

impl StudyReport {
    pub(super) fn new(study: &StudyEntry, subject: &Subject, findings: Findings) -> Self {
        Self {
            study: study.name.to_string(),
            summary: study.summary.to_string(),
            paper: study.paper.to_string(),
            subject: subject.origin.clone(),
            queries: subject.queries.len(),
            documents: subject.documents(),
            tied_queries: subject.queries.iter().filter(|query| query.smallest_difference() == 0.0).count(),
            findings,
            versions: Versions::current(),
        }
    }
}

/// Errors beside their bounds, gathered over queries.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounded {
    errors: Vec<f64>,
    /// The largest error as a share of its bound.
    closest: f64,
    violations: usize,
    bounded: usize,
}

/// Tolerance for rounding errors in sums.
const ROUNDING: f64 = 1e-9;

impl Bounded {
    /// Adds an error and, where the theorem says something, its bound.
    pub(super) fn add(&mut self, error: f64, bound: Option<f64>) {
        self.errors.push(error);
        if let Some(bound) = bound {
            self.bounded += 1;
            self.closest = self.closest.max(error / bound.max(ROUNDING));
            // An error that is not a number is not within its bound.
            self.violations += usize::from(error.is_nan() || error > bound + ROUNDING);
        }
    }

    /// Returns the mean error, `rho` in the papers.
    pub(super) fn mean(&self) -> Option<f64> {
        mean_of(self.errors.iter().copied())
    }

    /// Returns the largest error.
    pub(super) fn largest(&self) -> Option<f64> {
        self.errors.iter().copied().reduce(f64::max)
    }

    /// Returns how many errors have a bound.
    pub(super) fn bounded(&self) -> usize {
        self.bounded
    }

    /// Builds the claim that no error is above its bound, over all values of the parameter.
    pub(super) fn claim(of: &[Bounded], source: &str, claim: &str, what: &str) -> Claim {
        let sum = |part: fn(&Bounded) -> usize| of.iter().map(part).sum::<usize>();
        let (violations, bounded) = (sum(|of| of.violations), sum(|of| of.bounded));
        let closest = of.iter().map(|of| of.closest).fold(0.0, f64::max);
        let found = match bounded {
            0 => format!("there are no {what} here"),
            _ => format!("above the bound in {violations} of {bounded} {what}; at most {:.2} % of it", 100.0 * closest),
        };
        let holds = (bounded > 0).then_some(violations == 0);
        Claim { source: source.to_string(), claim: claim.to_string(), found, holds }
    }
}

/// Builds the claim that a figure does not rise from one value of the parameter to the next.
pub(super) fn falls(figures: &[Option<f64>], source: &str, claim: &str) -> Claim {
    let known: Vec<f64> = figures.iter().copied().flatten().collect();
    let holds = (known.len() > 1).then(|| known.windows(2).all(|two| two[1] <= two[0] + ROUNDING));
    let found = known.iter().map(|figure| format!("{figure:.3e}")).collect::<Vec<_>>().join(" ");
    Claim { source: source.to_string(), claim: claim.to_string(), found, holds }
}
