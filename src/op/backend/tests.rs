//! Compares analytic gradients with automatic differentiation and with finite differences.

use burn::backend::{Dispatch, tensor::FloatTensor};
use burn::tensor::{DType, Device, Tensor, TensorData};

use super::backward;
use crate::execution::with_tensor_path;
use crate::op::call::{Call, Tensors};
use crate::op::example_cases::EXAMPLES;
use crate::op::primitive::{each, interface::Primitive, pair_loss::PairSum, step_sum::StepSum};
use crate::op::tests::last_call;
use crate::op::{
    self, Above, AboveExpectation, AboveRecursion, Comparison, Execution, ExponentialTerm, NeuralSortMatrix, PairLoss,
    PairWeight, ScoreNoise, Step, cpu,
};
use crate::testing::{uniform, values};

const SHAPE: [usize; 2] = [2, 9];

/// Returns independent random numbers in [-1, 1).
fn numbers(seed: u64) -> Tensor<2> {
    tensor(uniform(seed, 18))
}

fn tensor(values: Vec<f64>) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, SHAPE), (&Device::flex(), DType::F64))
}

/// Returns the mask of two lists, of which the second has six documents.
fn mask() -> Tensor<2> {
    tensor((0..18).map(|cell| if cell < 15 { 1.0 } else { 0.0 }).collect())
}

fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    let scale = expected.iter().fold(1e-3, |largest: f64, value| largest.max(value.abs()));
    for (cell, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance * scale, "{what}, cell {cell}: {found} for {expected}");
    }
}

/// Checks the analytic gradients (`[x]` or `[x, v]`) of the default methods, computed row by row, against automatic
/// differentiation of the definition. For `x`, also checks against central differences of the primitive.
fn check(
    what: &str,
    primitive: impl Fn(Tensor<2>, Tensor<2>) -> Tensor<2>,
    analytic: impl Fn(FloatTensor<Dispatch>, FloatTensor<Dispatch>, FloatTensor<Dispatch>) -> Vec<FloatTensor<Dispatch>>,
) {
    Execution::current().with_memory_budget(1).scope(|| check_here(what, primitive, analytic));
}

fn check_here(
    what: &str,
    primitive: impl Fn(Tensor<2>, Tensor<2>) -> Tensor<2>,
    analytic: impl Fn(FloatTensor<Dispatch>, FloatTensor<Dispatch>, FloatTensor<Dispatch>) -> Vec<FloatTensor<Dispatch>>,
) {
    let (x, v, g) = (numbers(1), numbers(2) * mask(), numbers(3) * mask());
    let found = analytic(x.clone().into_dispatch(), v.clone().into_dispatch(), g.clone().into_dispatch());
    let tracked = [x.clone(), v.clone()].map(|input| input.autodiff().require_grad());
    let gradients = with_tensor_path(|| {
        let [x, v] = tracked.clone();
        (primitive(x, v) * g.clone().autodiff()).sum().backward()
    });
    for (part, (found, input)) in found.into_iter().zip(&tracked).enumerate() {
        let expected = input.grad(&gradients).expect("the input has a gradient");
        assert_close(
            &format!("{what}, input {part}"),
            &values(Tensor::<2>::from_dispatch(found)),
            &values(expected),
            1e-10,
        );
    }
    let automatic = values(tracked[0].grad(&gradients).expect("x has a gradient"));
    let value = |moved| values(primitive(tensor(moved), v.clone()) * g.clone()).iter().sum::<f64>();
    assert_close(&format!("{what}, differences"), &differences(&values(x), value), &automatic, 1e-7);
}

/// Returns the gradient of a call with respect to its first input, by the definition.
fn definition(call: Call<Dispatch>, saved: Tensors<Dispatch>, g: FloatTensor<Dispatch>) -> FloatTensor<Dispatch> {
    call.definition_gradient(saved, g).one()
}

