//! Builds scorers from ONNX operators: linear and multi-layer ones, with stored batch statistics and no dropout as after
//! training, and sums of Gaussian kernels, which are computed in double precision as in this crate.

use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;

use super::graph::Value;
use super::messages::Attribute;
use super::normalizer::signed_log1p;
use crate::ranker::kernel_expansion::KernelExpansion;
use crate::scorer::{Activation, EPSILON, InputConfig, LEAKY_SLOPE, LinearScorer, MlpScorer, Norm};

/// Adds a linear scorer to the graph.
///
/// # Shapes
/// - `x`: `[documents, features]`
/// - output: `[documents, 1]`
pub(super) fn linear_scorer<'g>(prefix: &str, scorer: &LinearScorer, x: Value<'g>) -> Value<'g> {
    let (weights, bias) = scorer.weights();
    let weight = x.graph.floats(&format!("{prefix}weight"), &[weights.len(), 1], &weights);
    let bias = x.graph.floats(&format!("{prefix}bias"), &[1], &[bias]);
    x.graph.node("Gemm", &[x, weight, bias])
}

/// Adds a multi-layer perceptron to the graph.
///
/// # Shapes
/// As [`linear_scorer`].
pub(super) fn mlp_scorer<'g>(prefix: &str, scorer: &MlpScorer, x: Value<'g>) -> Value<'g> {
    let x = hidden_layers(prefix, scorer, transformed(scorer.config().input, x));
    linear_layer(&format!("{prefix}output"), scorer.output(), x)
}

/// Adds the hidden layers of a perceptron to the graph.
///
/// # Shapes
/// - output: `[documents, neurons]`
pub(super) fn hidden_layers<'g>(prefix: &str, scorer: &MlpScorer, mut x: Value<'g>) -> Value<'g> {
    for (number, (layer, norm)) in scorer.hidden().enumerate() {
        x = linear_layer(&format!("{prefix}hidden.{number}"), layer, x);
        if let Some(norm) = norm {
            x = normalization(&format!("{prefix}norms.{number}"), norm, x);
        }
        x = activation(scorer.config().activation, x);
    }
    x
}

/// Adds the logarithm of the features to the graph, if the scorer takes it. Double precision preserves the digits of
/// small features.
pub(super) fn transformed(input: InputConfig, x: Value) -> Value {
    if input.log1p { signed_log1p(x.as_double()).as_float() } else { x }
}

pub(super) fn linear_layer<'g>(name: &str, layer: &Linear, x: Value<'g>) -> Value<'g> {
    let mut inputs = vec![x, parameter(x, &format!("{name}.weight"), layer.weight.val())];
    if let Some(bias) = &layer.bias {
        inputs.push(parameter(x, &format!("{name}.bias"), bias.val()));
    }
    x.graph.node("Gemm", &inputs)
}

fn normalization<'g>(name: &str, norm: &Norm, x: Value<'g>) -> Value<'g> {
    match norm {
        Norm::Layer(layer) => layer_normalization(name, layer, x),
        Norm::Batch(batch) => {
            let parameters = ["gamma", "beta", "mean", "variance"].into_iter().zip(batch.in_use());
            let parameters = parameters.map(|(part, values)| parameter(x, &format!("{name}.{part}"), values));
            let inputs: Vec<Value> = [x].into_iter().chain(parameters).collect();
            x.graph.node_with("BatchNormalization", &inputs, vec![Attribute::float("epsilon", EPSILON as f32)])
        }
    }
}

/// Adds layer normalization, over the neurons of each document, to the graph.
pub(super) fn layer_normalization<'g>(name: &str, layer: &LayerNorm, x: Value<'g>) -> Value<'g> {
    let mut inputs = vec![x, parameter(x, &format!("{name}.gamma"), layer.gamma.val())];
    if let Some(beta) = &layer.beta {
        inputs.push(parameter(x, &format!("{name}.beta"), beta.val()));
    }
    let attributes = vec![Attribute::int("axis", -1), Attribute::float("epsilon", EPSILON as f32)];
    x.graph.node_with("LayerNormalization", &inputs, attributes)
}

fn activation(activation: Activation, x: Value) -> Value {
    match activation {
        Activation::Relu => x.apply("Relu"),
        Activation::LeakyRelu => {
            x.graph.node_with("LeakyRelu", &[x], vec![Attribute::float("alpha", LEAKY_SLOPE as f32)])
        }
        Activation::Gelu => gelu(x),
        Activation::Silu => x * x.apply("Sigmoid"),
        Activation::Tanh => x.apply("Tanh"),
        Activation::Sigmoid => x.apply("Sigmoid"),
        Activation::Identity => x,
    }
}

/// Adds GELU, `x (1 + erf(x / sqrt 2)) / 2`, to the graph; ONNX's own `Gelu` needs operator set 20.
fn gelu(x: Value) -> Value {
    let root = x.graph.floats("sqrt_2", &[], &[std::f32::consts::SQRT_2]);
    let one = x.graph.floats("one_float", &[], &[1.0]);
    let half = x.graph.floats("half", &[], &[0.5]);
    x * ((x / root).apply("Erf") + one) * half
}

/// Adds a parameter to the graph of `x`.
fn parameter<'g, const D: usize>(x: Value<'g>, name: &str, tensor: Tensor<D>) -> Value<'g> {
    let shape = tensor.dims();
    let values: Vec<f32> = tensor.into_data().iter::<f32>().collect();
    x.graph.floats(name, &shape, &values)
}

/// Adds a kernel expansion to the graph. Squared distances are computed as `||x - l||^2 = x . x - 2 x . l + l . l`.
///
/// # Shapes
/// - `x`: `[documents, features]`
/// - output: `[documents, 1]`
pub(super) fn kernel_scores<'g>(expansion: &KernelExpansion, x: Value<'g>) -> Value<'g> {
    let KernelExpansion { feature_count: features, landmarks, coefficients, gamma } = expansion;
    let (graph, features, count) = (x.graph, *features, coefficients.len());
    let rows = || landmarks.chunks_exact(features);
    let columns: Vec<f64> =
        (0..features).flat_map(|feature| rows().map(move |row| -2.0 * f64::from(row[feature]))).collect();
    let squares: Vec<f64> = rows().map(|row| row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>()).collect();
    let columns = graph.doubles("kernel.landmarks", &[features, count], &columns);
    let squares = graph.doubles("kernel.squares", &[count], &squares);
    let gamma = graph.doubles("kernel.gamma", &[], &[-gamma]);
    let coefficients = graph.doubles("kernel.coefficients", &[count, 1], coefficients);
    let zero = graph.doubles("zero", &[], &[0.0]);

    let x = x.as_double();
    let square = x * x;
    let axes = graph.integers("last_axis", &[1], &[-1]);
    let own = graph.node_with("ReduceSum", &[square, axes], vec![Attribute::int("keepdims", 1)]);
    let distance = graph.node("MatMul", &[x, columns]) + squares + own;
    // Rounding may leave a distance of 0 a little below it.
    let kernels = (distance.max(zero) * gamma).apply("Exp");
    graph.node("MatMul", &[kernels, coefficients]).as_float()
}
