//! `Ranker` is a trained model, together with its normalizer and a record of its training.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::json::Value;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::file::{self, FORMAT, FileError};
#[cfg(feature = "import")]
use super::import_error::ImportError;
use super::model::Model;
use super::parts::{Parts, PartsError};
use super::tree_ensemble::TreeError;
use super::tree_shap::TreeShap;
use crate::atomic_file;
use crate::data::{Columns, DataError, Normalizer, RankingDataset, missing_name};
use crate::measure::Convention;
use crate::memory::product;
use crate::refusal::Refusal;
use crate::text::counted;

/// The version of burn that this crate depends on.
const BURN: &str = "0.22.1";

/// The reason why a ranker cannot be read, written or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RankerError {
    /// The file of a ranker could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error that the operating system returned.
        source: std::io::Error,
    },
    /// The file is not a ranker, is damaged, or was written by a newer version of this crate.
    #[error("{path}: {source}")]
    Format {
        /// The file.
        path: PathBuf,
        /// The error.
        source: FileError,
    },
    /// The file of another system could not be imported.
    #[cfg(feature = "import")]
    #[error("{path}: {source}")]
    Import {
        /// The file.
        path: PathBuf,
        /// The error.
        source: ImportError,
    },
    /// The metadata in the file do not describe a ranker.
    #[error("{path}: metadata: {reason}")]
    Metadata {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The arrays in the file do not match the model that the file's header declares.
    #[error("{path}: {source}")]
    Model {
        /// The file.
        path: PathBuf,
        /// The error.
        source: PartsError,
    },
    /// The parts of a ranker disagree on the number of features.
    #[error("the {what} has {}, but the model has {expected}", counted(*.found, "feature"))]
    Mismatch {
        /// Name of the part.
        what: &'static str,
        /// The number of features for which the mismatched part was built.
        found: usize,
        /// The number of features that the model was trained on.
        expected: usize,
    },
    /// Normalizing the data or scoring their longest list needs more memory than is available.
    #[error(transparent)]
    Memory(Refusal),
    /// The data have a feature beyond those the ranker was trained on.
    #[error(
        "the data have feature {found}, the ranker was trained on features 1 to {expected}: \
         use data with the same features, or train a ranker on these data"
    )]
    Features {
        /// Number of the highest feature in the data, counted from 1.
        found: usize,
        /// The number of features that the model was trained on.
        expected: usize,
    },
    /// The data have missing values, which the model does not accept.
    #[error(
        "query `{query}`, document {document}: feature {feature} is missing, which this ranker does not take: \
         read the data with missing = \"zero\" or \"query-min\", or train it with \"indicator\""
    )]
    Missing {
        /// Identifier of the query.
        query: String,
        /// Position of the document in its query, counted from 1.
        document: usize,
        /// Number of the feature, counted from 1.
        feature: usize,
    },
    /// The model is not a sum of trees, so its scores cannot be explained.
    #[error("contributions are those of trees: expected a ranker that is a sum of trees")]
    NotTrees,
    /// The trees cannot be explained.
    #[error(transparent)]
    Trees(#[from] TreeError),
    /// The normalizer rejects the data.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// The versions of the software that made a ranker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Versions {
    /// The version of this crate.
    pub burn_rank: String,
    /// The version of burn.
    pub burn: String,
    /// The version of the file format.
    pub format: u32,
}

impl Versions {
    /// Returns the versions of this build.
    pub fn current() -> Self {
        Self { burn_rank: env!("CARGO_PKG_VERSION").into(), burn: BURN.into(), format: FORMAT }
    }
}

/// The record of a ranker: everything known about it except its model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The name of each feature, if the training data had names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature_names: Option<Vec<String>>,
    /// The full configuration of the training run, defaults included.
    pub config: Value,
    /// The convention by which the measures were computed.
    pub convention: Convention,
    /// The measures at the end of training; a key such as `validation ndcg@10` names the data set and the measure.
    pub measures: BTreeMap<String, f64>,
    /// The hash of the training data.
    pub data_hash: String,
    /// The seed of the training run.
    pub seed: u64,
    /// The measures that are expected of this ranker, estimated by cross-validation. They are present if the ranker was
    /// trained on all queries and has no test queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The versions of the software that made the ranker.
    pub versions: Versions,
}

