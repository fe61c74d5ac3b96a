//! The surrogates that papers name: each is a measure through a relaxation, with its own parameters and defaults. A row
//! of [`named!`] is all there is to one of them.

use super::names::{Cell, DiscountShape, MeasureName, RelaxationName};
use super::relaxation::{RankExpectationMethod, RankModel};
use super::relaxed_measure::RelaxedMeasureConfig;
use super::transform::Surrogate;
use crate::loss::prelude::*;
use crate::op::Step;

/// Defines the surrogates of one family from rows. A row has the loss's documentation, its name, type and
/// configuration, the measure and the relaxation that it joins, what the registry says of it, and the parameters with
/// their defaults. The temperature has the default of the relaxation. Parameters have the names that
/// [`RelaxedMeasureConfig`] gives them. In `where`, a row may set further parameters, which its users cannot change.
///
/// [`RelaxedMeasureConfig`]: super::relaxed_measure::RelaxedMeasureConfig
macro_rules! named {
    (
        temperature: $symbol:literal, sharper: $sharper:ident, paper_value: $paper_value:literal, setter: $setter:ident;
        $(
            $(#[$about:meta])*
            $name:ident $loss:ident $config:ident $(in $example:literal)?: $measure:ident through $relaxation:ident
                $(where $fixed:ident = $value:path)?
            {
                summary: $summary:literal,
                formula: $formula:literal,
                cost: $cost:literal,
                paper: $paper:literal,
                $($(#[$parameter_doc:meta])* $parameter:ident: $kind:ident $(<$inner:ident>)? $(= $parameter_default:tt)?,)*
            }
        )+
    ) => {
        $(
            pub(in crate::loss) mod $name {
                use super::*;

                const TEMPERATURE: Temperature = Temperature::spreads(RelaxationName::$relaxation.temperature());

                declare! {
                    $config,
                    name: stringify!($name),
                    summary: $summary,
                    formula: $formula,
                    cost: $cost,
                    paper: $paper,
                    temperature: $symbol, sharper: $sharper, paper_value: $paper_value, setter: $setter,
                }

                #[doc = concat!("Configuration of [`", stringify!($loss), "`]. The default temperature suits training")]
                #[doc = "from scratch; [`paper`](Self::paper) uses the paper's temperature."]
                #[doc = ""]
                #[doc = example!(stringify!($config) $(, $example)?)]
                #[derive(Config, Debug)]
                #[non_exhaustive]
                pub struct $config {
                    #[doc = temperature_doc!($relaxation)]
                    #[config(default = "TEMPERATURE")]
                    pub temperature: Temperature,
                    $(
                        $(#[$parameter_doc])*
                        $(#[config(default = $parameter_default)])?
                        pub $parameter: $kind $(<$inner>)?,
                    )*
                }

                impl $config {
                    /// Checks the parameters.
                    ///
                    /// # Errors
                    /// Returns an error if a parameter is out of its range.
                    pub fn init(&self) -> Result<$loss, LossError> {
                        RelaxedMeasureConfig {
                            temperature: Some(self.temperature),
                            $($parameter: self.$parameter.clone().into(),)*
                            $($fixed: $value,)?
                            ..RelaxedMeasureConfig::of(MeasureName::$measure, RelaxationName::$relaxation)
                        }
                        .named(NAME)
                    }
                }

                $(#[$about])*
                #[doc = ""]
                #[doc = concat!("Loss: `", $formula, "`.")]
                #[doc = ""]
                #[doc = concat!("Source: ", $paper, ".")]
                #[doc = ""]
                #[doc = concat!("Cost for `n` documents: ", $cost, ".")]
                pub type $loss = Surrogate;
            }
        )+

        /// The losses of this family.
        pub(super) const NAMED: &[Row] =
            &[$((stringify!($name), MeasureName::$measure, RelaxationName::$relaxation)),+];
    };
}

/// The documentation of a temperature.
macro_rules! temperature_doc {
    (ApproximatePositions) => {
        "The steepness `alpha` of the approximate positions; must be above 0."
    };
    (SigmoidRanks) => {
        "The smoothing `sigma`, above 0."
    };
    (RankIndicators) => {
        "The smoothing `sigma`, above 0, measured in squared scores or in variances of a list's scores."
    };
    (ExpectedRanks) => {
        "The standard deviation `sigma` of a noisy score; must be above 0."
    };
}

mod approx;
mod smooth;
mod soft;
#[cfg(test)]
mod tests;

pub(in crate::loss) use approx::*;
pub(in crate::loss) use smooth::*;
pub(in crate::loss) use soft::*;

/// The name of a registered loss, with the measure and the relaxation that it joins.
type Row = (&'static str, MeasureName, RelaxationName);

/// A loss over pairs that equals a measure through a relaxation.
const OF_PAIRS: &[Row] = &[("approx_kendall_tau", MeasureName::KendallTau, RelaxationName::ApproximatePositions)];

impl Cell {
    /// Returns the name of the registered loss that equals this combination, if there is one.
    pub fn named(self) -> Option<&'static str> {
        let is_this = |row: &&Row| (self.measure, self.relaxation) == (row.1, row.2);
        [approx::NAMED, smooth::NAMED, soft::NAMED, OF_PAIRS].into_iter().flatten().find(is_this).map(|row| row.0)
    }
}
