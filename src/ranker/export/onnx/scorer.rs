//! Builds scorers from ONNX operators: linear and multi-layer ones, with stored batch statistics and no dropout as after
//! training, and sums of Gaussian kernels, which are computed in double precision as in this crate.

use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;

use super::graph::{GraphBuilder, Value};
use super::messages::Attribute;
use super::normalizer::signed_log1p;
use crate::ranker::kernel_expansion::KernelExpansion;
use crate::scorer::{Activation, EPSILON, LEAKY_SLOPE, LinearScorer, MlpScorer, Norm};

/// Adds a linear scorer to the graph.
///
/// # Shapes
/// - `x`: `[documents, features]`
/// - output: `[documents, 1]`
pub(super) fn linear_scorer(graph: &mut GraphBuilder, prefix: &str, scorer: &LinearScorer, x: &Value) -> Value {
    let (weights, bias) = scorer.weights();
    let weight = graph.floats(&format!("{prefix}weight"), &[weights.len(), 1], &weights);
    let bias = graph.floats(&format!("{prefix}bias"), &[1], &[bias]);
    graph.node("Gemm", &[x, &weight, &bias])
}

/// Adds a multi-layer perceptron to the graph.
///
/// # Shapes
/// As [`linear_scorer`].
pub(super) fn mlp_scorer(graph: &mut GraphBuilder, prefix: &str, scorer: &MlpScorer, x: &Value) -> Value {
    let x = if scorer.config().input.log1p { log1p(graph, x) } else { x.clone() };
    let x = hidden_layers(graph, prefix, scorer, x);
    linear_layer(graph, &format!("{prefix}output"), scorer.output(), &x)
}

/// Adds the hidden layers of a perceptron to the graph.
///
/// # Shapes
/// - output: `[documents, neurons]`
pub(super) fn hidden_layers(graph: &mut GraphBuilder, prefix: &str, scorer: &MlpScorer, mut x: Value) -> Value {
    for (number, (layer, norm)) in scorer.hidden().enumerate() {
        x = linear_layer(graph, &format!("{prefix}hidden.{number}"), layer, &x);
        if let Some(norm) = norm {
            x = normalization(graph, &format!("{prefix}norms.{number}"), norm, &x);
        }
        x = activation(graph, scorer.config().activation, x);
    }
    x
}

/// Adds `sign(x) ln(1 + |x|)` to the graph. Double precision preserves the digits of small features.
pub(super) fn log1p(graph: &mut GraphBuilder, x: &Value) -> Value {
    let x = graph.as_double(x);
    let value = signed_log1p(graph, &x);
    graph.as_float(&value)
}

pub(super) fn linear_layer(graph: &mut GraphBuilder, name: &str, layer: &Linear, x: &Value) -> Value {
    let weight = parameter(graph, &format!("{name}.weight"), layer.weight.val());
    match &layer.bias {
        Some(bias) => {
            let bias = parameter(graph, &format!("{name}.bias"), bias.val());
            graph.node("Gemm", &[x, &weight, &bias])
        }
        None => graph.node("Gemm", &[x, &weight]),
    }
}

fn normalization(graph: &mut GraphBuilder, name: &str, norm: &Norm, x: &Value) -> Value {
    let epsilon = Attribute::float("epsilon", EPSILON as f32);
    match norm {
        Norm::Layer(layer) => layer_normalization(graph, name, layer, x),
        Norm::Batch(batch) => {
            let [gamma, beta, mean, variance] = batch.in_use();
            let gamma = parameter(graph, &format!("{name}.gamma"), gamma);
            let beta = parameter(graph, &format!("{name}.beta"), beta);
            let mean = parameter(graph, &format!("{name}.mean"), mean);
            let variance = parameter(graph, &format!("{name}.variance"), variance);
            graph.node_with("BatchNormalization", &[x, &gamma, &beta, &mean, &variance], vec![epsilon])
        }
    }
}