/// The estimated quality of a ranker that was trained on all queries of a cross-validation. Cross-validation trains
/// other rankers in the same way, each on some of the queries. The estimate averages the measures of those rankers on
/// their test queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The mean of each measure over the folds.
    pub measures: BTreeMap<String, f64>,
    /// The standard error of each mean.
    pub standard_errors: BTreeMap<String, f64>,
    /// The number of test queries in all folds.
    pub queries: usize,
    /// Number of folds.
    pub folds: usize,
    /// The number of seeds over which the estimate is averaged.
    pub seeds: usize,
    /// The path of the report that contains the estimate, as given to the cross-validation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// A trained ranker, which holds a normalizer, a model and metadata.
///
/// A ranker is saved as one safetensors file with a checksum; the [module documentation](super) describes it.
#[derive(Debug, Clone)]
pub struct Ranker {
    normalizer: Normalizer,
    model: Model,
    metadata: Metadata,
}

/// The contributions of each feature to the scores of documents.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Contributions {
    /// The contributions as a row-major matrix `[documents x features]`, with one column for each feature of the
    /// ranker.
    pub values: Vec<f64>,
    /// The mean score of the background documents. A document's score is the mean background score plus the document's
    /// contributions.
    pub expected: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    normalizer: Normalizer,
    about: Metadata,
}

impl Ranker {
    /// Creates a ranker from its parts.
    ///
    /// # Errors
    /// Returns [`RankerError::Mismatch`] if the normalizer or the feature names do not have as many features as the
    /// model.
    pub fn new(normalizer: Normalizer, model: Model, metadata: Metadata) -> Result<Self, RankerError> {
        let (features, expected) = (normalizer.features(), model.features());
        let names = metadata.feature_names.as_ref().map_or(features, Vec::len);
        for (what, found, expected) in
            [("normalizer", normalizer.columns(), expected), ("list of feature names", names, features)]
        {
            if found != expected {
                return Err(RankerError::Mismatch { what, found, expected });
            }
        }
        Ok(Self { normalizer, model, metadata })
    }

    /// Returns the number of features of a document.
    pub fn features(&self) -> usize {
        self.normalizer.features()
    }

    /// Returns whether the ranker accepts missing values (NaN). Missing values are accepted if the model is a sum of
    /// trees or the normalizer [fills](Normalizer::fills_missing) them.
    pub fn takes_missing(&self) -> bool {
        self.model.takes_missing() || self.normalizer.fills_missing()
    }

    /// Returns a name for each column of the model's input. Features come first, by their names. A ranker without
    /// feature names numbers them from 1. After the features come the [columns](Normalizer::indicated) that mark
    /// missing values.
    pub fn column_names(&self) -> Vec<String> {
        let numbers = || (1..=self.features()).map(|feature| feature.to_string()).collect();
        let mut names = self.metadata.feature_names.clone().unwrap_or_else(numbers);
        let missing: Vec<String> = self.normalizer.indicated().iter().map(|&at| missing_name(&names[at - 1])).collect();
        names.extend(missing);
        names
    }

    /// Returns the columns of the table that the ranker was trained on. The dropped columns include the column by which
    /// the queries were split. All columns are unnamed if the ranker was trained on text or arrays.
    pub fn columns(&self) -> Columns {
        let config = &self.metadata.config;
        let mut columns: Columns = crate::json::from_value(config["data"]["columns"].clone()).unwrap_or_default();
        for by in [&config["data"]["split"]["by"], &config["cv"]["split"]["by"]] {
            columns.drop.extend([&by["group"], &by["time"]].into_iter().filter_map(Value::as_str).map(str::to_owned));
        }
        columns
    }

    /// Returns the model, which takes normalized features as its input.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the normalizer that was fitted to the training data.
    pub fn normalizer(&self) -> &Normalizer {
        &self.normalizer
    }

    /// Returns the metadata of the ranker.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the same ranker with a cross-validated estimate in its metadata.
    #[must_use]
    pub fn with_estimate(mut self, estimate: Estimate) -> Self {
        self.metadata.estimate = Some(estimate);
        self
    }

