//! Builds scorers from ONNX operators, with stored batch statistics and no dropout as after training: linear and
//! multi-layer ones, self-attention over the documents of a query, and a latent cross of the two. Sums of Gaussian
//! kernels are computed in double precision as in this crate.

use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;

use super::graph::Value;
use super::messages::Attribute;
use super::normalizer::signed_log1p;
use crate::ranker::kernel_expansion::KernelExpansion;
use crate::scorer::{
    Activation, AttentionScorer, Block, EPSILON, InputConfig, LEAKY_SLOPE, LatentCrossScorer, LinearScorer, MlpScorer,
    Norm,
};

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
fn hidden_layers<'g>(prefix: &str, scorer: &MlpScorer, mut x: Value<'g>) -> Value<'g> {
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
fn transformed(input: InputConfig, x: Value) -> Value {
    if input.log1p { signed_log1p(x.as_double()).as_float() } else { x }
}

fn linear_layer<'g>(name: &str, layer: &Linear, x: Value<'g>) -> Value<'g> {
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
fn layer_normalization<'g>(name: &str, layer: &LayerNorm, x: Value<'g>) -> Value<'g> {
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

/// The attention logit for padding, which is the same as in [`AttentionScorer`].
const OUTSIDE: f32 = f32::MIN / 2.0;

/// Adds a self-attention scorer to the graph.
///
/// # Shapes
/// - `x`: `[documents, features]`
/// - output: `[documents, 1]`
pub(super) fn attention_scorer<'g>(prefix: &str, scorer: &AttentionScorer, x: Value<'g>) -> Value<'g> {
    represented(prefix, scorer, transformed(scorer.config().input, x))
}

/// Adds a latent cross of self-attention and a perceptron to the graph.
///
/// # Shapes
/// As [`attention_scorer`].
pub(super) fn latent_cross_scorer<'g>(prefix: &str, scorer: &LatentCrossScorer, x: Value<'g>) -> Value<'g> {
    let x = transformed(scorer.config().input, x);
    let hidden = hidden_layers(&format!("{prefix}perceptron."), &scorer.perceptron, x);
    let context = represented(&format!("{prefix}attention."), &scorer.attention, x);
    let one = x.graph.floats("one_float", &[], &[1.0]);
    linear_layer(&format!("{prefix}perceptron.output"), scorer.perceptron.output(), (context + one) * hidden)
}

/// Adds the output layer of self-attention to the graph.
fn represented<'g>(prefix: &str, scorer: &AttentionScorer, x: Value<'g>) -> Value<'g> {
    let (heads, width) = (scorer.config().heads, scorer.config().width);
    let mut x = linear_layer(&format!("{prefix}input"), &scorer.input, x);
    for (number, block) in scorer.blocks.iter().enumerate() {
        let name = format!("{prefix}blocks.{number}");
        let inner = layer_normalization(&format!("{name}.attention_norm"), &block.attention_norm, x);
        x = x + attend(&name, block, inner, [heads, width]);
        let inner = layer_normalization(&format!("{name}.feed_forward_norm"), &block.feed_forward_norm, x);
        let hidden = linear_layer(&format!("{name}.expand"), &block.expand, inner).apply("Relu");
        x = x + linear_layer(&format!("{name}.contract"), &block.contract, hidden);
    }
    let x = layer_normalization(&format!("{prefix}norm"), &scorer.norm, x);
    linear_layer(&format!("{prefix}output"), &scorer.output, x)
}

/// Adds multi-head attention among the documents of each query to the graph.
///
/// # Shapes
/// - `x` and output: `[documents, width]`
fn attend<'g>(name: &str, block: &Block, x: Value<'g>, [heads, width]: [usize; 2]) -> Value<'g> {
    let (graph, size) = (x.graph, width / heads);
    let permuted = |value, order: &[i64]| graph.node_with("Transpose", &[value], vec![Attribute::ints("perm", order)]);
    let part = |layer, part: &str, order: &[i64]| {
        let value = linear_layer(&format!("{name}.{part}"), layer, x).by_query(&[heads as i64, size as i64]);
        permuted(value, order)
    };
    // The shape is [queries, heads, documents, size], with the last two dimensions of the keys swapped.
    let query = part(&block.query, "query", &[0, 2, 1, 3]);
    let key = part(&block.key, "key", &[0, 2, 3, 1]);
    let value = part(&block.value, "value", &[0, 2, 1, 3]);
    let root = graph.floats(&format!("{name}.root"), &[], &[(size as f64).sqrt() as f32]);
    let mut logits = graph.node("MatMul", &[query, key]) / root;
    if let Some(mask) = graph.mask() {
        let axes = graph.integers("heads_and_documents", &[2], &[1, 2]);
        let mask = graph.node("Unsqueeze", &[mask, axes]);
        let outside = graph.floats("outside", &[], &[OUTSIDE]);
        logits = graph.node("Where", &[mask, logits, outside]);
    }
    let weights = graph.node_with("Softmax", &[logits], vec![Attribute::int("axis", -1)]);
    let mixed = permuted(graph.node("MatMul", &[weights, value]), &[0, 2, 1, 3]);
    linear_layer(&format!("{name}.merge"), &block.merge, mixed.reshaped(&[-1, width as i64]))
}

/// Adds a kernel expansion to the graph. Squared distances are computed as `||x - l||^2 = x . x - 2 x . l + l . l`.
/// The first landmark becomes the origin of `x` and `l`, since the sum would lose the digits of distances that are much
/// smaller than the values.
///
/// # Shapes
/// - `x`: `[documents, features]`
/// - output: `[documents, 1]`
pub(super) fn kernel_scores<'g>(expansion: &KernelExpansion, x: Value<'g>) -> Value<'g> {
    let KernelExpansion { feature_count: features, landmarks, coefficients, gamma } = expansion;
    let (graph, features, count) = (x.graph, *features, coefficients.len());
    let origin: Vec<f64> = (0..features).map(|at| landmarks.get(at).map_or(0.0, |&value| f64::from(value))).collect();
    let moved = |row: &[f32]| row.iter().zip(&origin).map(|(&value, origin)| f64::from(value) - origin).collect();
    let rows: Vec<Vec<f64>> = landmarks.chunks_exact(features).map(moved).collect();
    let columns: Vec<f64> = (0..features).flat_map(|feature| rows.iter().map(move |row| -2.0 * row[feature])).collect();
    let squares: Vec<f64> = rows.iter().map(|row| row.iter().map(|value| value * value).sum()).collect();
    let origin = graph.doubles("kernel.origin", &[features], &origin);
    let columns = graph.doubles("kernel.landmarks", &[features, count], &columns);
    let squares = graph.doubles("kernel.squares", &[count], &squares);
    let gamma = graph.doubles("kernel.gamma", &[], &[-gamma]);
    let coefficients = graph.doubles("kernel.coefficients", &[count, 1], coefficients);
    let zero = graph.doubles("zero", &[], &[0.0]);

    let x = x.as_double() - origin;
    let square = x * x;
    let axes = graph.integers("last_axis", &[1], &[-1]);
    let own = graph.node_with("ReduceSum", &[square, axes], vec![Attribute::int("keepdims", 1)]);
    let distance = graph.node("MatMul", &[x, columns]) + squares + own;
    // Rounding may leave a distance of 0 a little below it.
    let kernels = (distance.max(zero) * gamma).apply("Exp");
    graph.node("MatMul", &[kernels, coefficients]).as_float()
}
