//! Checks of batches and datasets: shapes, scores and labels at documents, weights, offsets.

use burn::tensor::{Bool, DType, Tensor};

use super::error::{self, LossError};
use crate::measure::Gain;

/// Checks shapes, and scores and labels at documents.
pub(super) fn check_batch(
    gain: Option<&Gain>,
    scores: &Tensor<2>,
    labels: &Tensor<2>,
    mask: &Tensor<2, Bool>,
) -> Result<(), LossError> {
    let [queries, documents] = scores.dims();
    let expected = vec![queries, documents];
    if queries * documents == 0 {
        let (found, expected) = (expected, vec![queries.max(1), documents.max(1)]);
        return Err(LossError::Shape { what: "scores", found, expected });
    }
    for (what, found) in [("labels", labels.dims()), ("mask", mask.dims())] {
        if found != [queries, documents] {
            return Err(LossError::Shape { what, found: found.to_vec(), expected });
        }
    }
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

pub(super) fn check_weights(weights: &Tensor<1>, queries: usize) -> Result<(), LossError> {
    let [found] = weights.dims();
    if found != queries {
        return Err(LossError::Shape { what: "weights", found: vec![found], expected: vec![queries] });
    }
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
