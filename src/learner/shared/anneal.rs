//! Annealing changes a parameter of the loss, usually its temperature, from epoch to epoch or from boosting round to
//! boosting round.

use serde::{Deserialize, Serialize};

use super::checks::{at_least, parameter, positive, require};
use crate::json::tagged;
use crate::learner::error::Result;
use crate::loss::BuiltLoss;
use crate::loss::registry::LOSSES;

tagged! {
    "AnnealConfig"
    /// The schedule by which a parameter of the loss changes, chosen by the key `kind`. By default, this parameter is
    /// the temperature of the loss (`alpha`, `sigma`).
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum AnnealConfig {
        /// Multiplies the parameter by the same factor in each epoch, from the value `from` in the first epoch to `to`
        /// in epoch `epochs`. Afterwards the parameter stays at `to`.
        Geometric {
            /// The name of the annealed parameter.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            parameter: Option<String>,
            /// The value of the parameter in the first epoch.
            from: f64,
            /// The value of the parameter in the last epoch of the schedule.
            to: f64,
            /// The epoch in which `to` is reached, by default the last epoch of the fit.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            epochs: Option<usize>,
        },
        /// Adds the same difference to the parameter in each epoch, from the value `from` in the first epoch to `to` in
        /// epoch `epochs`. Afterwards the parameter stays at `to`.
        Linear {
            /// The name of the annealed parameter.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            parameter: Option<String>,
            /// The value of the parameter in the first epoch.
            from: f64,
            /// The value of the parameter in the last epoch of the schedule.
            to: f64,
            /// The epoch in which `to` is reached, by default the last epoch of the fit.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            epochs: Option<usize>,
        },
        /// Multiplies the parameter by `factor` whenever the selection measure has not risen for `patience` epochs,
        /// until `to` is reached.
        Plateau {
            /// The name of the annealed parameter.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            parameter: Option<String>,
            /// The value of the parameter in the first epoch.
            from: f64,
            /// The last value.
            to: f64,
            /// The factor by which each change multiplies the parameter.
            factor: f64,
            /// If the selection measure has not risen for this many epochs, the parameter changes.
            patience: usize,
        },
    }
}

impl AnnealConfig {
    /// Checks the settings. Also checks that the loss accepts both the first and the last value of its parameter.
    /// Returns the name of this parameter, which is by default the temperature of the loss.
    pub(crate) fn check(&self, loss: &BuiltLoss) -> Result<String> {
        self.check_values()?;
        let temperature = || loss.built.about().smoothing.map(|smoothing| smoothing.parameter);
        let name = self.named().or_else(temperature).map(str::to_string).ok_or_else(|| {
            let expected = format!("a parameter of the loss `{}`, which has no temperature", loss.record.name());
            parameter("anneal.parameter", "absent", expected)
        })?;
        for end in self.ends() {
            loss.record.build_with(&name, end)?;
        }
        Ok(name)
    }

    /// Returns the parameter that the schedule names, if it names one.
    fn named(&self) -> Option<&str> {
        let (Self::Geometric { parameter, .. } | Self::Linear { parameter, .. } | Self::Plateau { parameter, .. }) =
            self;
        parameter.as_deref()
    }

    /// Returns whether the schedule changes the temperature of a loss that has one.
    pub(crate) fn changes_temperature(&self) -> bool {
        let mut temperatures = LOSSES.iter().filter_map(|entry| entry.smoothing);
        self.named().is_none_or(|name| temperatures.any(|temperature| temperature.parameter == name))
    }

    fn check_values(&self) -> Result<()> {
        let [from, to] = self.ends();
        positive("anneal.from", from)?;
        positive("anneal.to", to)?;
        match *self {
            Self::Geometric { epochs, .. } | Self::Linear { epochs, .. } => at_least("anneal.epochs", epochs, 1),
            Self::Plateau { factor, patience, .. } => {
                positive("anneal.factor", factor)?;
                let side = if to > from { "above" } else { "below" };
                let expected = format_args!("a factor {side} 1 to get from {from} to {to}");
                require("anneal.factor", factor, from == to || (factor > 1.0) == (to > from), expected)?;
                at_least("anneal.patience", patience, 1)
            }
        }
    }

    /// Returns the first and the last value.
    pub(crate) fn ends(&self) -> [f64; 2] {
        let (Self::Geometric { from, to, .. } | Self::Linear { from, to, .. } | Self::Plateau { from, to, .. }) = *self;
        [from, to]
    }
}

/// The state that a schedule keeps from one epoch to the next. It is saved with the state of the fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AnnealState {
    /// How many times the value has been multiplied by the factor of [`AnnealConfig::Plateau`].
    changes: i32,
    /// The number of epochs since the selection measure rose or the value changed.
    stale: usize,
}

impl AnnealState {
    /// Returns the value of the parameter in an epoch, counted from 1, of a fit with `total` epochs.
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

    /// Records whether the selection measure rose in an epoch.
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
    use crate::loss::{LossSpec, TrainingLoss};

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
        let loss = TrainingLoss::from(LossSpec::new("approx_ndcg")).built().unwrap();
        assert_eq!(anneal.check(&loss).unwrap(), "alpha");
    }
}