/// Returns the gradient of a call with respect to only its second input.
fn in_values(call: Call<Dispatch>, saved: Tensors<Dispatch>, g: FloatTensor<Dispatch>) -> FloatTensor<Dispatch> {
    let mut found = backward(call, saved, g, &[false, true], Execution::current());
    assert_eq!(found.iter().map(|(input, _)| *input).collect::<Vec<_>>(), [1]);
    found.remove(0).1
}

/// Checks the analytic gradient of every primitive against automatic differentiation of its definition, and for the
/// first input also against central differences.
#[test]
fn gradients_of_every_primitive() {
    let inputs = [numbers(1), numbers(2) * mask(), (numbers(4) * 2.0).round().abs(), mask()];
    for (name, example) in EXAMPLES {
        let (_, call) = last_call(|| example(&inputs));
        let differentiated = each!(&call.operation, primitive => primitive.differentiated());
        if differentiated > 0 {
            Execution::current().with_memory_budget(1).scope(|| check_call(name, call, differentiated));
        }
    }
}

fn check_call(name: &str, call: Call<Dispatch>, differentiated: usize) {
    let outputs = call.clone().definition().into_vec();
    let [_, width] = Tensor::<2>::from_dispatch(outputs[0].clone()).dims();
    let saved = Tensors::new(each!(&call.operation, primitive => primitive.saved(outputs)));
    let mut g = (numbers(3) * mask()).narrow(1, 0, width);
    let inputs = call.inputs.refs();
    if let Some(&counted) = each!(&call.operation, primitive => primitive.counted(&inputs)) {
        g = g.mask_fill(Tensor::<2>::from_dispatch(counted.clone()).equal_elem(0.0), 0.0);
    }
    let tracked = call.inputs.clone().into_vec().into_iter().enumerate().map(|(number, input)| {
        let input = Tensor::<2>::from_dispatch(input).autodiff();
        if number < differentiated { input.require_grad() } else { input }
    });
    let tracked: Vec<Tensor<2>> = tracked.collect();
    let of_tracked = Call::<Dispatch>::new(call.operation.clone(), tracked.iter().cloned().map(Tensor::into_dispatch));
    let out = Tensor::<2>::from_dispatch(of_tracked.definition().into_vec().remove(0));
    let gradients = (out * g.clone().autodiff()).sum().backward();
    let (operation, weights, g) = (call.operation.clone(), g.clone(), g.into_dispatch());
    let of_definition = call.clone().definition_gradient(saved.clone(), g.clone()).into_vec();
    let of_backend = backward(call, saved, g, &vec![true; differentiated], Execution::current());
    assert_eq!(of_backend.len(), differentiated, "{name}");
    for (number, found) in of_definition.into_iter().enumerate().chain(of_backend) {
        let expected = tracked[number].grad(&gradients).expect("the input has a gradient");
        let what = format!("{name}, input {number}");
        assert_close(&what, &values(Tensor::<2>::from_dispatch(found)), &values(expected), 1e-10);
    }
    // These two have other gradients than their values.
    if ["centered", "with_unit_gradient"].contains(&name) {
        return;
    }
    let automatic = values(tracked[0].grad(&gradients).expect("the first input has a gradient"));
    let at = values(tracked[0].clone().inner());
    let value = |moved: Vec<f64>| {
        let others = tracked[1..].iter().map(|input| input.clone().inner());
        let inputs = [tensor(moved)].into_iter().chain(others).map(Tensor::into_dispatch);
        let out = Call::<Dispatch>::new(operation.clone(), inputs).definition().into_vec().remove(0);
        values(Tensor::<2>::from_dispatch(out) * weights.clone()).iter().sum::<f64>()
    };
    assert_close(&format!("{name}, differences"), &differences(&at, value), &automatic, 1e-7);
}

/// Returns the central differences of a function of the numbers `at`.
fn differences(at: &[f64], value: impl Fn(Vec<f64>) -> f64) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let moved = |cell: usize, offset: f64| {
        let mut moved = at.to_vec();
        moved[cell] += offset;
        value(moved)
    };
    (0..at.len()).map(|cell| (moved(cell, STEP) - moved(cell, -STEP)) / (2.0 * STEP)).collect()
}

