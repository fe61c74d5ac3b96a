//! Input shared by the commands: data files, score files, names of measures.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

use super::Failure;
use crate::data::Dataset;
use crate::data::error::quoted;
use crate::data::letor::{self, Missing, ReadOptions};
use crate::measure::trec_eval::TrecMeasure;
use crate::measure::{Measure, MeasureError};
use crate::text::with_nearest;

/// How LETOR files are read.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// What a missing value (NULL) becomes
    #[arg(long, value_enum, default_value_t = MissingArg::Error)]
    missing: MissingArg,
    /// A limit of the reader, as in max_compression_ratio=1000; the keys of [data.read] in a configuration
    #[arg(long = "read", value_name = "KEY=VALUE")]
    limits: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MissingArg {
    Error,
    Zero,
    QueryMin,
}

impl ReadArgs {
    /// Reads files as one set of `features` features (as many as the largest index when `None`).
    pub fn read(&self, files: &[PathBuf], features: Option<usize>) -> Result<Dataset, Failure> {
        let missing = match self.missing {
            MissingArg::Error => Missing::Error,
            MissingArg::Zero => Missing::Zero,
            MissingArg::QueryMin => Missing::QueryMin,
        };
        let limits = assignments("--read", &self.limits)?;
        let options: ReadOptions = serde_json::from_value(limits.into())
            .map_err(|error| Failure::input(format!("--read: {}", with_nearest(&error.to_string()))))?;
        Ok(letor::read(files, &ReadOptions { features: features.or(options.features), missing, ..options })?)
    }
}

/// The measures of `-m`, given once or more and separated by commas; those of `default` where none is given.
pub fn measures(asked: &[String], default: &str) -> Result<Vec<Measure>, Failure> {
    let asked = if asked.is_empty() { default.to_string() } else { asked.join(",") };
    let measure = |name: &str| {
        name.parse().map_err(|error: MeasureError| match TrecMeasure::read(name) {
            Ok(_) => Failure::input(format!("{error}; `{name}` is trec_eval's: eval --qrels Q --run R --format trec")),
            Err(_) => Failure::input(error),
        })
    };
    asked.split(',').map(measure).collect()
}

/// The values of a repeated `FLAG KEY=VALUE`: JSON where it is, else text.
pub fn assignments(flag: &str, assignments: &[String]) -> Result<Map<String, Value>, Failure> {
    let parse = |assignment: &String| {
        let (key, value) = assignment
            .split_once('=')
            .ok_or_else(|| Failure::input(format!("{flag} {assignment}: expected key=value")))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok((key.to_string(), value))
    };
    assignments.iter().map(parse).collect()
}

/// Reads one score a line.
pub fn scores(path: &Path, documents: usize) -> Result<Vec<f32>, Failure> {
    let refuse = |place: String, what: String| Failure::input(format!("{}{place}: {what}", path.display()));
    let file = File::open(path).map_err(|error| refuse(String::new(), error.to_string()))?;
    let mut scores = Vec::with_capacity(documents);
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(|error| refuse(format!(":{number}"), error.to_string()))?;
        let score: f32 = line.trim().parse().ok().filter(|score: &f32| !score.is_nan()).ok_or_else(|| {
            refuse(format!(":{number}:1"), format!("found {}, {}", quoted(line.trim().as_bytes()), expected(&line)))
        })?;
        scores.push(score);
    }
    if scores.len() != documents {
        return Err(refuse(
            String::new(),
            format!("found {} scores, expected {documents}, one a document", scores.len()),
        ));
    }
    Ok(scores)
}

/// What a line of a score file should have been; a run is easily taken for one.
fn expected(line: &str) -> &'static str {
    match line.split_whitespace().count() {
        6.. => "expected a number (a TREC run is read with --qrels)",
        _ => "expected a number",
    }
}
