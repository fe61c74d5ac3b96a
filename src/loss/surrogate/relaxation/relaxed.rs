//! What a relaxation is, and the three forms of what it puts in place of ranks.

use std::fmt::Debug;
use std::sync::Arc;

use burn::tensor::{DType, Tensor};

use crate::loss::approximation::Approximation;
use crate::loss::error::LossError;
use crate::loss::lists::Lists;
use crate::loss::smoothing::Smoothing;
use crate::loss::surrogate::position_function::PositionFunction;

/// A way from the ranks of a list to something with a gradient.
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
/// let loss = Surrogate::new(AveragePrecision, Laplace { scale: 0.1 })?;
/// # Ok::<(), burn_rank::loss::LossError>(())
/// ```
pub trait Relaxation: Debug + Send + Sync {
    /// Its name, in messages.
    fn name(&self) -> &'static str;

    /// Checks the parameters; `loss` is the name that the message gives.
    ///
    /// # Errors
    /// [`LossError::Parameter`] for the first one out of its range. By default every value is valid.
    fn check(&self, _loss: &'static str) -> Result<(), LossError> {
        Ok(())
    }

    /// Checks that the expectation of `f` within the cut-off `k` can be computed as the parameters ask; called once for
    /// each sum of the measure by a [`Surrogate`](crate::loss::Surrogate) over [`Relaxed::Expectations`].
    ///
    /// # Errors
    /// [`LossError::Parameter`]. By default every function can.
    fn check_sum(&self, _loss: &'static str, _f: &PositionFunction, _k: Option<usize>) -> Result<(), LossError> {
        Ok(())
    }

    /// Its temperature, for annealing; `None`, the default, for a relaxation without one. A relaxation that has one also
    /// overrides [`with_parameter`](Relaxation::with_parameter).
    fn smoothing(&self) -> Option<Smoothing> {
        None
    }

    /// The same relaxation with one parameter changed, unchecked; `loss` is the name that the message gives.
    ///
    /// # Errors
    /// [`LossError::Fixed`], the default, for a parameter that does not move.
    fn with_parameter(
        &self,
        loss: &'static str,
        parameter: &str,
        _value: f64,
    ) -> Result<Arc<dyn Relaxation>, LossError> {
        Err(LossError::Fixed { loss, parameter: parameter.into() })
    }

    /// Whether scores have a gradient through it.
    fn is_differentiable(&self) -> bool {
        true
    }

    /// Number of draws that the value is averaged over: 1 for a relaxation without noise.
    fn samples(&self) -> usize {
        1
    }

    /// What stands in place of the ranks of clean lists in one draw, counted from 0. Must not depend on what padded
    /// places hold.
    fn relax(&self, lists: &Lists, sample: usize) -> Relaxed;

    /// How `E[f]` within the cut-off `k` is computed in lists of up to `documents` documents, with the measured errors
    /// of that; `None`, the default, where it is the formula at every length.
    ///
    /// # Errors
    /// An approximation that was asked for and misses its tolerance at this length.
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

    /// The same relaxation with its noise drawn anew, for each row of a batch apart, from `seed(own)` with `own` the
    /// seed of this one; `None`, the default, for a relaxation without noise.
    fn reseeded(&self, _seed: &dyn Fn(u64) -> u64) -> Option<Arc<dyn Relaxation>> {
        None
    }
}

/// What stands in place of ranks, in one of three forms.
// One value per forward pass: boxing the tensors would cost readers more than it saves.
#[allow(clippy::large_enum_variant)]
pub enum Relaxed {
    /// Every document has a real position.
    Positions(Positions),
    /// Every rank has a soft document: a function that takes a value of each document to the value found at the rank of
    /// each document, `[batch, documents]` to `[batch, documents]`.
    Indicators(Box<dyn Fn(Tensor<2>) -> Tensor<2>>),
    /// The distribution of the rank of each document is known, that of two together is not: a function that gives
    /// `E[f(R)]` within a cut-off, `[batch, documents]`.
    Expectations(Box<Expectation>),
}

/// `E[f(R)]` within a cut-off: `[batch, documents]`.
pub type Expectation = dyn Fn(&PositionFunction, Option<usize>) -> Tensor<2>;

/// Real positions, and how two documents are compared.
#[derive(Debug, Clone)]
pub struct Positions {
    /// Position of each document, from 1 on: `[batch, documents]`.
    pub positions: Tensor<2>,
    /// Steepness of the sigmoid that stands for "within the cut-off", per position.
    pub cutoff: f64,
    /// What documents are compared by, the larger above: `[batch, documents]`.
    pub order: Tensor<2>,
    /// Steepness of the sigmoid that stands for "above", per unit of `order`.
    pub comparison: f64,
    /// What a document counts among those at or above itself: 1, as in the exact measure, unless a paper says
    /// otherwise.
    pub own: f64,
}

impl Positions {
    /// Positions that cut-offs and comparisons look at by sigmoids of steepness `beta`.
    ///
    /// # Shapes
    /// - `positions`: `[batch, documents]`
    pub fn new(positions: Tensor<2>, beta: f64) -> Self {
        let order = positions.clone().neg();
        Self { positions, cutoff: beta, order, comparison: beta, own: 1.0 }
    }
}
