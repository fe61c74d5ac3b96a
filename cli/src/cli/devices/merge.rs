//! `burn-rank devices merge DIR..` merges the tables of several machines.

use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::compare::{PAGE, TABLE};
use crate::cli::{Failure, Result, files};
use crate::device_comparison::DeviceComparison;
use crate::experiment::OutputFolder;
use crate::report::{devices_page, devices_text};

/// Arguments of `devices merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Folders written by `devices compare`; the first row of the first folder is the baseline for all others
    #[arg(required = true, num_args = 2.., value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Also write the table and its page to this folder, which must be new, empty, or written by an earlier merge
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

impl MergeArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        if let Some(out) = &self.out
            && let Ok(place) = out.canonicalize()
            && self.folders.iter().any(|folder| folder.canonicalize().is_ok_and(|folder| folder == place))
        {
            let message = "found a folder to merge, expected another one";
            return Err(Failure::input(format!("--out {}: {message}", out.display())));
        }
        let tables = self.names()?.into_iter().zip(&self.folders).map(|(name, folder)| Ok((name, read(folder)?)));
        let tables = tables.collect::<Result<Vec<_>>>()?;
        let merged = DeviceComparison::merge(tables)?;
        let merged = merged.ok_or_else(|| Failure::input("expected two folders or more"))?;
        if let Some(path) = &self.out {
            let folder = OutputFolder::of_files(path, "devices merge")?;
            folder.write_json(TABLE, &merged)?;
            folder.write(PAGE, devices_page(&merged).as_bytes())?;
        }
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::to_string(&merged)?)?);
        }
        Ok(out.write_all(devices_text(&merged).as_bytes())?)
    }

    /// Returns the names of the machines, after their folders. No folder may occur twice.
    fn names(&self) -> Result<Vec<String>> {
        let places: Vec<_> = self.folders.iter().map(|folder| folder.canonicalize().ok()).collect();
        if let Some(at) = (1..places.len()).find(|&at| places[at].is_some() && places[..at].contains(&places[at])) {
            let message = "found the same folder twice, expected each once";
            return Err(Failure::input(format!("{}: {message}", self.folders[at].display())));
        }
        Ok(files::names(&self.folders))
    }
}

/// Reads the table in a folder.
pub(super) fn read(folder: &Path) -> Result<DeviceComparison> {
    let path = folder.join(TABLE);
    let refuse = |error: &dyn Display| {
        Failure::input(format!("{}: {error}, expected a table of `devices compare`", path.display()))
    };
    let bytes = fs::read(&path).map_err(|error| refuse(&error))?;
    serde_json::from_slice(&bytes).map_err(|error| refuse(&error))
}
