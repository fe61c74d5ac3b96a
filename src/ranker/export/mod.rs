//! Rankers in the formats of other systems.
//!
//! | format | models | normalisers | scores |
//! |---|---|---|---|
//! | [ONNX](ExportFormat::Onnx) | linear, mlp, sums of them | all, inside the graph | within 1e-5 |
//! | [RankLib](ExportFormat::RankLib) text | linear | `none`, `z_score`, folded into the weights | within rounding |
//! | [LightGBM](ExportFormat::LightGbm) text | trees | all but `query_min_max`, folded into the thresholds | the same, in double precision |
//!
//! A ranker that the format cannot hold is an error; it is never written as another ranker.

mod lightgbm;
mod onnx;
mod ranklib;

use std::fmt;
use std::path::Path;

use super::{Model, Ranker};
use crate::data::NormalizerKind;
use crate::scorer::Scorer;

/// A format of another system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A graph of tensors: input `features`, `[documents, features]` raw 32-bit floats of the documents of one query;
    /// output `scores`, `[documents]`. Operator set 17.
    Onnx,
    /// The text of RankLib's linear regression: `0:BIAS 1:WEIGHT 2:WEIGHT ...`.
    RankLib,
    /// LightGBM's text model, for features as 32-bit floats; column 0 of its matrix is feature 1.
    LightGbm,
}

impl ExportFormat {
    /// Returns the format that the name of a file asks for: `.onnx`, or `.txt` for the text format of such a model.
    ///
    /// # Errors
    /// [`ExportError::Extension`] for another name.
    pub fn from_path(path: &Path, model: &Model) -> Result<Self, ExportError> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match (extension.as_deref(), model) {
            (Some("onnx"), _) => Ok(Self::Onnx),
            (Some("txt"), Model::Trees(_)) => Ok(Self::LightGbm),
            (Some("txt"), _) => Ok(Self::RankLib),
            _ => Err(ExportError::Extension(path.display().to_string())),
        }
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Self::Onnx => "ONNX",
            Self::RankLib => "RankLib text",
            Self::LightGbm => "LightGBM text",
        })
    }
}

/// Reason that a ranker cannot be written in another format.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A name that asks for no format.
    #[error("{0}: expected a name that ends in .onnx or .txt")]
    Extension(String),
    /// A model that the format cannot hold.
    #[error("{format} cannot hold {found}: expected {expected}")]
    Model {
        /// The format.
        format: ExportFormat,
        /// The model, in words.
        found: &'static str,
        /// The models that the format holds, and the format that holds this model.
        expected: &'static str,
    },
    /// A normaliser that the format cannot hold.
    #[error("{format} cannot hold the normaliser `{found}`: expected {expected}")]
    Normalizer {
        /// The format.
        format: ExportFormat,
        /// Name of the normaliser.
        found: &'static str,
        /// The normalisers that the format holds.
        expected: &'static str,
    },
    /// A node with two parents, which only a file made by hand has.
    #[error("LightGBM text cannot hold trees that share a node")]
    SharedNode,
}

impl ExportError {
    fn model(model: &Model, format: ExportFormat, expected: &'static str) -> Self {
        let found = match model {
            Model::Scorer(Scorer::Linear(_)) => "a linear ranker",
            Model::Scorer(Scorer::Mlp(_)) => "a multi-layer perceptron",
            Model::Scorer(Scorer::Attention(_)) => "a self-attention ranker",
            Model::Scorer(Scorer::LatentCross(_)) => "a latent cross of a perceptron and self-attention",
            Model::Trees(_) => "a sum of trees",
            Model::Ensemble(_) => "a sum of scorers",
            Model::Kernel(_) => "a sum of kernels",
        };
        Self::Model { format, found, expected }
    }

