//! Weights of queries beside a data file: `FILE.query_weights`, one number per line, in the order of the queries.

use std::path::Path;

use super::beside::{Beside, numbers};
use crate::data::DataError;

const WEIGHTS: Beside = Beside { ending: "query_weights" };

/// Reads the weights of the queries of `data`, one for each of `queries`.
pub(super) fn read(data: &Path, queries: usize) -> Result<Vec<f32>, DataError> {
    let path = WEIGHTS.find(data).unwrap_or_else(|| WEIGHTS.name(data));
    let (weights, whole) = numbers(&path, queries, "the weight of a query (a finite number of at least 0)", |field| {
        field.parse::<f32>().ok().filter(|weight| *weight >= 0.0 && weight.is_finite())
    })?;
    if weights.len() != queries || !whole {
        return Err(DataError::QueryWeights { path, weights: weights.len(), data: data.to_path_buf(), queries });
    }
    Ok(weights)
}
