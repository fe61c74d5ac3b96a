//! The default temperature of each relaxation, in spreads (standard deviations of a list's scores).
//!
//! The papers' temperatures are in scores. With them, training from scratch works badly, because a suitable temperature
//! depends on the spread of the scores. The page benchmarks/losses.md explains how the default temperatures were found,
//! using only validation queries.

use super::cells::Cell;
use super::names::{MeasureName, RelaxationName};
use super::relaxed_measure::{self, named_cell};
use crate::json::Map;

impl Cell {
    /// Returns the default temperature, in spreads, for training a scorer from scratch. The factor `times` changes it
    /// to make the surrogate smoother.
    pub(super) fn default_temperature(self, times: f64) -> f64 {
        match self.relaxation {
            RelaxationName::ApproximatePositions => 20.0 / times,
            RelaxationName::SigmoidRanks => 0.05 * times,
            // The temperature is in variances.
            RelaxationName::RankIndicators => 0.02 * times * times,
            RelaxationName::ExpectedRanks => 0.1 * times,
            RelaxationName::NeuralSort => 0.2 * times,
            RelaxationName::SoftSort => 0.075 * times,
            RelaxationName::SmoothIndicators => 10.0 / times,
            // Documents further apart have no gradient, so a measure of few ranks needs a larger temperature.
            RelaxationName::ProjectedRanks => times * if falls_gradually(self.measure) { 0.00625 } else { 0.05 },
        }
    }
}

/// Returns the default temperature of a registered loss, from its name and parameters. Other losses have no default
/// temperature in spreads, because no search for one has been made.
pub(in crate::loss) fn default_temperature(name: &str, params: &Map, times: f64) -> Option<f64> {
    let cell = match name {
        relaxed_measure::NAME => {
            let named = named_cell(params);
            Cell { measure: named.measure, relaxation: named.relaxation }
        }
        _ => Cell::all().find(|cell| cell.named() == Some(name))?,
    };
    Some(cell.default_temperature(times))
}

/// Returns whether the measure depends on every rank, and depends less on each rank than on the rank before it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;
    use crate::loss::registry;

    /// Each named loss has the same default temperature as the measure and relaxation that it combines.
    #[test]
    fn named_losses_have_the_temperature_of_their_cell() {
        for cell in Cell::all() {
            let Some(name) = cell.named() else { continue };
            let entry = registry::find(name).unwrap();
            let (symbol, score) =
                (cell.relaxation.symbol(), Map::from_iter([("temperature_unit".to_string(), json!("score"))]));
            let defaults = entry.defaults(&Map::new());
            assert_eq!(defaults[symbol], json!(cell.default_temperature(1.0)), "{name}");
            assert_eq!(defaults["temperature_unit"], json!("spread"), "{name}");
            assert_eq!(entry.defaults(&score)[symbol], json!(cell.relaxation.paper_value()), "{name}");
        }
    }
}