    /// Returns one score per document, in the order of the data. The data must be raw, because the ranker itself
    /// normalizes them. Large data are normalized and scored in blocks of queries.
    ///
    /// If the data have fewer features than the model, the missing features count as 0. SVMlight files leave out zeros,
    /// even at the end of a line, so a missing feature is not an error.
    ///
    /// # Errors
    /// Returns [`RankerError::Features`] if the data have a feature beyond the model's. Rankers imported from RankLib
    /// ignore surplus features instead, since RankLib's files do not state the number of features. Returns
    /// [`RankerError::Missing`] for a missing value that the ranker does not [accept](Self::takes_missing).
    pub fn predict(&self, data: &RankingDataset, device: &Device) -> Result<Vec<f32>, RankerError> {
        data.check_values()?;
        let blocks = data.blocks(BLOCK);
        if blocks.len() < 2 {
            return Ok(self.model.predict(&self.normalized(Cow::Borrowed(data))?, device));
        }
        let mut scores = Vec::with_capacity(data.documents());
        for block in blocks {
            let block = data.select(&block.collect::<Vec<usize>>());
            scores.extend(self.model.predict(&self.normalized(Cow::Owned(block))?, device));
        }
        Ok(scores)
    }

    /// Scores data as [`predict`](Self::predict) does, but takes ownership of the data and normalizes them in place.
    ///
    /// # Errors
    /// Returns the same errors as [`predict`](Self::predict).
    pub fn predict_owned(&self, data: RankingDataset, device: &Device) -> Result<Vec<f32>, RankerError> {
        data.check_values()?;
        Ok(self.model.predict(&self.normalized(Cow::Owned(data))?, device))
    }

    /// Returns what each feature contributes to the scores of a sum of trees, relative to the mean score of background
    /// documents ([`TreeShap`]). Data and background must both be raw, as for [`predict`](Self::predict).
    ///
    /// # Errors
    /// Returns the errors of [`predict`](Self::predict). Also returns [`RankerError::NotTrees`] if the model is not a
    /// sum of trees, and [`RankerError::Trees`] if its trees are malformed.
    pub fn contributions(
        &self,
        data: &RankingDataset,
        background: &RankingDataset,
    ) -> Result<Contributions, RankerError> {
        let Model::Trees(trees) = &self.model else { return Err(RankerError::NotTrees) };
        let normalized = |data| self.normalized(Cow::Borrowed(data));
        let shap = TreeShap::new(trees, normalized(background)?.features.to_slice())?;
        Ok(Contributions { values: shap.all(normalized(data)?.features.to_slice()), expected: shap.expected() })
    }

    /// Returns the normalized data that the model scores.
    fn normalized(&self, data: Cow<RankingDataset>) -> Result<RankingDataset, RankerError> {
        let (found, expected) = (data.feature_count, self.features());
        if found > expected && !self.ignores_other_features() {
            return Err(RankerError::Features { found, expected });
        }
        if !self.takes_missing()
            && let Some((document, feature)) = data.first_missing()
        {
            let (query, document) = data.place_of(document);
            return Err(RankerError::Missing { query: query.to_owned(), document: document + 1, feature: feature + 1 });
        }
        self.model.ask_memory(&data).map_err(RankerError::Memory)?;
        let mut normalized = if found == expected { data.into_owned() } else { resized(&data, expected)? };
        self.normalizer.apply(&mut normalized)?;
        Ok(normalized)
    }

    /// Returns whether the model was imported from a format that ignores surplus features.
    pub(crate) fn ignores_other_features(&self) -> bool {
        self.metadata.config["import"]["other_features"].as_str() == Some("ignored")
    }

