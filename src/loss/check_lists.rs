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
