//! Exports rankers to the formats of other systems.
//!
//! | format | models | normalizers | scores |
//! |---|---|---|---|
//! | [ONNX](ExportFormat::Onnx), of one query or [of many](ExportFormat::OnnxBatch) | all | all, inside the graph or folded into the thresholds | within 1e-5 |
//! | [RankLib](ExportFormat::RankLib) text | linear | `none`, `z_score`, folded into the weights | within rounding |
//! | [LightGBM](ExportFormat::LightGbm) text | trees | all but `query_min_max`, folded into the thresholds | the same, in double precision |
//! | [RankLib](ExportFormat::RankLibTrees) XML | trees without missing values that go left | all but `query_min_max`, folded | single precision |
//! | [XGBoost](ExportFormat::XgBoost) JSON, and its [dump](ExportFormat::XgBoostDump) | trees | all but `query_min_max`, folded | single precision |
//! | [Solr](ExportFormat::Solr) JSON | trees as in RankLib XML, linear without a constant | trees: as above; linear: `none`, `z_score` | single precision |
//! | [weights](ExportFormat::PluginLinear) | linear without a constant | `none` | within rounding |
//!
//! If the format cannot hold a ranker, the export fails; it never writes an approximation of the ranker.

mod lightgbm;
mod onnx;
mod plugin_linear;
mod ranklib;
mod ranklib_trees;
mod raw_trees;
mod solr;
#[cfg(test)]
mod tests;
mod xgboost;

use std::fmt;
use std::path::Path;

use super::artifact::Ranker;
use super::model::Model;
use super::tree_ensemble::{LEAF, NodeStatistics, TreeEnsemble};
use crate::data::NormalizerKind;
use crate::scorer::Scorer;

/// A file format of another system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExportFormat {
    /// An ONNX graph for the documents of one query, which uses operator set 17. The graph's input `features` has the
    /// shape `[documents, features]` and holds the raw features as 32-bit floats. The graph's output `scores` has the
    /// shape `[documents]`.
    Onnx,
    /// The text format of RankLib's linear regression, `0:BIAS 1:WEIGHT 2:WEIGHT ...`.
    RankLib,
    /// LightGBM's text model, for features stored as 32-bit floats; column 0 of LightGBM's matrix is feature 1.
    LightGbm,
    /// An ONNX graph like [`Onnx`](Self::Onnx), but for many queries at a time. The graph's input `features` has the
    /// shape `[queries, documents, features]`. Its input `mask` has the shape `[queries, documents]` and is false for
    /// padding. The graph's output `scores` has the shape `[queries, documents]`, with 0 for padding.
    OnnxBatch,
    /// The XML format of RankLib's LambdaMART.
    RankLibTrees,
    /// XGBoost's JSON model for `load_model`, where column 0 of XGBoost's matrix is feature 1.
    XgBoost,
    /// XGBoost's JSON dump, which the learning-to-rank plug-ins of OpenSearch and Elasticsearch read as
    /// `model/xgboost+json`.
    XgBoostDump,
    /// Solr's JSON for a `MultipleAdditiveTreesModel` or a `LinearModel`.
    Solr,
    /// The linear weights that the learning-to-rank plug-ins of OpenSearch and Elasticsearch read as `model/linear`.
    PluginLinear,
}

impl ExportFormat {
    /// Returns the format that a file name implies: `.onnx`, `.xml`, or `.txt` for the text format of the model's kind.
    ///
    /// # Errors
    /// Returns [`ExportError::Extension`] for any other name.
    pub fn from_path(path: &Path, model: &Model) -> Result<Self, ExportError> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match (extension.as_deref(), model) {
            (Some("onnx"), _) => Ok(Self::Onnx),
            (Some("txt"), Model::Trees(_)) => Ok(Self::LightGbm),
            (Some("txt"), _) => Ok(Self::RankLib),
            (Some("xml"), _) => Ok(Self::RankLibTrees),
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
            Self::OnnxBatch => "ONNX of many queries",
            Self::RankLibTrees => "RankLib XML",
            Self::XgBoost => "XGBoost JSON",
            Self::XgBoostDump => "XGBoost dump",
            Self::Solr => "Solr JSON",
            Self::PluginLinear => "JSON of weights",
        })
    }
}

