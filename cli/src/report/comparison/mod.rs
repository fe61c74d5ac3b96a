//! The HTML page that compares systems: means, intervals, paired tests, and the difference on every query. It also
//! shows both rankings of the queries on which the systems differ most.

mod moved;

use burn_rank::measure::significance::{ComparisonConfig, SignificanceError, SystemPair, bootstrap};
use burn_rank::measure::{Convention, Measure, mean};
use burn_rank::workbench::json::json;

use super::about::{Fact, Frame, convention_in_words, header};
use crate::number;
use crate::page::{Cell, Html, Table, element, figure, figures, note, section};
use crate::plot::{Differences, Ink};

/// If there are more pairs of systems than this, only the pairs with the first system are shown query by query.
const PAIRS: usize = 6;

/// The results of comparing systems that were measured on the same queries.
#[derive(Debug, Clone)]
pub struct ComparisonReport {
    /// The convention by which all measures are computed.
    pub convention: Convention,
    /// Number of queries.
    pub queries: usize,
    /// The number of queries without a relevant document.
    pub empty_queries: usize,
    /// Name of each system.
    pub systems: Vec<String>,
    /// Identifier of each query.
    pub query_ids: Vec<String>,
    /// The measures; the first measure decides which queries are shown.
    pub measures: Vec<ComparedMeasure>,
    /// The settings of the statistical tests.
    pub config: ComparisonConfig,
}

/// The values of one measure for all systems.
#[derive(Debug, Clone)]
pub struct ComparedMeasure {
    /// The measure.
    pub measure: Measure,
    /// The values as `[system][query]`; `None` for queries that the convention excludes.
    pub values: Vec<Vec<Option<f64>>>,
    /// The test results for every pair of systems.
    pub pairs: Vec<SystemPair>,
}

/// A document with its label and the score from one system.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredDocument {
    /// The identifier of the document.
    pub document: String,
    /// The label of the document.
    pub label: f32,
    /// The score of the document, or -inf if the document was not retrieved.
    pub score: f32,
}

/// Returns a query's documents with the scores from a system, or `None` if they are unknown. The arguments are the
/// query and the system, both counted from 0.
pub type Rankings<'a> = dyn Fn(usize, usize) -> Option<Vec<ScoredDocument>> + 'a;

/// Returns the letters that identify a system on the page. They run from A to Z, then continue with AA and so on.
pub(crate) fn letter(system: usize) -> String {
    let last = char::from(b'A' + (system % 26) as u8);
    match system / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letter(more - 1)),
    }
}

/// Builds the page.
pub(super) fn frame(report: &ComparisonReport, rankings: &Rankings) -> Result<Frame, SignificanceError> {
    let sections = [
        section("results", "Results", means(report)?),
        section("tests", "Tests", tests(report)),
        differences(report),
        moved::moved(report, rankings),
    ];
    let name = report.systems.iter().enumerate().map(|(at, _)| letter(at)).collect::<Vec<_>>().join(", ");
    let description = format!("{} systems on the same queries.", report.systems.len());
    let top = header("compare", &name, &json!({ "description": description }), facts(report));
    let main = element("main", sections.into_iter().collect::<Html>());
    Ok(Frame { command: "compare", name, body: top.then(main) })
}

fn facts(report: &ComparisonReport) -> Vec<Fact> {
    let convention = format!("{} convention", report.convention.name);
    let mut facts: Vec<Fact> = Vec::new();
    if let Some(of) = report.measures.first() {
        for (at, values) in of.values.iter().enumerate().take(4) {
            let name = format!("{} {}", letter(at), of.measure);
            facts.push(Fact::new(name, number::measure(mean(values)), convention.clone()));
        }
    }
    let empty = format!("{} without a relevant document", number::count(report.empty_queries));
    facts.push(Fact::new("queries", number::count(report.queries), empty));
    facts
}

/// Builds a table with the mean and the interval of each measure for each system.
fn means(report: &ComparisonReport) -> Result<Html, SignificanceError> {
    let columns = report.measures.iter().map(|of| of.measure.to_string());
    let first = ["system".to_string(), "file".to_string()].into_iter();
    let mut table = Table::new(first.chain(columns));
    for (at, name) in report.systems.iter().enumerate() {
        let mut cells = vec![Html::text(name)];
        for of in &report.measures {
            let counted: Vec<f64> = of.values[at].iter().copied().flatten().collect();
            let value = Html::text(number::measure(mean(&of.values[at])));
            cells.push(match counted.as_slice() {
                [] => value,
                counted => {
                    let interval = bootstrap(counted, &report.config)?;
                    let [low, high] = [interval.low, interval.high].map(|end| number::measure(Some(end)));
                    value.then(element("small", format!(" {low} to {high}")))
                }
            });
        }
        table.row(letter(at), cells);
    }
    let words = format!(
        " Next to each mean is its {}% bootstrap interval over queries. The intervals of two systems may overlap although \
         their difference is certain: the tests below are paired.",
        100.0 * report.config.confidence
    );
    Ok(table.html("means").then(note(convention_in_words(&report.convention).then(Html::text(words)))))
}

