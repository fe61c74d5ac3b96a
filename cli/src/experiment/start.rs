//! The saved ranker from which a fit starts.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burn_rank::data::NormalizerKind;
use burn_rank::ranker::Ranker;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::has_features;
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::counted;

use super::config::{Experiment, ExperimentConfig, refusal_of};
use super::error::ExperimentError;
use super::folder::{Claim, RANKER, START, ranker_file, successor_file};
use super::split::Split;

impl Experiment {
    /// Rejects a ranker that the learner cannot continue. Also rejects a ranker with other features than the data.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for the key `start`.
    pub(crate) fn check_start_ranker(&self, ranker: &Ranker, split: &Split) -> Result<(), Refusal> {
        self.built.starting_from(ranker.model()).map_err(refusal_of)?;
        let (found, expected) = (ranker.features(), split.train.feature_count);
        if found == expected {
            let is_same = has_features(ranker, &split.train.feature_names);
            let expected = "one with the features of the training data, in the same order";
            return if is_same { Ok(()) } else { Err(Refusal::new("start", "a ranker with other features", expected)) };
        }
        let more = if found > expected { format!(", or data.read.features = {found}") } else { String::new() };
        let expected = format!("one of the {} of the training data{more}", counted(expected, "feature"));
        Err(Refusal::new("start", format!("a ranker of {}", counted(found, "feature")), expected))
    }
}

impl ExperimentConfig {
    /// Rejects a starting ranker and streamed data, because a cross-validation supports neither.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for `start` or `data.memory`, if that key is given.
    pub(crate) fn check_folds(&self) -> Result<(), Refusal> {
        let words = "not read by `cv`: the ranker may have been trained on the queries that a fold tests";
        if self.start.is_some() {
            return Err(Refusal::fault("start", words));
        }
        let Some(memory) = self.data.memory else { return Ok(()) };
        Err(Refusal::new("data.memory", memory, "none: `cv` holds the data in memory; `train` streams them"))
    }

    /// If a run starts from the ranker in its own folder, makes it start from a copy instead. The copy is kept in the
    /// folder. Without the copy, the run could not be resumed or repeated, because its own ranker would replace the one
    /// from which it started.
    ///
    /// Sets `start` to the path of the copy, and returns the path to copy from. Returns `None` if the ranker is
    /// elsewhere.
    pub(crate) fn start_from_copy(&mut self, folder: &Path, claim: Claim) -> Option<PathBuf> {
        let start = self.start.as_ref()?;
        let file = if start.is_dir() { start.join(RANKER) } else { start.clone() };
        let is_in_folder = file.parent()?.canonicalize().ok()? == folder.canonicalize().ok()?;
        let name = file.file_name().filter(|name| is_in_folder && (*name == RANKER || *name == START))?;
        let (given, copy) = (folder.join(name), folder.join(START));
        let copies = match claim {
            Claim::Overwrite => [None, None],
            _ => [successor_file(folder, START), Some(copy.clone())],
        };
        self.start = Some(copy);
        Some(copies.into_iter().flatten().find(|copy| copy.exists()).unwrap_or(given))
    }

    /// Loads the ranker from which the fit starts, or returns `None` if no ranker is configured. The fit then uses this
    /// ranker's normalizer. `copied` is the path from which [`start_from_copy`](Self::start_from_copy) copies.
    ///
    /// # Errors
    /// Returns [`ExperimentError::Ranker`] for a file that is not a ranker. Returns [`ExperimentError::Refused`] if the
    /// ranker's normalizer is not of the configured kind.
    pub(crate) fn start_ranker(
        &self,
        copied: Option<&PathBuf>,
        device: &Device,
    ) -> Result<Option<Ranker>, ExperimentError> {
        let Some(path) = copied.or(self.start.as_ref()) else { return Ok(None) };
        let ranker = Ranker::load(&ranker_file(path)?, device)?;
        let kind = ranker.normalizer().kind();
        if kind != self.normalizer && self.normalizer != NormalizerKind::Auto {
            let name = |kind: NormalizerKind| json!(kind).as_str().unwrap_or_default().to_string();
            let found = format!("a ranker with the normalizer {}", name(kind));
            let expected = format!("{}, as in the configuration", name(self.normalizer));
            return Err(Refusal::new("start", found, expected).into());
        }
        Ok(Some(ranker))
    }
}
