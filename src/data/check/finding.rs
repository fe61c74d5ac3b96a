//! The findings of the checks, and how they name features.

use serde::Serialize;

use crate::data::statistics::Statistics;
use crate::text::plural;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A fault that makes results wrong or training impossible.
    Problem,
    /// A fact that is good to know but is not a fault.
    Note,
}

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A query that also occurs in an earlier set.
    SameQuery,
    /// A document with the same features as a document of an earlier set.
    SameDocument,
    /// A set with more or fewer features than the first set.
    FeatureCount,
    /// A feature that orders the documents almost as their labels do.
    GivesLabelAway,
    /// Documents that are sorted by their labels.
    SortedByLabel,
    /// A label that is not a whole number, or whose gain is too large.
    LabelLevel,
    /// Queries without a relevant document.
    NoRelevant,
    /// Queries whose documents all have the same label.
    OneLabel,
    /// Documents with the same features as another document of their query.
    DuplicateDocument,
    /// A feature with only one value.
    ConstantFeature,
    /// A feature with values above one million in magnitude.
    HugeFeature,
    /// Missing values.
    MissingValue,
    /// A difference between the data and the published set that they resemble.
    Published,
}

/// A problem or a noteworthy fact that the checks found in a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Whether the finding is a problem or a note.
    pub level: Level,
    /// The kind of the finding.
    pub kind: Kind,
    /// The name of the set.
    pub set: String,
    /// The number of queries, documents or features that the finding is about.
    pub count: usize,
    /// The first queries, documents or features that the finding is about, by identifier or number.
    pub examples: Vec<String>,
    /// The finding in words.
    pub message: String,
}

/// The statistics of a set.
#[derive(Debug, Clone, Serialize)]
pub struct SetReport {
    /// The name of the set.
    pub name: String,
    /// Counts of queries, documents, labels and values.
    #[serde(flatten)]
    pub statistics: Statistics,
    /// The smallest and the largest value of each feature.
    pub ranges: Vec<(f32, f32)>,
}

impl SetReport {
    /// Returns the labels that occur, in ascending order.
    pub fn labels(&self) -> impl Iterator<Item = f32> {
        self.statistics.labels.iter().map(|(label, _)| *label)
    }
}

/// The findings for all sets.
#[derive(Debug, Serialize)]
pub struct Report {
    /// A report for each set.
    pub sets: Vec<SetReport>,
    /// The published sets to which the data may belong.
    pub published: Vec<String>,
    /// Problems first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Returns the number of problems.
    pub fn problems(&self) -> usize {
        self.findings.iter().filter(|finding| finding.level == Level::Problem).count()
    }
}

/// Returns ascending feature numbers in words, with neighbors joined: "features 1, 3 to 5 and 9".
pub(super) fn features_in_words(features: &[usize]) -> String {
    /// The largest number of entries (single features or ranges) that a message lists.
    const NAMED: usize = 8;
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &feature in features {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == feature => *last = feature,
            _ => ranges.push((feature, feature)),
        }
    }
    let of_range = |(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    let mut named: Vec<String> = ranges.iter().take(NAMED).map(of_range).collect();
    if ranges.len() > NAMED {
        let rest: usize = ranges[NAMED..].iter().map(|(first, last)| last - first + 1).sum();
        named.push(format!("{rest} more"));
    }
    format!("{} {}", plural(features.len(), "feature"), listed(&named))
}

/// Lists words as in "a, b and c".
pub(super) fn listed(words: &[String]) -> String {
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}
