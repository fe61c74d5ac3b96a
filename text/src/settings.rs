//! The configuration of `burn-rank-text train`.

use std::path::PathBuf;

use burn_rank::loss::{LossError, LossSpec, Orientation, RankingLoss};
use burn_rank::measure::Measure;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::QUERY_GRADIENTS;
use burn_rank_cli::Document;
use burn_rank_cli::workbench::{MeasureConfig, absolute_path};
use serde::{Deserialize, Serialize};

use crate::data::Source;
use crate::learner::LearnerConfig;
use crate::scorer::Kind;

/// The sources of the lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// The training lists.
    pub train: Vec<Source>,
    /// The lists on which the best epoch is chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validation: Vec<Source>,
    /// The lists on which the result is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test: Vec<Source>,
}

impl DataConfig {
    /// The sets that are given, by name.
    pub fn sets(&self) -> impl Iterator<Item = (&'static str, &[Source])> {
        let sets = [("train", &self.train), ("validation", &self.validation), ("test", &self.test)];
        sets.into_iter().map(|(name, sources)| (name, sources.as_slice())).filter(|(_, sources)| !sources.is_empty())
    }
}

/// The configuration of a text model's training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextConfig {
    /// The name in reports; by default the name of the file without its ending.
    #[serde(default)]
    pub name: String,
    /// The purpose of the training.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The seed of all random choices.
    #[serde(default = "seed")]
    pub seed: u64,
    /// The device.
    #[serde(default = "device")]
    pub device: String,
    /// The folder of the model to start from.
    pub model: PathBuf,
    /// The kind of scorer; by default the kind of the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The most tokens of a text or a pair; by default the positions of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    /// The factor of the cosine of towers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// The lists.
    pub data: DataConfig,
    /// The loss. Surrogates of measures have unit gradients, unless the file says otherwise.
    #[serde(default = "loss")]
    pub loss: LossSpec,
    /// How the model is trained.
    #[serde(default)]
    pub learner: LearnerConfig,
    /// The measures.
    #[serde(default)]
    pub measure: MeasureConfig,
}

fn seed() -> u64 {
    1
}

fn device() -> String {
    "flex".to_string()
}

fn loss() -> LossSpec {
    LossSpec::new("softmax_cross_entropy")
}

impl TextConfig {
    /// Decodes a document, resolves its paths and checks what can be checked without its files.
    ///
    /// # Errors
    /// Returns a [`Refusal`] that names the key.
    pub fn from_document(document: &Document) -> Result<Self, Refusal> {
        let mut config: Self = document.decode()?;
        if config.name.is_empty() {
            config.name = document.stem();
        }
        config.model = document.resolved("model", &config.model);
        let DataConfig { train, validation, test } = &mut config.data;
        for (key, sources) in [("data.train", train), ("data.validation", validation), ("data.test", test)] {
            sources.iter_mut().flat_map(Source::paths_mut).for_each(|path| *path = document.resolved(key, path));
        }
        if config.data.train.is_empty() {
            return Err(Refusal::new("data.train", "[]", "one file or more"));
        }
        if let Some(scale) = config.scale.filter(|scale| !(scale.is_finite() && *scale > 0.0)) {
            return Err(Refusal::new("scale", scale, "above 0"));
        }
        if let Some(round) = config.measure.round {
            return Err(Refusal::new("measure.round", round, "none: the best epoch is kept"));
        }
        let loss = config.loss.build().map_err(|error| match error {
            LossError::Parameter { refusal, .. } => refusal.under("loss"),
            error => Refusal::fault("loss.name", error),
        })?;
        // As for every scorer, a list of a direct loss has the same influence as another.
        if loss.about().orientation != Orientation::Loss && !config.loss.params.contains_key(QUERY_GRADIENTS) {
            config.loss = config.loss.with(QUERY_GRADIENTS, "unit");
        }
        Ok(config)
    }

    /// Checks what depends on the kind of scorer.
    ///
    /// # Errors
    /// Returns a [`Refusal`] that names the key.
    pub fn check(&self, kind: Kind) -> Result<(), Refusal> {
        self.learner.check(kind).map_err(|refusal| refusal.under("learner"))?;
        if kind == Kind::CrossEncoder && self.scale.is_some() {
            return Err(Refusal::fault("scale", "expected none for a cross-encoder, whose head has its own"));
        }
        let is_of_teacher = |loss: Box<dyn RankingLoss>| loss.about().needs_teacher || loss.about().reads_teacher;
        if self.learner.in_batch && self.loss.build().is_ok_and(is_of_teacher) {
            let expected = "false with the loss of a teacher, which has scores of own documents only";
            return Err(Refusal::new("learner.in_batch", true, expected));
        }
        Ok(())
    }

    /// The configuration with absolute paths, which are the same from whatever folder a command is run.
    pub(crate) fn with_absolute_paths(&self) -> Self {
        let mut config = self.clone();
        let DataConfig { train, validation, test } = &mut config.data;
        let paths = [train, validation, test].into_iter().flatten().flat_map(Source::paths_mut);
        paths.chain([&mut config.model]).for_each(|path| *path = absolute_path(path));
        config
    }

    /// The measures to compute, the one that selects first.
    pub fn measures(&self) -> Vec<Measure> {
        let others = self.measure.report.iter().filter(|&measure| *measure != self.measure.select);
        std::iter::once(&self.measure.select).chain(others).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn surrogates_of_measures_have_unit_gradients_unless_the_file_says_otherwise() {
        for (loss, expected) in [
            ("{ name = \"approx_ndcg\" }", Some("unit")),
            ("{ measure = \"mrr\", relaxation = \"sigmoid_ranks\" }", Some("unit")),
            ("{ name = \"approx_ndcg\", query_gradients = \"raw\" }", Some("raw")),
            ("{ name = \"softmax_cross_entropy\" }", None),
            ("{ name = \"lambda_ndcg\" }", None),
        ] {
            let text = format!("model = \"m\"\nloss = {loss}\n[data]\ntrain = [\"a.jsonl\"]\n");
            let document = Document::parse(Path::new("text.toml"), text, &[]).unwrap();
            let config = TextConfig::from_document(&document).unwrap();
            let found = config.loss.params.get(QUERY_GRADIENTS).and_then(|value| value.as_str());
            assert_eq!(found, expected, "{loss}");
        }
    }
}
