//! `Ranker` is a trained model, together with its normalizer and a record of its training (`Metadata`).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::error::RankerError;
use super::file::{self, FORMAT};
use super::model::Model;
use super::parts::Parts;
use super::tree_shap::TreeShap;
use crate::atomic_file;
use crate::data::options::{Missing, NUMBERED, ReadOptions, letters, numbered};
use crate::data::{Columns, DataError, Normalizer, RankingDataset, missing_name};
use crate::json::{Value, json};
use crate::measure::Convention;
use crate::refusal::Refusal;
use crate::text::{first_of, in_quotes};

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

/// The fields of a ranker's file other than its model, as [`Ranker::saved`] writes them.
#[derive(Deserialize)]
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
    /// the queries were split, if it has no role. All columns are unnamed if the ranker was trained on text or arrays.
    pub fn columns(&self) -> Columns {
        let config = &self.metadata.config;
        let mut columns: Columns = crate::json::from_value(config["data"]["columns"].clone()).unwrap_or_default();
        let by = [&config["data"]["split"]["by"], &config["cv"]["split"]["by"]];
        let by = by.into_iter().flat_map(|by| [&by["group"], &by["time"]]).filter_map(Value::as_str);
        #[cfg(feature = "columnar")]
        let by = by.filter(|name| !crate::data::columnar::has_role(&columns, name));
        let dropped: Vec<String> = by.map(str::to_owned).collect();
        columns.drop.extend(dropped);
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

    /// Returns the same ranker with other metadata.
    ///
    /// # Errors
    /// Returns [`RankerError::Mismatch`] if there are feature names, but not one for each feature.
    pub fn with_metadata(self, metadata: Metadata) -> Result<Self, RankerError> {
        Self::new(self.normalizer, self.model, metadata)
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
    /// If both the ranker and the data have names of features, features are found by name; otherwise by place. If the
    /// data have fewer features than the model, the missing features count as 0. SVMlight files leave out zeros, even
    /// at the end of a line, so a missing feature is not an error, unless the others have names.
    ///
    /// # Errors
    /// Returns [`RankerError::Features`] if the data have a feature beyond the model's. Rankers imported from RankLib
    /// ignore surplus features instead, since RankLib's files do not state the number of features. Returns
    /// [`RankerError::Data`] if the names of the data lack a name that the ranker knows. Returns
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
    /// documents (TreeSHAP). Data and background must both be raw, as for [`predict`](Self::predict).
    ///
    /// # Errors
    /// Returns the errors of [`predict`](Self::predict). Also returns [`RankerError::NotTrees`] if the model is not a
    /// sum of trees, and [`RankerError::Trees`] if its trees are malformed.
    pub fn contributions(
        &self,
        data: &RankingDataset,
        background: &RankingDataset,
    ) -> Result<Contributions, RankerError> {
        let Model::Trees(trees) = &self.model else { return Err(RankerError::NotTrees(self.model.in_words())) };
        let normalized = |data| self.normalized(Cow::Borrowed(data));
        let shap = TreeShap::new(trees, normalized(background)?.features.to_slice())
            .map_err(|error| RankerError::Trees(error.to_string()))?;
        Ok(Contributions { values: shap.all(normalized(data)?.features.to_slice()), expected: shap.expected })
    }

    /// Returns the normalized data that the model scores.
    fn normalized(&self, data: Cow<RankingDataset>) -> Result<RankingDataset, RankerError> {
        let (found, expected) = (data.feature_count, self.features());
        if found > expected && !ignores_other_features(self) {
            return Err(RankerError::Features { found, expected });
        }
        if !self.takes_missing()
            && let Some((document, feature)) = data.first_missing()
        {
            let (query, document) = data.place_of(document);
            return Err(RankerError::Missing { query: query.to_owned(), document: document + 1, feature: feature + 1 });
        }
        self.model.ask_memory(&data).map_err(RankerError::Memory)?;
        let mut normalized = match self.places(&data)? {
            None => data.into_owned(),
            Some(places) => data.with_columns(&places).map_err(RankerError::Memory)?,
        };
        self.normalizer.apply(&mut normalized)?;
        Ok(normalized)
    }

    /// Returns the place in the data of each feature of the ranker; `None` if the data have just these features, in
    /// this order. Features are found by name if the data have all names. Names that are only numbers, and names that
    /// another system may have changed, need not be in the data.
    fn places(&self, data: &RankingDataset) -> Result<Option<Vec<usize>>, RankerError> {
        let (names, is_imported) = (&data.feature_names, self.metadata.is_imported());
        let in_order = || (data.feature_count != self.features()).then(|| (0..self.features()).collect());
        if has_features(self, names) {
            return Ok(in_order());
        }
        let known = names_in_tables(self);
        let key = |name: &String| if is_imported { letters(name) } else { name.clone() };
        let places: HashMap<String, usize> = names.iter().map(key).zip(0..).collect();
        let place = |name: &String| places.get(&key(name)).copied().filter(|_| places.len() == names.len());
        match known.iter().find(|name| place(name).is_none()) {
            None => Ok(Some(known.iter().filter_map(place).collect())),
            Some(_) if is_imported || known == numbered(known.len()) => Ok(in_order()),
            Some(lacking) => {
                let expected = format!("{} too, as the ranker has, or data without names", in_quotes(lacking));
                let found = first_of(names.iter().map(String::as_str));
                Err(DataError::from(Refusal::new("feature_names", found, expected)).into())
            }
        }
    }

    /// Returns the bytes of the ranker's file; equal rankers give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        file::encode(&Parts::from_model(&self.model), self.saved())
    }

    /// Returns everything but the model as JSON.
    pub(super) fn saved(&self) -> Value {
        json!({ "normalizer": self.normalizer, "about": self.metadata })
    }

    /// Builds a ranker from the parts of its model and from what [`saved`](Self::saved) returned.
    pub(super) fn from_saved(parts: Parts, saved: Value, device: &Device) -> Result<Self, String> {
        let metadata = |reason: String| format!("metadata: {reason}");
        let Saved { normalizer, about } =
            crate::json::from_value(saved).map_err(|error| metadata(error.to_string()))?;
        normalizer.check().map_err(|error| metadata(error.to_string()))?;
        let model = parts.build(device).map_err(|error| error.to_string())?;
        Self::new(normalizer, model, about).map_err(|error| metadata(error.to_string()))
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
        let refuse = |reason: String| RankerError::Format { path: path.into(), reason };
        let (parts, saved) = file::decode(bytes).map_err(|error| refuse(error.to_string()))?;
        Self::from_saved(parts, saved, device).map_err(refuse)
    }
}

