//! Input shared by the commands: data files and score files.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::Failure;
use crate::data::Dataset;
use crate::data::letor::{self, Missing, ReadOptions};

/// How LETOR files are read.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// What a missing value (NULL) becomes
    #[arg(long, value_enum, default_value_t = MissingArg::Error)]
    missing: MissingArg,
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
        let options = ReadOptions { features, missing, ..ReadOptions::default() };
        Ok(letor::read(files, &options)?)
    }
}

/// Reads one score a line.
pub fn scores(path: &Path, documents: usize) -> Result<Vec<f32>, Failure> {
    let refuse = |place: String, what: String| Failure::input(format!("{}{place}: {what}", path.display()));
    let file = File::open(path).map_err(|error| refuse(String::new(), error.to_string()))?;
    let mut scores = Vec::with_capacity(documents);
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(|error| refuse(format!(":{number}"), error.to_string()))?;
        let score: f32 = line
            .trim()
            .parse()
            .ok()
            .filter(|score: &f32| !score.is_nan())
            .ok_or_else(|| refuse(format!(":{number}:1"), format!("found `{}`, expected a number", line.trim())))?;
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