#[test]
fn gradients_of_step_sum() {
    for step in [Step::Logistic, Step::Tanh, Step::Erf, Step::Arctan, Step::Laplace] {
        check(
            &format!("{step:?}"),
            |x, v| op::step_sum(x, v, 3.0, step),
            |x, v, g| {
                let call = Call::new(StepSum { alpha: 3.0, step }, [x, v]);
                vec![definition(call.clone(), Tensors::None, g.clone()), in_values(call, Tensors::None, g)]
            },
        );
    }
}

#[test]
fn documents_that_do_not_count_send_no_gradient() {
    let counted = || tensor((0..18).map(|cell| f64::from(u8::from(cell % 3 == 0))).collect());
    check(
        "counted_step_sum",
        |x, v| {
            let counted = if x.device().is_autodiff() { counted().autodiff() } else { counted() };
            op::counted_step_sum(x, v, counted, 3.0, Step::Logistic)
        },
        |x, v, g| {
            let g = (Tensor::<2>::from_dispatch(g) * counted()).into_dispatch();
            let step = Step::Logistic;
            let call = Call::new(StepSum { alpha: 3.0, step }, [x, v, counted().into_dispatch()]);
            vec![definition(call.clone(), Tensors::None, g.clone()), in_values(call, Tensors::None, g)]
        },
    );
    // The gradient is also checked on the device's own path.
    let [x, v] = [numbers(1), numbers(2) * mask()].map(|input| input.autodiff().require_grad());
    let gradient = |sums: Tensor<2>| {
        let gradients = (sums * counted().autodiff() * numbers(3).autodiff()).sum().backward();
        [&x, &v].map(|input| values(input.grad(&gradients).expect("the input has a gradient")))
    };
    let all = gradient(op::step_sum(x.clone(), v.clone(), 3.0, Step::Logistic));
    let of_counted = op::counted_step_sum(x.clone(), v.clone(), counted().autodiff(), 3.0, Step::Logistic);
    assert_eq!(gradient(of_counted), all);
}

#[test]
fn expectations_of_documents_that_do_not_count_are_left_out() {
    let counted = || tensor((0..18).map(|cell| f64::from(u8::from(cell % 3 == 0))).collect());
    let terms = [(0.6, 0.3), (0.4, 0.95)].map(|(coefficient, base)| ExponentialTerm { coefficient, base });
    let noise = ScoreNoise::one(Comparison::independent(0.7));
    let ranks = AboveExpectation { noise, terms: terms.to_vec(), above: Above::Nothing };
    let expectation = |x: Tensor<2>, counted: Option<Tensor<2>>| {
        let mask = mask().autodiff();
        let a = op::mask_of_counted(&mask, counted.map(Tensor::autodiff));
        op::above_expectation(x, a, mask.clone(), mask, &ranks)
    };
    let recursion = |x: Tensor<2>, counted: Option<Tensor<2>>| {
        let mask = mask().autodiff();
        let a = op::mask_of_counted(&mask, counted.map(Tensor::autodiff));
        op::noisy_rank_recursion(x, a, mask, &ScoreNoise::one(COMPARISONS[1]), &[1.0, 0.7, 0.2])
    };
    type Primitive<'a> = &'a dyn Fn(Tensor<2>, Option<Tensor<2>>) -> Tensor<2>;
    let primitives: [Primitive; 2] = [&expectation, &recursion];
    for primitive in primitives {
        let run = |counts: bool| {
            let x = numbers(1).autodiff().require_grad();
            let out = if counts { primitive(x.clone(), Some(counted())) } else { primitive(x.clone(), None) };
            let gradients = (out.clone() * counted().autodiff() * numbers(3).autodiff()).sum().backward();
            (values(out * counted().autodiff()), values(x.grad(&gradients).expect("x has a gradient")))
        };
        let (of_counted, all) = (run(true), run(false));
        assert_eq!(of_counted, all);
        assert!(all.1.iter().any(|value| value.abs() > 1e-3), "{all:?}");
        assert_eq!(with_tensor_path(|| run(true)), with_tensor_path(|| run(false)));
        let found = values(primitive(numbers(1).autodiff(), Some(counted())));
        assert!(found.iter().enumerate().all(|(cell, value)| cell % 3 == 0 || *value == 0.0), "{found:?}");
    }
}

