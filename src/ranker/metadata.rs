//! `Metadata` is the record of a ranker's training.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::file::FORMAT;
use crate::json::Value;
use crate::measure::Convention;

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
