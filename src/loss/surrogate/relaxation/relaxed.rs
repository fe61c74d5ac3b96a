//! The three forms in which a relaxation replaces ranks.

use burn::tensor::{Int, Tensor};

use super::expected::ExpectedRanks;
use crate::loss::lists::{Lists, order_of_ranks};
use crate::op::Step;

/// The replacement for the ranks of a list.
pub struct Relaxed(pub(crate) Form);

/// The three forms in which a relaxation replaces ranks.
// There is one value per forward pass, so boxing the tensors would not be worth the extra code.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Form {
    /// Every document has a real position instead of a whole rank.
    Positions(Positions),
    /// Every rank is filled by a weighted mixture of documents.
    Indicators(Indicators),
    /// Ranks are random, and measures are replaced by their expectations.
    Expectations(ExpectedRanks),
}

impl Relaxed {
    /// Every document has a real position, 1 or above, instead of a whole rank. Cut-offs and comparisons are sigmoids
    /// of steepness `beta` per position.
    ///
    /// # Shapes
    /// - `positions`: `[batch, documents]`
    pub fn positions(positions: Tensor<2>, beta: f64) -> Self {
        Self(Form::Positions(Positions::new(positions, beta)))
    }

    /// Every rank is filled by a weighted mixture of documents. The function `at_ranks` maps one value per document,
    /// `[batch, documents]`, to the mixed value at each document's exact rank, `[batch, documents]`.
    pub fn indicators(lists: &Lists, at_ranks: impl Fn(Tensor<2>) -> Tensor<2> + 'static) -> Self {
        Self(Form::Indicators(Indicators::new(lists, at_ranks)))
    }
}

/// A weighted mixture of documents at each rank.
pub(crate) struct Indicators {
    /// Maps one value per document, `[batch, documents]`, to the mixed value at each document's rank,
    /// `[batch, documents]`.
    pub(crate) at_ranks: Box<dyn Fn(Tensor<2>) -> Tensor<2>>,
    /// The rank of each document, `[batch, documents]`, counted from 1.
    pub(crate) ranks: Tensor<2>,
    /// Computes the weight of every document in the mixture at every rank; see [`Indicators::matrix`].
    matrix: Option<Box<dyn Fn() -> Tensor<3>>>,
}

impl Indicators {
    /// Creates indicators from the function `at_ranks` and the exact ranks of these lists.
    pub(crate) fn new(lists: &Lists, at_ranks: impl Fn(Tensor<2>) -> Tensor<2> + 'static) -> Self {
        Self { at_ranks: Box::new(at_ranks), ranks: lists.ranks(), matrix: None }
    }

    /// Adds a function that returns all indicators at once, for measures that compare all pairs of documents, such as
    /// Kendall's tau. Without `matrix`, each of its columns is computed separately. `matrix` returns the weight of each
    /// document at each rank, `[batch, documents (rank), documents]`, starting with the first rank. The weights must be
    /// finite everywhere, because weights at padding are multiplied by 0.
    pub(super) fn with_matrix(self, matrix: impl Fn() -> Tensor<3> + 'static) -> Self {
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
            Some(matrix) => matrix(),
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

/// A real position for each document, and how documents are compared with each other.
#[derive(Debug, Clone)]
pub(crate) struct Positions {
    /// The position of each document, `[batch, documents]`, 1 or above.
    pub(crate) positions: Tensor<2>,
    /// The steepness, per position, of the sigmoid that approximates "within the cut-off".
    pub(crate) cutoff: f64,
    /// The values by which documents are compared, `[batch, documents]`; documents with larger values are above.
    pub(crate) order: Tensor<2>,
    /// The steepness, per unit of `order`, of the sigmoid that approximates "above".
    pub(crate) comparison: f64,
    /// The term that a document itself adds to the sum over the documents at or above it. It is 1, as in the exact
    /// measure, unless a paper says otherwise.
    pub(crate) own: f64,
    /// How two documents are compared outside a sum over positions, as in Kendall's tau.
    pub(crate) pairs: PairSteps,
}

/// The smooth step `step(steepness (by_y - by_x))`, which approximates "document `y` is above document `x`".
#[derive(Debug, Clone)]
pub(crate) struct PairSteps {
    /// The values by which documents are compared, `[batch, documents]`; documents with larger values are above.
    pub(crate) by: Tensor<2>,
    /// The steepness of the step, per unit of `by`.
    pub(crate) steepness: f64,
    /// The step function.
    pub(crate) step: Step,
}

impl Positions {
    /// Creates positions whose cut-offs and comparisons are sigmoids of steepness `beta`.
    ///
    /// # Shapes
    /// - `positions`: `[batch, documents]`
    pub(crate) fn new(positions: Tensor<2>, beta: f64) -> Self {
        let order = positions.clone().neg();
        let pairs = PairSteps { by: order.clone(), steepness: beta, step: Step::Logistic };
        Self { positions, cutoff: beta, order, comparison: beta, own: 1.0, pairs }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Bool, DType, Device, TensorData};

    use super::*;
    use crate::loss::surrogate::names::RelaxationName;
    use crate::loss::surrogate::relaxation::{KnownRelaxation, Relaxation};
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
        let known = |name, temperature, top| KnownRelaxation {
            top,
            ..KnownRelaxation::new(name, Temperature::scores(temperature))
        };
        let relaxations = [
            (known(RelaxationName::RankIndicators, 0.7, None), 6),
            (known(RelaxationName::NeuralSort, 2.0, None), 6),
            (known(RelaxationName::NeuralSort, 2.0, Some(2)), 2),
            (known(RelaxationName::SoftSort, 0.7, None), 6),
            (known(RelaxationName::SoftSort, 0.7, Some(2)), 2),
            (known(RelaxationName::SmoothIndicators, 2.0, None), 6),
            (known(RelaxationName::SmoothIndicators, 2.0, Some(2)), 2),
        ];
        for (relaxation, ranks) in relaxations {
            let Form::Indicators(whole) = relaxation.relax(&lists).0 else { panic!("{relaxation:?}") };
            let Form::Indicators(parts) = relaxation.relax(&lists).0 else { panic!("{relaxation:?}") };
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
