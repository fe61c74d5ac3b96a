//! HTML pages about a run, a study, or a comparison of systems or devices. Each page is a single file without scripts
//! or external resources, readable on screens, on phones and on paper. The page about a run shows only the contents of
//! its `report.json` and `run.json`.

mod about;
mod comparison;
mod cross_validation;
mod curves;
mod data;
mod devices;
mod features;
mod positions;
mod queries;
mod runs;
mod search;
mod study;
#[cfg(test)]
mod tests;
mod train;

pub(crate) use self::comparison::{ComparedMeasure, ComparisonReport, Rankings, ScoredDocument};
pub(crate) use self::comparison::{forest_svg, labels, latex_table, letter, mean_table, pair_table};
pub(crate) use self::devices::devices_text;
pub(crate) use self::queries::ranking_table;
pub(crate) use self::runs::{FinishedRun, Runs, in_words};
pub(crate) use self::study::study_table;
pub(crate) use self::train::measures_table;

use burn_rank::measure::significance::SignificanceError;
use burn_rank::workbench::text::escape_markup;

use self::about::{
    Fact, Frame, configuration, convention_in_words, cost, description, normalized, provenance, round_word,
};
use self::curves::Curves;
use crate::device_comparison::DeviceComparison;
use crate::experiment::{
    CrossValidationReport, OutputError, OutputFolder, PAGE, RECORD, REPORT, Report, RunRecord, TrainReport,
};
use crate::number;
use crate::page::Html;
use crate::study::StudyReport;

const STYLE: &str = include_str!("style.css");

/// Builds the HTML page about a run. Without a `record`, the page leaves out times, memory and the machine.
pub(crate) fn page(report: &Report, record: Option<&RunRecord>) -> String {
    whole(match report {
        Report::Train(report) => train::frame(report, record),
        Report::Cv(report) => cross_validation::frame(report, record),
    })
}

/// For a finished run, writes the report, the record and the HTML page into the run's folder.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write_reports(folder: &OutputFolder, report: &Report, record: &RunRecord) -> Result<(), OutputError> {
    folder.write_json(REPORT, report)?;
    folder.write_json(RECORD, record)?;
    folder.write(PAGE, page(report, Some(record)).as_bytes())
}

/// Builds the HTML page that compares systems. Calls `rankings` for the queries that gained the most and for those that
/// lost the most.
///
/// # Errors
/// Returns a [`SignificanceError`] if an interval cannot be computed.
pub(crate) fn comparison_page(report: &ComparisonReport, rankings: &Rankings) -> Result<String, SignificanceError> {
    comparison::frame(report, rankings).map(whole)
}

/// Builds the HTML page that compares devices.
pub(crate) fn devices_page(comparison: &DeviceComparison) -> String {
    whole(devices::frame(comparison))
}

/// Builds the HTML page about many runs.
pub(crate) fn runs_page(runs: &Runs) -> String {
    whole(runs::frame(runs))
}

/// Builds the HTML page about a study.
pub(crate) fn study_page(report: &StudyReport) -> String {
    whole(study::frame(report))
}

/// Builds a page of several studies, with an index.
pub(crate) fn studies_page(reports: &[StudyReport]) -> String {
    whole(study::index(reports))
}

/// Adds the HTML header and the style sheet to the content of a page.
fn whole(Frame { command, name, body }: Frame) -> String {
    let title = escape_markup(&format!("{name} \u{b7} burn-rank {command}"));
    // The policy keeps a browser from loading anything, and the empty icon keeps it from asking for one.
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n\
         <meta name=\"color-scheme\" content=\"light dark\" />\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; \
         style-src &#39;unsafe-inline&#39;; img-src data:\" />\n\
         <link rel=\"icon\" href=\"data:,\" />\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n{body}\n</body>\n</html>\n"
    )
}

/// Builds a conclusion. A conclusion that is not `clear` has the color of a warning.
fn conclusion(words: &str, clear: bool) -> Html {
    Html::text(words).within("p", &[("class", if clear { "verdict clear" } else { "verdict open" })])
}

/// Says how good the ranker of a `train` run is, and on which queries that was measured.
fn conclusion_of_train(report: &TrainReport) -> Html {
    let selection = report.selection.to_string();
    let Some((set, measures)) = report.measures.iter().last() else { return Html::default() };
    let [value, error] =
        [&measures.measures, &measures.standard_errors].map(|values| number::named(values, &selection));
    let queries = match set {
        "train" => "training query",
        "validation" => "validation query",
        _ => "test query",
    };
    let mut words =
        format!("{selection} is {} on {}.", with_error(value, error), number::counted(measures.queries, queries));
    let round = round_word(&report.config);
    let selected_on = if report.measures.validation.is_some() { "validation" } else { "training" };
    words += &match set {
        "test" if report.fit.rounds > 1 => {
            format!(
                " {} {} of {} was selected on the {selected_on} queries.",
                capitalized(round),
                report.fit.best_round,
                report.fit.rounds
            )
        }
        "test" => String::new(),
        _ => format!(
            " There are no test queries. Expect a lower value on new queries, because the {round} was selected on the \
             {selected_on} queries."
        ),
    };
    conclusion(&words, set == "test")
}

/// Says which point of the grid is the best, and how good the selected points are on test queries.
fn conclusion_of_cross_validation(report: &CrossValidationReport) -> Html {
    let result = &report.result;
    let selection = report.selection.to_string();
    let [value, error] = [&result.measures, &result.standard_errors].map(|values| number::named(values, &selection));
    let what = match (&result.search, report.points.len()) {
        (Some(_), _) => ", with the trial that each fold selected",
        (None, 0 | 1) => "",
        (None, _) => ", with the point that each fold selected",
    };
    let test = format!(
        "On {} in {}, the mean {selection} is {}{what}.",
        number::counted(result.queries, "test query"),
        number::counted(result.folds.len(), "fold"),
        with_error(value, error)
    );
    report
        .verdict()
        .map(|(words, decided)| conclusion(&words, decided))
        .unwrap_or_default()
        .then(conclusion(&test, true))
}

fn with_error(value: Option<f64>, error: Option<f64>) -> String {
    number::measure(value) + &number::plus_minus(error)
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
