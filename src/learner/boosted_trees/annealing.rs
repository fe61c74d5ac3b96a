//! Replaces the loss in each boosting round if one of the loss's parameters is annealed.

use super::objective::Objective;
use crate::learner::error::LearnerError;
use crate::learner::shared::anneal::{AnnealConfig, AnnealState};
use crate::loss::TrainingLoss;

/// A parameter of the loss whose value changes from round to round.
pub(super) struct Annealing<'a> {
    pub(super) config: &'a AnnealConfig,
    pub(super) loss: &'a TrainingLoss,
    pub(super) parameter: &'a str,
    /// The length of the annealing in rounds, which applies unless the configuration sets `epochs`.
    pub(super) length: usize,
    /// The value of the parameter in the current round, or `None` before the first round.
    pub(super) value: Option<f64>,
}

impl Annealing<'_> {
    /// Sets the objective's loss to the loss of round `round`, counted from 1. Returns whether this loss differs from
    /// the loss of the previous round.
    pub(super) fn set(
        &mut self,
        objective: &mut Objective,
        state: AnnealState,
        round: usize,
    ) -> Result<bool, LearnerError> {
        let value = state.value(self.config, round, self.length);
        if self.value == Some(value) {
            return Ok(false);
        }
        objective.set_loss(self.loss.build_with(self.parameter, value)?)?;
        self.value = Some(value);
        Ok(true)
    }

    /// Tells the annealing schedule whether the selection measure rose in a round.
    pub(super) fn observe(&self, state: &mut AnnealState, rose: bool) {
        state.observe(self.config, rose);
    }

    /// Returns the name and the current value of the annealed parameter.
    pub(super) fn figure(&self) -> Option<(String, f64)> {
        self.value.map(|value| (self.parameter.to_string(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::boosted_trees::BoostedTreesConfig;
    use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
    use crate::learner::testing;
    use crate::loss::LossSpec;

    fn config(anneal: AnnealConfig) -> BoostedTreesConfig {
        BoostedTreesConfig { rounds: 5, min_documents: 5, anneal: Some(anneal), ..BoostedTreesConfig::default() }
    }

    fn geometric(parameter: Option<&str>, from: f64, to: f64) -> AnnealConfig {
        AnnealConfig::Geometric { parameter: parameter.map(String::from), from, to, epochs: None }
    }

    #[test]
    fn the_temperature_moves_over_the_rounds() {
        let data = testing::random(20, 8, 3, 5);
        // By the balance, and by Newton steps.
        for (anneal, loss, name) in [
            (geometric(None, 1.0, 16.0), LossSpec::new("approx_ndcg"), "alpha"),
            (geometric(None, 1.0, 16.0), LossSpec::parse("ap:approximate_positions"), "alpha"),
            (geometric(Some("sigma"), 1.0, 16.0), LossSpec::new("lambda_ndcg"), "sigma"),
        ] {
            let learner = config(anneal).check(&Parts::default().with_loss(&loss)).unwrap();
            let fitted = learner.fit(&data, None, &testing::context(None)).unwrap();
            let moved: Vec<f64> = (fitted.history.iter().flat_map(|round| &round.figures))
                .filter(|(figure, _)| figure == name)
                .map(|(_, value)| *value)
                .collect();
            let expected = [1.0, 2.0, 4.0, 8.0, 16.0];
            assert!(moved.len() == 5 && moved.iter().zip(expected).all(|(m, e)| (m - e).abs() < 1e-9), "{moved:?}");
        }
    }

    #[test]
    fn annealed_fits_resume_to_the_same_bytes() {
        let data = testing::random(20, 8, 3, 5);
        let plateau = AnnealConfig::Plateau { parameter: None, from: 1.0, to: 8.0, factor: 2.0, patience: 1 };
        for anneal in [geometric(None, 1.0, 16.0), plateau] {
            let learner = config(anneal).check(&Parts::default().with_loss(LossSpec::new("approx_ndcg"))).unwrap();
            testing::assert_reproducible(&learner, &data, &data, 2);
        }
    }

    #[test]
    fn what_does_not_move_is_refused() {
        let message = |anneal, loss: &str| {
            config(anneal).check(&Parts::default().with_loss(LossSpec::new(loss))).unwrap_err().to_string()
        };
        assert_eq!(
            message(geometric(None, 1.0, 2.0), "list_net"),
            "learner.anneal.parameter = absent: expected a parameter of the loss `list_net`, which has no temperature of its own"
        );
        assert_eq!(
            message(geometric(None, -1.0, 2.0), "approx_ndcg"),
            "learner.anneal.from = -1: expected a finite number above 0"
        );
        assert!(message(geometric(Some("alpah"), 1.0, 2.0), "approx_ndcg").contains("alpah"));
    }
}
