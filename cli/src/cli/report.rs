//! `burn-rank report` writes a run's HTML page, which is built from `report.json` and `run.json`, or a table of many
//! runs.

use std::collections::BTreeSet;

use burn_rank::learner::StopReason;
use serde::de::DeserializeOwned;

use super::failure::one_line;
use super::*;
use crate::experiment::{RECORD, RUN_FILES, Report, RunRecord, is_run, put_right, write_page};
use crate::report::{FinishedRun, Runs, in_words, page, runs_page};

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder of a finished train or cv run; or folders with runs somewhere below, for a table of all of them
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// File for the page, which is replaced if it exists; `-` is standard output [default: report.html in the folder of
    /// one run]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the table of runs as JSON
    #[arg(long)]
    json: bool,
    /// Measure by which runs are compared [default: the measure that selects the round]
    #[arg(long, value_name = "MEASURE", help_heading = OF_TABLES)]
    measure: Option<Measure>,
    /// Column that orders the runs: folder, name, seconds, validation, a measure, or a setting [default: validation]
    #[arg(long, value_name = "COLUMN", help_heading = OF_TABLES)]
    sort: Option<String>,
    /// Show only runs with this setting, such as learner.kind=gradient; may be repeated
    #[arg(long = "where", value_name = "KEY=VALUE", help_heading = OF_TABLES)]
    conditions: Vec<String>,
}

/// The heading in the help of the options that choose and sort the runs of a table.
const OF_TABLES: &str = "Options of tables of runs";

impl ReportArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let asks_for_table = self.json || self.measure.is_some() || self.sort.is_some() || !self.conditions.is_empty();
        match &self.runs[..] {
            [run] if !asks_for_table && (!run.is_dir() || run.join(REPORT).exists()) => page_of_run(run, self.out, out),
            _ => self.table_of_runs(out),
        }
    }

    fn table_of_runs(self, out: &mut dyn Write) -> Result {
        self.out.iter().try_for_each(|path| input::not_beside_json(self.json, "--out", path))?;
        let (mut runs, mut notes) = (Vec::new(), Vec::new());
        for folder in &self.runs {
            put_right(folder)?;
            let before = runs.len();
            runs_below(folder, &mut runs, &mut notes)?;
            if runs.len() == before {
                return Err(no_run(folder, "here or in a folder below"));
            }
        }
        let runs = self.chosen(runs)?;
        let of_runs: Vec<PathBuf> = runs.iter().flat_map(|run| files_of(Path::new(&run.folder))).collect();
        let mut table = Runs::new(runs, self.measure);
        table.notes.splice(0..0, notes);
        if let Some(column) = &self.sort {
            let columns = table.columns();
            if !columns.contains(column) {
                let near = did_you_mean(&nearest(column, columns.iter().map(String::as_str)));
                bail!("--sort {}: expected one of {}{near}", shown(column), columns.join(", "));
            }
            table.sort(column);
        }
        if let Some(path) = &self.out {
            let page = runs_page(&table);
            if is_standard_stream(path) {
                return Ok(out.write_all(page.as_bytes())?);
            }
            write_to(path, &page, &of_runs)?;
        }
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&table).map_err(Failure::work)?)?);
        }
        write!(out, "{}", table.table().within(COLUMNS))?;
        for (mark, sentences) in [("verdict", table.verdicts()), ("note", table.notes)] {
            for words in sentences {
                write!(out, "\n{}", marked(mark, &harmless(&words)))?;
            }
        }
        if let Some(path) = &self.out {
            writeln!(out, "\nwritten to {}", path.display())?;
        }
        Ok(())
    }

    /// Returns the runs that meet the conditions.
    fn chosen(&self, mut runs: Vec<FinishedRun>) -> Result<Vec<FinishedRun>> {
        for (key, wanted) in input::assignments("--where", &self.conditions)? {
            let wanted = in_words(&wanted);
            let refuse = |message: String| Failure::input(format!("--where {key}={wanted}: {message}"));
            let known: BTreeSet<String> = runs.iter().flat_map(|run| run.settings().into_keys()).collect();
            if !known.contains(&key) {
                let near = did_you_mean(&nearest(&key, known.iter().map(String::as_str)));
                return Err(refuse(format!("expected a key of the runs' configurations{near}")));
            }
            let value = |run: &FinishedRun| run.settings().get(&key).map(in_words);
            let values: BTreeSet<String> = runs.iter().filter_map(value).collect();
            runs.retain(|run| value(run).as_ref() == Some(&wanted));
            if runs.is_empty() {
                let values: Vec<String> = values.into_iter().collect();
                return Err(refuse(format!("no run has this value, expected one of {}", values.join(", "))));
            }
        }
        Ok(runs)
    }
}

