//! The value of a surrogate in the units of its measure: what a learning curve shows beside the exact measure.

use crate::data::Dataset;
use crate::loss::{LossError, Orientation, RankingLoss};

/// Name of the value among the figures of a round.
pub const SURROGATE: &str = "surrogate";

/// Turns a sum of losses into the mean of the surrogate.
pub(crate) struct SurrogateValue {
    /// Training queries with something to learn.
    learnable: f64,
}

impl SurrogateValue {
    /// `None` for a loss that is not 1 - a normalised measure, and for data with nothing to learn.
    ///
    /// # Errors
    /// Labels outside the domain of the loss.
    pub(crate) fn of(loss: &dyn RankingLoss, train: &Dataset) -> Result<Option<Self>, LossError> {
        let learnable = train.queries() - loss.degenerate_queries(&train.labels, &train.offsets)?.len();
        let comparable = loss.orientation() == Orientation::NormalisedMeasure && learnable > 0;
        Ok(comparable.then_some(Self { learnable: learnable as f64 }))
    }

    /// The mean over the queries with something to learn, from the sum of the losses of all: the others have loss 0,
    /// which is no measure of 1.
    pub(crate) fn figure(&self, losses: f64) -> (String, f64) {
        (SURROGATE.to_string(), 1.0 - losses / self.learnable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::dataset;
    use crate::loss::LossSpec;

    #[test]
    fn queries_without_anything_to_learn_do_not_raise_the_value() {
        let data = dataset(1, &[&[(0.0, &[0.0]), (1.0, &[1.0])], &[(1.0, &[0.0])], &[(0.0, &[0.0]), (2.0, &[1.0])]]);
        let value = |name: &str| SurrogateValue::of(&*LossSpec::new(name).build().unwrap(), &data).unwrap();
        assert_eq!(value("approx_ndcg").unwrap().figure(0.5), ("surrogate".to_string(), 0.75));
        assert!(value("list_net").is_none());
    }
}
