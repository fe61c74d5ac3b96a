//! Training data for a study, as named by a configuration.

use crate::experiment::{Experiment, Split};

/// Training data from a configuration of `train`.
#[derive(Debug, Clone)]
pub struct Training {
    /// Where the data come from, as shown in messages and tables.
    pub origin: String,
    /// The configuration, whose learner and loss a study replaces with its own.
    pub config: Experiment,
    /// The queries that the configuration names.
    pub split: Split,
}
