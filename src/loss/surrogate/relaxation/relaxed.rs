//! The trait of relaxations, and the three forms of their substitutes for ranks.

use std::fmt::Debug;
use std::sync::Arc;

use burn::tensor::{DType, Int, Tensor};

use crate::loss::approximation::Approximation;
use crate::loss::error::LossError;
use crate::loss::lists::{Lists, order_of_ranks};
use crate::loss::smoothing::Smoothing;
use crate::loss::surrogate::position_function::PositionFunction;
use crate::loss::temperature::TemperatureUnit;
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

    /// Returns the temperature, for annealing; `None`, the default, for a relaxation without one. A relaxation that has
    /// one also overrides [`with_parameter`](Relaxation::with_parameter).
    fn smoothing(&self) -> Option<Smoothing> {
        None
    }

    /// Returns the unit of the temperature: scores by default. In spreads, [`relax`](Relaxation::relax) gets scores that
    /// are divided by the spread of their list.
    fn temperature_unit(&self) -> TemperatureUnit {
        TemperatureUnit::Score
    }

    /// The same relaxation with one parameter changed, unchecked; `None`, the default, for a parameter that does not
    /// move.
    fn with_parameter(&self, _parameter: &str, _value: f64) -> Option<Arc<dyn Relaxation>> {
        None
    }

    /// Returns `p`, the power that fits a temperature in spreads to short lists: in a list of `n < 8` documents, scores
    /// are divided by `(8 / n)^p`. Above 0, documents of a short list meet at larger differences. Below 0, a list of
    /// fewer than 4 documents counts as one of 4. 2 by default.
    fn short_list_power(&self) -> i32 {
        2
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
    /// A requested approximation misses its tolerance at this length.
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
    /// Every document at every rank; see [`Indicators::matrix`].
    matrix: Option<Box<dyn Fn() -> Tensor<3>>>,
}

impl Indicators {
    /// Soft documents at the ranks of these lists.
    pub fn new(lists: &Lists, at_ranks: impl Fn(Tensor<2>) -> Tensor<2> + 'static) -> Self {
        Self { at_ranks: Box::new(at_ranks), ranks: lists.ranks(), matrix: None }
    }

    /// The same with a function that returns all of them, for measures that look at all pairs (Kendall's tau). Without
    /// it each place of the list is looked up separately. `matrix` gives the indicator of each document at each rank,
    /// the first rank first, `[batch, documents (rank), documents]`, finite everywhere: what stands at padding is
    /// multiplied by 0.
    ///
    /// A loss panics where `matrix` gives another shape.
    pub fn with_matrix(self, matrix: impl Fn() -> Tensor<3> + 'static) -> Self {
        Self { matrix: Some(Box::new(matrix)), ..self }
    }

    /// The same from a matrix, of the ranks from the first on that a measure needs: `[batch, ranks, documents]`, 0 at
    /// padded documents.
    pub(super) fn of_matrix(lists: &Lists, matrix: Tensor<3>) -> Self {
        let [batch, top, n] = matrix.dims();
        let below = Tensor::<3>::zeros([batch, n - top, n], (&matrix.device(), matrix.dtype()));
        let all = matrix.clone();
        Self::of_ranks(lists, move |values| {
            let found: Tensor<2> = (matrix.clone() * values.unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim(2);
            let beyond = Tensor::zeros([batch, n - top], (&found.device(), found.dtype()));
            if top < n { Tensor::cat(vec![found, beyond], 1) } else { found }
        })
        .with_matrix(move || if top < n { Tensor::cat(vec![all.clone(), below.clone()], 1) } else { all.clone() })
    }

    /// The same from the values found at the ranks, the first rank first, `[batch, documents]`.
    pub(super) fn of_ranks(lists: &Lists, found: impl Fn(Tensor<2>) -> Tensor<2> + 'static) -> Self {
        let places = (lists.ranks() - 1.0).int();
        Self::new(lists, move |values| found(values).gather(1, places.clone()))
    }

    /// The indicator of each document at each rank, the first rank first, 0 at padding: `[batch, ranks, documents]`.
    pub(in crate::loss::surrogate) fn matrix(&self, mask: &Tensor<2>) -> Tensor<3> {
        let [batch, n] = mask.dims();
        let order = order_of_ranks(self.ranks.clone());
        let matrix = match &self.matrix {
            Some(matrix) => {
                let matrix = matrix();
                assert!(
                    matrix.dims() == [batch, n, n],
                    "a matrix of indicators {:?}, {:?}",
                    matrix.dims(),
                    [batch, n, n]
                );
                matrix
            }
            None => {
                let places = Tensor::<1, Int>::arange(0..n as i64, &mask.device()).unsqueeze::<2>().expand([batch, n]);
                let column = |place: usize| {
                    let only = places.clone().equal_elem(place as i64).float().cast(mask.dtype());
                    (self.at_ranks)(only * mask.clone()).gather(1, order.clone())
                };
                Tensor::stack((0..n).map(column).collect(), 2)
            }
        };
        let ranks = mask.clone().gather(1, order);
        matrix * ranks.unsqueeze_dim::<3>(2) * mask.clone().unsqueeze_dim::<3>(1)
    }
}

/// Expectations over random ranks `R`. A closure that returns the first one implements this trait. The other two are
/// then not defined.
pub trait RankExpectations {
    /// `E[f(R_x)]` within the cut-off `k`: `[batch, documents]`.
    fn of_rank(&self, f: &PositionFunction, k: Option<usize>) -> Tensor<2>;

