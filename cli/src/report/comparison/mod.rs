//! The HTML page that compares systems: means, intervals, paired tests, and the difference on every query. It also
//! shows both rankings of the queries on which the systems differ most.

mod latex;
mod moved;
mod verdict;

use burn_rank::measure::significance::{Comparison, ComparisonConfig, SignificanceError, bootstrap};
use burn_rank::measure::{Convention, Measure, mean};
use burn_rank::workbench::mean_of;

use super::*;
use crate::plot::{Bars, standalone};

pub(crate) use latex::{labels, latex_table, letter};
pub(crate) use verdict::Verdict;

/// If there are more pairs of systems than this, only the pairs with the first system are shown query by query.
const PAIRS: usize = 6;

/// If there are more pairs of systems than this, the plot of differences shows only the pairs with one system.
const FOREST: usize = 15;

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
    /// The test results for every pair of systems.
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

    /// Returns whether the means over folds differ from the means over queries in their printed digits.
    pub(crate) fn fold_means_differ(&self) -> bool {
        let printed = |means: Vec<Option<f64>>| means.into_iter().map(number::measure).collect::<Vec<_>>();
        self.folds.len() > 1
            && self.measures.iter().any(|of| printed(of.means()) != printed(of.fold_means(&self.folds)))
    }
}

/// Builds the HTML page that compares systems. Calls `rankings` for the queries that gained the most and for those that
/// lost the most.
///
/// # Errors
/// Returns a [`SignificanceError`] if an interval cannot be computed.
pub(crate) fn page(report: &ComparisonReport, rankings: &Rankings) -> Result<String, SignificanceError> {
    let labels = labels(&report.systems);
    let sections = [
        section("results", "Results", means(report, &labels)?),
        section("tests", "Tests", tests(report, &labels)),
        differences(report, &labels),
        moved::moved(report, &labels, rankings),
    ];
    let name = match labels.as_slice() {
        few if few.len() <= PAIRS => few.join(", "),
        many => format!("{} systems", many.len()),
    };
    let description = format!("{} systems on the same queries.", report.systems.len());
    let verdict = |of: &ComparedMeasure| {
        let verdict = report.verdict(of, &labels);
        conclusion(&verdict.sentence, verdict.is_clear())
    };
    let verdicts = report.measures.iter().map(verdict).collect();
    let convention = format!("{} convention", report.convention.name);
    let mut facts = Vec::new();
    if let Some(of) = report.measures.first() {
        for (label, mean) in labels.iter().zip(of.means()).take(4) {
            facts.push(fact(format!("{label} {}", of.measure), number::measure(mean), convention.as_str()));
        }
    }
    let empty = format!("{} empty", number::count(report.empty_queries));
    facts.push(fact("queries", number::count(report.queries), empty));
    Ok(about::page("compare", &name, verdicts, &description, facts, sections))
}

/// Builds a table with the mean and the interval of each measure for each system.
fn means(report: &ComparisonReport, labels: &[String]) -> Result<Html, SignificanceError> {
    let has_files = labels != report.systems.as_slice();
    let columns = report.measures.iter().map(|of| of.measure.to_string());
    let files = has_files.then(|| "file".to_string());
    let mut table = Table::new(["system".to_string()].into_iter().chain(columns).chain(files));
    for (at, name) in report.systems.iter().enumerate() {
        let mut cells = Vec::new();
        for of in &report.measures {
            let counted: Vec<f64> = of.values[at].iter().copied().flatten().collect();
            let mut cell = measured(mean(&of.values[at]));
            if !counted.is_empty() {
                let interval = bootstrap(&counted, &report.config)?;
                let [low, high] = [interval.low, interval.high].map(|end| number::measure(Some(end)));
                cell = cell.remark(format!(" {low} to {high}"));
            }
            cells.push(cell);
        }
        cells.extend(has_files.then(|| Cell::from(name.as_str())));
        table.row(labels[at].as_str(), cells);
    }
    let words = format!(
        " Each value is the mean over queries, with its {}% bootstrap interval. The intervals of two systems may overlap \
         although one is better: the tests below compare the systems query by query.",
        100.0 * report.config.confidence
    );
    let words = note(convention_in_words(&report.convention).then(Html::text(words)));
    let content = table.html("means").then(words);
    if !report.fold_means_differ() {
        return Ok(content);
    }
    let means: Vec<_> = report.measures.iter().map(|of| of.fold_means(&report.folds)).collect();
    let of_folds = mean_table("mean of folds", report, labels, &means).html("means of folds");
    Ok(content.then(of_folds).then(note("cv prints the mean of the folds. The tests use the queries.")))
}

/// Builds a table with the mean of each system by each measure, given as `values[measure][system]`.
pub(crate) fn mean_table(
    name: &str,
    report: &ComparisonReport,
    labels: &[String],
    values: &[Vec<Option<f64>>],
) -> Table {
    let measures = report.measures.iter().map(|of| of.measure.to_string());
    let mut table = Table::new([name.to_string()].into_iter().chain(measures));
    for (at, label) in labels.iter().enumerate() {
        table.row(label.as_str(), values.iter().map(|means| measured(means[at])));
    }
    table
}

