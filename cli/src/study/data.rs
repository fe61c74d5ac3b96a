//! Data to train on, which a configuration names.

use crate::experiment::{ExperimentConfig, Split};

/// Data to train on, as a configuration of `train` names them.
#[derive(Debug, Clone)]
pub struct Training {
    /// The origin of the data, for messages and tables.
    pub origin: String,
    /// The configuration; a study replaces its learner and loss.
    pub config: ExperimentConfig,
    /// The queries of the configuration.
    pub split: Split,
}