#[test]
fn equal_scores_send_no_gradient_to_their_distance() {
    let x = tensor([1.0, 1.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0].repeat(2)).autodiff().require_grad();
    let mask = tensor([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0].repeat(2)).autodiff();
    let weights = [1.0, 10.0, 100.0, 1000.0, 1e4, 1e4, 1e4, 1e4, 1e4].repeat(2);
    let sums = op::distances(&x, &mask) * mask;
    assert_eq!(values(sums.clone())[..5], [2.0, 2.0, 6.0, 2.0, 0.0]);
    let gradients = (sums * tensor(weights).autodiff()).sum().backward();
    // Each of the three equal documents has a gradient only from the third document.
    let gradient = values(x.grad(&gradients).expect("x has a gradient"));
    assert_eq!(gradient[9..14], [-101.0, -110.0, 1311.0, -1100.0, 0.0]);
}

#[test]
fn gradients_of_neural_sort_sum() {
    let cases = [(0, false, 9), (0, false, 3), (1, false, 9), (1, true, 9), (5, false, 4), (5, true, 4)];
    for (iterations, transposed, ranks) in cases {
        let sort = NeuralSortMatrix { temperature: 0.8, iterations, transposed, ranks };
        check(
            &format!("{sort:?}"),
            |x, v| {
                let mask = if x.device().is_autodiff() { mask().autodiff() } else { mask() };
                op::neural_sort_sum(x, v, mask, sort)
            },
            |x, v, g| {
                Call::<Dispatch>::new(sort, [x, v, mask().into_dispatch()])
                    .definition_gradient(Tensors::None, g)
                    .into_vec()
            },
        );
    }
}

#[test]
fn gradients_of_rank_expectation() {
    let terms = [(0.6, 0.3), (0.4, 0.95)].map(|(coefficient, base)| ExponentialTerm { coefficient, base });
    let noise = ScoreNoise::one(Comparison::independent(0.7));
    let expectation = AboveExpectation { noise, terms: terms.to_vec(), above: Above::Nothing };
    check(
        "rank_expectation",
        |x, _| {
            let mask = if x.device().is_autodiff() { mask().autodiff() } else { mask() };
            op::above_expectation(x, mask.clone(), mask.clone(), mask, &expectation)
        },
        |x, _, g| {
            let mask = mask().into_dispatch();
            let call = Call::new(expectation.clone(), [x, mask.clone(), mask.clone(), mask]);
            vec![definition(call, Tensors::None, g)]
        },
    );
}

/// A comparison of two noisy scores, and one of a score whose noise is given.
const COMPARISONS: [Comparison; 2] = [Comparison { rate: 0.7, shift: 0.0 }, Comparison { rate: 1.1, shift: -0.4 }];

#[test]
fn gradients_of_rank_recursion() {
    for discounts in [&[1.0, 0.7, 0.2][..], &[0.5], &[1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]] {
        for comparison in COMPARISONS {
            check(
                &format!("rank_recursion, {} ranks, {comparison:?}", discounts.len()),
                |x, _| {
                    let mask = if x.device().is_autodiff() { mask().autodiff() } else { mask() };
                    op::noisy_rank_recursion(x, mask.clone(), mask, &ScoreNoise::one(comparison), discounts)
                },
                |x, _, g| {
                    let values = TensorData::new(discounts.to_vec(), [1, discounts.len()]);
                    let values = Tensor::<2>::from_data(values, (&Device::flex(), DType::F64)).repeat_dim(0, SHAPE[0]);
                    let recursion = AboveRecursion { noise: ScoreNoise::one(comparison), above: Above::Nothing };
                    let [a, b, mask] = [mask(), mask(), mask()].map(Tensor::into_dispatch);
                    let values = values.into_dispatch();
                    vec![definition(Call::new(recursion, [x, a, b, mask, values]), Tensors::None, g)]
                },
            );
        }
    }
}

