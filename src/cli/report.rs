//! `burn-rank report RUN`: the page of a run, a pure view of `report.json` and `run.json`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::de::DeserializeOwned;

use super::Failure;
use crate::atomic_file;
use crate::experiment::{OutputError, OutputFolder, Report, RunRecord};
use crate::report::page;
use crate::text::is_standard_stream;

const REPORT: &str = "report.json";
const RUN: &str = "run.json";
const PAGE: &str = "report.html";

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder of a finished train or cv run
    run: PathBuf,
    /// The page [default: report.html in the folder]; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl ReportArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let report = read_report(&self.run)?;
        let record: Option<RunRecord> = read(&self.run.join(RUN))?;
        let path = self.out.unwrap_or_else(|| self.run.join(PAGE));
        if is_standard_stream(&path) {
            return Ok(out.write_all(page(&report, record.as_ref()).as_bytes())?);
        }
        atomic_file::write(&path, page(&report, record.as_ref()).as_bytes())
            .map_err(|source| OutputError::Unwritable { path: path.clone(), source })?;
        writeln!(out, "{}", path.display())?;
        Ok(())
    }
}

/// The report of a finished run.
pub fn read_report(folder: &Path) -> Result<Report, Failure> {
    read(&folder.join(REPORT))?.ok_or_else(|| {
        Failure::input(format!("{}: no {REPORT} here; expected the folder of a finished run", folder.display()))
    })
}

/// Writes the record of a finished run: both JSON files, and their page.
pub fn write_reports(folder: &OutputFolder, report: &Report, record: &RunRecord) -> Result<(), OutputError> {
    folder.write_json(REPORT, report)?;
    folder.write_json(RUN, record)?;
    folder.write(PAGE, page(report, Some(record)).as_bytes())
}

/// A JSON file; none where it is absent.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    let refuse = |error: anyhow::Error| Failure::Input(error.context(path.display().to_string()));
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| refuse(error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refuse(error.into())),
    }
}
