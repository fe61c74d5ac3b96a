//! `TrainingLoss`, the registered or custom loss that a learner minimizes.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::about::Change;
use super::error::LossError;
use super::ranking_loss::RankingLoss;
use super::registry::LossSpec;

/// The key that replaces `name` in the record of a custom loss.
pub(crate) const OWN_LOSS: &str = "own_loss";

/// The loss that a learner minimizes: a registered loss, given by its name and parameters, or any other
/// [`RankingLoss`].
///
/// Every learner accepts your own loss wherever it accepts a [`LossSpec`]:
///
/// ```
/// use burn_rank::loss::{LossSpec, RankNetConfig, TrainingLoss, UnitGradients};
///
/// let registered = TrainingLoss::from(LossSpec::new("approx_ndcg"));
/// let own = TrainingLoss::from(UnitGradients::new(RankNetConfig::new().init()?));
/// assert_eq!((registered.name(), own.name()), ("approx_ndcg", "rank_net"));
/// # Ok::<(), burn_rank::loss::LossError>(())
/// ```
///
/// # What is recorded
/// A registered loss is recorded in the form used in configuration files: `{"name": .., PARAMETER: ..}`. Any other loss
/// is recorded as `{"own_loss":NAME,"parameters":TEXT}`, where `TEXT` is its `Debug` output. The `Debug` output of your
/// own loss should show every field and no memory address. The state of a fit contains the record of its loss. The fit
/// can be resumed only with a loss that has the same record. If your program writes the metadata of a ranker, put the
/// record of the loss into `Metadata::config`.
#[derive(Debug, Clone)]
pub enum TrainingLoss {
    /// A registered loss.
    Registered(LossSpec),
    /// Any other loss.
    Own(Arc<dyn RankingLoss>),
}

impl TrainingLoss {
    /// Returns the name of the loss.
    pub fn name(&self) -> &str {
        match self {
            Self::Registered(spec) => &spec.name,
            Self::Own(loss) => loss.about().name,
        }
    }

    /// Builds the loss.
    ///
    /// # Errors
    /// Returns the same errors as [`LossSpec::build`].
    pub fn build(&self) -> Result<Arc<dyn RankingLoss>, LossError> {
        match self {
            Self::Registered(spec) => spec.build().map(Arc::from),
            Self::Own(loss) => Ok(loss.clone()),
        }
    }

    /// Returns the loss of the labels; that of a teacher is left out of a registered loss.
    #[cfg(feature = "learners")]
    pub(crate) fn of_labels(&self) -> Self {
        match self {
            Self::Registered(spec) => Self::Registered(spec.of_labels()),
            Self::Own(loss) => Self::Own(loss.clone()),
        }
    }

    /// Builds the loss, and keeps its record.
    #[cfg(feature = "learners")]
    pub(crate) fn built(self) -> Result<BuiltLoss, LossError> {
        Ok(BuiltLoss { built: self.build()?, record: self })
    }

    /// Applies [`LossSpec::with_default_temperature`] to a registered loss; any other loss stays as it is.
    ///
    /// # Errors
    /// Returns the same errors as [`LossSpec::build`].
    pub fn with_default_temperature(&self, times: Option<f64>) -> Result<Self, LossError> {
        match self {
            Self::Registered(spec) => spec.with_default_temperature(times).map(Self::Registered),
            Self::Own(loss) => Ok(Self::Own(loss.clone())),
        }
    }

    /// Returns the loss with one parameter changed. A registered loss is created again; any other loss must support
    /// [`Change::Parameter`]. For a registered loss, a changed temperature is measured in scores unless its unit is
    /// given. Any other loss uses its own unit.
    ///
    /// # Errors
    /// Returns an error if the loss cannot change the parameter, or if the value is out of range.
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

/// The loss of a checked learner, with its record. It is serialized as the record.
#[cfg(feature = "learners")]
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(crate) struct BuiltLoss {
    pub(crate) record: TrainingLoss,
    #[serde(skip)]
    pub(crate) built: Arc<dyn RankingLoss>,
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
            "list_net cannot change `warmth` while it trains: expected a parameter that its `RankingLoss::changed` changes"
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
        let other = TrainingLoss::from(LossSpec::new("approx_ndcg").build().unwrap());
        assert_ne!(record, to_value(&other).unwrap());
    }
}
