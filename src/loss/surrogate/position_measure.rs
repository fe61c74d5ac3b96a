//! `PositionMeasure`, a measure written as a formula over positions; relaxations evaluate the formula.

use std::fmt::Debug;

use burn::tensor::{Bool, Tensor};

use super::context::MeasureContext;
use crate::loss::about::Orientation;
use crate::loss::error::LossError;
use crate::loss::lists::Lists;
use crate::measure::Gain;

/// A measure of a ranked list, written as a formula over positions. This crate provides [`Ndcg`](super::Ndcg) and other
/// measures.
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_rank::loss::{Expected, MeasureContext, PositionFunction, PositionMeasure, Surrogate, Temperature};
///
/// /// Rank-biased precision with persistence 0.8.
/// #[derive(Debug)]
/// struct RankBiasedPrecision;
///
/// impl PositionMeasure for RankBiasedPrecision {
///     fn name(&self) -> &'static str {
///         "rbp"
///     }
///     fn value(&self, list: &MeasureContext) -> Tensor<1> {
///         let persistence = PositionFunction::new(|position| ((position - 1.0) * 0.8f64.ln()).exp() * 0.2);
///         list.sum(list.relevance(), &persistence, None)
///     }
/// }
///
/// let loss = Surrogate::new(RankBiasedPrecision, Expected::new(Temperature::scores(0.5)))?;
/// # Ok::<(), burn_rank::loss::LossError>(())
/// ```
pub trait PositionMeasure: Debug + Send + Sync {
    /// Returns the name of the measure.
    fn name(&self) -> &'static str;

    /// Checks the parameters. The argument `loss` is the name of the loss for error messages.
    ///
    /// # Errors
    /// Returns [`LossError::Parameter`] for the first parameter that is out of range. By default, every value is valid.
    fn check(&self, _loss: &'static str) -> Result<(), LossError> {
        Ok(())
    }

    /// Returns how to turn the measure's value into the loss. The default, `NormalizedMeasure`, is for a measure that
    /// is normalized to [0, 1].
    fn orientation(&self) -> Orientation {
        Orientation::NormalizedMeasure
    }

    /// Returns the gain, which determines the allowed labels; `None` allows any finite label.
    fn gain(&self) -> Option<&Gain> {
        None
    }

    /// For each query, returns whether it can give a gradient, `[B]`. By default, a query can give a gradient if two of
    /// its documents differ in gain, or in label if the measure has no gain.
    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.gain().map_or_else(|| lists.has_two_labels(), |gain| lists.has_two_gains(gain))
    }

    /// Returns a tensor, `[B, N]`, that is nonzero at the documents whose positions affect the value. A relaxation may
    /// skip the positions of all other documents. The default, `None`, means that all positions are needed. A measure
    /// that compares documents, for example with [`sum_with_above`](MeasureContext::sum_with_above) or
    /// [`concordance`](MeasureContext::concordance), needs all positions.
    fn counted(&self, _lists: &Lists) -> Option<Tensor<2>> {
        None
    }

    /// Returns the measure for each query, `[B]`. For every input, an implementation must call the same methods of
    /// `list`.
    fn value(&self, list: &MeasureContext) -> Tensor<1>;
}

impl PositionMeasure for Box<dyn PositionMeasure> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        (**self).check(loss)
    }

    fn orientation(&self) -> Orientation {
        (**self).orientation()
    }

    fn gain(&self) -> Option<&Gain> {
        (**self).gain()
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        (**self).learnable(lists)
    }

    fn counted(&self, lists: &Lists) -> Option<Tensor<2>> {
        (**self).counted(lists)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        (**self).value(list)
    }
}