    /// Returns the bytes of the ranker's file; equal rankers give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let saved = Saved { normalizer: self.normalizer.clone(), about: self.metadata.clone() };
        file::encode(&Parts::from_model(&self.model), crate::json::to_value(saved).expect("plain values"))
    }

    /// Writes the file atomically, by writing a temporary file, syncing it and renaming it.
    ///
    /// # Errors
    /// Returns [`RankerError::File`] if the file cannot be written. If writing fails, an earlier file of the same name
    /// stays unchanged.
    pub fn save(&self, path: &Path) -> Result<(), RankerError> {
        atomic_file::write(path, &self.to_bytes()).map_err(|source| RankerError::File { path: path.into(), source })
    }

    /// Reads a ranker from a file and puts it on a device.
    ///
    /// # Errors
    /// Returns [`RankerError`] if the file cannot be read, is damaged or incomplete, or is not a ranker. Files written
    /// by a newer version of this crate also give this error. The loaded ranker always gives the same scores as the
    /// saved one.
    pub fn load(path: &Path, device: &Device) -> Result<Self, RankerError> {
        let bytes = std::fs::read(path).map_err(|source| RankerError::File { path: path.into(), source })?;
        Self::from_bytes(&bytes, path, device)
    }

    /// Reads a ranker from the bytes of a file and puts it on a device; error messages contain `path`.
    ///
    /// # Errors
    /// Returns the same errors as [`load`](Self::load), except for a file that cannot be read.
    pub fn from_bytes(bytes: &[u8], path: &Path, device: &Device) -> Result<Self, RankerError> {
        let (parts, saved) = file::decode(bytes).map_err(|source| RankerError::Format { path: path.into(), source })?;
        let metadata = |reason: String| RankerError::Metadata { path: path.into(), reason };
        let Saved { normalizer, about } =
            crate::json::from_value(saved).map_err(|error| metadata(error.to_string()))?;
        normalizer.check().map_err(|error| metadata(error.to_string()))?;
        let model = parts.build(device).map_err(|source| RankerError::Model { path: path.into(), source })?;
        Self::new(normalizer, model, about).map_err(|error| metadata(error.to_string()))
    }
}

/// The maximum number of feature values normalized and scored in one block (64 MiB).
const BLOCK: usize = 1 << 24;

