//! `burn-rank study NAME`: checks on a ranking what a paper proves.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::execution_args::ExecutionArgs;
use super::scored::Scored;
use super::{Failure, Table, input};
use crate::experiment::{Entry, OutputFolder, Purpose, is_page};
use crate::report::study_page;
use crate::study::{STUDIES, StudyError, StudyReport, Subject, find};

/// File of the record of a study.
const JSON: &str = "study.json";
/// File of its page.
const PAGE: &str = "study.html";

const READING: &str = "\
Inputs:
  study                          what can be studied
  study NAME                     on generated queries
  study NAME MODEL DATA...       on the ranking of a saved ranker, or of the folder
                                 of a `train` run
  study NAME --scores FILE DATA...  on one score per line

  Scores are float32, as rankers give them; those of a file are rounded.
  Queries without a relevant or without an irrelevant document are left out.
  Theorems say nothing about queries with equal scores: these count in the
  means and have no bound.

How to read it:
  A table has the figures by the values of the parameter (--over), then each
  claim of the paper with what was found. `holds` and `fails` are about these
  queries alone, `open` means that they decide nothing; the exit code is 0.";

/// Arguments of `study`.
#[derive(Debug, Args)]
#[command(after_long_help = READING)]
pub struct StudyArgs {
    /// The study; without one, the list of all
    name: Option<String>,
    /// MODEL and DATA files; only DATA files with --scores; none for generated queries
    #[arg(value_name = "MODEL DATA")]
    files: Vec<PathBuf>,
    /// One score per line, in the order of the documents of DATA
    #[arg(long, value_name = "FILE", requires = "files")]
    scores: Option<PathBuf>,
    /// Values of the parameter, ascending, separated by commas
    #[arg(long, value_name = "VALUES", value_delimiter = ',')]
    over: Vec<f64>,
    /// Number of generated queries
    #[arg(long, default_value_t = 200, conflicts_with = "files", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    queries: u32,
    /// Seed of generated queries
    #[arg(long, default_value_t = 1, conflicts_with = "files")]
    seed: u64,
    /// Folder for study.json and study.html, the page with its plots: a new or empty one, or that of an earlier study
    /// or run
    #[arg(short, long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: input::ReadArgs,
    /// Device of a saved ranker
    #[arg(long, default_value = "flex")]
    device: String,
    #[command(flatten)]
    execution: ExecutionArgs,
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        Failure::Input(error.into())
    }
}

impl StudyArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        self.execution.scope(|| self.study(out))
    }

    fn study(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let Some(name) = &self.name else { return self.list(out) };
        let study = find(name)?;
        let files = files();
        if let Some(path) = &self.out {
            OutputFolder::look(path, &Purpose::Files(&files))?;
        }
        let report = study.run(&self.subject()?, &self.over)?;
        if let Some(path) = &self.out {
            let folder = OutputFolder::take(path, &Purpose::Files(&files))?;
            folder.write_json(JSON, &report)?;
            folder.write(PAGE, study_page(&report).as_bytes())?;
        }
        if self.json {
            writeln!(out, "{}", serde_json::to_string(&report).map_err(Failure::work)?)?;
            return Ok(());
        }
        print(&report, out)
    }

    fn list(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut table = Table::new(["study", "over", "what"]);
        for study in STUDIES {
            if self.json {
                let (name, what) = (study.name, study.summary);
                let row = crate::json::json!({"study": name, "parameter": study.parameter, "values": study.values, "what": what, "paper": study.paper});
                writeln!(out, "{row}")?;
            }
            table.row([study.name, study.parameter, study.summary]);
        }
        if !self.json {
            write!(out, "{}", table.render_left())?;
        }
        Ok(())
    }

    fn subject(&self) -> Result<Subject, Failure> {
        let named = |ranking: &Path, data: &[PathBuf]| {
            let data: Vec<String> = data.iter().map(|path| path.display().to_string()).collect();
            format!("{} on {}", ranking.display(), data.join(" "))
        };
        let read = |data: &[PathBuf]| self.reading.read(data, None);
        match (&self.scores, self.files.as_slice()) {
            (None, []) => Ok(Subject::generated(self.queries as usize, self.seed)),
            (Some(scores), files) => {
                let data = read(files)?;
                Ok(Subject::new(named(scores, files), &data, Scored::from_file(scores, &data)?.as_float32()))
            }
            (None, [model, files @ ..]) if !files.is_empty() => {
                let data = read(files)?;
                let scored = Scored::by_ranker(model, &data, &input::device(&self.device)?)?;
                Ok(Subject::new(named(model, files), &data, scored.as_float32()))
            }
            (None, _) => Err(Failure::input("expected MODEL DATA, --scores FILE DATA, or neither")),
        }
    }
}

/// Returns the files of a study, and how they are recognised.
fn files() -> [Entry; 2] {
    let is_study = |path: &Path| {
        let read = std::fs::read(path).ok();
        read.is_some_and(|bytes| serde_json::from_slice::<StudyReport>(&bytes).is_ok())
    };
    [Entry::recorded(JSON, is_study), Entry::recorded(PAGE, is_page)]
}

fn print(report: &StudyReport, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}: {}", report.study, report.summary)?;
    writeln!(out, "{}", report.paper)?;
    writeln!(
        out,
        "{}: {} queries with something to rank, {} documents, {} queries with equal scores",
        report.subject, report.queries, report.documents, report.tied_queries
    )?;
    for table in &report.findings.tables {
        let mut shown = Table::new(table.columns.iter().cloned());
        for (name, values) in &table.rows {
            shown.row([name.clone()].into_iter().chain(values.iter().map(|value| figure(*value))));
        }
        write!(out, "\n{}\n{}", table.title, shown.render())?;
    }
    writeln!(out)?;
    for claim in &report.findings.claims {
        writeln!(out, "{:5}  {}: {}\n       {}", claim.verdict(), claim.source, claim.claim, claim.found)?;
    }
    Ok(())
}

/// Formats a number of any magnitude in a few characters.
fn figure(value: Option<f64>) -> String {
    match value {
        None => "-".to_string(),
        Some(value) if value.fract() == 0.0 && value.abs() < 1e6 => format!("{value}"),
        Some(value) if (1e-3..1e3).contains(&value.abs()) => format!("{value:.5}"),
        Some(value) => format!("{value:.2e}"),
    }
}
