//! Tests which kernels run, and what happens without a kernel.

use std::sync::Mutex;

use burn::backend::ops::FloatTensorOps;
use burn::tensor::{Device, Distribution, Tensor, TensorData};
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{CubeBackend, CubeDevice, cubecl::future::block_on};

use super::launch::run;
use crate::device::{self, BACKENDS};
use crate::execution::Execution;
use crate::op::cpu::{self, Divisor};
use crate::op::example_cases::EXAMPLES;
use crate::op::gpu::{
    above_expectation, above_recursion, indicator_sum, list, pair_loss, rank, rank_expectation, rank_window, step_sum,
};
use crate::op::primitive::{each, interface::Primitive};
use crate::op::tests::last_call;
use crate::op::{Above, AboveExpectation, AboveRecursion, Comparison, ExponentialTerm, PairLoss, ScoreNoise, Step};

/// The kernels that were launched, by name, with the shape of each batch.
pub static LAUNCHED: Mutex<Vec<(String, [usize; 2])>> = Mutex::new(Vec::new());

/// Returns the first GPU; tests that need one are ignored by name.
fn gpu() -> Device {
    let gpu = |name: &str| !matches!(name, "flex" | "ndarray" | "tch" | "remote");
    let found = BACKENDS.iter().filter(|backend| gpu(backend.name)).find_map(|backend| device::open(backend.name).ok());
    found.expect("a GPU, or a driver for the CPU")
}

/// Returns two lists of three documents on the first device.
fn scores() -> CubeTensor {
    let data = TensorData::new(vec![1.0f32, 3.0, 2.0, 0.0, 0.5, 9.0], [2, 3]);
    CubeBackend::float_from_data(data, &CubeDevice::default())
}

/// Checks the kernels, without which the property suite would compare tensor operations with themselves.
#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn every_primitive_has_a_kernel() {
    let x = scores();
    for step in [Step::Logistic, Step::Tanh, Step::Erf, Step::Arctan, Step::Laplace] {
        assert!(step_sum::step_sum([&x, &x], None, 1.0, step).is_some(), "{step:?}");
        assert!(step_sum::step_sum([&x, &x], Some(&x), 1.0, step).is_some(), "{step:?}, some documents");
        assert!(step_sum::step_sum_gradient([&x, &x], &x, 1.0, step).is_some(), "{step:?}");
    }
    let out = indicator_sum::indicator_sum([&x; 3], 1.0).unwrap();
    assert!(indicator_sum::indicator_sum_gradient([&x; 3], [&out[0], &out[1]], &x, 1.0).is_some());
    for count in [1, 8, 9, rank_expectation::MOST_TERMS] {
        let terms = vec![ExponentialTerm { coefficient: 0.1, base: 0.9 }; count];
        let out = rank_expectation::rank_expectation([&x; 4], 1.0, &terms).unwrap();
        let gradient = rank_expectation::rank_expectation_gradient([&x; 4], &out[1], &x, 1.0, &terms);
        assert!(gradient.is_some(), "{count} terms");
    }
    let lambda = |gap| cpu::PairWeight::Lambda { gain: &x, discount: &x, rank: &x, absolute: 1.0, gap, distance: None };
    for weight in [cpu::PairWeight::Unit, cpu::PairWeight::Document(&x), lambda(0.0), lambda(1.0)] {
        for loss in [
            PairLoss::Logistic,
            PairLoss::Hinge { margin: 1.0 },
            PairLoss::SquaredHinge { margin: 1.0 },
            PairLoss::Exponential,
            PairLoss::Fidelity,
            PairLoss::SoftZeroOne,
        ] {
            assert!(pair_loss::pair_loss([&x; 3], weight, loss).is_some(), "{loss:?}");
            assert!(pair_loss::pair_loss_gradient([&x; 3], weight, &x, loss).is_some(), "{loss:?}");
        }
    }
    assert!(rank::rank([&x; 2]).is_some());
}

#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn sums_over_lists_have_kernels() {
    let x = scores();
    for power in [0, 2] {
        let divisor = Divisor::Spread { power, is_differentiated: false };
        let found = list::centered([&x; 2], divisor).unwrap();
        assert!(list::centered_gradient(&x, Some(&found[1]), &x).is_some(), "{power}");
    }
    assert_eq!(list::centered([&x; 2], Divisor::One).unwrap().len(), 1);
    assert!(list::unit_gradient([&x; 2], &x).is_some());
    assert!(list::log_softmax([&x; 2]).is_some() && list::log_softmax_gradient([&x; 2], &x).is_some());
    let table = [1.0, 0.5, 0.25];
    assert!(list::at_rank(&x, &table).is_some() && list::ideal_dcg([&x; 2], &table).is_some());
}