/// Adds layer normalization, over the neurons of each document, to the graph.
pub(super) fn layer_normalization(graph: &mut GraphBuilder, name: &str, layer: &LayerNorm, x: &Value) -> Value {
    let gamma = parameter(graph, &format!("{name}.gamma"), layer.gamma.val());
    let mut inputs = vec![x.clone(), gamma];
    if let Some(beta) = &layer.beta {
        inputs.push(parameter(graph, &format!("{name}.beta"), beta.val()));
    }
    let attributes = vec![Attribute::int("axis", -1), Attribute::float("epsilon", EPSILON as f32)];
    graph.node_with("LayerNormalization", &inputs.iter().collect::<Vec<_>>(), attributes)
}

fn activation(graph: &mut GraphBuilder, activation: Activation, x: Value) -> Value {
    match activation {
        Activation::Relu => graph.node("Relu", &[&x]),
        Activation::LeakyRelu => {
            graph.node_with("LeakyRelu", &[&x], vec![Attribute::float("alpha", LEAKY_SLOPE as f32)])
        }
        Activation::Gelu => gelu(graph, &x),
        Activation::Silu => {
            let gate = graph.node("Sigmoid", &[&x]);
            graph.node("Mul", &[&x, &gate])
        }
        Activation::Tanh => graph.node("Tanh", &[&x]),
        Activation::Sigmoid => graph.node("Sigmoid", &[&x]),
        Activation::Identity => x,
    }
}

/// Adds GELU, `x (1 + erf(x / sqrt 2)) / 2`, to the graph; ONNX's own `Gelu` needs operator set 20.
fn gelu(graph: &mut GraphBuilder, x: &Value) -> Value {
    let root = graph.floats("sqrt_2", &[], &[std::f32::consts::SQRT_2]);
    let one = graph.floats("one_float", &[], &[1.0]);
    let half = graph.floats("half", &[], &[0.5]);
    let share = graph.node("Div", &[x, &root]);
    let share = graph.node("Erf", &[&share]);
    let share = graph.node("Add", &[&share, &one]);
    let twice = graph.node("Mul", &[x, &share]);
    graph.node("Mul", &[&twice, &half])
}

fn parameter<const D: usize>(graph: &mut GraphBuilder, name: &str, tensor: Tensor<D>) -> Value {
    let shape = tensor.dims();
    let values: Vec<f32> = tensor.into_data().iter::<f32>().collect();
    graph.floats(name, &shape, &values)
}

/// Adds a kernel expansion to the graph. Squared distances are computed as `||x - l||^2 = x . x - 2 x . l + l . l`.
///
/// # Shapes
/// - `x`: `[documents, features]`
/// - output: `[documents, 1]`
pub(super) fn kernel_scores(graph: &mut GraphBuilder, expansion: &KernelExpansion, x: &Value) -> Value {
    let KernelExpansion { feature_count: features, landmarks, coefficients, gamma } = expansion;
    let features = *features;
    let count = coefficients.len();
    let rows = || landmarks.chunks_exact(features);
    let columns: Vec<f64> =
        (0..features).flat_map(|feature| rows().map(move |row| -2.0 * f64::from(row[feature]))).collect();
    let squares: Vec<f64> = rows().map(|row| row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>()).collect();
    let columns = graph.doubles("kernel.landmarks", &[features, count], &columns);
    let squares = graph.doubles("kernel.squares", &[count], &squares);
    let gamma = graph.doubles("kernel.gamma", &[], &[-gamma]);
    let coefficients = graph.doubles("kernel.coefficients", &[count, 1], coefficients);
    let zero = graph.doubles("zero", &[], &[0.0]);

    let x = graph.as_double(x);
    let square = graph.node("Mul", &[&x, &x]);
    let axes = graph.integers("last_axis", &[1], &[-1]);
    let own = graph.node_with("ReduceSum", &[&square, &axes], vec![Attribute::int("keepdims", 1)]);
    let products = graph.node("MatMul", &[&x, &columns]);
    let distance = graph.node("Add", &[&products, &squares]);
    let distance = graph.node("Add", &[&distance, &own]);
    // Rounding may leave a distance of 0 a little below it.
    let distance = graph.node("Max", &[&distance, &zero]);
    let exponent = graph.node("Mul", &[&distance, &gamma]);
    let kernels = graph.node("Exp", &[&exponent]);
    let scores = graph.node("MatMul", &[&kernels, &coefficients]);
    graph.as_float(&scores)
}
