//! `Measures`: values by the names of measures.

/// Values by measure, in the order of the configuration; `null` where there is none.
pub type Measures = burn_rank::json::Map;