/// The table of a longer list serves a shorter list, and other tables stay apart.
#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn tables_that_stay_on_the_device_are_those_asked_for() {
    let x = scores();
    let look_up = |table: &[f64]| {
        let found = list::at_rank(&x, table).unwrap().remove(0);
        block_on(CubeBackend::float_into_data(found)).expect("data").iter::<f32>().collect::<Vec<f32>>()
    };
    for factor in [1.0, 2.0, 1.0] {
        for length in [3, 5, 4] {
            let table: Vec<f64> = (0..length).map(|rank| factor * (rank + 1) as f64).collect();
            // The ranks are 1, 3, 2, 0, 0.5 and 9; the last three are out of range.
            let last = factor as f32;
            let expected = [1.0, 3.0, 2.0, 1.0, 1.0, 3.0].map(|value: f32| value * last);
            assert_eq!(look_up(&table), expected, "{length}");
        }
    }
}

/// A document whose weight is NaN counts, although NaN does not differ from 0 on some devices.
#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn gradients_that_are_no_numbers_are_not_skipped() {
    let x = scores();
    let of = |values: [f32; 6]| CubeBackend::float_from_data(TensorData::new(values.to_vec(), [2, 3]), &x.device);
    let (v, g) = (of([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]), of([f32::NAN, 1.0, 1.0, 1.0, 1.0, 1.0]));
    let to_x = step_sum::step_sum_gradient([&x, &v], &g, 1.0, Step::Logistic).unwrap().remove(0);
    let found = block_on(CubeBackend::float_into_data(to_x)).expect("data");
    let found: Vec<f32> = found.iter().collect();
    assert!(
        found[..3].iter().all(|value| value.is_nan()) && found[3..].iter().all(|value| value.is_finite()),
        "{found:?}"
    );
}

#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn distributions_of_ranks_have_kernels() {
    let x = scores();
    let comparison = Comparison::given(0.5, 1.0);
    for ranks in [1, 9, rank_window::WIDEST + 1] {
        let values = CubeBackend::float_from_data(TensorData::new(vec![0.5f32; 2 * ranks], [2, ranks]), &x.device);
        let recursion = AboveRecursion { noise: ScoreNoise::one(comparison), above: Above::Nothing };
        let value = above_recursion::above_recursion([&x, &x, &x, &x, &values], &recursion);
        let gradient = above_recursion::above_recursion_gradient([&x, &x, &x, &x, &values], &x, &recursion);
        assert!(value.is_some() && gradient.is_some(), "{ranks} ranks");
    }
    for above in [Above::Nothing, Above::Sum, Above::Product] {
        for noise in [ScoreNoise::one(comparison), ScoreNoise::Exact { sigma: 1.0 }] {
            let recursion = AboveRecursion { noise, above };
            let value = above_recursion::above_recursion([&x; 5], &recursion);
            assert!(value.is_some(), "{recursion:?}");
            let gradient = above_recursion::above_recursion_gradient([&x; 5], &x, &recursion);
            assert!(gradient.is_some(), "{recursion:?}");
        }
        for count in [1, 8, 9, above_expectation::MOST_TERMS] {
            let terms = vec![ExponentialTerm { coefficient: 0.1, base: 0.9 }; count];
            let expectation = AboveExpectation { noise: ScoreNoise::one(comparison), terms, above };
            let value = above_expectation::above_expectation([&x; 4], &expectation);
            assert!(value.is_some(), "{above:?}, {count} terms");
            let gradient = above_expectation::above_expectation_gradient([&x; 4], &x, &expectation);
            assert!(gradient.is_some(), "{above:?}, {count} terms");
        }
    }
}

