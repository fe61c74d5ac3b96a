//! `Measures`, a map from the names of measures to values.

/// The value of each measure, in the order of the configuration; `null` if a measure has no value.
pub type Measures = burn_rank::json::Map;
