//! A comparison of systems: its measures and paired tests, and the tables that the command and the page share.

mod latex;
mod moved;
mod page;
mod verdict;

use burn_rank::measure::mean;
use burn_rank::measure::significance::{Comparison, ComparisonConfig};

use super::*;

pub(crate) use latex::{labels, latex_table, letter};
pub(crate) use page::{forest_svg, page};
pub(crate) use verdict::Verdict;

/// If there are more pairs of systems than this, only the pairs with the first system are shown query by query.
const PAIRS: usize = 6;

/// The results of comparing systems that were measured on the same queries.
#[derive(Debug, Clone)]
pub(crate) struct ComparisonReport {
    /// The convention by which all measures are computed.
    pub(crate) convention: Convention,
    /// Number of queries.
    pub(crate) queries: usize,
    /// The number of queries without a relevant document.
    pub(crate) empty_queries: usize,
    /// Name of each system.
    pub(crate) systems: Vec<String>,
    /// Identifier of each query.
    pub(crate) query_ids: Vec<String>,
    /// The number of queries in each fold, for systems that were tested on folds.
    pub(crate) folds: Vec<usize>,
    /// The set of queries that also chose the runs, `training` or `validation`; otherwise empty.
    pub(crate) set: &'static str,
    /// The measures; the first measure decides which queries are shown.
    pub(crate) measures: Vec<ComparedMeasure>,
    /// The settings of the statistical tests.
    pub(crate) config: ComparisonConfig,
}

/// The values of one measure for all systems.
#[derive(Debug, Clone)]
pub(crate) struct ComparedMeasure {
    /// The measure.
    pub(crate) measure: Measure,
    /// The values as `[system][query]`; `None` for queries that the convention excludes.
    pub(crate) values: Vec<Vec<Option<f64>>>,
    /// The test results for every pair of systems; empty until the tests are made.
    pub(crate) pairs: Vec<Comparison>,
}

/// A document with its label and the score from one system.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScoredDocument {
    /// The identifier of the document.
    pub(crate) document: String,
    /// The label of the document.
    pub(crate) label: f32,
    /// The score of the document, or -inf if the document was not retrieved.
    pub(crate) score: f32,
}

/// Returns a query's documents with the scores from a system, or `None` if they are unknown. The arguments are the
/// query and the system, both counted from 0.
pub(crate) type Rankings<'a> = dyn Fn(usize, usize) -> Option<Vec<ScoredDocument>> + 'a;

impl ComparedMeasure {
    /// Returns the mean of each system over the queries.
    pub(crate) fn means(&self) -> Vec<Option<f64>> {
        self.values.iter().map(|values| mean(values)).collect()
    }

    /// Returns the mean of each system over the means of the folds, as `cv` prints it. `folds` has the number of
    /// queries in each fold.
    pub(crate) fn fold_means(&self, folds: &[usize]) -> Vec<Option<f64>> {
        let of_system = |values: &Vec<Option<f64>>| {
            let mut rest = values.as_slice();
            let of_fold = |&queries: &usize| {
                let (fold, others) = rest.split_at_checked(queries)?;
                rest = others;
                mean(fold)
            };
            mean_of(folds.iter().map(of_fold).collect::<Option<Vec<f64>>>()?)
        };
        self.values.iter().map(of_system).collect()
    }
}

impl ComparisonReport {
    /// Returns what the tests found by one measure.
    pub(crate) fn verdict(&self, of: &ComparedMeasure, labels: &[String]) -> Verdict {
        Verdict::new(of.measure, &of.pairs, labels, &self.config)
    }

    /// Returns what a reader must know about runs that were measured on queries that chose them.
    pub(crate) fn caution(&self) -> Option<String> {
        let words = "queries that chose the rounds also test the runs.";
        (!self.set.is_empty()).then(|| format!("There are no test queries, so the {} {words}", self.set))
    }

    /// Returns whether the means over folds differ from the means over queries in their printed digits.
    pub(crate) fn fold_means_differ(&self) -> bool {
        let printed = |means: Vec<Option<f64>>| means.into_iter().map(number::measure).collect::<Vec<_>>();
        self.folds.len() > 1
            && self.measures.iter().any(|of| printed(of.means()) != printed(of.fold_means(&self.folds)))
    }
}

/// Builds a table with the mean of each system by each measure, given as `values[measure][system]`.
pub(crate) fn mean_table(
    name: &str,
    report: &ComparisonReport,
    labels: &[String],
    values: &[Vec<Option<f64>>],
) -> Table {
    let measures = report.measures.iter().map(|of| of.measure.to_string());
    let row = |(at, label)| (label, values.iter().map(move |means| measured(means[at])));
    Table::new(name, measures).with(labels.iter().enumerate().map(row))
}

/// Builds a table of the pairs of systems under one measure.
pub(crate) fn pair_table(measure: Measure, pairs: &[Comparison], labels: &[String]) -> Table {
    let with_tukey = pairs.iter().any(|pair| pair.tukey.is_some());
    let columns = ["diff", "low", "high", "t", "random"].into_iter().chain(with_tukey.then_some("tukey"));
    let rows = pairs.iter().map(|of| {
        let differences = [of.mean_difference, of.bootstrap.low, of.bootstrap.high].map(number::difference);
        let p_values = [of.t_test.p_value, of.randomization.p_value].into_iter();
        let p_values = p_values.chain(of.tukey.map(|tukey| tukey.p_value)).map(number::p_value);
        let effect = Cell::of(format!("{:+.2}", of.cohen_d), number::difference(of.cohen_d));
        let counts = [of.wins, of.ties, of.losses].map(number::count).join("/");
        let cells = differences.into_iter().chain(p_values).map(Cell::number);
        let [first, second] = [of.first, of.second].map(|system| &labels[system]);
        let name = Cell::of(format!("{second} - {first}"), minus(first, second));
        (name, cells.chain([effect, Cell::number(counts)]))
    });
    Table::new(measure.to_string(), columns.chain(["d", "win/tie/loss"])).with(rows)
}

/// Names the difference of two systems.
fn minus(first: &str, second: &str) -> String {
    format!("{second} \u{2212} {first}")
}

/// Returns the pairs of systems that are shown query by query. If there are many pairs, these are only the pairs with
/// the first system.
fn shown_pairs(report: &ComparisonReport) -> Vec<&Comparison> {
    let Some(of) = report.measures.first() else { return Vec::new() };
    let few = of.pairs.len() <= PAIRS;
    of.pairs.iter().filter(|pair| few || pair.first == 0).take(PAIRS).collect()
}

/// Returns the index of each query that has a value for both systems, with the difference of the two values.
fn by_query(of: &ComparedMeasure, pair: &Comparison) -> Vec<(usize, f64)> {
    let values = of.values[pair.first].iter().zip(&of.values[pair.second]).enumerate();
    values.filter_map(|(query, (first, second))| Some((query, (*second)? - (*first)?))).collect()
}