#[test]
fn gradients_of_above_expectation() {
    let terms = [(0.6, 0.3), (0.4, 0.95)].map(|(coefficient, base)| ExponentialTerm { coefficient, base });
    let noise = ScoreNoise::Mixture([0.7, 0.3].into_iter().zip(COMPARISONS).collect());
    for above in [Above::Sum, Above::Product] {
        let expectation = AboveExpectation { noise: noise.clone(), terms: terms.to_vec(), above };
        // Values from 0 to 1, both included; every third document has no weight.
        let b = || ((numbers(6) * 1.5).clamp(-1.0, 1.0) * 0.5 + 0.5) * mask();
        let a = || numbers(7) * tensor((0..18).map(|cell| f64::from(u8::from(cell % 3 != 1))).collect());
        check(
            &format!("{above:?}"),
            |x, _| {
                let on = |tensor: Tensor<2>| if x.device().is_autodiff() { tensor.autodiff() } else { tensor };
                let (a, b, mask) = (on(a()), on(b()), on(mask()));
                op::above_expectation(x, a, b, mask, &expectation)
            },
            |x, _, g| {
                let [a, b, mask] = [a(), b(), mask()].map(Tensor::into_dispatch);
                vec![definition(Call::new(expectation.clone(), [x, a, b, mask]), Tensors::None, g)]
            },
        );
    }
}

#[test]
fn gradients_of_above_recursion() {
    let noise = ScoreNoise::Mixture([0.7, 0.3].into_iter().zip(COMPARISONS).collect());
    for above in [Above::Sum, Above::Product] {
        for ranks in [1, 3, 9] {
            let recursion = AboveRecursion { noise: noise.clone(), above };
            let b = || ((numbers(6) * 1.5).clamp(-1.0, 1.0) * 0.5 + 0.5) * mask();
            let a = || numbers(7) * tensor((0..18).map(|cell| f64::from(u8::from(cell % 3 != 1))).collect());
            // The values have both signs, and each list has its own function.
            let of_ranks = || numbers(8).narrow(1, 0, ranks);
            check(
                &format!("{above:?}, {ranks} ranks"),
                |x, _| {
                    let on = |tensor: Tensor<2>| if x.device().is_autodiff() { tensor.autodiff() } else { tensor };
                    let (a, b, mask, of_ranks) = (on(a()), on(b()), on(mask()), on(of_ranks()));
                    op::above_recursion(x, a, b, mask, of_ranks, &recursion)
                },
                |x, _, g| {
                    let [a, b, mask, of_ranks] = [a(), b(), mask(), of_ranks()].map(Tensor::into_dispatch);
                    vec![definition(Call::new(recursion.clone(), [x, a, b, mask, of_ranks]), Tensors::None, g)]
                },
            );
        }
    }
}

#[test]
fn gradients_of_pair_loss() {
    let labels = || (numbers(4) * 2.0).round();
    for loss in [
        PairLoss::Logistic,
        PairLoss::Hinge { margin: 0.9 },
        PairLoss::SquaredHinge { margin: 0.9 },
        PairLoss::Exponential,
        PairLoss::Fidelity,
        PairLoss::SoftZeroOne,
    ] {
        let on = |x: &Tensor<2>, tensor: Tensor<2>| if x.device().is_autodiff() { tensor.autodiff() } else { tensor };
        check(
            &format!("{loss:?}"),
            |x, _| {
                let (labels, mask) = (on(&x, labels()), on(&x, mask()));
                let weight = PairWeight::Document(on(&x, numbers(5)));
                op::pair_loss(x, labels, mask, &weight, loss)
            },
            |x, _, g| {
                let (labels, mask) = (labels().into_dispatch(), mask().into_dispatch());
                let sum = PairSum { loss, weight: cpu::PairWeight::Document(()) };
                vec![definition(Call::new(sum, [x, labels, mask, numbers(5).into_dispatch()]), Tensors::None, g)]
            },
        );
    }
}
