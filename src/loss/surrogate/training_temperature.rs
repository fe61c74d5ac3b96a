//! The temperature of a configuration file that names none: in spreads of scores, one for each relaxation.
//!
//! The defaults of the losses are those of the papers, in scores. They train badly from scratch, since a temperature
//! means nothing until one knows the spread of the scores. docs/LOSSES.md says how these were found, on validation queries
//! alone.

use super::cells::Cell;
use super::names::RelaxationName;
use super::relaxed_measure::{self, named_cell};
use crate::json::Map;

/// The temperature in spreads for a registered loss, by its name and the parameters that name a cell, so many `times` as
/// warm as it is for scorers; none for a loss without a temperature, and for those that are no cell, for which none was
/// found.
pub(in crate::loss) fn in_spreads(name: &str, params: &Map, times: f64) -> Option<f64> {
    let relaxation = match name {
        relaxed_measure::NAME => named_cell(params).relaxation,
        _ => Cell::all().find(|cell| cell.named() == Some(name))?.relaxation,
    };
    Some(match relaxation {
        RelaxationName::ApproximatePositions => 20.0 / times,
        RelaxationName::SigmoidRanks => 0.05 * times,
        // In variances.
        RelaxationName::RankIndicators => 0.02 * times * times,
        RelaxationName::ExpectedRanks => 0.1 * times,
        // Its weights grow with the number of documents.
        RelaxationName::NeuralSort => 5.0 * times,
        RelaxationName::SoftSort => 0.15 * times,
        RelaxationName::SmoothIndicators => 5.0 / times,
        RelaxationName::ProjectedRanks => 0.0125 * times,
    })
}
