//! The trait of relaxations, and the three forms of their substitutes for ranks.

use std::fmt::Debug;
use std::sync::Arc;

use burn::tensor::{DType, Tensor};

use crate::loss::approximation::Approximation;
use crate::loss::error::LossError;
use crate::loss::lists::Lists;
use crate::loss::smoothing::Smoothing;
use crate::loss::surrogate::position_function::PositionFunction;
use crate::op::Step;

/// A substitute for the ranks of a list that can have a gradient.
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_rank::loss::{AveragePrecision, Lists, Positions, Relaxation, Relaxed, Surrogate};
///
/// /// Positions by the Laplace step, `1 - exp(-t) / 2` above 0 and `exp(t) / 2` below it.
/// #[derive(Debug)]
/// struct Laplace {
///     scale: f64,
/// }
///
/// impl Relaxation for Laplace {
///     fn name(&self) -> &'static str {
///         "laplace"
///     }
///     fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
///         let rows = lists.scores.clone().unsqueeze_dim::<3>(2);
///         let columns = lists.scores.clone().unsqueeze_dim::<3>(1);
///         let t = (columns - rows) * (1.0 / self.scale); // s_j - s_i at [.., i, j]
///         let step = (t.clone().abs().neg().exp().neg() + 1.0) * t.sign() * 0.5 + 0.5;
///         let sums = (step * lists.mask.clone().unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim::<2>(2);
///         Relaxed::Positions(Positions::new(sums + 0.5, 10.0)) // the own term of a document is 1/2
///     }
/// }
///
/// let loss = Surrogate::new(AveragePrecision::new(), Laplace { scale: 0.1 })?;
/// # Ok::<(), burn_rank::loss::LossError>(())
/// ```
pub trait Relaxation: Debug + Send + Sync {
    /// Name of the relaxation, for messages.
    fn name(&self) -> &'static str;

    /// Checks the parameters; `loss` is the name used in messages.
    ///
    /// # Errors
    /// [`LossError::Parameter`] for the first parameter out of its range. By default every value is valid.
    fn check(&self, _loss: &'static str) -> Result<(), LossError> {
        Ok(())
    }

    /// Checks that the expectation of `f` within the cut-off `k` can be computed in the way that the parameters ask
    /// for. A [`Surrogate`](crate::loss::Surrogate) over [`Relaxed::Expectations`] calls this once for each sum of the
    /// measure.
    ///
    /// # Errors
    /// [`LossError::Parameter`]. By default every function is accepted.
    fn check_sum(&self, _loss: &'static str, _f: &PositionFunction, _k: Option<usize>) -> Result<(), LossError> {
        Ok(())
    }

    /// Its temperature, for annealing; `None`, the default, for a relaxation without one. A relaxation that has one also
    /// overrides [`with_parameter`](Relaxation::with_parameter).
    fn smoothing(&self) -> Option<Smoothing> {
        None
    }

    /// The same relaxation with one parameter changed, unchecked; `None`, the default, for a parameter that does not
    /// move.
    fn with_parameter(&self, _parameter: &str, _value: f64) -> Option<Arc<dyn Relaxation>> {
        None
    }

    /// Returns whether the relaxation passes a gradient to the scores.
    fn is_differentiable(&self) -> bool {
        true
    }

    /// Number of draws that the value is averaged over: 1 for a relaxation without noise.
    fn samples(&self) -> usize {
        1
    }

    /// Returns the substitute for the ranks of clean lists in draw `sample`, counted from 0. It must not depend on the
    /// values at padded places.
    fn relax(&self, lists: &Lists, sample: usize) -> Relaxed;

    /// Returns how many numbers are held for the pairs of a list of `documents` documents, forward and backward: an
    /// estimate. 0, the default, for a relaxation whose memory grows with the documents.
    fn numbers_held(&self, _documents: usize) -> u64 {
        0
    }

    /// Describes how `E[f]` within the cut-off `k` is computed in lists of up to `documents` documents, with the
    /// measured errors. `None`, the default, if the formula is followed at every length.
    ///
    /// # Errors
    /// An approximation that was asked for misses its tolerance at this length.
    fn approximation(
        &self,
        _loss: &'static str,
        _f: &PositionFunction,
        _k: Option<usize>,
        _documents: usize,
        _scores: DType,
    ) -> Result<Option<Approximation>, LossError> {
        Ok(None)
    }

    /// Returns the same relaxation with its noise drawn anew, separately for each row of a batch, from `seed(own)`,
    /// where `own` is the seed of this relaxation. `None`, the default, for a relaxation without noise.
    fn reseeded(&self, _seed: &dyn Fn(u64) -> u64) -> Option<Arc<dyn Relaxation>> {
        None
    }
}

/// A substitute for ranks, in one of three forms.
// One value per forward pass: boxing the tensors would cost readers more than it saves.
#[allow(clippy::large_enum_variant)]
pub enum Relaxed {
    /// Every document has a real position.
    Positions(Positions),
    /// Every rank has a soft document.
    Indicators(Indicators),
    /// Ranks are random, and expectations stand in place of values.
    Expectations(Box<dyn RankExpectations>),
}

/// Soft documents at whole ranks.
pub struct Indicators {
    /// Takes one value for each document and returns the value found at the rank of each document, `[batch, documents]`
    /// to `[batch, documents]`.
    pub at_ranks: Box<dyn Fn(Tensor<2>) -> Tensor<2>>,
    /// The rank of each document, from 1: `[batch, documents]`.
    pub ranks: Tensor<2>,
}

