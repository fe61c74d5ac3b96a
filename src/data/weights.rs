//! The common part of weights of queries and weights of documents.

use super::dataset::inconsistent;
use super::error::DataError;

/// Weights as they are given: `count` of them, each a finite number of at least 0, some above 0. Weights that are all 1
/// come back as none.
pub(super) fn given(
    what: &str,
    mut weights: Vec<f32>,
    count: usize,
    name: impl Fn(usize) -> String,
) -> Result<Vec<f32>, DataError> {
    if weights.len() != count {
        return Err(inconsistent(format!("number of {what} weights"), weights.len(), count));
    }
    check_values(what, &weights, name)?;
    if weights.iter().all(|&weight| weight == 1.0) {
        weights.clear();
    }
    Ok(weights)
}

/// Checks weights as they are kept: none, or as [`given`]. `expected` says how many there may be.
pub(super) fn check(
    what: &str,
    weights: &[f32],
    (count, expected): (usize, String),
    name: impl Fn(usize) -> String,
) -> Result<(), DataError> {
    if weights.is_empty() {
        return Ok(());
    }
    if weights.len() != count {
        return Err(inconsistent(format!("number of {what} weights"), weights.len(), expected));
    }
    check_values(what, weights, name)
}

fn check_values(what: &str, weights: &[f32], name: impl Fn(usize) -> String) -> Result<(), DataError> {
    if let Some(place) = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
        let weight = format!("the weight of {}", name(place));
        return Err(inconsistent(weight, weights[place], "a finite number of at least 0"));
    }
    if !weights.is_empty() && weights.iter().all(|&weight| weight == 0.0) {
        return Err(inconsistent(format!("every {what} weight"), 0, format!("above 0 for some {what}")));
    }
    Ok(())
}
