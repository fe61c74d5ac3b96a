//! The ranker that a fit starts from.

use burn::tensor::Device;

use super::config::ExperimentConfig;
use super::error::ExperimentError;
use super::run_folder::RANKER;
use super::split::Split;
use crate::data::NormalizerKind;
use crate::json::json;
use crate::learner::LearnerError;
use crate::ranker::Ranker;
use crate::refusal::Refusal;
use crate::text::counted;

impl ExperimentConfig {
    /// Refuses a start, and streamed data, for a cross-validation.
    ///
    /// # Errors
    /// [`Refusal`] of the key `start` or `data.memory`, if it is given.
    pub(crate) fn check_folds(&self) -> Result<(), Refusal> {
        let words = "not read by `cv`: the ranker may have been trained on the queries that a fold tests";
        if self.start.is_some() {
            return Err(Refusal::fault("start", words));
        }
        match self.data.memory {
            Some(memory) => {
                Err(Refusal::new("data.memory", memory, "none: `cv` holds the data in memory; `train` streams them"))
            }
            None => Ok(()),
        }
    }

    /// Refuses a ranker that the learner does not start from, or one of other features than those of the data: its trees
    /// cannot be added to.
    ///
    /// # Errors
    /// [`Refusal`] of the key `start`.
    pub(crate) fn check_start_ranker(&self, ranker: &Ranker, split: &Split) -> Result<(), Refusal> {
        let started = self.learner().and_then(|mut learner| learner.start_from(ranker.model()));
        if let Err(LearnerError::Refused(refusal)) = started {
            return Err(refusal);
        }
        let (found, expected) = (ranker.model().features(), split.train.feature_count);
        if found == expected {
            return Ok(());
        }
        let data = counted(expected, "feature");
        let expected = match found > expected {
            true => format!("one of the {data} of the training data, or data.read.features = {found}"),
            false => format!("one of the {data} of the training data"),
        };
        Err(Refusal::new("start", format!("a ranker of {}", counted(found, "feature")), expected))
    }

    /// Loads the ranker that the fit starts from, if there is one. Its normaliser is that of the fit.
    ///
    /// # Errors
    /// [`ExperimentError::Ranker`] for a file that is no ranker; [`ExperimentError::Refused`] for one with another kind of
    /// normaliser than the configuration's.
    pub fn start_ranker(&self, device: &Device) -> Result<Option<Ranker>, ExperimentError> {
        let Some(path) = &self.start else { return Ok(None) };
        let file = if path.is_dir() { path.join(RANKER) } else { path.clone() };
        let ranker = Ranker::load(&file, device)?;
        let kind = ranker.normalizer().kind();
        if kind != self.normalizer {
            let name = |kind: NormalizerKind| json!(kind).as_str().unwrap_or_default().to_string();
            let found = format!("a ranker with the normaliser {}", name(kind));
            let expected = format!("{}, that of the configuration", name(self.normalizer));
            return Err(Refusal::new("start", found, expected).into());
        }
        Ok(Some(ranker))
    }
}
