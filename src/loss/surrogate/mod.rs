//! Turns any measure into a surrogate loss. A measure is written once, as a [`PositionMeasure`], in terms of positions,
//! cut-offs and gains. Each [`Relaxation`] turns it into a loss. Each named surrogate from the papers combines one
//! measure with one relaxation.
//!
//! Every measure of this crate works with every relaxation of this crate. [`RelaxedMeasure`] offers all combinations by
//! name. A relaxation that you write may leave operations undefined. A measure that uses an undefined operation is
//! rejected when the loss is built.
//!
//! Each operation that the measure uses costs O(n^2) (see [`MeasureContext`]). If the relaxation has noise, the cost is
//! multiplied by the number of draws.

mod context;
pub(crate) mod measures;
mod named;
pub(crate) mod names;
mod operations;
mod position_function;
mod position_measure;
mod relaxation;
pub(super) mod relaxed_measure;
#[cfg(test)]
mod tests;
mod transform;

pub use context::MeasureContext;
pub(in crate::loss) use named::*;
pub use names::{DiscountShape, MeasureName, RelaxationName};
pub use position_function::PositionFunction;
pub use position_measure::{PositionMeasure, Uses};
pub use relaxation::{Approximation, RankExpectationMethod, RankModel, Relaxation, Relaxed};
pub(crate) use relaxation::{Form, Indicators};
pub use transform::{Surrogate, TypeOneBound};