    /// `a_x E[f(R_x) (b_x + sum of b_y over y above x)]` within the cut-off `k`: `[batch, documents]`.
    ///
    /// # Errors
    /// The name of the undefined operation, for [`LossError::Undefined`]. The result must not depend on the lists. By
    /// default no operation is defined.
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
#[non_exhaustive]
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
    /// The comparison of two documents outside a sum over positions: Kendall's tau.
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

#[cfg(test)]
mod tests {
    use burn::tensor::{Bool, Device, TensorData};

    use super::*;
    use crate::loss::surrogate::relaxation::{Indicator, NeuralSort, SmoothIndicators, SoftSort};
    use crate::loss::temperature::Temperature;
    use crate::testing::values;

    #[test]
    fn matrices_are_what_is_looked_up_place_by_place() {
        let device = Device::flex();
        // Padding in front, in the middle and at the end, and ties.
        let scores = [0.3, -1.2, 0.3, 7.0, 2.5, -0.4, 9.0, 0.1, 0.3, 0.2, -5.0, 1.1];
        let members = [true, true, true, false, true, true, false, true, true, true, false, true];
        let scores = Tensor::<2>::from_data(TensorData::new(scores.to_vec(), [2, 6]), (&device, DType::F64));
        let mask = Tensor::<2, Bool>::from_data(TensorData::new(members.to_vec(), [2, 6]), &device);
        let lists = Lists::padded(scores.clone(), scores.zeros_like(), mask);
        let at = Temperature::scores;
        let relaxations: [(Arc<dyn Relaxation>, usize); 7] = [
            (Arc::new(Indicator::new(at(0.7))), 6),
            (Arc::new(NeuralSort::new(at(2.0))), 6),
            (Arc::new(NeuralSort::new(at(2.0)).with_top(Some(2))), 2),
            (Arc::new(SoftSort::new(at(0.7))), 6),
            (Arc::new(SoftSort::new(at(0.7)).with_top(Some(2))), 2),
            (Arc::new(SmoothIndicators::new(at(2.0))), 6),
            (Arc::new(SmoothIndicators::new(at(2.0)).with_top(Some(2))), 2),
        ];
        for (relaxation, ranks) in relaxations {
            let Relaxed::Indicators(whole) = relaxation.relax(&lists, 0) else { panic!("{relaxation:?}") };
            let Relaxed::Indicators(parts) = relaxation.relax(&lists, 0) else { panic!("{relaxation:?}") };
            let parts = Indicators { matrix: None, ..parts };
            let [whole, parts] = [whole, parts].map(|indicators| values(indicators.matrix(&lists.mask)));
            let largest = whole.iter().zip(&parts).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest < 1e-12, "{relaxation:?}: {largest:e}");
            // Four and five documents: rows of ranks that are there add up to 1.
            let sum: f64 = whole.iter().sum();
            assert!((sum - (ranks.min(4) + ranks.min(5)) as f64).abs() < 1e-9, "{relaxation:?}: {sum}");
        }
    }
}
