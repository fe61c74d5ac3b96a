//! An example call of each primitive. The suites that test all primitives read this list: `op/tests.rs`,
//! `op/backend/tests.rs`, `op/gpu/tests.rs` and, in a crate of its own, `tests/properties/op_fused.rs`.

use burn::tensor::Tensor;

use crate::op::{
    Above, AboveExpectation, AboveRecursion, Comparison, ExponentialTerm, NeuralSortMatrix, PairLoss, PairWeight,
    ScoreNoise, Step, above_expectation, above_recursion, at_rank, counted_step_sum, exp2, ideal_dcg, in_spreads,
    indicator_sum, log_softmax, log2_discount, neural_sort_sum, pair_loss, rank, step_sum, with_unit_gradient,
};

/// Scores, values, labels and mask, `[batch, documents]`. At padding, the values are 0.
pub type Inputs = [Tensor<2>; 4];

/// The name of a primitive, with which the names of its kernels on GPUs begin, and a call.
pub type Example = (&'static str, fn(&Inputs) -> Tensor<2>);

const SORT: NeuralSortMatrix = NeuralSortMatrix { temperature: 0.7, iterations: 2, transposed: false, ranks: 2 };

pub const EXAMPLES: [Example; 21] = [
    ("step_sum", |[x, v, ..]| step_sum(x.clone(), v.clone(), 2.0, Step::Erf)),
    ("step_sum", |[x, v, labels, _]| counted_step_sum(x.clone(), v.clone(), labels.clone(), 2.0, Step::Logistic)),
    ("above_expectation", |[x, v, _, mask]| {
        above_expectation(x.clone(), mask.clone(), v.clone(), mask.clone(), &expectation(Above::Sum))
    }),
    ("above_expectation", |[x, _, _, mask]| {
        let noise = ScoreNoise::one(Comparison::independent(0.7));
        let ranks = AboveExpectation { noise, ..expectation(Above::Nothing) };
        above_expectation(x.clone(), mask.clone(), mask.clone(), mask.clone(), &ranks)
    }),
    ("above_expectation", |[x, _, _, mask]| {
        let stops = mask.clone() * 0.5;
        above_expectation(x.clone(), mask.clone(), stops, mask.clone(), &expectation(Above::Product))
    }),
    ("above_recursion", |[x, v, _, mask]| {
        let recursion = AboveRecursion { noise: expectation(Above::Sum).noise, above: Above::Sum };
        above_recursion(x.clone(), mask.clone(), v.clone(), mask.clone(), v.clone(), &recursion)
    }),
    ("above_recursion", |[x, v, _, mask]| {
        let recursion = AboveRecursion { noise: ScoreNoise::one(Comparison::independent(0.7)), above: Above::Nothing };
        above_recursion(x.clone(), mask.clone(), mask.clone(), mask.clone(), v.clone(), &recursion)
    }),
    ("above_recursion", |[x, v, labels, mask]| {
        let recursion = AboveRecursion { noise: ScoreNoise::Exact { sigma: 1.0 }, above: Above::Sum };
        above_recursion(x.clone(), mask.clone(), v.clone(), mask.clone(), labels.clone(), &recursion)
    }),
    ("indicator_sum", |[x, v, _, mask]| indicator_sum(x.clone(), v.clone(), mask.clone(), 0.7)),
    ("neural_sort_sum", |[x, v, _, mask]| neural_sort_sum(x.clone(), v.clone(), mask.clone(), SORT)),
    ("pair_loss", |[x, _, labels, mask]| {
        pair_loss(x.clone(), labels.clone(), mask.clone(), &PairWeight::Unit, PairLoss::Logistic)
    }),
    ("pair_loss", |[x, v, labels, mask]| {
        pair_loss(x.clone(), labels.clone(), mask.clone(), &PairWeight::Document(v.clone()), PairLoss::Logistic)
    }),
    ("pair_loss", |[x, v, labels, mask]| {
        let (gain, discount, rank) = (labels.clone(), v.clone(), rank(x.clone(), mask.clone()));
        let weight = PairWeight::Lambda { gain, discount, rank, absolute: 1.0, gap: 0.5, distance: None };
        pair_loss(x.clone(), labels.clone(), mask.clone(), &weight, PairLoss::Logistic)
    }),
    ("log_softmax", |[x, _, _, mask]| log_softmax(x.clone(), mask.clone())),
    ("centered", |[x, _, _, mask]| in_spreads(x.clone(), mask.clone(), 1, false)),
    ("with_unit_gradient", |[x, v, labels, mask]| {
        let losses = labels.clone().mean_dim(1).squeeze_dim(1);
        with_unit_gradient(losses, x.clone(), v.clone(), mask.clone()).unsqueeze_dim(1)
    }),
    ("log2_discount", |[x, ..]| log2_discount(x.clone().abs() + 0.5)),
    ("rank", |[x, _, _, mask]| rank(x.clone(), mask.clone())),
    ("at_rank", |[x, _, _, mask]| at_rank(rank(x.clone(), mask.clone()), discounts(x))),
    ("exp2", |[_, _, labels, _]| exp2(labels.clone())),
    ("ideal_dcg", |[_, _, labels, mask]| ideal_dcg(labels.clone(), mask.clone(), discounts(labels)).unsqueeze_dim(1)),
];

fn expectation(above: Above) -> AboveExpectation {
    let terms = vec![ExponentialTerm { coefficient: 0.5, base: 0.9 }, ExponentialTerm { coefficient: 0.4, base: 0.3 }];
    AboveExpectation { noise: ScoreNoise::one(Comparison::given(0.3, 0.7)), terms, above }
}

/// Returns a discount for each rank.
fn discounts(x: &Tensor<2>) -> Vec<f64> {
    (0..x.dims()[1]).map(|rank| 1.0 / (rank as f64 + 2.0).log2()).collect()
}
