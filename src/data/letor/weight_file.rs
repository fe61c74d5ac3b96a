//! Reads weights from a file next to the data file, with one number per line. `FILE.query_weights` holds weights of
//! queries, and `FILE.weight` holds weights of documents, as in LightGBM.

use std::path::{Path, PathBuf};

use super::beside::{Beside, numbers};
use crate::data::error::DataError;

const OF_QUERIES: Beside = Beside { ending: "query_weights" };
const OF_DOCUMENTS: Beside = Beside { ending: "weight" };

/// Reads the weights of the queries of `data`. The file must hold exactly `queries` weights.
pub(super) fn of_queries(data: &Path, queries: usize) -> Result<Vec<f32>, DataError> {
    let expected = "the weight of a query (a finite number of at least 0)";
    read(&OF_QUERIES, data, queries, expected, |path, weights| {
        let data = data.to_path_buf();
        DataError::QueryWeights { path, weights, data, queries }
    })
}

/// Reads the weights of the documents of `data`. The file must hold exactly `documents` weights.
pub(super) fn of_documents(data: &Path, documents: usize) -> Result<Vec<f32>, DataError> {
    let expected = "the weight of a document (a finite number of at least 0)";
    read(&OF_DOCUMENTS, data, documents, expected, |path, weights| {
        let data = data.to_path_buf();
        DataError::DocumentWeights { path, weights, data, documents }
    })
}

fn read(
    beside: &Beside,
    data: &Path,
    count: usize,
    expected: &str,
    wrong_count: impl FnOnce(PathBuf, usize) -> DataError,
) -> Result<Vec<f32>, DataError> {
    let path = beside.find(data).unwrap_or_else(|| beside.name(data));
    let (weights, whole) = numbers(&path, count, expected, |field| {
        field.parse::<f32>().ok().filter(|weight| *weight >= 0.0 && weight.is_finite())
    })?;
    if weights.len() == count && whole { Ok(weights) } else { Err(wrong_count(path, weights.len())) }
}
