//! Checks of lists in plain arrays, for callers without tensors.

use super::check::check_places;
use super::error::LossError;
use super::ranking_loss::RankingLoss;

/// Checks lists that lie one after another in arrays, each of `documents` places: a score that is not finite, or a label
/// outside the domain of the loss's gain, is refused with its query and document. Places where the mask is false may hold
/// anything. [`RankingLoss::try_forward`] does the same for tensors.
///
/// # Errors
/// [`LossError::Empty`] for no lists or lists of no documents; [`LossError::Shape`] for arrays of different lengths, or of
/// a length that is not a multiple of `documents`; [`LossError::Score`]; [`LossError::Label`].
pub fn check_lists<T: Copy + Into<f64>>(
    loss: &dyn RankingLoss,
    scores: &[T],
    labels: &[T],
    mask: Option<&[bool]>,
    documents: usize,
) -> Result<(), LossError> {
    if scores.is_empty() || documents == 0 {
        return Err(LossError::Empty { found: vec![scores.len().checked_div(documents).unwrap_or(0), documents] });
    }
    let different = |what, found: usize, expected: usize| {
        Err(LossError::Shape { what, found: vec![found], other: "scores", expected: vec![expected] })
    };
    if !scores.len().is_multiple_of(documents) {
        return different("lists", documents, scores.len());
    }
    for (what, found) in [("labels", labels.len()), ("mask", mask.map_or(scores.len(), <[bool]>::len))] {
        if found != scores.len() {
            return different(what, found, scores.len());
        }
    }
    let counts = |place: usize| mask.is_none_or(|mask| mask[place]);
    let places = scores.iter().zip(labels).enumerate().filter(|(place, _)| counts(*place));
    check_places(loss.gain(), places.map(|(place, (&score, &label))| (place, score.into(), label.into())), documents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossSpec;

    #[test]
    fn lists_in_arrays_are_refused_at_their_place() {
        let loss = LossSpec::new("approx_ndcg").build().unwrap();
        let check = |scores: &[f32], labels: &[f32], mask: Option<&[bool]>, documents| {
            check_lists(&*loss, scores, labels, mask, documents).map_err(|error| error.to_string())
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