/// Builds a table of the pairs of systems under one measure.
pub(crate) fn pair_table(measure: Measure, pairs: &[SystemPair]) -> Table {
    let with_tukey = pairs.iter().any(|pair| pair.tukey.is_some());
    let columns = [&measure.to_string(), "diff", "low", "high", "t", "random"].map(String::from).into_iter();
    let columns = columns.chain(with_tukey.then(|| "tukey".to_string()));
    let mut table = Table::new(columns.chain(["d", "win/tie/loss"].map(String::from)));
    for pair in pairs {
        let of = &pair.comparison;
        let differences = [of.mean_difference, of.bootstrap.low, of.bootstrap.high].map(number::difference);
        let p_values = [of.t_test.p_value, of.randomization.p_value].into_iter();
        let p_values = p_values.chain(pair.tukey.map(|tukey| tukey.p_value)).map(number::p_value);
        let effect = Cell::of(format!("{:+.2}", of.cohen_d), number::difference(of.cohen_d));
        let counts = [of.wins, of.ties, of.losses].map(number::count).join("/");
        let cells = differences.into_iter().chain(p_values).map(Cell::number);
        let name = Cell::number(format!("{} \u{2212} {}", letter(pair.second), letter(pair.first)));
        table.row(name, cells.chain([effect, Cell::number(counts)]));
    }
    table
}

fn tests(report: &ComparisonReport) -> Html {
    let with_tukey = report.systems.len() > 2;
    let tables =
        report.measures.iter().map(|of| pair_table(of.measure, &of.pairs).html(format!("pairs by {}", of.measure)));
    let config = &report.config;
    let words = format!(
        "A difference above 0 says that the system named first is better. low, high: {}% bootstrap interval of the mean \
         difference; t: paired t-test; random: Fisher's randomization test{}; d: mean difference in standard deviations; \
         win/tie/loss: queries. {} resamples, seed {}. A p-value is for a comparison chosen before looking at the results.",
        100.0 * config.confidence,
        if with_tukey { "; tukey: Tukey's test over all pairs" } else { "" },
        number::count(config.resamples),
        config.seed
    );
    tables.collect::<Html>().then(note(words))
}

/// Returns the pairs of systems that are shown query by query. If there are many pairs, these are only the pairs with
/// the first system.
fn shown_pairs(report: &ComparisonReport) -> Vec<&SystemPair> {
    let Some(of) = report.measures.first() else { return Vec::new() };
    let all: Vec<&SystemPair> = of.pairs.iter().collect();
    match all.len() {
        few if few <= PAIRS => all,
        _ => all.into_iter().filter(|pair| pair.first == 0).take(PAIRS).collect(),
    }
}

/// Returns the index of each query that has a value for both systems, with the difference of the two values.
fn by_query(of: &ComparedMeasure, pair: &SystemPair) -> Vec<(usize, f64)> {
    let values = of.values[pair.first].iter().zip(&of.values[pair.second]).enumerate();
    values.filter_map(|(query, (first, second))| Some((query, (*second)? - (*first)?))).collect()
}

/// Plots, for each pair of systems, the difference on every query.
fn differences(report: &ComparisonReport) -> Html {
    let Some(of) = report.measures.first() else { return Html::default() };
    let plots = shown_pairs(report).into_iter().map(|pair| {
        let (first, second) = (letter(pair.first), letter(pair.second));
        let inks = [Ink::Test, Ink::Validation];
        let legend = [(inks[0], format!("{second} is better")), (inks[1], format!("{first} is better"))];
        let title = format!("{} of {second} less that of {first}, query by query", of.measure);
        let values = by_query(of, pair).into_iter().map(|(_, difference)| difference).collect();
        let plot = Differences { label: format!("Sorted bars: {title}"), x_name: "queries".into(), values, inks };
        figure(title.clone(), plot.svg(), &legend)
    });
    let mut words =
        "One bar per query, in descending order; of more than 300 queries, 300 at equal distances.".to_string();
    if shown_pairs(report).len() < of.pairs.len() {
        words += " Of many pairs, those with system A.";
    }
    section("differences", "Query by query", figures(plots).then(note(words)))
}
