//! Every primitive compares the shapes of its inputs before it computes anything. Kernels walk several arrays at once,
//! and would otherwise stop at the end of the shorter one or read beyond it.

use burn::tensor::{Device, Tensor};
use burn_rank::loss::{Lists, MeasureContext, PositionFunction, PositionMeasure, RankingLoss, Reduction};
use burn_rank::loss::{RelaxationName, RelaxedMeasureConfig};
use burn_rank::measure::Discount;
use burn_rank::op::Step;
use burn_rank::workbench::op::{
    Above, AboveExpectation, AboveRecursion, Comparison, ExponentialTerm, NeuralSortMatrix, PairLoss, PairWeight,
    ScoreNoise, above_expectation, above_recursion, at_rank, counted_step_sum, ideal_dcg, indicator_sum, log_softmax,
    neural_sort_sum, pair_loss, rank, step_sum, with_tensor_path,
};

use crate::loss_contract::{WRONG_SHAPES, panic_of};

const SHAPE: [usize; 2] = [2, 3];
const SORT: NeuralSortMatrix = NeuralSortMatrix { temperature: 1.0, iterations: 1, transposed: false, ranks: 3 };

/// A primitive called with `[2, 3]` scores and one more input, whose shape is the argument.
type Attempt = (&'static str, &'static str, &'static str, fn(&dyn Fn([usize; 2]) -> Tensor<2>, [usize; 2]));

/// Name of the primitive, the input under test, the input that it must fit, and the call.
const ATTEMPTS: [Attempt; 20] = [
    ("step_sum", "v is", "x", |t, s| drop(step_sum(t(SHAPE), t(s), 1.0, Step::Logistic))),
    ("counted_step_sum", "v is", "x", |t, s| {
        drop(counted_step_sum(t(SHAPE), t(s), t(SHAPE), 1.0, Step::Logistic));
    }),
    ("counted_step_sum", "counted is", "x", |t, s| {
        drop(counted_step_sum(t(SHAPE), t(SHAPE), t(s), 1.0, Step::Logistic));
    }),
    ("above_expectation", "a is", "x", |t, s| above([t(SHAPE), t(s), t(SHAPE), t(SHAPE)])),
    ("above_expectation", "b is", "x", |t, s| above([t(SHAPE), t(SHAPE), t(s), t(SHAPE)])),
    ("above_expectation", "mask is", "x", |t, s| above([t(SHAPE), t(SHAPE), t(SHAPE), t(s)])),
    ("indicator_sum", "a is", "x", |t, s| drop(indicator_sum(t(SHAPE), t(s), t(SHAPE), 1.0))),
    ("indicator_sum", "mask is", "x", |t, s| drop(indicator_sum(t(SHAPE), t(SHAPE), t(s), 1.0))),
    ("neural_sort_sum", "v is", "x", |t, s| drop(neural_sort_sum(t(SHAPE), t(s), t(SHAPE), SORT))),
    ("neural_sort_sum", "mask is", "x", |t, s| drop(neural_sort_sum(t(SHAPE), t(SHAPE), t(s), SORT))),
    ("pair_loss", "labels are", "x", |t, s| {
        drop(pair_loss(t(SHAPE), t(s), t(SHAPE), &PairWeight::Unit, PairLoss::Logistic));
    }),
    ("pair_loss", "mask is", "x", |t, s| {
        drop(pair_loss(t(SHAPE), t(SHAPE), t(s), &PairWeight::Unit, PairLoss::Logistic));
    }),
    ("pair_loss", "document weights are", "x", |t, s| {
        drop(pair_loss(t(SHAPE), t(SHAPE), t(SHAPE), &PairWeight::Document(t(s)), PairLoss::Logistic));
    }),
    ("pair_loss", "gain is", "x", |t, s| lambda([t(SHAPE), t(s), t(SHAPE), t(SHAPE)])),
    ("pair_loss", "discount is", "x", |t, s| lambda([t(SHAPE), t(SHAPE), t(s), t(SHAPE)])),
    ("pair_loss", "rank is", "x", |t, s| lambda([t(SHAPE), t(SHAPE), t(SHAPE), t(s)])),
    ("rank", "mask is", "x", |t, s| drop(rank(t(SHAPE), t(s)))),
    ("above_recursion", "b is", "x", |t, s| recursion([t(SHAPE), t(SHAPE), t(s), t(SHAPE)])),
    ("above_recursion", "mask is", "x", |t, s| recursion([t(SHAPE), t(SHAPE), t(SHAPE), t(s)])),
    ("log_softmax", "mask is", "x", |t, s| drop(log_softmax(t(SHAPE), t(s)))),
];

fn above([x, a, b, mask]: [Tensor<2>; 4]) {
    let terms = vec![ExponentialTerm { coefficient: 1.0, base: 0.5 }];
    let noise = ScoreNoise::one(Comparison::independent(1.0));
    drop(above_expectation(x, a, b, mask, &AboveExpectation { noise, terms, above: Above::Sum }));
}

fn recursion([x, a, b, mask]: [Tensor<2>; 4]) {
    let noise = ScoreNoise::one(Comparison::independent(1.0));
    drop(above_recursion(x.clone(), a, b, mask, x, &AboveRecursion { noise, above: Above::Sum }));
}

fn lambda([x, gain, discount, rank]: [Tensor<2>; 4]) {
    let weight = PairWeight::Lambda { gain, discount, rank, absolute: 1.0, gap: 1.0, distance: None };
    drop(pair_loss(x.clone(), x.clone(), x, &weight, PairLoss::Logistic));
}

fn ones(shape: [usize; 2]) -> Tensor<2> {
    Tensor::ones(shape, &Device::flex())
}

#[test]
fn inputs_of_different_shapes_are_refused_by_every_primitive() {
    for (name, input, other, attempt) in ATTEMPTS {
        for device in [Device::flex(), Device::flex().autodiff()] {
            let tensor = |shape: [usize; 2]| Tensor::<2>::ones(shape, &device);
            assert_eq!(panic_of(|| attempt(&tensor, SHAPE)), "", "{name}: the right shape");
            for wrong in WRONG_SHAPES {
                let expected = format!("{name}: {input} {wrong:?}, {other} [2, 3]");
                assert_eq!(panic_of(|| attempt(&tensor, wrong)), expected);
                assert_eq!(panic_of(|| with_tensor_path(|| attempt(&tensor, wrong))), expected);
            }
        }
    }
}

#[test]
fn tables_by_rank_need_an_entry_for_every_rank() {
    for length in [0, 1, 2, 4] {
        let found = panic_of(|| at_rank(ones(SHAPE), vec![1.0; length]));
        assert_eq!(found, format!("at_rank: table is [{length}], ranks [2, 3] (one entry per rank)"));
        let found = panic_of(|| ideal_dcg(ones(SHAPE), ones(SHAPE), vec![1.0; length]));
        assert_eq!(found, format!("ideal_dcg: discounts are [{length}], gains [2, 3] (one entry per rank)"));
    }
    for wrong in WRONG_SHAPES {
        let found = panic_of(|| ideal_dcg(ones(SHAPE), ones(wrong), vec![1.0; 3]));
        assert_eq!(found, format!("ideal_dcg: mask is {wrong:?}, gains [2, 3]"));
    }
}

#[test]
fn lists_refuse_inputs_of_another_shape() {
    let lists = || Lists::padded(ones(SHAPE), ones(SHAPE), ones(SHAPE).greater_elem(0.0));
    for wrong in WRONG_SHAPES {
        let found = panic_of(|| Lists::padded(ones(SHAPE), ones(wrong), ones(SHAPE).greater_elem(0.0)));
        assert_eq!(found, format!("labels are {wrong:?}, scores [2, 3]"));
        let found = panic_of(|| lists().discounts_at(ones(wrong), &Discount::Log2, None));
        assert_eq!(found, format!("discounts_at: ranks are {wrong:?}, scores [2, 3]"));
        let found = panic_of(|| lists().ideal_dcg(ones(wrong), &Discount::Log2, None));
        assert_eq!(found, format!("ideal_dcg: gains are {wrong:?}, scores [2, 3]"));
        let found = panic_of(|| lists().log_softmax(ones(wrong)));
        assert_eq!(found, format!("log_softmax: x is {wrong:?}, scores [2, 3]"));
    }
}

/// A measure that asks its operations for inputs, or functions, of another shape once the list has three documents.
#[derive(Debug, Clone, Copy)]
enum Broken {
    Sum,
    Above,
    NoneAbove,
    Ideal,
    Function,
    Value,
}

impl PositionMeasure for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let (one, a) = (PositionFunction::one(), list.relevance());
        let cut = |x: Tensor<2>| if x.dims()[1] == 3 { x.narrow(0, 0, 1) } else { x };
        match self {
            Broken::Sum => list.sum(cut(a), &one, None),
            Broken::Above => list.sum_with_above(a.clone(), &one, cut(a), None),
            Broken::NoneAbove => list.sum_with_none_above(a.clone(), &one, cut(a), None),
            Broken::Ideal => list.ideal(cut(a), &one, None),
            Broken::Function => list.sum(a, &PositionFunction::new(cut), None),
            Broken::Value => cut(a).sum_dim(1).squeeze_dim(1),
        }
    }
}

