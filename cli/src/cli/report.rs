//! `burn-rank report RUN` writes a run's HTML page, which is built from `report.json` and `run.json`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn_rank::json::Value;
use burn_rank::workbench::atomic_file;
use burn_rank::workbench::text::is_standard_stream;
use clap::Args;
use serde::de::DeserializeOwned;

use super::{Failure, Result, input};
use crate::experiment::{OutputError, PAGE, RECORD, REPORT, RUN_FILES, Report, RunRecord, put_right, write_page};
use crate::report::page;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder of a finished train or cv run
    run: PathBuf,
    /// File for the page, which is replaced if it exists; `-` is standard output [default: report.html in the folder]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl ReportArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let report = read_report(&self.run)?;
        let record: Option<RunRecord> = read(&self.run.join(RECORD))?;
        let page = page(&report, record.as_ref());
        let path = match self.out {
            Some(path) if is_standard_stream(&path) => return Ok(out.write_all(page.as_bytes())?),
            Some(path) => {
                let of_run = RUN_FILES.iter().filter(|name| **name != PAGE);
                let of_run: Vec<PathBuf> = of_run.map(|name| self.run.join(name)).collect();
                input::not_over("--out", &path, &of_run, "is a file of the run")?;
                let written = atomic_file::write(&path, page.as_bytes());
                written.map_err(|source| OutputError::Unwritable { path: path.clone(), source })?;
                path
            }
            None => {
                write_page(&self.run, page.as_bytes())?;
                self.run.join(PAGE)
            }
        };
        Ok(writeln!(out, "{}", path.display())?)
    }
}

/// Reads the report of a finished run.
pub fn read_report(folder: &Path) -> Result<Report> {
    put_right(folder)?;
    read(&folder.join(REPORT))?.ok_or_else(|| {
        Failure::input(format!("{}: no {REPORT} here; expected the folder of a finished run", folder.display()))
    })
}

/// Reads a JSON file; returns `None` if it does not exist.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let refuse = |error: anyhow::Error| Failure::Input(error.context(path.display().to_string()));
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(refuse(error.into())),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| match newer_version(&bytes) {
        Some(version) => {
            refuse(anyhow::anyhow!("{error}; written by burn-rank {version}, newer than this one, {VERSION}"))
        }
        None => refuse(error.into()),
    })
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the version of burn-rank that wrote a report, if it is newer than this one.
fn newer_version(report: &[u8]) -> Option<String> {
    let report: Value = serde_json::from_slice(report).ok()?;
    let version = report["versions"]["burn_rank"].as_str()?;
    let numbers = |version: &str| -> Vec<u64> { version.split('.').map_while(|part| part.parse().ok()).collect() };
    (numbers(version) > numbers(VERSION)).then(|| version.to_string())
}
