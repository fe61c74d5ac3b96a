//! NeuralNDCG, the NDCG of documents sorted by NeuralSort.
//!
//! Row `r` of NeuralSort's matrix is `P_r = softmax_j(((n + 1 - 2 r) s_j - sum_k |s_j - s_k|) / temperature)`. This row
//! is a relaxed indicator of the document at rank `r` (Grover et al., Stochastic optimization of sorting networks via
//! continuous relaxations, equation 4). Sinkhorn scaling of the columns and then the rows makes the matrix nearly
//! doubly stochastic. The surrogate is `1/Z sum_r D(r) sum_j P_rj G(y_j)` (Pobrotyn and Bialobrzeski, NeuralNDCG,
//! equations 8 and 9). With `transposed`, the transposed matrix is scaled instead, rows before columns (equation 10).
//! With 0 iterations, both forms are the NeuralSort NDCG of TF-Ranking. The surrogate tends to NDCG@k as the
//! temperature tends to 0. If documents have weights, the gains are multiplied by them, both in the sum and in `Z`.
//!
//! The cost is O(iterations n^2) time and O(iterations n) memory. In long lists on the CPU, matrix entries that round
//! to 0 are skipped. If the scores are spread out, nearly all entries round to 0. With 0 iterations, only the k rows
//! within the cut-off are computed. A query whose labels are all equal has loss 0.

use crate::loss::prelude::*;
use crate::op::{NeuralSortMatrix, distances, neural_sort_sum};

declare! {
    NeuralNdcgConfig,
    name: "neural_ndcg",
    summary: "NDCG of documents sorted by NeuralSort",
    formula: "1 - 1/Z sum_r D(r) sum_j P_rj G(y_j), P = Sinkhorn(softmax_j(((n + 1 - 2 r) s_j - sum_k |s_j - s_k|) / temperature))",
    cost: "O(iterations n^2)",
    paper: "Pobrotyn and Bialobrzeski, NeuralNDCG: direct optimisation of a ranking metric via differentiable relaxation of sorting",
    temperature: "temperature", sharper: sharper_if_smaller, paper_value: 1.0,
}

/// Configuration of [`NeuralNdcg`].
#[doc = example!("NeuralNdcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct NeuralNdcgConfig {
    /// The temperature of the relaxed sort; must be above 0.
    #[config(default = "Temperature::scores(1.0)")]
    pub temperature: Temperature,
    /// The number of top ranks that count; `None` counts all ranks.
    pub k: Option<usize>,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
    /// Whether to apply Sinkhorn scaling to the transposed matrix.
    #[config(default = false)]
    pub transposed: bool,
    /// The number of iterations of Sinkhorn scaling, 0 or above.
    #[config(default = 50)]
    pub iterations: usize,
}

/// The largest number of iterations that a configuration may request. The gradient needs one stored number per document
/// from each iteration.
const MOST_ITERATIONS: usize = 10_000;

impl NeuralNdcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `temperature` is not a finite number above 0, `k` is 0, the table of gains is invalid, or
    /// `iterations` exceeds 10,000.
    pub fn init(&self) -> Result<NeuralNdcg, LossError> {
        if self.iterations > MOST_ITERATIONS {
            let expected = format!("from 0 to {MOST_ITERATIONS}");
            return Err(LossError::parameter(NAME, "iterations", self.iterations, expected));
        }

        let Temperature { value, unit } = self.temperature;
        Ok(NeuralNdcg {
            temperature: error::positive(NAME, "temperature", value)?,
            scale: unit.into(),
            k: error::cutoff(NAME, self.k)?,
            gain: error::gain(NAME, &self.gain)?,
            transposed: self.transposed,
            iterations: self.iterations,
        })
    }
}

/// The NeuralNDCG loss, `1 - 1/Z sum_r D(r) sum_j P_rj G(y_j)`.
#[doc(alias = "NeuralNDCG")]
#[doc(alias = "NeuralSort")]
#[derive(Module, Debug)]
pub struct NeuralNdcg {
    temperature: f64,
    #[module(skip)]
    scale: Scale,
    k: Option<usize>,
    #[module(skip)]
    gain: Gain,
    transposed: bool,
    iterations: usize,
}

