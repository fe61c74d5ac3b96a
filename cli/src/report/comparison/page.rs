//! The HTML page that compares systems: means, intervals, paired tests, and the difference on every query. It also
//! shows both rankings of the queries on which the systems differ most.

use burn_rank::measure::significance::{SignificanceError, bootstrap};

use super::moved::moved;
use super::*;
use crate::plot::{Bars, standalone};

/// If there are more pairs of systems than this, the plot of differences shows only the pairs with one system.
const FOREST: usize = 15;

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
        moved(report, &labels, rankings),
    ];
    let name = match labels.as_slice() {
        few if few.len() <= PAIRS => few.join(", "),
        many => format!("{} systems", many.len()),
    };
    let caution = report.caution().map(|words| format!(" {words}")).unwrap_or_default();
    let description = format!("{} systems on the same queries.{caution}", report.systems.len());
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
    let mut table = Table::new("system", columns.chain(files));
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