/// A gradient that is computed in parts has the same bits as one in a single part.
#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn the_memory_budget_changes_no_bit() {
    let tensor =
        |values: Vec<f32>| CubeBackend::float_from_data(TensorData::new(values, [3, 70]), &CubeDevice::default());
    let of = |factor: f32| tensor((0..210).map(|cell| (cell as f32 * factor).sin()).collect());
    let (x, g, mask) = (of(1.7), of(0.9), tensor((0..210).map(|cell| f32::from(cell % 70 < 64)).collect()));
    let terms = vec![ExponentialTerm { coefficient: 0.1, base: 0.9 }; 3];
    let noise = ScoreNoise::one(Comparison::independent(0.7));
    let expectation = AboveExpectation { noise, terms, above: Above::Sum };
    let inputs = [&x, &mask, &mask, &mask, &x];
    let gradients = |budget| {
        Execution::current().with_memory_budget(budget).scope(|| {
            let above = above_expectation::above_expectation_gradient([&x, &mask, &mask, &mask], &g, &expectation);
            let ranks = AboveRecursion { noise: ScoreNoise::one(Comparison::independent(0.7)), above: Above::Nothing };
            let ranks = above_recursion::above_recursion_gradient(inputs, &g, &ranks);
            // There are as many ranks as documents, which need several windows.
            let exact = AboveRecursion { noise: ScoreNoise::Exact { sigma: 0.7 }, above: Above::Sum };
            let trials = above_recursion::above_recursion_gradient(inputs, &g, &exact);
            let values = above_recursion::above_recursion(inputs, &exact);
            [above, ranks, trials, values]
                .map(|gradient| CubeBackend::float_into_data(gradient.expect("a kernel").remove(0)))
        })
    };
    let read = |budget| gradients(budget).map(|data| block_on(data).expect("data"));
    assert_eq!(read(1), read(usize::MAX));
}

/// The GPU features turn burn's fusion on, as burn's default features do. A call then waits in a queue until its result
/// is read, and must run its kernel once instead of the tensor definition.
#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn kernels_stay_in_use_under_fusion() {
    let device = gpu();
    let device = device.autodiff();
    // No other test has lists of this length.
    let shape = [3, 41];
    let random = || Tensor::<2>::random(shape, Distribution::Uniform(0.0, 4.0), &device);
    let (v, labels, mask) = (random(), random().round(), Tensor::ones(shape, &device));
    let launched = || {
        let mut launched = LAUNCHED.lock().expect("no test panics here");
        let ours: Vec<_> = launched.extract_if(.., |(_, batch)| *batch == shape).map(|(kernel, _)| kernel).collect();
        ours
    };
    // These have no kernel for values.
    let composed = ["neural_sort_sum", "with_unit_gradient", "log2_discount", "exp2"];
    for (name, example) in EXAMPLES.into_iter().filter(|(name, _)| !composed.contains(name)) {
        let x = random().require_grad();
        let (out, call) = last_call(|| example(&[x.clone(), v.clone(), labels.clone(), mask.clone()]));
        out.clone().into_data();
        let mut expected = vec![name.to_owned()];
        if each!(&call.operation, primitive => primitive.differentiated()) > 0 {
            let gradients = out.sum().backward();
            x.grad(&gradients).expect("x has a gradient").into_data();
            expected.push(format!("gradient of {name}"));
        }
        // Some examples compute ranks first.
        let launched = launched();
        let kernels: Vec<_> = launched.iter().filter(|kernel| *kernel != "rank" || name == "rank").collect();
        let is_right = kernels.iter().zip(&expected).all(|(kernel, expected)| kernel.starts_with(expected));
        assert!(kernels.len() == expected.len() && is_right, "{name}: {launched:?}");
    }
}

#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn a_kernel_beyond_the_device_is_not_run() {
    let x = scores();
    for _ in 0..2 {
        assert!(run("a kernel of many buffers", &x, u32::MAX - 1, |_| -> Vec<CubeTensor> { unreachable!() }).is_none());
    }
}

#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn a_kernel_that_the_device_refuses_is_not_run_again() {
    let x = scores();
    let mut launches = 0;
    for _ in 0..2 {
        let outcome = run("a kernel of too many units", &x, 3, |batch| {
            launches += 1;
            let out = batch.per_document();
            rank::launch(batch.cubes().of(1 << 20), &x, &x, &out);
            vec![out]
        });
        assert!(outcome.is_none());
    }
    assert_eq!(launches, 1);
}

#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn nothing_is_run_on_no_documents() {
    let x = scores();
    let empty = CubeBackend::float_from_data(TensorData::new(Vec::<f32>::new(), [0, 3]), &x.device);
    assert!(run("a copy of nothing", &empty, 2, |_| -> Vec<CubeTensor> { unreachable!() }).is_none());
}
