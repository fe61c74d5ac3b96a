//! Computes the targets and the document weights of a regression on gains.

use crate::data::RankingDataset;
use crate::learner::error::{LearnerError, Result};
use crate::loss::RankingLoss;
use crate::measure::Gain;

/// Returns the gain of each document's label.
///
/// # Errors
/// [`LearnerError::Data`] if a label has no finite gain. The message ends with `advice`.
pub fn gains(learner: &'static str, data: &RankingDataset, gain: &Gain, advice: &str) -> Result<Vec<f64>> {
    let of = |(d, &label): (usize, &f32)| {
        let value = gain.of(f64::from(label));
        if value.is_finite() {
            return Ok(value);
        }
        let query = data.offsets.partition_point(|&offset| offset <= d) - 1;
        let reason = format!("label {label} of query {} has no finite gain{advice}", data.query_ids[query]);
        Err(LearnerError::data(learner, reason))
    };
    data.labels.iter().enumerate().map(of).collect()
}

/// Returns the gain function of `loss`, or `2^y - 1` if the loss has none. These gains are the targets of the
/// regression with which a fit starts.
pub(crate) fn start_gain(loss: &dyn RankingLoss) -> Gain {
    loss.about().gain.cloned().unwrap_or(Gain::Exp2)
}

/// Returns the gain of each document's label, by the gain function that [`start_gain`] returns.
pub(crate) fn start_gains(learner: &'static str, data: &RankingDataset, loss: &dyn RankingLoss) -> Result<Vec<f64>> {
    gains(learner, data, &start_gain(loss), ", from which the fit starts: lower the labels")
}

/// Returns document weights that add up to 1/2 over the relevant documents and to 1/2 over all other documents, if
/// there are any of either kind.
pub fn balanced_weights(data: &RankingDataset) -> Vec<f64> {
    let relevant = data.labels.iter().filter(|&&label| label >= 1.0).count();
    let others = data.documents() - relevant;
    let weight = |&label: &f32| 0.5 / if label >= 1.0 { relevant as f64 } else { others as f64 };
    data.labels.iter().map(weight).collect()
}
