//! Checks of batches and datasets: shapes, scores and labels at documents, weights, offsets.

use burn::tensor::{Bool, DType, Tensor};

use super::error::{self, LossError};
use super::lists::check_shapes;
use crate::measure::Gain;
use crate::op::{BeyondBudget, beyond_budget};

/// Checks the shapes, and the scores and labels at documents.
pub(super) fn check_batch(
    gain: Option<&Gain>,
    scores: &Tensor<2>,
    labels: &Tensor<2>,
    mask: &Tensor<2, Bool>,
) -> Result<(), LossError> {
    let [queries, documents] = scores.dims();
    if queries * documents == 0 {
        return Err(LossError::Empty { found: vec![queries, documents] });
    }
    check_shapes(scores, labels, mask)?;
    check_device(scores)?;
    let scores = scores.to_data().convert_dtype(DType::F64);
    let labels = labels.to_data().convert_dtype(DType::F64);
    let mask = mask.to_data();
    let places = scores.iter::<f64>().zip(labels.iter::<f64>()).zip(mask.iter::<bool>());
    for (i, ((score, label), _)) in places.enumerate().filter(|(_, (_, document))| *document) {
        let (query, document) = (i / documents, i % documents);
        if !score.is_finite() {
            return Err(LossError::Score { query, document, found: score });
        }
        check_label(gain, query, document, label)?;
    }
    Ok(())
}

/// Checks that the device of the scores can compute a loss of them.
fn check_device(scores: &Tensor<2>) -> Result<(), LossError> {
    let dtype = scores.dtype();
    if !scores.device().supports_dtype(dtype) {
        return Err(LossError::Type { found: dtype });
    }
    beyond_budget(scores).map_or(Ok(()), |BeyondBudget { unlisted, needed, budget }| {
        let (backend, feature, found) = (unlisted.backend, unlisted.feature, scores.dims().to_vec());
        Err(LossError::Memory { backend, feature, found, needed, budget })
    })
}

pub(super) fn check_weight_shape(weights: &Tensor<1>, scores: &Tensor<2>) -> Result<(), LossError> {
    let ([found], expected) = (weights.dims(), scores.dims());
    if found == expected[0] {
        return Ok(());
    }
    Err(LossError::Shape { what: "weights", found: vec![found], other: "scores", expected: expected.into() })
}

pub(super) fn check_weights(weights: &Tensor<1>, scores: &Tensor<2>) -> Result<(), LossError> {
    check_weight_shape(weights, scores)?;
    let data = weights.to_data();
    let bad = data.iter::<f64>().enumerate().find(|(_, weight)| !weight.is_finite() || *weight < 0.0);
    bad.map_or(Ok(()), |(query, found)| Err(LossError::Weight { query, found }))
}

pub(super) fn check_label(gain: Option<&Gain>, query: usize, document: usize, found: f64) -> Result<(), LossError> {
    error::label_problem(gain, found)
        .map_or(Ok(()), |expected| Err(LossError::Label { query, document, found, expected }))
}

pub(super) fn check_offsets(documents: usize, offsets: &[usize]) -> Result<(), LossError> {
    let found = match offsets {
        [] => "none".to_string(),
        [first, ..] if *first != 0 => format!("the first at {first}"),
        [.., last] if *last != documents => format!("the last at {last}"),
        _ => match offsets.windows(2).find(|two| two[0] > two[1]) {
            Some(two) => format!("{} after {}", two[1], two[0]),
            None => return Ok(()),
        },
    };
    Err(LossError::Offsets { found, documents })
}
