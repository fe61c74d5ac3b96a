//! `burn-rank loss NAME`: value, loss and gradient of lists given as JSON lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

use burn::tensor::DType;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::json;

use super::{Failure, input};
use crate::loss::{LossError, explain, registry};

/// Arguments of `loss`.
#[derive(Debug, Args)]
pub struct LossArgs {
    /// Name of the loss; `burn-rank models --losses` lists them
    name: String,
    /// A parameter of the loss, as in alpha=10
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Arithmetic
    #[arg(long, value_enum, default_value_t = Precision::F32)]
    precision: Precision,
    /// Instead of reading lists: how the loss is evaluated in lists of N documents, with its measured errors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    approximation: Option<u32>,
    /// File of JSON objects {"scores": [..], "labels": [..]}, one a line; `-` reads standard input
    #[arg(default_value = "-")]
    file: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Precision {
    F32,
    F64,
}

#[derive(Deserialize)]
struct List {
    scores: Vec<f64>,
    labels: Vec<f64>,
}

impl LossArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let loss = registry::build(&self.name, &input::assignments("--set", &self.set)?)?;
        let dtype = match self.precision {
            Precision::F32 => DType::F32,
            Precision::F64 => DType::F64,
        };
        if let Some(documents) = self.approximation {
            let found = loss.approximation(documents as usize, dtype)?;
            writeln!(
                out,
                "{}",
                found.map_or_else(|| json!({"documents": documents, "evaluation": "formula"}), |a| json!(a))
            )?;
            return Ok(());
        }
        let from_stdin = self.file.as_os_str() == "-";
        let place = if from_stdin { "standard input".to_string() } else { self.file.display().to_string() };
        let lines: Box<dyn BufRead> = if from_stdin {
            Box::new(io::stdin().lock())
        } else {
            let file = File::open(&self.file).map_err(|error| Failure::input(format!("{place}: {error}")))?;
            Box::new(BufReader::new(file))
        };
        for (number, line) in (1..).zip(lines.lines()) {
            let line = line.map_err(|error| Failure::input(format!("{place}:{number}: {error}")))?;
            if line.trim().is_empty() {
                continue;
            }
            let list: List = serde_json::from_str(&line)
                .map_err(|error| Failure::input(format!("{place}:{number}:{}: {error}", error.column())))?;
            let explained = explain(loss.as_ref(), &list.scores, &list.labels, dtype)
                .map_err(|error: LossError| Failure::input(format!("{place}:{number}: {error}")))?;
            writeln!(out, "{}", json!({"value": explained.value, "loss": explained.loss, "grad": explained.grad}))?;
        }
        Ok(())
    }
}
