//! The surrogates that papers name: each is a measure through a relaxation, with its own parameters and defaults. A row
//! of [`named!`] is all there is to one of them.

use super::names::{MeasureName, RelaxationName};

/// Defines the surrogates of one family from rows. A row has the loss's documentation, its name, type and
/// configuration, the measure and the relaxation that it joins, what the registry says of it, the default temperature
/// in spreads, and the other parameters with their defaults. Parameters have the names that [`RelaxedMeasureConfig`]
/// gives them. In
/// `where`, a row may set further parameters, which its users cannot change.
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
                temperature: $default:tt,
                $($(#[$parameter_doc:meta])* $parameter:ident: $kind:ident $(<$inner:ident>)? $(= $parameter_default:tt)?,)*
            }
        )+
    ) => {
        $(
            pub(in crate::loss) mod $name {
                use super::*;

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
                    #[config(default = $default)]
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

        /// The name of each loss of this family, with its measure and relaxation.
        pub(super) const NAMED: &[(&str, MeasureName, RelaxationName)] =
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

/// Returns the name, measure and relaxation of every registered loss that joins a measure and a relaxation.
pub(super) fn all() -> impl Iterator<Item = (&'static str, MeasureName, RelaxationName)> {
    let of_pairs = [("approx_kendall_tau", MeasureName::KendallTau, RelaxationName::ApproximatePositions)];
    [approx::NAMED, smooth::NAMED, soft::NAMED, of_pairs.as_slice()].concat().into_iter()
}