/// Returns the data with exactly `features` features, by adding zeros or dropping surplus features.
///
/// # Errors
/// [`RankerError::Memory`]: a file may state any number of features.
fn resized(data: &RankingDataset, features: usize) -> Result<RankingDataset, RankerError> {
    let documents = data.documents();
    let what = format!("a table of {} of {}", counted(documents, "document"), counted(features, "feature"));
    let advice = "score fewer documents at a time";
    Refusal::ask_memory("data", what, product([documents, features, size_of::<f32>()]), advice)
        .map_err(RankerError::Memory)?;
    let mut resized = vec![0.0; documents * features];
    if data.feature_count > 0 && features > 0 {
        for (to, from) in
            resized.chunks_exact_mut(features).zip(data.features.to_slice().chunks_exact(data.feature_count))
        {
            let kept = from.len().min(features);
            to[..kept].copy_from_slice(&from[..kept]);
        }
    }
    Ok(RankingDataset {
        features: resized.into(),
        feature_count: features,
        labels: data.labels.clone(),
        offsets: data.offsets.clone(),
        query_ids: data.query_ids.clone(),
        document_ids: data.document_ids.clone(),
        query_weights: data.query_weights.clone(),
        document_weights: data.document_weights.clone(),
        // Added features have no known names.
        feature_names: Vec::new(),
        read_order: data.read_order.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{NormalizerKind, SynthConfig};
    use crate::ranker::{LEAF, Node, TreeArrays, TreeEnsemble, Values};
    use crate::scorer::{
        AttentionScorerConfig, InputConfig, LatentCrossScorerConfig, LinearScorerConfig, MlpScorerConfig, NormKind,
        ScorerConfig,
    };

    fn data() -> RankingDataset {
        let config = SynthConfig { queries: 6, features: 5, median_length: 9.0, max_length: 20, ..Default::default() };
        config.generate().unwrap()
    }

    fn ranker(model: Model) -> Ranker {
        let metadata = Metadata {
            feature_names: Some((1..=model.features()).map(|feature| format!("f{feature}")).collect()),
            config: crate::json::json!({ "learner": { "kind": "gradient", "learning_rate": 0.1 } }),
            convention: Convention::default(),
            measures: BTreeMap::from([("validation ndcg@10".to_string(), 0.1 + 0.2)]),
            data_hash: "abc".into(),
            seed: u64::MAX,
            estimate: None,
            versions: Versions::current(),
        };
        Ranker::new(Normalizer::fit(&data(), NormalizerKind::ZScore), model, metadata).unwrap()
    }

    fn models() -> Vec<Model> {
        let attention = AttentionScorerConfig {
            width: 4,
            heads: 2,
            blocks: 1,
            feed_forward: 4,
            dropout: 0.1,
            ..Default::default()
        };
        let mlp = MlpScorerConfig { hidden: vec![4, 3], norm: NormKind::Batch, ..Default::default() };
        let input = InputConfig { log1p: true, noise: 0.5 };
        let cross = LatentCrossScorerConfig { hidden: vec![4, 3], width: 4, input, ..Default::default() };
        let configs = [
            ScorerConfig::Linear(LinearScorerConfig { bias: true }),
            ScorerConfig::Linear(LinearScorerConfig { bias: false }),
            ScorerConfig::Mlp(mlp),
            ScorerConfig::Attention(attention),
        ];
        let mut models: Vec<Model> =
            configs.iter().map(|config| Model::Scorer(config.init(5, 3, &Device::flex()).unwrap())).collect();
        let mut trees = TreeEnsemble::new(5);
        let split = |missing_left| Node::Split { feature: 2, threshold: 0.1, left: 1, right: 2, missing_left };
        trees.push(&[split(false), Node::Leaf { value: 0.5 }, Node::Leaf { value: -0.1 }]).unwrap();
        models.push(Model::Trees(trees.clone()));
        trees.push(&[split(true), Node::Leaf { value: 0.5 }, Node::Leaf { value: -0.1 }]).unwrap();
        models.push(Model::Trees(trees));
        models.push(Model::Scorer(ScorerConfig::LatentCross(cross).init(5, 3, &Device::flex()).unwrap()));
        models
    }

    #[test]
    fn a_saved_ranker_scores_as_before() {
        let device = Device::flex();
        let folder = tempfile::tempdir().unwrap();
        for model in models() {
            let ranker = ranker(model);
            let path = folder.path().join("ranker.safetensors");
            ranker.save(&path).unwrap();
            let again = Ranker::load(&path, &device).unwrap();
            assert_eq!(again.predict(&data(), &device).unwrap(), ranker.predict(&data(), &device).unwrap());
            assert_eq!(again.metadata(), ranker.metadata());
            assert_eq!(again.to_bytes(), std::fs::read(&path).unwrap());
        }
    }

    #[test]
    fn raw_data_are_normalized_and_narrow_data_are_filled_with_zeros() {
        let device = Device::flex();
        let ranker = ranker(models().remove(0));
        let mut zero_at_the_end = data();
        zero_at_the_end.features.to_mut_slice().iter_mut().skip(4).step_by(5).for_each(|value| *value = 0.0);
        let narrow = RankingDataset {
            features: zero_at_the_end.features.to_slice().chunks(5).flat_map(|row| row[..4].to_vec()).collect(),
            feature_count: 4,
            ..zero_at_the_end.clone()
        };
        let expected = ranker.predict(&zero_at_the_end, &device).unwrap();
        assert_eq!(ranker.predict(&narrow, &device).unwrap(), expected);
        let mut normalized = zero_at_the_end;
        ranker.normalizer().apply(&mut normalized).unwrap();
        assert_eq!(ranker.model().predict(&normalized, &device), expected);
    }

    #[test]
    fn data_with_unknown_features_are_refused() {
        let wide = SynthConfig { queries: 1, features: 7, ..Default::default() }.generate().unwrap();
        let error = ranker(models().remove(0)).predict(&wide, &Device::flex()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the data have feature 7, the ranker was trained on features 1 to 5: \
             use data with the same features, or train a ranker on these data"
        );
    }

    #[test]
    fn missing_values_are_scored_by_trees_and_refused_by_others() {
        let mut missing = data();
        missing.features.to_mut_slice()[2] = f32::NAN;
        for model in models() {
            let takes = model.takes_missing();
            match ranker(model).predict(&missing, &Device::flex()) {
                Ok(scores) => assert!(takes && scores.iter().all(|score| score.is_finite())),
                Err(error) => {
                    assert!(!takes);
                    let start = format!("query `{}`, document 1: feature 3 is missing", missing.query_ids[0]);
                    assert!(error.to_string().starts_with(&start), "{error}");
                }
            }
        }
    }

    /// Creates a ranker with the given scorer, trained on data with missing values. Returns the ranker and the data.
    fn filling(scorer: ScorerConfig, kind: NormalizerKind) -> (Ranker, RankingDataset) {
        let mut train = data();
        (0..train.features.len()).step_by(7).for_each(|at| train.features.to_mut_slice()[at] = f32::NAN);
        // The last feature is never missing.
        train
            .features
            .to_mut_slice()
            .iter_mut()
            .skip(4)
            .step_by(5)
            .for_each(|value| *value = if value.is_nan() { 1.0 } else { *value });
        let normalizer = Normalizer::fit_with_indicators(&train, kind).unwrap();
        let model = Model::Scorer(scorer.init(normalizer.columns(), 3, &Device::flex()).unwrap());
        let whole = ranker(models().remove(0));
        (Ranker::new(normalizer, model, whole.metadata).unwrap(), train)
    }

    #[test]
    fn a_ranker_that_fills_missing_values_is_one_of_the_features_of_the_data() {
        let device = Device::flex();
        for kind in [NormalizerKind::None, NormalizerKind::Gauss, NormalizerKind::QueryMinMax] {
            let (ranker, train) = filling(ScorerConfig::Mlp(MlpScorerConfig::default()), kind);
            assert_eq!((ranker.features(), ranker.model().features()), (5, 9));
            assert!(ranker.takes_missing() && !ranker.model().takes_missing());
            assert_eq!(ranker.column_names()[4..7], ["f5", "f1 is missing", "f2 is missing"]);
            let scores = ranker.predict(&train, &device).unwrap();
            let mut normalized = train.clone();
            ranker.normalizer().apply(&mut normalized).unwrap();
            assert_eq!(ranker.model().predict(&normalized, &device), scores);
            let again = Ranker::from_bytes(&ranker.to_bytes(), Path::new("a"), &device).unwrap();
            assert_eq!(again.predict(&train, &device).unwrap(), scores);
            assert_eq!(again.normalizer(), ranker.normalizer());
            assert!(
                ranker.card("a").contains("and a column each for `f1`, `f2`, `f3`, `f4` |"),
                "{}",
                ranker.card("a")
            );
        }
    }

    #[cfg(feature = "export")]
    #[test]
    fn formats_without_means_and_columns_refuse_a_ranker_that_fills() {
        use crate::ranker::export::ExportFormat;
        let (ranker, _) = filling(ScorerConfig::Linear(LinearScorerConfig::default()), NormalizerKind::None);
        for format in [ExportFormat::RankLib, ExportFormat::Solr, ExportFormat::PluginLinear] {
            let error = ranker.export(format).unwrap_err().to_string();
            assert!(error.contains("cannot hold a ranker that fills missing values: expected"), "{error}");
        }
        ranker.export(ExportFormat::Onnx).unwrap();
    }

    #[test]
    fn contributions_and_their_expected_value_sum_to_the_scores() {
        for model in models() {
            let is_trees = model.takes_missing();
            let ranker = ranker(model);
            let Ok(Contributions { values, expected }) = ranker.contributions(&data(), &data()) else {
                assert!(!is_trees);
                continue;
            };
            let scores = ranker.predict(&data(), &Device::flex()).unwrap();
            for (score, own) in scores.iter().zip(values.chunks(5)) {
                assert!((expected + own.iter().sum::<f64>() - f64::from(*score)).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let other = SynthConfig { queries: 1, features: 7, ..Default::default() }.generate().unwrap();
        let whole = ranker(models().remove(0));
        let normalizer = Normalizer::fit(&other, NormalizerKind::None);
        let error = Ranker::new(normalizer, whole.model.clone(), whole.metadata.clone()).unwrap_err();
        assert_eq!(error.to_string(), "the normalizer has 7 features, but the model has 5");

        let error = |change: fn(&mut Parts)| {
            let mut parts = Parts::from_model(&whole.model);
            change(&mut parts);
            parts.build(&Device::flex()).unwrap_err().to_string()
        };
        assert_eq!(error(|parts| drop(parts.arrays.pop())), "array `Linear.linear.bias` is missing");
        assert_eq!(
            error(|parts| parts.arrays[0].shape = vec![1, 5]),
            "array `Linear.linear.weight` is F32 [1, 5], expected F32 [5, 1]"
        );
        assert_eq!(
            error(|parts| {
                let mut other = parts.arrays[1].clone();
                other.name = "other".into();
                parts.arrays.push(other);
            }),
            "unexpected arrays: other"
        );
        assert_eq!(
            error(|parts| parts.kind = "magic".into()),
            "model of kind `magic`: expected `scorer`, `ensemble`, `kernel` or `trees`"
        );
        assert!(error(|parts| parts.config["features"] = 0.into()).contains("scorer.features = 0"));
        let huge = error(|parts| parts.config["features"] = u64::MAX.into());
        assert_eq!(huge, format!("model configuration: it announces {} values, but the file has 6", usize::MAX));
        let trees = Parts {
            kind: "trees".into(),
            config: crate::json::json!({ "features": 5 }),
            arrays: Parts::from_model(&models()[4]).arrays,
        };
        let mut broken = trees.clone();
        let Values::U32(feature) = &mut broken.arrays[1].values else { panic!("features are integers") };
        feature[0] = 9;
        assert!(broken.build(&Device::flex()).unwrap_err().to_string().contains("feature[0] = 9"));
        let Model::Trees(trees) = trees.build(&Device::flex()).unwrap() else { panic!("trees") };
        let TreeArrays { feature, .. } = trees.arrays();
        assert_eq!(feature, &[2, LEAF, LEAF]);
    }

    #[test]
    fn a_file_that_is_not_a_ranker_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("absent");
        assert!(Ranker::load(&path, &Device::flex()).unwrap_err().to_string().contains("absent: "));
        std::fs::write(&path, "text").unwrap();
        let message = Ranker::load(&path, &Device::flex()).unwrap_err().to_string();
        assert!(message.contains("absent: found text of another kind, expected a ranker of burn-rank"), "{message}");
        let error = ranker(models().remove(0)).save(&folder.path().join("no/folder")).unwrap_err();
        assert!(matches!(error, RankerError::File { .. }), "{error}");
    }

    #[test]
    fn a_damaged_file_never_gives_other_scores() {
        let device = Device::flex();
        let whole = ranker(models().remove(4));
        let bytes = whole.to_bytes();
        let scores = whole.predict(&data(), &device).unwrap();
        let read = |bytes: &[u8]| Ranker::from_bytes(bytes, Path::new("damaged"), &device);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "truncated to {length}");
        }
        assert!(read(&[&bytes[..], &[0]].concat()).is_err(), "one byte more");
        let mut harmless = 0;
        for position in 0..bytes.len() {
            for flip in [0x01, 0x20, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[position] ^= flip;
                // White space that pads the header may become other white space: nothing else may pass.
                if let Ok(passed) = read(&damaged) {
                    assert_eq!(passed.to_bytes(), bytes, "{flip:#x} at {position}");
                    assert_eq!(passed.predict(&data(), &device).unwrap(), scores);
                    harmless += 1;
                }
            }
        }
        assert!(harmless < 8, "{harmless} flips passed");
    }

    #[test]
    fn a_normalizer_that_no_fit_produces_is_refused() {
        let whole = ranker(models().remove(0));
        let saved = Saved { normalizer: whole.normalizer.clone(), about: whole.metadata.clone() };
        let mut saved = crate::json::to_value(saved).unwrap();
        saved["normalizer"]["map"]["z_score"]["mean"].as_array_mut().unwrap().pop();
        let bytes = file::encode(&Parts::from_model(&whole.model), saved);
        let error = Ranker::from_bytes(&bytes, Path::new("made"), &Device::flex()).unwrap_err().to_string();
        assert_eq!(error, "made: metadata: normalizer.mean = 4 values: expected one for each of 5 features");
    }

    #[test]
    fn a_card_describes_its_ranker() {
        let card = ranker(models().remove(2)).card("small");
        for part in [
            "# small",
            "hidden layers of [4, 3] neurons",
            "| features | 5 |",
            "`z_score`",
            "`standard`",
            "| validation ndcg@10 | 0.3000 |",
            "18446744073709551615",
            "\"learning_rate\": 0.1",
        ] {
            assert!(card.contains(part), "{part} in {card}");
        }
    }

    #[test]
    fn a_card_has_names_as_text() {
        let mut ranker = ranker(models().remove(2));
        let name = "<script>alert(1)</script> | *a*\n# b\u{1b}[2J";
        ranker.metadata.config = crate::json::json!({ "name": name, "c1": "\u{9b}2J" });
        ranker.metadata.convention.name = "`<b>`".into();
        ranker.metadata.measures = [("test <i>".to_string(), 0.5)].into();
        ranker.metadata.versions.burn = "0<br>".into();
        let card = ranker.card(name);
        let title = r"# \<script\>alert(1)\</script\> \| \*a\*\\n# b\\u{1b}\[2J";
        assert_eq!(card.lines().next(), Some(title));
        for part in [r"| \`\<b\>\` |", r"| test \<i\> | 0.5000 |", r"burn 0\<br\>,", r#""\u009b2J""#] {
            assert!(card.contains(part), "{part} in {card}");
        }
        assert!(!card.chars().any(|c| c.is_control() && c != '\n'), "{card}");
    }
}
