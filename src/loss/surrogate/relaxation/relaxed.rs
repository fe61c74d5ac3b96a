//! The trait of relaxations, and the three forms in which a relaxation replaces ranks.

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

/// Replaces the ranks of a list with quantities that usually have a gradient.
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
    /// Returns the name of the relaxation for error messages.
    fn name(&self) -> &'static str;

    /// Checks the parameters. Error messages use `loss` as the name of the loss.
    ///
    /// # Errors
    /// Returns [`LossError::Parameter`] for the first parameter that is out of range. By default, every value is valid.
    fn check(&self, _loss: &'static str) -> Result<(), LossError> {
        Ok(())
    }

    /// Checks that the evaluation method chosen by the user can compute the expectation of `f` within the cut-off `k`.
    /// A [`Surrogate`](crate::loss::Surrogate) over [`Relaxed::Expectations`] makes this check for each sum that its
    /// measure computes.
    ///
    /// # Errors
    /// Returns [`LossError::Parameter`] if the expectation cannot be computed. By default, every function is accepted.
    fn check_sum(&self, _loss: &'static str, _f: &PositionFunction, _k: Option<usize>) -> Result<(), LossError> {
        Ok(())
    }

    /// Returns the temperature that annealing changes, or `None` if the relaxation has no temperature. The default is
    /// `None`. A relaxation with a temperature must also override [`with_parameter`](Relaxation::with_parameter).
    fn smoothing(&self) -> Option<Smoothing> {
        None
    }

    /// Returns the unit of the temperature, which is scores by default. If the unit is spreads,
    /// [`relax`](Relaxation::relax) receives scores that are divided by the spread of their list.
    fn temperature_unit(&self) -> TemperatureUnit {
        TemperatureUnit::Score
    }

    /// Returns the same relaxation with one parameter changed; the new value is not checked. The default, `None`, means
    /// that the relaxation cannot change this parameter.
    fn with_parameter(&self, _parameter: &str, _value: f64) -> Option<Arc<dyn Relaxation>> {
        None
    }

    /// Returns the power `p` that adapts a temperature in spreads to short lists. The default is 2. In a list of
    /// `n < 8` documents, scores are divided by `(8 / n)^p`, so documents in a short list influence each other over
    /// larger score differences.
    fn short_list_power(&self) -> u32 {
        2
    }

    /// Returns whether the relaxation passes a gradient to the scores.
    fn is_differentiable(&self) -> bool {
        true
    }

    /// Returns the number of draws that are averaged, which is 1 for a relaxation without noise.
    fn samples(&self) -> usize {
        1
    }

    /// Returns the quantities that replace the ranks in the draw with index `sample`, counted from 0. The result must
    /// not depend on the values at padding.
    fn relax(&self, lists: &Lists, sample: usize) -> Relaxed;

    /// Estimates how many numbers the relaxation stores for the document pairs of one list, in the forward and backward
    /// passes. The default, 0, suits a relaxation whose memory grows linearly with the list.
    fn numbers_held(&self, _documents: usize) -> u64 {
        0
    }

    /// Describes the approximation of `E[f]` within the cut-off `k`, and its measured errors, on lists of up to
    /// `documents` documents. The default, `None`, means that the relaxation is computed exactly by its formula,
    /// however long the list is.
    ///
    /// # Errors
    /// Returns an error if the user requested an approximation that misses its error tolerance for lists of this
    /// length.
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

    /// Returns the same relaxation with separate new noise for each row of a batch. The seed of the noise is
    /// `seed(own)`, where `own` is the seed of this relaxation. A relaxation without noise returns `None`, the default.
    fn reseeded(&self, _seed: &dyn Fn(u64) -> u64) -> Option<Arc<dyn Relaxation>> {
        None
    }
}

/// The replacement for the ranks of a list, in one of three forms.
// There is one value per forward pass, so boxing the tensors would not be worth the extra code.
#[allow(clippy::large_enum_variant)]
pub enum Relaxed {
    /// Every document has a real position instead of a whole rank.
    Positions(Positions),
    /// Every rank is filled by a weighted mixture of documents.
    Indicators(Indicators),
    /// Ranks are random, and measures are replaced by their expectations.
    Expectations(Box<dyn RankExpectations>),
}

/// A weighted mixture of documents at each rank.
pub struct Indicators {
    /// Maps one value per document, `[batch, documents]`, to the mixed value at each document's rank,
    /// `[batch, documents]`.
    pub at_ranks: Box<dyn Fn(Tensor<2>) -> Tensor<2>>,
    /// The rank of each document, `[batch, documents]`, counted from 1.
    pub ranks: Tensor<2>,
    /// Computes the weight of every document in the mixture at every rank; see [`Indicators::matrix`].
    matrix: Option<Box<dyn Fn() -> Tensor<3>>>,
}

impl Indicators {
    /// Creates indicators from the function `at_ranks` and the exact ranks of these lists.
    pub fn new(lists: &Lists, at_ranks: impl Fn(Tensor<2>) -> Tensor<2> + 'static) -> Self {
        Self { at_ranks: Box::new(at_ranks), ranks: lists.ranks(), matrix: None }
    }

