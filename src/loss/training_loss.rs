//! `TrainingLoss`: a loss as learners take it, a registered one or any other.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::about::Change;
use super::error::LossError;
use super::ranking_loss::RankingLoss;
use super::registry::LossSpec;
use super::smoothing::Smoothing;

/// The key that replaces `name` for a loss that is not registered.
pub(crate) const OWN_LOSS: &str = "own_loss";

/// The loss that a learner minimizes: a registered loss by its name and parameters, or any built [`RankingLoss`].
///
/// Learners accept both, so a loss that you write can replace a [`LossSpec`] anywhere:
///
/// ```
/// use burn_rank::loss::{Approximate, LossSpec, Ndcg, Surrogate, Temperature, TrainingLoss};
///
/// let registered = TrainingLoss::from(LossSpec::new("approx_ndcg"));
/// let positions = Approximate::new(Temperature::scores(10.0));
/// let own = TrainingLoss::from(Surrogate::new(Ndcg::new(), positions)?);
/// assert!(registered.is_registered() && !own.is_registered());
/// # Ok::<(), burn_rank::loss::LossError>(())
/// ```
///
/// # What is recorded
/// A registered loss is written as in configuration files, `{"name": .., PARAMETER: ..}`. Any other is written as
/// `{"own_loss": NAME, "parameters": TEXT}` with the text of `Debug`, which should show every field and no address. The
/// state of a fit contains that record: only a loss with the same record can resume the fit. Your program writes the
/// metadata of a ranker; put this record into `Metadata::config`.
#[derive(Debug, Clone)]
pub enum TrainingLoss {
    /// A registered loss.
    Registered(LossSpec),
    /// Any other.
    Own(Arc<dyn RankingLoss>),
}

impl TrainingLoss {
    /// Name of the loss.
    pub fn name(&self) -> &str {
        match self {
            Self::Registered(spec) => &spec.name,
            Self::Own(loss) => loss.about().name,
        }
    }

    /// Whether it is one of the registry.
    pub fn is_registered(&self) -> bool {
        matches!(self, Self::Registered(_))
    }

    /// The loss.
    ///
    /// # Errors
    /// The errors of [`LossSpec::build`].
    pub fn build(&self) -> Result<Arc<dyn RankingLoss>, LossError> {
        match self {
            Self::Registered(spec) => spec.build().map(Arc::from),
            Self::Own(loss) => Ok(loss.clone()),
        }
    }

    /// The temperature of the loss, if it has one.
    ///
    /// # Errors
    /// A name that is not registered.
    pub fn smoothing(&self) -> Result<Option<Smoothing>, LossError> {
        match self {
            Self::Registered(spec) => spec.smoothing(),
            Self::Own(loss) => Ok(loss.about().smoothing),
        }
    }

    /// The same loss, a registered one with [`LossSpec::with_default_temperature`].
    ///
    /// # Errors
    /// The errors of [`LossSpec::build`].
    pub fn with_default_temperature(&self, times: Option<f64>) -> Result<Self, LossError> {
        match self {
            Self::Registered(spec) => spec.with_default_temperature(times).map(Self::Registered),
            Self::Own(loss) => Ok(Self::Own(loss.clone())),
        }
    }

    /// The loss with one parameter changed. A registered loss is built again; any other is asked for
    /// [`Change::Parameter`]. A temperature counts in scores for a registered loss that names no unit, and in its own
    /// unit for another.
    ///
    /// # Errors
    /// A parameter that the loss does not have or does not change, a value out of its range.
    pub fn build_with(&self, parameter: &str, value: f64) -> Result<Arc<dyn RankingLoss>, LossError> {
        match self {
            Self::Registered(spec) => spec.with(parameter, value).build().map(Arc::from),
            Self::Own(loss) => match loss.changed(Change::Parameter(parameter, value))? {
                Some(changed) => Ok(changed.into()),
                None => Err(LossError::Fixed { loss: loss.about().name, parameter: parameter.into() }),
            },
        }
    }
}

impl From<LossSpec> for TrainingLoss {
    fn from(spec: LossSpec) -> Self {
        Self::Registered(spec)
    }
}

impl From<&LossSpec> for TrainingLoss {
    fn from(spec: &LossSpec) -> Self {
        Self::Registered(spec.clone())
    }
}

impl From<Arc<dyn RankingLoss>> for TrainingLoss {
    fn from(loss: Arc<dyn RankingLoss>) -> Self {
        Self::Own(loss)
    }
}

impl From<Box<dyn RankingLoss>> for TrainingLoss {
    fn from(loss: Box<dyn RankingLoss>) -> Self {
        Self::Own(loss.into())
    }
}

impl<L: RankingLoss + 'static> From<L> for TrainingLoss {
    fn from(loss: L) -> Self {
        Self::Own(Arc::new(loss))
    }
}

/// Losses are equal where their records are.
impl PartialEq for TrainingLoss {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Registered(one), Self::Registered(other)) => one == other,
            (Self::Own(one), Self::Own(other)) => {
                one.about().name == other.about().name && format!("{one:?}") == format!("{other:?}")
            }
            _ => false,
        }
    }
}

impl Serialize for TrainingLoss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let loss = match self {
            Self::Registered(spec) => return spec.serialize(serializer),
            Self::Own(loss) => loss,
        };
        let mut record = serializer.serialize_map(Some(2))?;
        record.serialize_entry(OWN_LOSS, loss.about().name)?;
        record.serialize_entry("parameters", &format!("{loss:?}"))?;
        record.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{json, to_value};
    use crate::loss::ListNetConfig;
    use crate::loss::registry::LOSSES;

    #[test]
    fn a_built_loss_is_annealed_as_its_registered_form_is() {
        for entry in LOSSES {
            let registered = TrainingLoss::from(LossSpec::new(entry.name).with_default_temperature(None).unwrap());
            let own = TrainingLoss::from(registered.build().unwrap());
            assert_eq!(own.smoothing().unwrap(), registered.smoothing().unwrap(), "{}", entry.name);
            if let Some(smoothing) = entry.smoothing {
                let at = |loss: &TrainingLoss, value| {
                    loss.build_with(smoothing.parameter, value).map(|loss| format!("{loss:?}"))
                };
                assert_eq!(at(&own, 3.0), at(&registered, 3.0), "{}", entry.name);
                assert_eq!(at(&own, -1.0), at(&registered, -1.0), "{}", entry.name);
                assert!(at(&own, -1.0).is_err());
            }
        }
    }

    #[test]
    fn a_parameter_that_does_not_move_is_refused() {
        let own = TrainingLoss::from(ListNetConfig::new().init().unwrap());
        let refused = own.build_with("warmth", 1.0).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "list_net.warmth does not move: expected a parameter that the loss's `RankingLoss::changed` changes"
        );
    }

    #[test]
    fn a_record_says_whether_the_loss_is_registered() {
        let spec = LossSpec::new("approx_ndcg").with("alpha", 3.0);
        let registered = TrainingLoss::from(&spec);
        assert_eq!(to_value(&registered).unwrap(), to_value(&spec).unwrap());
        let own = TrainingLoss::from(spec.build().unwrap());
        let record = to_value(&own).unwrap();
        assert_eq!(record["own_loss"], json!("approx_ndcg"));
        assert!(record["parameters"].as_str().unwrap().contains("value: 3.0"), "{record}");
        assert_ne!(own, registered);
        assert_ne!(own, TrainingLoss::from(LossSpec::new("approx_ndcg").build().unwrap()));
        assert_eq!(own, own.clone());
    }
}
