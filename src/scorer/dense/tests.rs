use burn::module::Param;
use burn::tensor::{DType, Device, Tensor, TensorData};

use super::*;
use crate::execution::with_tensor_path;
use crate::testing::uniform;

/// Creates numbers in [-1, 1) that look random, with a different sequence for each `seed`.
fn tensor<const D: usize>(shape: [usize; D], seed: u64, dtype: DType) -> Tensor<D> {
    let data = TensorData::new(uniform(seed, shape.iter().product()), shape);
    Tensor::from_data(data, (&Device::flex().autodiff(), dtype))
}

fn layer(inputs: usize, neurons: usize, dtype: DType) -> Linear {
    Linear {
        weight: Param::from_tensor(tensor([inputs, neurons], 1, dtype)),
        bias: Some(Param::from_tensor(tensor([neurons], 2, dtype))),
    }
}

/// Returns the output, and the gradients of the input, the weights and the bias, for a weighted sum of the output.
fn run<const D: usize>(layer: &Linear, x: Tensor<D>, output: Output) -> [Vec<f64>; 4] {
    let x = x.require_grad();
    let out = dense(layer, x.clone(), output);
    let coefficients = tensor(out.dims(), 3, out.dtype());
    let gradients = (out.clone() * coefficients).sum().backward();
    let read = |data: TensorData| data.iter::<f64>().collect::<Vec<_>>();
    let bias = layer.bias.as_ref().expect("a bias").val();
    [
        read(out.into_data()),
        read(x.grad(&gradients).expect("a gradient").into_data()),
        read(layer.weight.val().grad(&gradients).expect("a gradient").into_data()),
        read(bias.grad(&gradients).expect("a gradient").into_data()),
    ]
}

#[test]
fn the_fused_layer_agrees_with_burns() {
    for (rows, inputs, neurons) in [(1, 1, 1), (3, 5, 2), (512, 7, 33), (513, 40, 1), (1300, 17, 12)] {
        for (dtype, tolerance) in [(DType::F32, 3e-6), (DType::F64, 1e-14)] {
            for output in [Output::Sum, Output::Rectified] {
                let layer = layer(inputs, neurons, dtype);
                let x = || tensor([rows, inputs], 4, dtype);
                assert!(fused(&layer, &x(), output).is_some());
                let (found, expected) = (run(&layer, x(), output), with_tensor_path(|| run(&layer, x(), output)));
                for (part, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let scale = expected.iter().fold(1.0, |scale: f64, value| scale.max(value.abs()));
                    for (found, expected) in found.iter().zip(expected) {
                        let error = (found - expected).abs() / scale;
                        assert!(error <= tolerance, "{rows} x {inputs} x {neurons}, {output:?}, part {part}: {error}");
                    }
                }
            }
        }
    }
}

#[test]
fn lists_of_documents_and_other_orders_of_memory_are_the_same_layer() {
    let layer = layer(6, 4, DType::F32);
    let x = tensor([3, 5, 6], 4, DType::F32);
    let expected = run(&layer, x.clone().reshape([15, 6]), Output::Rectified);
    assert_eq!(run(&layer, x.clone(), Output::Rectified), expected);
    // The same values behind a transposition.
    let turned = Tensor::<3>::from_data(x.swap_dims(1, 2).into_data(), &Device::flex().autodiff());
    assert_eq!(run(&layer, turned.swap_dims(1, 2), Output::Rectified)[0], expected[0]);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let layer = layer(20, 30, DType::F32);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&layer, tensor([9000, 20], 4, DType::F32), Output::Rectified))
    };
    let one = on(1);
    assert_eq!(on(2), one);
    assert_eq!(on(3), one);
}

#[test]
fn what_is_not_a_number_stays_so() {
    let layer = layer(2, 3, DType::F32);
    let x = Tensor::<2>::from_data([[f32::NAN, 1.0], [1.0, 1.0]], &Device::flex().autodiff());
    let out: Vec<f32> = dense(&layer, x, Output::Rectified).into_data().try_to_vec().unwrap();
    assert!(out[..3].iter().all(|value| value.is_nan()) && out[3..].iter().all(|value| value.is_finite()));
}

#[test]
fn a_layer_without_bias_and_a_batch_without_documents_are_burns() {
    let plain = Linear { bias: None, ..layer(2, 3, DType::F32) };
    let x = tensor([4, 2], 4, DType::F32);
    assert!(fused(&plain, &x, Output::Sum).is_none());
    assert_eq!(dense(&plain, x, Output::Sum).dims(), [4, 3]);
    let layer = layer(2, 3, DType::F32);
    assert_eq!(dense(&layer, tensor([0, 2], 4, DType::F32), Output::Sum).dims(), [0, 3]);
}