    /// Adds a function that returns all indicators at once, for measures that compare all pairs of documents, such as
    /// Kendall's tau. Without `matrix`, each of its columns is computed separately. `matrix` returns the weight of each
    /// document at each rank, `[batch, documents (rank), documents]`, starting with the first rank. The weights must be
    /// finite everywhere, because weights at padding are multiplied by 0.
    ///
    /// A loss panics if `matrix` returns a tensor of another shape.
    pub fn with_matrix(self, matrix: impl Fn() -> Tensor<3> + 'static) -> Self {
        Self { matrix: Some(Box::new(matrix)), ..self }
    }

    /// Creates indicators from the weights at the top ranks that a measure needs, `[batch, ranks, documents]`. The
    /// weights are 0 at padded documents.
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

    /// Creates indicators from a function that returns the mixed value at each rank, `[batch, documents]`, starting
    /// with the first rank.
    pub(super) fn of_ranks(lists: &Lists, found: impl Fn(Tensor<2>) -> Tensor<2> + 'static) -> Self {
        let places = (lists.ranks() - 1.0).int();
        Self::new(lists, move |values| found(values).gather(1, places.clone()))
    }

    /// Returns the weight of each document at each rank, `[batch, ranks, documents]`, starting with the first rank, and
    /// 0 at padding.
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

/// Expectations over random ranks `R`. A closure that computes [`of_rank`](Self::of_rank) implements this trait, with
/// all other expectations undefined.
pub trait RankExpectations {
    /// Returns `E[f(R_x)]` within the cut-off `k`, `[batch, documents]`.
    fn of_rank(&self, f: &PositionFunction, k: Option<usize>) -> Tensor<2>;

    /// Returns `a_x E[f(R_x) (b_x + sum of b_y over y above x)]` within the cut-off `k`, `[batch, documents]`.
    ///
    /// # Errors
    /// Returns the name of the operation if it is undefined, for [`LossError::Undefined`]. Whether an operation is
    /// defined must not depend on the lists. By default, no operation is defined.
    fn with_above(
        &self,
        _a: Tensor<2>,
        _f: &PositionFunction,
        _b: Tensor<2>,
        _k: Option<usize>,
    ) -> Result<Tensor<2>, &'static str> {
        Err("sum_with_above")
    }

    /// Returns `a_x E[f(R_x) prod of (1 - b_y) over y above x]` within the cut-off `k`, `[batch, documents]`.
    ///
    /// # Errors
    /// Returns the same errors as [`with_above`](Self::with_above).
    fn with_none_above(
        &self,
        _a: Tensor<2>,
        _f: &PositionFunction,
        _b: Tensor<2>,
        _k: Option<usize>,
    ) -> Result<Tensor<2>, &'static str> {
        Err("sum_with_none_above")
    }

    /// Returns `a_x P(R_x <= k)`, `[batch, documents]`, with a separate cut-off `k` for each query, `[batch]`.
    ///
    /// # Errors
    /// Returns the same errors as [`with_above`](Self::with_above).
    fn within(&self, _a: Tensor<2>, _k: Tensor<1>) -> Result<Tensor<2>, &'static str> {
        Err("sum_within")
    }

    /// Returns a tensor, `[batch, documents, documents]`. Its entry at `[.., x, y]` is the probability that document
    /// `y` is above document `x`.
    ///
    /// # Errors
    /// Returns the same errors as [`with_above`](Self::with_above).
    fn above(&self) -> Result<Tensor<3>, &'static str> {
        Err("concordance")
    }
}

impl<F: Fn(&PositionFunction, Option<usize>) -> Tensor<2>> RankExpectations for F {
    fn of_rank(&self, f: &PositionFunction, k: Option<usize>) -> Tensor<2> {
        self(f, k)
    }
}

/// A real position for each document, and how documents are compared with each other.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Positions {
    /// The position of each document, `[batch, documents]`, 1 or above.
    pub positions: Tensor<2>,
    /// The steepness, per position, of the sigmoid that approximates "within the cut-off".
    pub cutoff: f64,
    /// The values by which documents are compared, `[batch, documents]`; documents with larger values are above.
    pub order: Tensor<2>,
    /// The steepness, per unit of `order`, of the sigmoid that approximates "above".
    pub comparison: f64,
    /// The term that a document itself adds to the sum over the documents at or above it. It is 1, as in the exact
    /// measure, unless a paper says otherwise.
    pub own: f64,
    /// How two documents are compared outside a sum over positions, as in Kendall's tau.
    pub pairs: PairSteps,
}

/// The smooth step `step(steepness (by_y - by_x))`, which approximates "document `y` is above document `x`".
#[derive(Debug, Clone)]
pub struct PairSteps {
    /// The values by which documents are compared, `[batch, documents]`; documents with larger values are above.
    pub by: Tensor<2>,
    /// The steepness of the step, per unit of `by`.
    pub steepness: f64,
    /// The step function.
    pub step: Step,
}

impl Positions {
    /// Creates positions whose cut-offs and comparisons are sigmoids of steepness `beta`.
    ///
    /// # Shapes
    /// - `positions`: `[batch, documents]`
    pub fn new(positions: Tensor<2>, beta: f64) -> Self {
        let order = positions.clone().neg();
        let pairs = PairSteps { by: order.clone(), steepness: beta, step: Step::Logistic };
        Self { positions, cutoff: beta, order, comparison: beta, own: 1.0, pairs }
    }

    /// Sets how documents are compared outside a sum over positions.
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
