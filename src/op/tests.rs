//! Compares every primitive with its definition.

use burn::backend::{Backend, Flex, tensor::FloatTensor};
use burn::tensor::{Device, Tensor, TensorData};

use super::call::Call;
use super::primitive::{
    elementwise::{AtRank, Exp2, Log2Discount},
    indicator_sum::IndicatorSum,
    log_softmax::LogSoftmax,
    pair_loss::PairSum,
    rank::{IdealDcg, Rank},
    step_sum::StepSum,
};
use super::*;
use crate::execution::with_tensor_path;

const SHAPE: [usize; 2] = [2, 3];
const LABELS: [f32; 6] = [2.0, 0.0, 1.0, 1.0, 0.0, 0.0];
const MASK: [f32; 6] = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0];
const X: [f32; 6] = [0.3, -0.2, 1.1, 0.4, 0.5, 0.0];
const DISCOUNTS: [f64; 3] = [1.0, 0.5, 0.25];
const SORT: NeuralSortMatrix = NeuralSortMatrix { temperature: 0.7, iterations: 2, transposed: false, ranks: 2 };
const TERMS: [ExponentialTerm; 1] = [ExponentialTerm { coefficient: 0.5, base: 0.9 }];

fn above() -> AboveExpectation {
    AboveExpectation { noise: ScoreNoise::one(Comparison::given(0.3, 0.7)), terms: TERMS.to_vec(), above: Above::Sum }
}

fn ranks() -> AboveExpectation {
    let noise = ScoreNoise::one(Comparison::independent(0.7));
    AboveExpectation { noise, terms: TERMS.to_vec(), above: Above::Nothing }
}

fn recursion() -> AboveRecursion {
    AboveRecursion { noise: ScoreNoise::one(Comparison::given(0.3, 0.7)), above: Above::Sum }
}

/// Runs every definition on a backend that has only burn's own operations. A definition that called a primitive would
/// not compile here, and would panic inside [`with_tensor_path`].
fn definitions<B: Backend>() -> Vec<FloatTensor<B>> {
    let device = B::Device::default();
    let tensor = |values: [f32; 6]| B::float_from_data(TensorData::new(values.to_vec(), SHAPE), &device);
    let (x, labels, mask) = (|| tensor(X), || tensor(LABELS), || tensor(MASK));
    let weight = cpu::PairWeight::Document(());
    let calls: [Call<B>; 14] = [
        Call::new(StepSum { alpha: 2.0, step: Step::Erf }, [x(), labels()]),
        Call::new(ranks(), [x(), mask(), mask(), mask()]),
        Call::new(above(), [x(), mask(), labels(), mask()]),
        Call::new(recursion(), [x(), mask(), labels(), mask(), labels()]),
        Call::new(StepSum { alpha: 2.0, step: Step::Logistic }, [x(), mask(), labels()]),
        Call::new(IndicatorSum { sigma: 0.7 }, [x(), labels(), mask()]),
        Call::new(SORT, [x(), labels(), mask()]),
        Call::new(PairSum { loss: PairLoss::Logistic, weight }, [x(), labels(), mask(), labels()]),
        Call::new(Rank, [x(), mask()]),
        Call::new(AtRank { table: DISCOUNTS.to_vec() }, [Call::<B>::new(Rank, [x(), mask()]).definition().one()]),
        Call::new(LogSoftmax, [x(), mask()]),
        Call::new(Log2Discount, [B::float_exp(x())]),
        Call::new(Exp2, [x()]),
        Call::new(IdealDcg { discounts: DISCOUNTS.to_vec() }, [labels(), mask()]),
    ];
    calls.into_iter().map(|call| call.definition().into_vec().remove(0)).collect()
}

#[test]
fn definitions_call_definitions_only() {
    let tensor = |values: [f32; 6]| Tensor::<2>::from_data(TensorData::new(values.to_vec(), SHAPE), &Device::flex());
    let (x, labels, mask) = (|| tensor(X), || tensor(LABELS), || tensor(MASK));
    let weight = PairWeight::Document(labels());
    let primitives = || -> Vec<TensorData> {
        let values = [
            step_sum(x(), labels(), 2.0, Step::Erf),
            above_expectation(x(), mask(), mask(), mask(), &ranks()),
            above_expectation(x(), mask(), labels(), mask(), &above()),
            above_recursion(x(), mask(), labels(), mask(), labels(), &recursion()),
            counted_step_sum(x(), mask(), labels(), 2.0, Step::Logistic),
            indicator_sum(x(), labels(), mask(), 0.7),
            neural_sort_sum(x(), labels(), mask(), SORT),
            pair_loss(x(), labels(), mask(), &weight, PairLoss::Logistic),
            rank(x(), mask()),
            at_rank(rank(x(), mask()), DISCOUNTS.to_vec()),
            log_softmax(x(), mask()),
            log2_discount(x().exp()),
            exp2(x()),
        ];
        let ideal = ideal_dcg(labels(), mask(), DISCOUNTS.to_vec()).into_data();
        values.into_iter().map(Tensor::into_data).chain([ideal]).collect()
    };
    let read = |data: &TensorData| data.iter::<f64>().collect::<Vec<_>>();
    let expected: Vec<Vec<f64>> = definitions::<Flex>().into_iter().map(|value| read(&value.into_data())).collect();
    let on_the_tensor_path = with_tensor_path(primitives);
    assert_eq!(on_the_tensor_path.iter().map(read).collect::<Vec<_>>(), expected);
    for (found, expected) in primitives().iter().zip(&expected) {
        for (found, expected) in read(found).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }
}

/// Kernels read all inputs as numbers of one type, so inputs of different types must be rejected.
#[test]
#[should_panic(expected = "step_sum: v of type F64, x of type F32")]
fn inputs_of_different_types_are_refused() {
    let x = Tensor::<2>::from_data(TensorData::new(X.to_vec(), SHAPE), &Device::flex());
    step_sum(x.clone(), x.cast(burn::tensor::DType::F64), 1.0, Step::Logistic);
}

/// Expectations are averages over comparisons, so they are 0 if there are no comparisons.
#[test]
fn a_mixture_of_nothing_gives_nothing() {
    let x = Tensor::<2>::from_data(TensorData::new(X.to_vec(), SHAPE), &Device::flex());
    let recursion = AboveRecursion { noise: ScoreNoise::Mixture(Vec::new()), above: Above::Sum };
    let found = above_recursion(x.clone(), x.clone(), x.clone(), x.ones_like(), x.clone(), &recursion);
    assert_eq!(found.into_data().iter::<f32>().collect::<Vec<_>>(), vec![0.0; 6]);
}
