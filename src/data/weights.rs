//! Common checks for the weights of queries and the weights of documents.

use super::error::DataError;
use crate::refusal::Refusal;
use crate::text::counted;

/// Checks `count` given weights. Each weight must be finite and at least 0, and at least one must be above 0. Weights
/// that are all 1 become an empty vector.
pub(super) fn given(what: &str, mut weights: Vec<f32>, count: usize) -> Result<Vec<f32>, DataError> {
    check_all(what, &weights, count)?;
    if weights.iter().all(|&weight| weight == 1.0) {
        weights.clear();
    }
    Ok(weights)
}

/// Checks stored weights, which must be empty or pass the checks of [`given`].
pub(super) fn check(what: &str, weights: &[f32], count: usize) -> Result<(), DataError> {
    if weights.is_empty() { Ok(()) } else { check_all(what, weights, count) }
}

fn check_all(what: &str, weights: &[f32], count: usize) -> Result<(), DataError> {
    let key = format!("{what}_weights");
    if weights.len() != count {
        let found = counted(weights.len(), "weight");
        return Err(Refusal::new(key, found, format!("{count}, one per {what}")).into());
    }
    if let Some(place) = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
        let at = format!("{key}[{place}]");
        return Err(Refusal::new(at, weights[place], "a finite number of at least 0").into());
    }
    if !weights.is_empty() && weights.iter().all(|&weight| weight == 0.0) {
        return Err(Refusal::new(key, "0 everywhere", format!("above 0 for some {what}")).into());
    }
    Ok(())
}
