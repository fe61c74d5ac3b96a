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

pub(super) mod approx_ap;
pub(super) mod approx_dcg;
pub(super) mod approx_ndcg;
pub(super) mod approx_precision;
pub(super) mod approx_rr;
mod bound;
mod cells;
mod concordance;
mod context;
pub(in crate::loss) mod default_temperature;
pub(super) mod discount_shape;
mod measures;
mod names;
mod position_function;
mod position_measure;
mod ranked_value;
mod relaxation;
pub(super) mod relaxed_measure;
mod relevance_measures;
mod running_product;
mod sigmoid;
pub(super) mod smooth_ap_indicator;
pub(super) mod smooth_ap_rank;
pub(super) mod smooth_dcg;
pub(super) mod smooth_ndcg;
pub(super) mod smooth_precision;
pub(super) mod smooth_rr;
pub(super) mod soft_ap;
pub(super) mod soft_dcg;
pub(super) mod soft_err;
pub(super) mod soft_ndcg;
pub(super) mod soft_precision;
pub(super) mod soft_rr;
mod transform;

pub use bound::TypeOneBound;
pub use cells::{Cell, CellCost};
pub use context::MeasureContext;
pub use discount_shape::DiscountShape;
pub use measures::{AveragePrecision, Dcg, ExpectedReciprocalRank, Ndcg, ReciprocalRank};
pub use names::{MeasureName, RelaxationName};
pub use position_function::PositionFunction;
pub use position_measure::PositionMeasure;
pub(crate) use ranked_value::RankedValue;
pub use relaxation::{
    Approximate, Exact, Expected, GumbelNoise, Indicator, Indicators, NeuralSort, PairSteps, Positions, ProjectedRanks,
    RankExpectations, RankModel, Relaxation, Relaxed, SigmoidRanks, SmoothIndicators, SoftSort,
};
pub use relevance_measures::{KendallTau, PrecisionAt, RPrecision, RankBiasedPrecision, RecallAt, SuccessAt};
pub use transform::Surrogate;
