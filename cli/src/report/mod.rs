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
mod queries;
mod runs;
mod search;
mod study;
#[cfg(test)]
mod tests;
mod train;

pub(crate) use self::comparison::{ComparedMeasure, ComparisonReport, ScoredDocument};
pub(crate) use self::comparison::{
    forest_svg, labels, latex_table, letter, mean_table, page as comparison_page, pair_table,
};
pub(crate) use self::devices::{devices_text, page as devices_page};
pub(crate) use self::queries::ranking_table;
pub(crate) use self::runs::{FinishedRun, Runs, in_words, page as runs_page};
pub(crate) use self::study::{page as study_page, page_of_several as studies_page, study_table};
pub(crate) use self::train::measures_table;

// Imports for the parts of pages, which take them with `use super::*`.
use burn_rank::json::Value;
use burn_rank::measure::{Convention, Measure};
use burn_rank::workbench::mean_of;
use burn_rank::workbench::text::shortened;

use self::about::{
    conclusion, configuration, convention_in_words, cost, description, fact, in_a_sentence, named_measure, normalized,
    provenance, round_word, titled,
};
use self::curves::Curves;
use crate::experiment::{
    CrossValidationReport, FitReport, FoldResult, Measures, OutputError, OutputFolder, PAGE, PerQuery, RECORD, REPORT,
    Report, RunRecord, TrainReport,
};
use crate::number;
use crate::page::{Cell, Figure, Html, Table, details, element, figures, measured, note, section, with_error};
use crate::plot::{Dot, Ink, Line, Lines, Row, Rows};

/// Builds the HTML page about a run. Without a `record`, the page leaves out times, memory and the machine.
pub(crate) fn page(report: &Report, record: Option<&RunRecord>) -> String {
    match report {
        Report::Train(report) => train::page(report, record),
        Report::Cv(report) => cross_validation::page(report, record),
    }
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
