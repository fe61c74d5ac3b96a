//! The temperature of a configuration file that names none: in spreads of scores, one for each relaxation.
//!
//! The defaults of the losses are those of the papers, in scores. They train badly from scratch, since a temperature
//! means nothing until one knows the spread of the scores. docs/LOSSES.md says how these were found, on validation queries
//! alone.

use super::cells::Cell;
use super::names::{MeasureName, RelaxationName};
use super::relaxed_measure::{self, named_cell};
use crate::json::Map;

/// The temperature in spreads for a registered loss, by its name and the parameters that name a cell, so many `times` as
/// warm as it is for scorers; none for a loss without a temperature, and for those that are no cell, for which none was
/// found.
pub(in crate::loss) fn in_spreads(name: &str, params: &Map, times: f64) -> Option<f64> {
    let Cell { measure, relaxation } = match name {
        relaxed_measure::NAME => {
            let named = named_cell(params);
            Cell { measure: named.measure, relaxation: named.relaxation }
        }
        _ => Cell::all().find(|cell| cell.named() == Some(name))?,
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
        // Without a gradient between documents further apart: where few ranks count, more of them must meet.
        RelaxationName::ProjectedRanks => times * if falls_gradually(measure) { 0.0125 } else { 0.05 },
    })
}

/// Whether a document counts at every rank, for less at each further one.
fn falls_gradually(measure: MeasureName) -> bool {
    match measure {
        MeasureName::Ndcg | MeasureName::Dcg | MeasureName::Ap | MeasureName::Err | MeasureName::Rbp => true,
        MeasureName::Rr
        | MeasureName::Precision
        | MeasureName::Recall
        | MeasureName::Success
        | MeasureName::RPrecision
        | MeasureName::KendallTau => false,
    }
}