#[test]
fn a_custom_measure_cannot_mix_shapes() {
    let labels = Tensor::<2>::from_floats([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]], &Device::flex());
    for (measure, expected) in [
        (Broken::Sum, "sum: a is [1, 3], scores [2, 3]"),
        (Broken::Above, "sum_with_above: b is [1, 3], scores [2, 3]"),
        (Broken::NoneAbove, "sum_with_none_above: b is [1, 3], scores [2, 3]"),
        (Broken::Ideal, "ideal: a is [1, 3], scores [2, 3]"),
        (Broken::Function, "position function: values are [1, 3], positions [2, 3]"),
        (Broken::Value, "broken: values are [1], scores [2, 3] (one per query)"),
    ] {
        let positions = RelaxedMeasureConfig::new();
        let indicators = RelaxedMeasureConfig::new().with_relaxation(RelaxationName::SoftSort);
        for relaxation in [indicators, positions.clone(), positions.with_gumbel_samples(1)] {
            if matches!(measure, Broken::Function) && relaxation.relaxation == RelaxationName::SoftSort {
                // At whole ranks a function is computed once for all lists, as one row.
                continue;
            }
            let loss = relaxation.init_measure(measure).unwrap();
            let mask = ones(SHAPE).greater_elem(0.0);
            let found = panic_of(|| loss.forward(ones(SHAPE), labels.clone(), mask, Reduction::Mean));
            assert_eq!(found, expected, "{measure:?}");
        }
    }
}
