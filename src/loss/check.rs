//! Checks the shapes, scores, labels, weights and offsets of batches and datasets.

use burn::tensor::Tensor;

use super::about::{About, check_label};
use super::error::{LossError, same_shape};
use super::lists::{Lists, check_shapes};
use crate::op::{BeyondBudget, beyond_budget};

/// Checks lists of `documents` places each, stored one after another in flat arrays. Every score must be finite, and
/// the loss must accept every label ([`About::gain`]). Places where the mask is false may hold any value.
/// [`try_forward`](super::RankingLoss::try_forward) makes the same checks on tensors.
///
/// # Errors
/// Returns [`LossError::Empty`] if there are no lists or the lists have no documents. Returns [`LossError::Shape`] if
/// the arrays differ in length, or if their length is not a multiple of `documents`. An invalid score or label gives
/// [`LossError::Score`] or [`LossError::Label`], with its query and document.
pub fn check_lists<T: Copy + Into<f64>>(
    about: &About<'_>,
    scores: &[T],
    labels: &[T],
    mask: Option<&[bool]>,
    documents: usize,
) -> Result<(), LossError> {
    if scores.is_empty() || documents == 0 {
        return Err(LossError::Empty { found: vec![scores.len().checked_div(documents).unwrap_or(0), documents] });
    }
    let count = [scores.len()];
    let expected = ("scores", &count[..]);
    if !scores.len().is_multiple_of(documents) {
        let (found, expected) = (vec![documents], count.to_vec());
        return Err(LossError::Shape { what: "lists", found, other: "scores", expected });
    }
    same_shape(("labels", &[labels.len()]), expected)?;
    same_shape(("mask", &[mask.map_or(scores.len(), <[bool]>::len)]), expected)?;
    let counts = |place: usize| mask.is_none_or(|mask| mask[place]);
    let mut places = scores.iter().zip(labels).enumerate().filter(|(place, _)| counts(*place));
    places.try_for_each(|(place, (&score, &label))| {
        check_document(about, "label", [place / documents, place % documents], [score.into(), label.into()])
    })
}

fn check_document(about: &About<'_>, what: &'static str, at: [usize; 2], numbers: [f64; 2]) -> Result<(), LossError> {
    let [found, label] = numbers;
    if !found.is_finite() {
        return Err(LossError::Score { query: at[0], document: at[1], found });
    }
    check_label(about, what, at, label)
}

/// Checks padded lists: the device, what the loss accepts, every score, every label that the loss reads, and every
/// document weight.
pub(super) fn check_values(about: &About<'_>, lists: &Lists) -> Result<(), LossError> {
    let [queries, documents] = lists.scores.dims();
    if queries * documents == 0 {
        return Err(LossError::Empty { found: vec![queries, documents] });
    }
    check_device(&lists.scores)?;
    lists.check_for(about)?;
    let what = if lists.teacher.is_some() && !about.needs_teacher { TEACHER } else { "label" };
    check_documents(about, what, &about.read(lists))?;
    if about.needs_teacher {
        let taught = lists.taught().ok_or(LossError::NoTeacher { loss: about.name })?;
        check_documents(&About::new(about.name, about.orientation), TEACHER, &taught)?;
    }
    let weights = lists.document_weights.iter().flat_map(|weights| weights.to_data().iter::<f64>().collect::<Vec<_>>());
    match weights.enumerate().find(|(_, weight)| !(weight.is_finite() && *weight >= 0.0)) {
        Some((place, found)) => {
            let (query, document) = (lists.number(place / documents), place % documents);
            Err(LossError::DocumentWeight { query, document, found })
        }
        None => Ok(()),
    }
}

/// The name of the labels of lists that a loss reads with a teacher's scores in their place.
const TEACHER: &str = "teacher's score";

fn check_documents(about: &About<'_>, what: &'static str, lists: &Lists) -> Result<(), LossError> {
    check_shapes(&lists.scores, &lists.labels, &lists.padded)?;
    let [_, documents] = lists.scores.dims();
    let (scores, labels, padded) = (lists.scores.to_data(), lists.labels.to_data(), lists.padded.to_data());
    let places = scores.iter::<f64>().zip(labels.iter::<f64>()).zip(padded.iter::<bool>()).enumerate();
    places.filter(|(_, (_, padded))| !padded).try_for_each(|(place, ((score, label), _))| {
        check_document(about, what, [lists.number(place / documents), place % documents], [score, label])
    })
}

/// Checks that the device supports the type of the scores, and that the batch fits the memory budget.
fn check_device(scores: &Tensor<2>) -> Result<(), LossError> {
    let dtype = scores.dtype();
    if !scores.device().supports_dtype(dtype) {
        return Err(LossError::Type { found: dtype });
    }
    beyond_budget(scores).map_or(Ok(()), |BeyondBudget { backend, feature, needed, budget }| {
        Err(LossError::Budget { backend, feature, found: scores.dims().to_vec(), needed, budget })
    })
}

/// Checks that there is one weight for each query. `queries` holds the name and shape of the tensor that has one entry
/// or row per query. An error message names this tensor.
pub(super) fn check_weight_shape(
    weights: &Tensor<1>,
    (queries, expected): (&'static str, &[usize]),
) -> Result<(), LossError> {
    let [found] = weights.dims();
    if found == expected[0] {
        return Ok(());
    }
    Err(LossError::Shape { what: "weights", found: vec![found], other: queries, expected: expected.into() })
}

pub(super) fn check_weights(weights: &Tensor<1>, queries: (&'static str, &[usize])) -> Result<(), LossError> {
    check_weight_shape(weights, queries)?;
    let data = weights.to_data();
    let bad = data.iter::<f64>().enumerate().find(|(_, weight)| !weight.is_finite() || *weight < 0.0);
    bad.map_or(Ok(()), |(query, found)| Err(LossError::Weight { query, found }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossSpec;

    #[test]
    fn lists_in_arrays_are_refused_at_their_place() {
        let loss = LossSpec::new("approx_ndcg").build().unwrap();
        let check = |scores: &[f32], labels: &[f32], mask: Option<&[bool]>, documents| {
            check_lists(&loss.about(), scores, labels, mask, documents).map_err(|error| error.to_string())
        };
        let (scores, labels) = ([0.5, 1.0, f32::NAN, 2.0], [1.0, 0.0, -1.0, 0.5]);
        let refused = |documents, mask: Option<&[bool]>| check(&scores, &labels, mask, documents).unwrap_err();
        assert_eq!(check(&scores, &labels, Some(&[true, true, false, false]), 2), Ok(()));
        assert_eq!(refused(2, None), "query 2, document 1: score NaN, expected a finite number");
        assert_eq!(
            refused(4, Some(&[true, true, false, true])),
            "query 1, document 4: label 0.5, expected a whole number from 0 to 30"
        );
        assert_eq!(check(&scores, &labels[..3], None, 2).unwrap_err(), "labels are [3], scores [4]");
        assert_eq!(check(&scores, &labels, Some(&[true]), 2).unwrap_err(), "mask is [1], scores [4]");
        assert_eq!(refused(3, None), "lists are [3], scores [4]");
        assert_eq!(
            check(&[], &[], None, 2).unwrap_err(),
            "scores are [0, 2], expected one query of one document or more"
        );
    }
}