    fn normalizer(kind: NormalizerKind, format: ExportFormat, expected: &'static str) -> Self {
        let found = match kind {
            NormalizerKind::None => "none",
            NormalizerKind::QueryMinMax => "query_min_max",
            NormalizerKind::ZScore => "z_score",
            NormalizerKind::Log1p => "log1p",
            NormalizerKind::Quantile => "quantile",
        };
        Self::Normalizer { format, found, expected }
    }
}

#[cfg_attr(docsrs, doc(cfg(feature = "export")))]
impl Ranker {
    /// Returns the bytes of this ranker in another system's format; the same ranker gives the same bytes.
    ///
    /// # Errors
    /// [`ExportError`] if the format cannot hold the model or its normaliser.
    pub fn export(&self, format: ExportFormat) -> Result<Vec<u8>, ExportError> {
        match format {
            ExportFormat::Onnx => onnx::encode(self),
            ExportFormat::RankLib => ranklib::encode(self),
            ExportFormat::LightGbm => lightgbm::encode(self),
        }
    }
}

#[cfg(test)]
pub(super) mod testing {
    //! Rankers for the tests of every format.

    use std::collections::BTreeMap;

    use burn::tensor::Device;

    use crate::data::{Normalizer, NormalizerKind, RankingDataset};
    use crate::measure::Convention;
    use crate::ranker::{Metadata, Model, Ranker, Versions};
    use crate::scorer::{MlpScorerConfig, ScorerConfig};

    /// Creates a ranker from a model and a normaliser fitted to `data`.
    pub fn ranker(kind: NormalizerKind, model: Model, data: &RankingDataset) -> Ranker {
        let metadata = Metadata {
            feature_names: None,
            config: crate::json::json!({}),
            convention: Convention::default(),
            measures: BTreeMap::new(),
            data_hash: data.data_hash(),
            seed: 1,
            versions: Versions::current(),
        };
        Ranker::new(Normalizer::fit(data, kind), model, metadata).unwrap()
    }

    /// Creates a multi-layer perceptron.
    pub fn mlp(features: usize) -> Model {
        let config = ScorerConfig::Mlp(MlpScorerConfig { hidden: vec![4], ..MlpScorerConfig::default() });
        Model::Scorer(config.init(features, 1, &Device::flex()).unwrap())
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::data::{RankingDataset, SynthConfig};
    use crate::scorer::{AttentionScorerConfig, LatentCrossScorerConfig, ScorerConfig};

    fn data() -> RankingDataset {
        SynthConfig { queries: 3, features: 4, ..SynthConfig::default() }.generate().unwrap()
    }

    #[test]
    fn names_choose_formats() {
        let of = |name: &str, model: &Model| ExportFormat::from_path(Path::new(name), model);
        let trees = Model::Trees(crate::ranker::TreeEnsemble::new(2));
        assert_eq!(of("a/b.onnx", &testing::mlp(2)), Ok(ExportFormat::Onnx));
        assert_eq!(of("b.ONNX", &trees), Ok(ExportFormat::Onnx));
        assert_eq!(of("b.txt", &trees), Ok(ExportFormat::LightGbm));
        assert_eq!(of("b.txt", &testing::mlp(2)), Ok(ExportFormat::RankLib));
        let error = of("b.pt", &trees).unwrap_err().to_string();
        assert_eq!(error, "b.pt: expected a name that ends in .onnx or .txt");
    }

    #[test]
    fn a_model_that_has_no_graph_is_refused() {
        for (config, name) in [
            (ScorerConfig::Attention(AttentionScorerConfig::default()), "a self-attention ranker"),
            (
                ScorerConfig::LatentCross(LatentCrossScorerConfig::default()),
                "a latent cross of a perceptron and self-attention",
            ),
        ] {
            let model = Model::Scorer(config.init(4, 1, &Device::flex()).unwrap());
            let ranker = testing::ranker(NormalizerKind::None, model, &data());
            assert_eq!(
                ranker.export(ExportFormat::Onnx).unwrap_err().to_string(),
                format!("ONNX cannot hold {name}: expected linear and mlp scorers, and sums of them")
            );
        }
    }
}