impl RankingLoss for NeuralNdcg {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::NormalizedMeasure)
            .with_gain(&self.gain)
            .with_document_weights()
            .with_smoothing(ENTRY.smoothing)
            .with_held_constant(self.scale.held_constant())
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        self.scale.changed(change, NAME, ("temperature", self.temperature), |temperature, scale| Self {
            temperature,
            scale,
            ..self.clone()
        })
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let lists = &self.scale.of(lists, 0);
        let gains = lists.weighted(lists.gains(&self.gain));
        let ideal = lists.ideal_dcg(gains.clone(), &Discount::Log2, self.k);
        let discounts = row_like(&discount_table(&Discount::Log2, lists.scores.dims()[1], self.k), &gains);
        let sort = NeuralSortMatrix {
            temperature: self.temperature,
            iterations: self.iterations,
            transposed: self.transposed,
            ranks: self.k.unwrap_or(usize::MAX),
        };
        // An offset shared by all scores adds the same amount to every logit of a row.
        let found = neural_sort_sum(lists.centered(), gains, lists.mask.clone(), sort);
        let dcg = sum_documents(found * discounts);
        (dcg / ideal).neg() + 1.0
    }
}

/// Returns NeuralSort's matrix, `[B, N (rank), N (document)]`. Padded columns and the rows beyond the number of
/// documents are 0.
pub fn neural_sort(lists: &Lists, temperature: f64) -> Tensor<3> {
    let (ranks, documents) = (places_like(&lists.mask), lists.mask.clone().sum_dim(1).expand(lists.mask.dims()));
    let of_ranks = ranks.clone().lower_equal(documents.clone()).float().cast(lists.mask.dtype());
    let slope = ranks * -2.0 + documents + 1.0;
    let scores = lists.centered();
    let spread = distances(&scores, &lists.mask).unsqueeze_dim::<3>(1);
    let logits = (slope.unsqueeze_dim::<3>(2) * scores.unsqueeze_dim::<3>(1) - spread) * (1.0 / temperature);
    lists.softmax_of_ranks(logits) * of_ranks.unsqueeze_dim::<3>(2)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, TensorData};

    use super::*;
    use crate::op::{Execution, differences};
    use crate::testing::{value, values};

    #[test]
    fn two_documents_are_worked_by_hand() {
        // Rows: softmax of (s - 1, ...) for slopes 1 and -1: logits (0 - 1, 1 - 1) and (0 - 1, -1 - 1).
        let low = (-1f64).exp() / (1.0 + (-1f64).exp());
        let plain = low + (1.0 - low) / 3f64.log2();
        for iterations in [0, 1, 50] {
            for transposed in [false, true] {
                // Both columns add up to 1, so scaling changes nothing.
                let config = NeuralNdcgConfig::new().with_iterations(iterations).with_transposed(transposed);
                assert!((value(config.init(), &[0.0, 1.0], &[1.0, 0.0]) - plain).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn scaling_makes_the_matrix_doubly_stochastic() {
        // With equal gains, the gain at each rank is that gain times the row's sum. In the transposed order the columns
        // are scaled last.
        let config = NeuralNdcgConfig::new().with_gain(Gain::Table(vec![1.0, 1.0]));
        let scores = Tensor::<2>::from_data([[0.3f64, -0.2, 1.0, 0.9]], (&Device::flex(), DType::F64));
        let lists = Lists::padded(scores.clone(), scores.zeros_like(), scores.clone().equal(scores));
        for transposed in [false, true] {
            // A query with equal gains gives no gradient, so `query_losses` is called directly.
            let loss = config.clone().with_transposed(transposed).init().unwrap().query_losses(&lists);
            let found = values(loss);
            assert!(found[0].abs() < 1e-9, "{transposed}: {found:?}");
        }
    }

    #[test]
    fn a_low_temperature_gives_the_measure() {
        // Sorted labels 0, 2, 1: DCG 3 / log2 3 + 1/2 over 3 + 1 / log2 3.
        let found =
            value(NeuralNdcgConfig::new().with_temperature(0.01.into()).init(), &[1.0, 3.0, 2.0], &[1.0, 0.0, 2.0]);
        let expected = (3.0 / 3f64.log2() + 0.5) / (3.0 + 1.0 / 3f64.log2());
        assert!((found - expected).abs() < 1e-12);
    }

    #[test]
    fn the_loss_is_the_formula_on_the_whole_matrix() {
        // Ties, an outlier and, in the second list, padding.
        let options = (&Device::flex().autodiff(), DType::F64);
        let scores =
            Tensor::<2>::from_data([[0.3f64, -0.2, 1.0, 0.9, 0.3, -40.0], [2.0, 2.0, -1.0, 0.5, 1e3, -1e3]], options);
        let labels =
            Tensor::<2>::from_data([[2.0f64, 0.0, 1.0, 0.0, 1.0, 3.0], [0.0, 1.0, 2.0, 0.0, 4.0, 4.0]], options);
        let mask = Tensor::<2>::from_data([[1.0f64; 6], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]], options).greater_elem(0.5);
        let scalings = [(0, false), (1, false), (1, true), (4, false), (4, true)];
        for (k, (iterations, transposed)) in [1, 3, 6, 9].into_iter().flat_map(|k| scalings.map(|scaling| (k, scaling)))
        {
            let config = NeuralNdcgConfig::new().with_k(Some(k)).with_temperature(0.7.into());
            let config = config.with_iterations(iterations).with_transposed(transposed);
            let results = [false, true].map(|whole| {
                let x = scores.clone().require_grad();
                let lists = Lists::padded(x.clone(), labels.clone(), mask.clone());
                let loss = if whole {
                    whole_matrix(&lists, 0.7, k, iterations, transposed)
                } else {
                    Execution::current().with_memory_budget(1).scope(|| config.init().unwrap().query_losses(&lists))
                };
                let gradient = x.grad(&loss.clone().sum().backward()).unwrap();
                let numbers = |data: TensorData| data.iter::<f64>().collect::<Vec<f64>>();
                [numbers(loss.into_data()), numbers(gradient.into_data())].concat()
            });
            let [rows, whole] = &results;
            for (found, expected) in rows.iter().zip(whole) {
                assert!(
                    (found - expected).abs() <= 1e-12 * expected.abs().max(1.0),
                    "{config:?}: {rows:?} for {whole:?}"
                );
            }
            assert!(whole[2..].iter().any(|gradient| gradient.abs() > 1e-3), "{whole:?}");
        }
    }

    /// Returns 1 at the ranks of a query's documents and 0 beyond them, `[B, N]`.
    fn rank_rows(lists: &Lists) -> Tensor<2> {
        let documents = lists.counts().unsqueeze_dim::<2>(1).expand(lists.mask.dims());
        places_like(&lists.mask).lower_equal(documents).float().cast(DType::F64)
    }

    /// Evaluates the formula with the whole matrix, `[B, N, N]`, by automatic differentiation.
    fn whole_matrix(lists: &Lists, temperature: f64, k: usize, iterations: usize, transposed: bool) -> Tensor<1> {
        let [_, n] = lists.scores.dims();
        let mask = lists.mask.clone().unsqueeze_dim::<3>(1);
        let spread: Tensor<2> = (differences(&lists.scores).abs() * mask.clone()).sum_dim(2).squeeze_dim(2);
        let slope: Tensor<2> = places_like(&lists.mask) * -2.0 + lists.counts().unsqueeze_dim::<2>(1) + 1.0;
        let logits = slope.unsqueeze_dim::<3>(2) * lists.scores.clone().unsqueeze_dim::<3>(1);
        let logits = (logits - spread.unsqueeze_dim::<3>(1)) * (1.0 / temperature);
        let padded = lists.padded.clone().unsqueeze_dim::<3>(1).expand(logits.shape());
        let mut p = burn::tensor::activation::softmax(logits.mask_fill(padded, -1e30), 2)
            * rank_rows(lists).unsqueeze_dim::<3>(2)
            * mask;
        // Rows and columns of padding have the sum 0 and are divided by 1.
        let padded = [
            (1, lists.padded.clone().float().cast(DType::F64).unsqueeze_dim::<3>(1)),
            (2, (rank_rows(lists).neg() + 1.0).unsqueeze_dim::<3>(2)),
        ];
        let order = if transposed { [1, 0] } else { [0, 1] };
        for _ in 0..iterations {
            for (dim, padded) in order.map(|side| &padded[side]) {
                p = p.clone() / (p.sum_dim(*dim) + padded.clone());
            }
        }
        let gains = lists.gains(&Gain::Exp2);
        let ideal = lists.ideal_dcg(gains.clone(), &Discount::Log2, Some(k));
        let at_ranks: Tensor<2> = (p * gains.unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim(2);
        let table = discount_table(&Discount::Log2, n, Some(k));
        let discounts = Tensor::<1>::from_data(table.as_slice(), (&lists.scores.device(), DType::F64));
        (sum_documents(at_ranks * discounts.unsqueeze::<2>()) / ideal).neg() + 1.0
    }

    #[test]
    fn padding_takes_no_rank() {
        let device = Device::flex();
        let scores = Tensor::<2>::from_floats([[3.0, 1.0, -1.0, 1000.0, 5.0, 2.0]], &device);
        let mask = Tensor::<2>::from_floats([[1.0, 1.0, 1.0, 0.0, 0.0, 1.0]], &device).greater_elem(0.5);
        let p = neural_sort(&Lists::padded(scores.clone(), scores, mask), 1.0);
        let sums = values(p.sum_dim(2));
        for (sum, expected) in sums.iter().zip([1.0, 1.0, 1.0, 1.0, 0.0, 0.0]) {
            assert!((sum - expected).abs() < 1e-6, "{sums:?}");
        }
    }
}
