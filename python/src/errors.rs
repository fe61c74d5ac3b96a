//! The errors of the library as exceptions, with the library's messages.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::Path;

use burn_rank::data::DataError;
use burn_rank::json::{Value, from_value};
use burn_rank::learner::LearnerError;
use burn_rank::ranker::RankerError;
use burn_rank_cli::ExperimentError;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

/// An error about what a caller gave: `ValueError`.
pub fn value(error: impl Error) -> PyErr {
    PyValueError::new_err(whole(&error))
}

/// An error of work that failed although the input was good: `RuntimeError`.
fn work(error: impl Error) -> PyErr {
    PyRuntimeError::new_err(whole(&error))
}

/// An error with its causes in one line; a cause that the line contains already is left out.
fn whole(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        cause = error.source();
    }
    line
}

/// An error of a file: the `OSError` that Python has for it, as `FileNotFoundError`, with the library's message.
fn file(message: String, source: &io::Error) -> PyErr {
    io::Error::new(source.kind(), message).into()
}

/// The exception of an error of the configuration at `path`.
pub fn config(path: &Path, error: impl Error) -> PyErr {
    // Opening a pipe again would wait for another writer, and a folder can be opened without being read.
    if path.exists() && !path.is_file() {
        return value(error);
    }
    match File::open(path) {
        Err(source) => file(whole(&error), &source),
        Ok(_) => value(error),
    }
}

/// The exception of an error of data.
pub fn data(error: DataError) -> PyErr {
    match &error {
        DataError::Io { source, .. } => file(error.to_string(), source),
        DataError::Key { source: inner, .. } => match &**inner {
            DataError::Io { source, .. } => file(error.to_string(), source),
            _ => value(error),
        },
        _ => value(error),
    }
}

/// The exception of an error of a ranker.
pub fn ranker(error: RankerError) -> PyErr {
    match &error {
        RankerError::File { source, .. } => file(error.to_string(), source),
        RankerError::Data(_) => match error {
            RankerError::Data(error) => data(error),
            error => value(error),
        },
        _ => value(error),
    }
}

/// The exception of an error of a run.
pub fn experiment(error: ExperimentError) -> PyErr {
    match error {
        ExperimentError::Data(error) => data(error),
        ExperimentError::Ranker(error) => ranker(error),
        ExperimentError::RankingLearner(error @ (LearnerError::State { .. } | LearnerError::Solver { .. })) => {
            work(error)
        }
        error => match error.unwritable() {
            Some(source) => file(error.to_string(), source),
            None => value(error),
        },
    }
}

/// A text of JSON that the Python sources wrote, as the value that it is; `what` is the argument.
pub fn decode<T: DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    let refuse = |message: String| PyValueError::new_err(format!("{what}: {message}"));
    let value: Value = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
    from_value(value).map_err(|refusal| refuse(refusal.message()))
}

/// A value as JSON text.
pub fn encode(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(work)
}