impl Indicators {
    /// Soft documents at the ranks of these lists.
    pub fn new(lists: &Lists, at_ranks: impl Fn(Tensor<2>) -> Tensor<2> + 'static) -> Self {
        Self { at_ranks: Box::new(at_ranks), ranks: lists.ranks() }
    }

    /// The same from a matrix, of the ranks from the first on that a measure needs: `[batch, ranks, documents]`, 0 at
    /// padded documents.
    pub(super) fn of_matrix(lists: &Lists, matrix: Tensor<3>) -> Self {
        Self::of_ranks(lists, move |values| {
            let [batch, n] = values.dims();
            let found: Tensor<2> = (matrix.clone() * values.unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim(2);
            let [_, top] = found.dims();
            let beyond = Tensor::zeros([batch, n - top], (&found.device(), found.dtype()));
            if top < n { Tensor::cat(vec![found, beyond], 1) } else { found }
        })
    }

    /// The same from the values found at the ranks, the first rank first, `[batch, documents]`.
    pub(super) fn of_ranks(lists: &Lists, found: impl Fn(Tensor<2>) -> Tensor<2> + 'static) -> Self {
        let ranks = lists.ranks();
        let places = (ranks.clone() - 1.0).int();
        Self { at_ranks: Box::new(move |values| found(values).gather(1, places.clone())), ranks }
    }
}

/// Expectations over random ranks `R`. A function that gives the first of them is one, too: the others are not defined
/// then.
pub trait RankExpectations {
    /// `E[f(R_x)]` within the cut-off `k`: `[batch, documents]`.
    fn of_rank(&self, f: &PositionFunction, k: Option<usize>) -> Tensor<2>;

    /// `a_x E[f(R_x) (b_x + sum of b_y over y above x)]` within the cut-off `k`: `[batch, documents]`.
    ///
    /// # Errors
    /// What is not defined, as [`LossError::Undefined`] names it. Which lists they are must not matter. By default
    /// nothing is defined.
    fn with_above(
        &self,
        _a: Tensor<2>,
        _f: &PositionFunction,
        _b: Tensor<2>,
        _k: Option<usize>,
    ) -> Result<Tensor<2>, &'static str> {
        Err("sum_with_above")
    }

    /// `a_x E[f(R_x) prod of (1 - b_y) over y above x]` within the cut-off `k`: `[batch, documents]`.
    ///
    /// # Errors
    /// As of [`with_above`](Self::with_above).
    fn with_none_above(
        &self,
        _a: Tensor<2>,
        _f: &PositionFunction,
        _b: Tensor<2>,
        _k: Option<usize>,
    ) -> Result<Tensor<2>, &'static str> {
        Err("sum_with_none_above")
    }

    /// `a_x P(R_x <= k)` with the cut-off `k` of each query, `[batch]`: `[batch, documents]`.
    ///
    /// # Errors
    /// As of [`with_above`](Self::with_above).
    fn within(&self, _a: Tensor<2>, _k: Tensor<1>) -> Result<Tensor<2>, &'static str> {
        Err("sum_within")
    }

    /// Chance that document `y` is above document `x`, at `[.., x, y]`: `[batch, documents, documents]`.
    ///
    /// # Errors
    /// As of [`with_above`](Self::with_above).
    fn above(&self) -> Result<Tensor<3>, &'static str> {
        Err("concordance")
    }
}

impl<F: Fn(&PositionFunction, Option<usize>) -> Tensor<2>> RankExpectations for F {
    fn of_rank(&self, f: &PositionFunction, k: Option<usize>) -> Tensor<2> {
        self(f, k)
    }
}

/// Real positions, and how two documents are compared.
#[derive(Debug, Clone)]
pub struct Positions {
    /// Position of each document, from 1 on: `[batch, documents]`.
    pub positions: Tensor<2>,
    /// Steepness of the sigmoid that stands for "within the cut-off", per position.
    pub cutoff: f64,
    /// Value by which documents are compared, larger above smaller: `[batch, documents]`.
    pub order: Tensor<2>,
    /// Steepness of the sigmoid that stands for "above", per unit of `order`.
    pub comparison: f64,
    /// A document's own contribution to the sum over the documents at or above it: 1, as in the exact measure, unless a
    /// paper says otherwise.
    pub own: f64,
    /// How two documents are compared that are in no sum with a position: Kendall's tau.
    pub pairs: PairSteps,
}

/// The smooth step that stands for "document `y` is above document `x`": `step(steepness (by_y - by_x))`.
#[derive(Debug, Clone)]
pub struct PairSteps {
    /// Value by which documents are compared, larger above smaller: `[batch, documents]`.
    pub by: Tensor<2>,
    /// Steepness of the step, per unit of `by`.
    pub steepness: f64,
    /// The step.
    pub step: Step,
}

impl Positions {
    /// Positions with sigmoids of steepness `beta` for cut-offs and comparisons.
    ///
    /// # Shapes
    /// - `positions`: `[batch, documents]`
    pub fn new(positions: Tensor<2>, beta: f64) -> Self {
        let order = positions.clone().neg();
        let pairs = PairSteps { by: order.clone(), steepness: beta, step: Step::Logistic };
        Self { positions, cutoff: beta, order, comparison: beta, own: 1.0, pairs }
    }

    /// The same with another comparison of pairs.
    pub fn with_pairs(self, pairs: PairSteps) -> Self {
        Self { pairs, ..self }
    }
}