/// Builds a table of the pairs of systems under one measure.
pub(crate) fn pair_table(measure: Measure, pairs: &[Comparison], labels: &[String]) -> Table {
    let with_tukey = pairs.iter().any(|pair| pair.tukey.is_some());
    let columns = [&measure.to_string(), "diff", "low", "high", "t", "random"].map(String::from).into_iter();
    let columns = columns.chain(with_tukey.then(|| "tukey".to_string()));
    let mut table = Table::new(columns.chain(["d", "win/tie/loss"].map(String::from)));
    for of in pairs {
        let differences = [of.mean_difference, of.bootstrap.low, of.bootstrap.high].map(number::difference);
        let p_values = [of.t_test.p_value, of.randomization.p_value].into_iter();
        let p_values = p_values.chain(of.tukey.map(|tukey| tukey.p_value)).map(number::p_value);
        let effect = Cell::of(format!("{:+.2}", of.cohen_d), number::difference(of.cohen_d));
        let counts = [of.wins, of.ties, of.losses].map(number::count).join("/");
        let cells = differences.into_iter().chain(p_values).map(Cell::number);
        let [first, second] = [of.first, of.second].map(|system| &labels[system]);
        let name = Cell::of(format!("{second} - {first}"), minus(first, second));
        table.row(name, cells.chain([effect, Cell::number(counts)]));
    }
    table
}

/// Names the difference of two systems.
fn minus(first: &str, second: &str) -> String {
    format!("{second} \u{2212} {first}")
}

fn tests(report: &ComparisonReport, labels: &[String]) -> Html {
    let table =
        |of: &ComparedMeasure| pair_table(of.measure, &of.pairs, labels).html(format!("pairs by {}", of.measure));
    let tables: Html = report.measures.iter().map(table).collect();
    let config = &report.config;
    let tukey = if labels.len() > 2 { "tukey: Tukey's test, which corrects for the number of pairs; " } else { "" };
    let words = format!(
        "Where a difference is above 0, the system named first is better. low, high: {}% bootstrap interval of the mean \
         difference; t: paired t-test; random: Fisher's randomization test; {tukey}d: mean difference in standard \
         deviations; win/tie/loss: queries. {} resamples, seed {}. A p-value is valid for a comparison that was chosen \
         before looking at the results.",
        100.0 * config.confidence,
        number::count(config.resamples),
        config.seed
    );
    let legend = [
        (Ink::Test, "the system named first is better".to_string()),
        (Ink::Validation, "it is worse".to_string()),
        (Ink::Mark, "no difference shown".to_string()),
    ];
    let plot = |of: &ComparedMeasure| {
        let title = format!("{}: mean differences with {}% intervals", of.measure, 100.0 * config.confidence);
        Figure::new(title, Rows { rows: forest(report, of, labels, ""), zero: true }, legend.clone())
    };
    // Without a query on which two systems differ, an axis would have no length.
    let differs = |of: &&ComparedMeasure| of.pairs.iter().any(|pair| pair.wins + pair.losses > 0);
    figures(report.measures.iter().filter(differs).map(plot)).then(tables).then(note(words))
}

/// Returns a row for each pair of systems, with the mean difference and its interval. If there are many pairs, these
/// are only the pairs with the best system.
fn forest(report: &ComparisonReport, of: &ComparedMeasure, labels: &[String], prefix: &str) -> Vec<Row> {
    let best = report.verdict(of, labels).best.unwrap_or(0);
    let shown = |pair: &&Comparison| of.pairs.len() <= FOREST || pair.first == best || pair.second == best;
    let row = |pair: &Comparison| {
        let p = pair.tukey.map_or(pair.randomization.p_value, |tukey| tukey.p_value);
        let ink = match pair.mean_difference {
            _ if p >= 1.0 - report.config.confidence => Ink::Mark,
            difference if difference > 0.0 => Ink::Test,
            _ => Ink::Validation,
        };
        let dot = Dot::new(pair.mean_difference, ink).with_interval(pair.bootstrap.low, pair.bootstrap.high);
        Row { name: format!("{prefix}{}", minus(&labels[pair.first], &labels[pair.second])), dots: vec![dot] }
    };
    of.pairs.iter().filter(shown).map(row).collect()
}

/// Returns an SVG file with the differences of all pairs and measures and their intervals.
pub(crate) fn forest_svg(report: &ComparisonReport) -> String {
    let labels = labels(&report.systems);
    let rows = |of: &ComparedMeasure| {
        let prefix = if report.measures.len() > 1 { format!("{}: ", of.measure) } else { String::new() };
        forest(report, of, &labels, &prefix)
    };
    let names: Vec<String> = report.measures.iter().map(|of| of.measure.to_string()).collect();
    let label =
        format!("Mean differences of {} with {}% intervals", names.join(", "), 100.0 * report.config.confidence);
    standalone(&Rows { rows: report.measures.iter().flat_map(rows).collect(), zero: true }, &label)
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

/// Plots, for each pair of systems, the difference on every query.
fn differences(report: &ComparisonReport, labels: &[String]) -> Html {
    let Some(of) = report.measures.first() else { return Html::default() };
    let pairs = shown_pairs(report);
    let values = |pair| by_query(of, pair).into_iter().map(|(_, difference)| difference);
    let heights: Vec<f64> = pairs.iter().copied().flat_map(values).collect();
    let plots = pairs.iter().map(|pair| {
        let (first, second) = (&labels[pair.first], &labels[pair.second]);
        let inks = [Ink::Test, Ink::Validation];
        let legend = [(inks[0], format!("{second} is better")), (inks[1], format!("{first} is better"))];
        let title = format!("{} of each query: {}", of.measure, minus(first, second));
        let values: Vec<f64> = values(pair).collect();
        Figure::new(title, Bars::differences("queries", &values, inks, &heights), legend)
    });
    let left_out = match pairs.len() < of.pairs.len() {
        true => format!(" There are many pairs, so only those with {} are shown.", labels[0]),
        false => String::new(),
    };
    let words = note(format!(
        "One bar per query, from the largest gain to the largest loss. With more than 300 queries, the plot shows 300 \
         of them, evenly spaced.{left_out}"
    ));
    section("differences", "Query by query", figures(plots).then(words))
}