/// The maximum number of feature values normalized and scored in one block (64 MiB).
const BLOCK: usize = 1 << 24;

/// Returns the names by which a table has the features of a ranker. Features that have only numbers are called
/// `feature_1`, `feature_2` and so on. The result is empty if a ranker of another system only has names that its
/// system gives to the columns of a matrix.
pub fn names_in_tables(ranker: &Ranker) -> Vec<String> {
    let of_matrix = |names: &[String]| {
        names.iter().enumerate().all(|(at, name)| *name == at.to_string() || *name == format!("f{at}"))
    };
    let is_imported = ranker.metadata.is_imported();
    match &ranker.metadata.feature_names {
        Some(names) if !is_imported || !of_matrix(names) => names.clone(),
        None if !is_imported => numbered(ranker.features()),
        _ => Vec::new(),
    }
}

/// Returns whether data with features of these names have the features of a ranker in its order, as far as both know
/// names. Other systems may have changed characters of the ranker's names.
pub fn has_features(ranker: &Ranker, names: &[String]) -> bool {
    let known = if names.is_empty() { Vec::new() } else { names_in_tables(ranker) };
    if known.is_empty() || known.iter().any(String::is_empty) {
        return true;
    }
    let (is_imported, is_named) = (ranker.metadata.is_imported(), ranker.metadata.feature_names.is_some());
    let is_same = |(known, name): (&String, &String)| match known == name {
        false if is_imported => letters(known) == letters(name),
        false => !is_named && !name.starts_with(NUMBERED),
        true => true,
    };
    known.len() == names.len() && known.iter().zip(names).all(is_same)
}

/// Checks that data read with these options have the missing values of a ranker's training data, as far as the ranker
/// records how they were read.
///
/// # Errors
/// Returns [`Refusal`] without a key if missing values are read in another way.
pub fn check_missing(ranker: &Ranker, options: &ReadOptions) -> Result<(), Refusal> {
    let recorded = ranker.metadata.config["data"]["read"].clone();
    let Ok(trained) = crate::json::from_value::<ReadOptions>(recorded) else { return Ok(()) };
    let marks = |options: &ReadOptions| (options.absent, options.missing_value);
    // Readers keep missing values with `indicator` too; with `error` there are none.
    let kind = |missing| if missing == Missing::Indicator { Missing::Keep } else { missing };
    let kinds = [trained.missing, options.missing].map(kind);
    if marks(&trained) == marks(options) && (kinds[0] == kinds[1] || kinds.contains(&Missing::Error)) {
        return Ok(());
    }
    let expected = "the `missing`, `absent` and `missing_value` of its training in data.read";
    Err(Refusal::new("", "a ranker that treats missing values in another way", expected))
}

/// Returns whether the ranker was imported from a format that ignores surplus features.
pub fn ignores_other_features(ranker: &Ranker) -> bool {
    ranker.metadata.config["import"]["other_features"].as_str() == Some("ignored")
}

#[cfg(test)]
mod tests;

/// The version of burn that this crate depends on.
const BURN: &str = "0.22.1";

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

impl Metadata {
    /// Returns whether the ranker was trained by another system. Then it is not known how its training data were read.
    pub fn is_imported(&self) -> bool {
        !self.config["import"].is_null()
    }
}

impl Default for Metadata {
    /// Returns the record of a ranker that this build makes and of which nothing else is known.
    fn default() -> Self {
        Self {
            feature_names: None,
            config: Value::Object(Default::default()),
            convention: Convention::default(),
            measures: BTreeMap::new(),
            data_hash: "unknown".into(),
            seed: 0,
            estimate: None,
            versions: Versions::current(),
        }
    }
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
