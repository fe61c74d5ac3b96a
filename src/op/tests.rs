//! Compares every primitive with its definition.

use std::cell::RefCell;

use burn::backend::{Dispatch, Flex, flex::FlexTensor};
use burn::tensor::{Device, Tensor, TensorData};

use super::call::Call;
use super::example_cases::{EXAMPLES, Inputs};
use super::primitive::PRIMITIVES;
use super::*;
use crate::execution::with_tensor_path;
use crate::testing::values;

thread_local! {
    /// The calls of primitives on this thread, while a test records them.
    static CALLS: RefCell<Option<Vec<Call<Dispatch>>>> = const { RefCell::new(None) };
}

/// Keeps a call for [`recorded`].
pub fn record(call: &Call<Dispatch>) {
    CALLS.with_borrow_mut(|calls| calls.iter_mut().for_each(|calls| calls.push(call.clone())));
}

/// Returns the result of `f`, and the calls of primitives that it makes.
fn recorded<R>(f: impl FnOnce() -> R) -> (R, Vec<Call<Dispatch>>) {
    CALLS.set(Some(Vec::new()));
    let found = f();
    (found, CALLS.take().unwrap_or_default())
}

/// Returns the result of `f`, and the last call of a primitive that it makes.
pub fn last_call<R>(f: impl FnOnce() -> R) -> (R, Call<Dispatch>) {
    let (found, mut calls) = recorded(f);
    (found, calls.pop().expect("a call of a primitive"))
}

const SHAPE: [usize; 2] = [2, 3];
const X: [f32; 6] = [0.3, -0.2, 1.1, 0.4, 0.5, 0.0];
const VALUES: [f32; 6] = [0.7, -0.4, 1.3, 0.2, 0.9, 0.0];
const LABELS: [f32; 6] = [2.0, 0.0, 1.0, 1.0, 0.0, 0.0];
const MASK: [f32; 6] = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0];

fn inputs() -> Inputs {
    [X, VALUES, LABELS, MASK]
        .map(|values| Tensor::<2>::from_data(TensorData::new(values.to_vec(), SHAPE), &Device::flex()))
}

/// Runs the definition of a call on a backend that has only burn's own operations. A definition that called a primitive
/// would not compile here.
fn definition(call: Call<Dispatch>) -> Vec<f64> {
    let moved = |tensor| FlexTensor::from_data(Tensor::<2>::from_dispatch(tensor).into_data());
    let value = call.map::<Flex>(moved).definition().into_vec().remove(0);
    value.into_data().iter::<f64>().collect()
}

/// The suites that read the examples test every primitive.
#[test]
fn every_primitive_has_an_example() {
    let calls = EXAMPLES.into_iter().flat_map(|(_, example)| recorded(|| example(&inputs())).1);
    let called: Vec<String> = calls.map(|call| format!("{:?}", call.operation)).collect();
    // Only gradients of some documents call `Select`.
    for name in PRIMITIVES.iter().filter(|name| **name != "Select") {
        assert!(called.iter().any(|call| call.starts_with(&format!("{name}("))), "{name}: {called:?}");
    }
}

#[test]
fn definitions_call_definitions_only() {
    for (name, example) in EXAMPLES {
        let value = || values(example(&inputs()));
        let (found, call) = last_call(value);
        let expected = definition(call);
        assert_eq!(with_tensor_path(value), expected, "{name}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-5, "{name}: {found} {expected}");
        }
    }
}

/// Kernels read all inputs as numbers of one type, so inputs of different types must be rejected.
#[test]
#[should_panic(expected = "step_sum: v of type F64, x of type F32")]
fn inputs_of_different_types_are_refused() {
    let [x, ..] = inputs();
    step_sum(x.clone(), x.cast(burn::tensor::DType::F64), 1.0, Step::Logistic);
}

/// Expectations are averages over comparisons, so they are 0 if there are no comparisons.
#[test]
fn a_mixture_of_nothing_gives_nothing() {
    let [x, ..] = inputs();
    let recursion = AboveRecursion { noise: ScoreNoise::Mixture(Vec::new()), above: Above::Sum };
    let found = above_recursion(x.clone(), x.clone(), x.clone(), x.ones_like(), x.clone(), &recursion);
    assert_eq!(found.into_data().iter::<f32>().collect::<Vec<_>>(), vec![0.0; 6]);
}