/// The reason why a ranker cannot be exported to a format.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file name implies no format.
    #[error("{0}: expected a name that ends in .onnx, .txt or .xml")]
    Extension(String),
    /// The format cannot hold the model.
    #[error("{format} cannot hold {found}: expected {expected}")]
    Model {
        /// The format.
        format: ExportFormat,
        /// The kind of model that was found.
        found: &'static str,
        /// Which models the format can hold, and which format could hold this model instead.
        expected: &'static str,
    },
    /// The format cannot hold the normalizer.
    #[error("{format} cannot hold the normalizer `{found}`: expected {expected}")]
    Normalizer {
        /// The format.
        format: ExportFormat,
        /// Name of the normalizer.
        found: &'static str,
        /// The normalizers that the format can hold.
        expected: &'static str,
    },
    /// The format cannot represent some of the trees' splits.
    #[error("{format} cannot hold {found}: expected {expected}")]
    Splits {
        /// The format.
        format: ExportFormat,
        /// A description of the unsupported splits.
        found: &'static str,
        /// Which splits the format can hold, and which formats could hold the unsupported splits.
        expected: &'static str,
    },
    /// The other system changes thresholds when it reads a file, and no number in a file would result in this
    /// threshold.
    #[error(
        "{format} cannot hold the threshold {threshold:?}: expected one that is the sum of 1e-6 and a 32-bit float"
    )]
    Threshold {
        /// The format.
        format: ExportFormat,
        /// The threshold on a raw feature.
        threshold: f32,
    },
    /// A node has two parents, which happens only in a file made by hand.
    #[error("{format} cannot hold trees that share a node")]
    SharedNode {
        /// The format.
        format: ExportFormat,
    },
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

    /// Returns an error if the ranker's normalizer fills missing values, which the format cannot express.
    fn check_filling(ranker: &Ranker, format: ExportFormat) -> Result<(), Self> {
        if !ranker.normalizer().fills_missing() {
            return Ok(());
        }
        let found = "a ranker that fills missing values";
        Err(Self::Model {
            format,
            found,
            expected: "one that was trained with `missing` = \"zero\" or \"query-min\"; ONNX holds it",
        })
    }

    fn normalizer(kind: NormalizerKind, format: ExportFormat, expected: &'static str) -> Self {
        let found = match kind {
            NormalizerKind::None => "none",
            NormalizerKind::QueryMinMax => "query_min_max",
            NormalizerKind::ZScore => "z_score",
            NormalizerKind::Log1p => "log1p",
            NormalizerKind::Quantile => "quantile",
            NormalizerKind::Gauss => "gauss",
            NormalizerKind::ClippedZScore => "clipped_z_score",
            NormalizerKind::Auto => "auto",
        };
        Self::Normalizer { format, found, expected }
    }
}

#[cfg_attr(docsrs, doc(cfg(feature = "export")))]
impl Ranker {
    /// Returns the ranker as bytes in another system's format; equal rankers give equal bytes.
    ///
    /// # Errors
    /// Returns [`ExportError`] if the format cannot hold the model or its normalizer.
    pub fn export(&self, format: ExportFormat) -> Result<Vec<u8>, ExportError> {
        match format {
            ExportFormat::Onnx => onnx::encode(self),
            ExportFormat::RankLib => ranklib::encode(self),
            ExportFormat::LightGbm => lightgbm::encode(self),
            ExportFormat::OnnxBatch => onnx::encode_batch(self),
            ExportFormat::RankLibTrees => ranklib_trees::encode(self),
            ExportFormat::XgBoost => xgboost::encode(self),
            ExportFormat::XgBoostDump => xgboost::encode_dump(self),
            ExportFormat::Solr => solr::encode(self),
            ExportFormat::PluginLinear => plugin_linear::encode(self),
        }
    }

    /// Returns notes about what an [exported](Self::export) file lacks or changes, one sentence each. LightGBM and
    /// XGBoost need training statistics of the nodes ([`NodeStatistics`]) to explain trees, and some imported rankers
    /// have none. They also forbid some characters in the names of features.
    pub fn export_notes(&self, format: ExportFormat) -> Vec<String> {
        let Model::Trees(trees) = self.model() else { return Vec::new() };
        let mut notes: Vec<String> = self.renamed(format).into_iter().collect();
        notes.extend(Self::unexplained(trees, format));
        notes
    }

