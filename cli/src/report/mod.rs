//! HTML pages about a run, a study, or a comparison of systems or devices. Each page is a single file without scripts
//! or external resources, readable on screens, on phones and on paper. The page about a run shows only the contents of
//! its `report.json` and `run.json`.

mod about;
mod comparison;
mod conclusion;
mod cross_validation;
mod curves;
mod data;
mod devices;
mod features;
mod queries;
mod search;
mod study;
#[cfg(test)]
mod tests;
mod train;

use burn_rank::measure::significance::SignificanceError;
use burn_rank::workbench::text::escape_markup;

use self::about::{
    Fact, Frame, configuration, convention_in_words, cost, description, normalized, provenance, round_word,
};
pub(crate) use self::comparison::{ComparedMeasure, ComparisonReport, Rankings, ScoredDocument};
pub(crate) use self::comparison::{forest_svg, labels, latex_table, letter, mean_table, pair_table};
use self::conclusion::conclusion;
use self::curves::Curves;
pub(crate) use self::devices::devices_text;
pub(crate) use self::queries::ranking_table;
pub(crate) use self::study::study_table;
pub(crate) use self::train::measures_table;
use crate::device_comparison::DeviceComparison;
use crate::experiment::{OutputError, OutputFolder, PAGE, RECORD, REPORT, Report, RunRecord};
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
