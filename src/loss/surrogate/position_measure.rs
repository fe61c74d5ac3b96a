//! `PositionMeasure`, a measure written as a formula over positions; relaxations evaluate the formula.

use std::fmt::Debug;

use burn::tensor::Bool;

use super::context::MeasureContext;
use super::position_function::PositionFunction;
use crate::loss::prelude::*;

/// A measure of a ranked list, written as a formula over positions. [`MeasureName`](super::MeasureName) lists the
/// measures of this crate.
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_rank::loss::{
///     MeasureContext, PositionFunction, PositionMeasure, RelaxationName, RelaxedMeasureConfig, Uses,
/// };
///
/// /// Rank-biased precision with persistence 0.8.
/// #[derive(Debug)]
/// struct RankBiasedPrecision;
///
/// fn attention() -> PositionFunction {
///     PositionFunction::new(|position| ((position - 1.0) * 0.8f64.ln()).exp() * 0.2)
/// }
///
/// impl PositionMeasure for RankBiasedPrecision {
///     fn name(&self) -> &'static str {
///         "rbp"
///     }
///     fn value(&self, list: &MeasureContext) -> Tensor<1> {
///         list.sum(list.relevance(), &attention(), None)
///     }
///     // This is optional: it makes document weights possible, and exact means over tied documents.
///     fn uses(&self) -> Uses {
///         Uses::sums_of(&attention(), None)
///     }
/// }
///
/// let relaxation = RelaxedMeasureConfig::new().with_relaxation(RelaxationName::ExpectedRanks);
/// let loss = relaxation.init_measure(RankBiasedPrecision)?;
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
    fn needed_positions(&self, _lists: &Lists) -> Option<Tensor<2>> {
        None
    }

    /// Returns which operations [`value`](Self::value) uses. The default is right for every measure, but only a measure
    /// that says that it is a sum over documents accepts document weights, and has exact means over tied documents.
    fn uses(&self) -> Uses {
        Uses::default()
    }

    /// Returns the measure for each query, `[B]`. For every input, an implementation must call the same methods of
    /// `list`.
    fn value(&self, list: &MeasureContext) -> Tensor<1>;
}

/// The operations of [`MeasureContext`] by which a measure computes its value.
#[derive(Debug, Clone, Default)]
pub struct Uses {
    operations: Operations,
    /// The functions of the rank that the measure sums, with their cut-offs.
    pub(super) functions: Vec<(PositionFunction, Option<usize>)>,
}

/// What a measure does with documents.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Operations {
    /// Anything.
    #[default]
    Any,
    /// Sums over documents, so what a document adds depends only on its rank.
    Sums,
    /// Comparisons of documents in sums and in products of logarithms.
    Comparisons,
    /// Products over the documents above a document.
    ProductAbove,
    /// The number of ordered pairs.
    Concordance,
}

impl Uses {
    /// Only [`MeasureContext::sum`], of the function `f` of the rank within the cut-off `k`, besides what depends on no
    /// position, such as [`MeasureContext::ideal`].
    pub fn sums_of(f: &PositionFunction, k: Option<usize>) -> Self {
        Self::of(Operations::Sums).and_function(f, k)
    }

    /// Adds a function of the rank with its cut-off.
    pub fn and_function(mut self, f: &PositionFunction, k: Option<usize>) -> Self {
        self.functions.push((f.clone(), k));
        self
    }

    pub(super) fn of(operations: Operations) -> Self {
        Self { operations, functions: Vec::new() }
    }

    pub(super) fn operations(&self) -> Operations {
        self.operations
    }

    /// Returns whether the measure says that it is a sum over documents.
    pub(crate) fn only_sums(&self) -> bool {
        self.operations == Operations::Sums
    }
}