    /// Returns a note on the features that have another name in the file, because the format forbids a character.
    fn renamed(&self, format: ExportFormat) -> Option<String> {
        let (system, allowed, forbidden) = match format {
            ExportFormat::LightGbm => {
                ("LightGBM", raw_trees::allowed_names(self, lightgbm::is_forbidden), "blanks or `\",:[]{}\\`")
            }
            ExportFormat::XgBoost => {
                ("XGBoost", raw_trees::allowed_names(self, xgboost::is_forbidden), "`[`, `]` or `<`")
            }
            _ => return None,
        };
        let names = self.metadata().feature_names.as_ref()?;
        let changed: Vec<(&String, &String)> =
            names.iter().zip(&allowed).filter(|(name, allowed)| name != allowed).collect();
        let pairs: Vec<String> =
            changed.iter().take(8).map(|(name, allowed)| format!("`{}` is `{allowed}`", name.escape_debug())).collect();
        let more = if changed.len() > pairs.len() { format!(", .. ({} in all)", changed.len()) } else { String::new() };
        let why = format!("{system} takes no names with {forbidden}");
        (!changed.is_empty()).then(|| format!("{why}: {}{more}", pairs.join(", ")))
    }

    /// Returns notes on the explanations that the other system cannot make of the trees.
    fn unexplained(trees: &TreeEnsemble, format: ExportFormat) -> Vec<String> {
        let arrays = trees.arrays();
        let NodeStatistics { count, weight, gain } = &arrays.statistics;
        let is_known = |known: &dyn Fn(usize) -> bool| {
            (0..arrays.feature.len()).all(|node| arrays.feature[node] == LEAF || known(node))
        };
        let has_documents = |node: usize| count.get(node).is_some_and(|&count| count > 0);
        // LightGBM divides by the counts of both sides, XGBoost by the count of the split.
        let both_sides =
            |node: usize| [arrays.left[node], arrays.right[node]].iter().all(|&side| has_documents(side as usize));
        let weighed = |node: usize| weight.get(node).is_some_and(|&weight| weight > 0.0);
        let (system, covered, importances) = match format {
            ExportFormat::LightGbm => ("LightGBM", is_known(&both_sides), "importances"),
            ExportFormat::XgBoost if count.is_empty() => ("XGBoost", is_known(&weighed), "importances by gain"),
            ExportFormat::XgBoost => ("XGBoost", is_known(&has_documents), "importances by gain"),
            _ => return Vec::new(),
        };
        let why = if format == ExportFormat::LightGbm && count.is_empty() || count.is_empty() && weight.is_empty() {
            "the ranker does not say how many training documents reach its nodes"
        } else {
            "no training document reaches some of the ranker's nodes"
        };
        let contributions = format!("{system}'s contributions are not numbers: {why}");
        let gains = format!("{system}'s {importances} are 0: the ranker does not say what its splits gain");
        let missing = [(covered, contributions), (is_known(&|node| node < gain.len()), gains)];
        missing.into_iter().filter_map(|(is_there, note)| (!is_there).then_some(note)).collect()
    }
}

#[cfg(test)]
pub(super) mod testing {
    //! Rankers that the tests of all export formats use.

    use std::collections::BTreeMap;

    use burn::tensor::Device;

    use crate::data::{Normalizer, NormalizerKind, RankingDataset};
    use crate::measure::Convention;
    use crate::ranker::{Metadata, Model, Ranker, Versions};
    use crate::scorer::{MlpScorerConfig, ScorerConfig};

    /// Creates a ranker from a model and a normalizer fitted to `data`.
    pub fn ranker(kind: NormalizerKind, model: Model, data: &RankingDataset) -> Ranker {
        let metadata = Metadata {
            feature_names: None,
            config: crate::json::json!({}),
            convention: Convention::default(),
            measures: BTreeMap::new(),
            data_hash: data.data_hash(),
            seed: 1,
            estimate: None,
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
