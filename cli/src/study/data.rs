//! The training data of a study, given by a configuration.

use crate::experiment::{ExperimentConfig, Split};

/// Training data, given by a configuration of `train`.
#[derive(Debug, Clone)]
pub struct Training {
    /// The origin of the data, for messages and tables.
    pub origin: String,
    /// The configuration; a study replaces its learner and its loss.
    pub config: ExperimentConfig,
    /// The queries that the configuration names.
    pub split: Split,
}