/// Writes the page of one run.
fn page_of_run(run: &Path, to: Option<PathBuf>, out: &mut dyn Write) -> Result {
    let report = read_report(run)?;
    let record: Option<RunRecord> = read(&run.join(RECORD))?;
    let page = page(&report, record.as_ref());
    let path = match to {
        Some(path) if is_standard_stream(&path) => return Ok(out.write_all(page.as_bytes())?),
        Some(path) => {
            write_to(&path, &page, &files_of(run))?;
            path
        }
        None => {
            write_page(run, page.as_bytes())?;
            run.join(PAGE)
        }
    };
    Ok(writeln!(out, "{}", path.display())?)
}

/// Writes a page to a file, which must not be one of the files of a run.
fn write_to(path: &Path, page: &str, of_runs: &[PathBuf]) -> Result {
    input::not_over("--out", path, of_runs, "is a file of the run")?;
    files::write(path, |file| file.write_all(page.as_bytes()))
}

/// Returns the files of a run, except its page.
pub fn files_of(run: &Path) -> Vec<PathBuf> {
    RUN_FILES.iter().filter(|name| **name != PAGE).map(|name| run.join(name)).collect()
}

/// Reads the runs in a folder and in the folders below it, in the order of their names. Folders below a run are its
/// own. A run that is not finished or cannot be read is left out with a note.
fn runs_below(folder: &Path, runs: &mut Vec<FinishedRun>, notes: &mut Vec<String>) -> Result {
    if folder.join(REPORT).is_file() {
        match read_report(folder).and_then(|report| Ok((report, read(&folder.join(RECORD))?))) {
            Ok((report, _)) if is_stopped(&report) => notes.push(not_finished(folder)),
            Ok((report, record)) => {
                runs.push(FinishedRun { folder: folder.display().to_string(), report, record });
            }
            Err(Failure::Input(error)) => notes.push(format!("Left out: {}.", one_line(&error))),
            Err(failure) => return Err(failure),
        }
        return Ok(());
    }
    if is_run(folder) {
        notes.push(not_finished(folder));
        return Ok(());
    }
    if !folder.is_dir() {
        return Err(no_run(folder, "here"));
    }
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| Failure::input(format!("{}: {error}", folder.display())))?;
    // A link could lead back.
    let folders = entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    folders.iter().try_for_each(|folder| runs_below(folder, runs, notes))
}

fn not_finished(folder: &Path) -> String {
    format!("Left out: {} is not finished.", folder.display())
}

/// Returns whether the fit of a run was stopped, so that `--resume` continues it.
pub fn is_stopped(report: &Report) -> bool {
    matches!(report, Report::Train(train) if train.fit.stop == StopReason::Interrupted)
}

fn no_run(folder: &Path, place: &str) -> Failure {
    Failure::input(format!("{}: no {REPORT} {place}; expected the folder of a finished run", folder.display()))
}

/// Reads the report of a run of `cv`, or of a run of `train` that is finished or was stopped.
pub fn read_report(folder: &Path) -> Result<Report> {
    put_right(folder)?;
    read(&folder.join(REPORT))?.ok_or_else(|| no_run(folder, "here"))
}

/// Reads a JSON file; returns `None` if it does not exist.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let refuse = |error: anyhow::Error| Failure::Input(error.context(path.display().to_string()));
    let bytes = match std::fs::read(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        bytes => bytes.map_err(|error| refuse(error.into()))?,
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| match newer_version(&bytes) {
        Some(version) => refuse(anyhow::anyhow!(
            "{error}; it was written by burn-rank {version}, which is newer than this version ({VERSION})"
        )),
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
