//! Annealing: how a parameter of the loss, its temperature as a rule, moves over the epochs of a fit (of boosted trees,
//! its rounds).

use serde::{Deserialize, Serialize};

use super::checks::{at_least, parameter, positive};
use crate::json::tagged;
use crate::learner::error::LearnerError;
use crate::loss::TrainingLoss;

tagged! {
    "AnnealConfig"
    /// A moving parameter of the loss; the key `kind` chooses the schedule. `parameter` is the loss's own temperature
    /// (`alpha`, `sigma`) unless named.
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum AnnealConfig {
        /// By equal factors from `from` at the first epoch to `to` at epoch `epochs`, then constant.
        Geometric {
            /// Parameter of the loss.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            parameter: Option<String>,
            /// Value at the first epoch.
            from: f64,
            /// Value at the last.
            to: f64,
            /// Epochs of the way; absent: all.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            epochs: Option<usize>,
        },
        /// By equal differences.
        Linear {
            /// Parameter of the loss.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            parameter: Option<String>,
            /// Value at the first epoch.
            from: f64,
            /// Value at the last.
            to: f64,
            /// Epochs of the way; absent: all.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            epochs: Option<usize>,
        },
        /// Multiplied by `factor` whenever the selection measure has not risen for `patience` epochs, until `to`.
        Plateau {
            /// Parameter of the loss.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            parameter: Option<String>,
            /// Value at the first epoch.
            from: f64,
            /// Last value.
            to: f64,
            /// Factor of a change.
            factor: f64,
            /// Epochs without a rise before a change.
            patience: usize,
        },
    }
}

impl AnnealConfig {
    /// Checks the values, and that the loss allows both ends of its parameter.
    pub(crate) fn check(&self, loss: &TrainingLoss) -> Result<(), LearnerError> {
        self.check_values()?;
        let parameter = self.parameter(loss)?;
        for end in self.ends() {
            loss.build_with(&parameter, end)?;
        }
        Ok(())
    }

    fn check_values(&self) -> Result<(), LearnerError> {
        let [from, to] = self.ends();
        positive("anneal.from", from)?;
        positive("anneal.to", to)?;
        match *self {
            Self::Geometric { epochs: Some(epochs), .. } | Self::Linear { epochs: Some(epochs), .. } => {
                at_least("anneal.epochs", epochs, 1).map(drop)
            }
            Self::Plateau { factor, patience, .. } => {
                positive("anneal.factor", factor)?;
                if from != to && (factor > 1.0) != (to > from) {
                    let side = if to > from { "above" } else { "below" };
                    return Err(parameter(
                        "anneal.factor",
                        factor,
                        format!("a factor {side} 1 to get from {from} to {to}"),
                    ));
                }
                at_least("anneal.patience", patience, 1).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// First and last value.
    fn ends(&self) -> [f64; 2] {
        let (Self::Geometric { from, to, .. } | Self::Linear { from, to, .. } | Self::Plateau { from, to, .. }) = *self;
        [from, to]
    }

    /// The moving parameter of a loss.
    pub(crate) fn parameter(&self, loss: &TrainingLoss) -> Result<String, LearnerError> {
        let (Self::Geometric { parameter: name, .. }
        | Self::Linear { parameter: name, .. }
        | Self::Plateau { parameter: name, .. }) = self;
        if let Some(name) = name {
            return Ok(name.clone());
        }
        match loss.smoothing()? {
            Some(smoothing) => Ok(smoothing.parameter.to_string()),
            None => Err(parameter(
                "anneal.parameter",
                "absent",
                format!("a parameter of the loss `{}`, which has no temperature of its own", loss.name()),
            )),
        }
    }
}

/// The state of an annealing; saved with the fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AnnealState {
    /// Changes made so far on plateaus.
    changes: i32,
    /// Epochs since the selection measure rose or the value changed.
    stale: usize,
}

impl AnnealState {
    /// The value in an epoch, counted from 1, of `total`.
    pub(crate) fn value(&self, config: &AnnealConfig, epoch: usize, total: usize) -> f64 {
        let progress = |epochs: Option<usize>| {
            let last = epochs.unwrap_or(total).saturating_sub(1);
            if epoch > last { 1.0 } else { (epoch - 1) as f64 / last as f64 }
        };
        match *config {
            AnnealConfig::Geometric { from, to, epochs, .. } => match progress(epochs) {
                1.0 => to,
                way => from * (to / from).powf(way),
            },
            AnnealConfig::Linear { from, to, epochs, .. } => match progress(epochs) {
                1.0 => to,
                way => from + (to - from) * way,
            },
            AnnealConfig::Plateau { from, to, factor, .. } => {
                let value = from * factor.powi(self.changes);
                if factor > 1.0 { value.min(to) } else { value.max(to) }
            }
        }
    }

    /// Takes note of an epoch: whether the selection measure rose.
    pub(crate) fn observe(&mut self, config: &AnnealConfig, rose: bool) {
        let AnnealConfig::Plateau { patience, .. } = *config else { return };
        self.stale = if rose { 0 } else { self.stale + 1 };
        if self.stale >= patience {
            self.changes = self.changes.saturating_add(1);
            self.stale = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossSpec;

    fn values(config: &AnnealConfig, rises: &[bool]) -> Vec<f64> {
        let mut state = AnnealState::default();
        let mut values = Vec::new();
        for (epoch, &rose) in rises.iter().enumerate() {
            values.push(state.value(config, epoch + 1, rises.len()));
            state.observe(config, rose);
        }
        values
    }

    #[test]
    fn values_follow_the_kind() {
        let geometric = AnnealConfig::Geometric { parameter: None, from: 64.0, to: 1.0, epochs: Some(4) };
        let expected = [64.0, 16.0, 4.0, 1.0, 1.0];
        let found = values(&geometric, &[true; 5]);
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-12), "{found:?}");
        let linear = AnnealConfig::Linear { parameter: None, from: 1.0, to: 3.0, epochs: None };
        assert_eq!(values(&linear, &[true; 3]), [1.0, 2.0, 3.0]);
        let plateau = AnnealConfig::Plateau { parameter: None, from: 1.0, to: 3.0, factor: 2.0, patience: 2 };
        let rises = [true, false, false, false, true, false, false, false];
        assert_eq!(values(&plateau, &rises), [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0]);
    }

    #[test]
    fn a_factor_that_leads_away_is_refused() {
        let plateau = AnnealConfig::Plateau { parameter: None, from: 1.0, to: 3.0, factor: 0.5, patience: 2 };
        assert_eq!(
            plateau.check_values().unwrap_err().to_string(),
            "learner.anneal.factor = 0.5: expected a factor above 1 to get from 1 to 3"
        );
    }

    #[test]
    fn the_parameter_is_the_temperature_of_the_loss() {
        let anneal = AnnealConfig::Linear { parameter: None, from: 1.0, to: 3.0, epochs: None };
        assert_eq!(anneal.parameter(&LossSpec::new("approx_ndcg").into()).unwrap(), "alpha");
    }
}
