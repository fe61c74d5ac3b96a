//! Builds two kinds of scorers from ONNX operators: self-attention over the documents of a query, and a latent cross of
//! this self-attention with a perceptron. Self-attention and the latent cross are exported without dropout, which only
//! training uses.

use super::graph::{GraphBuilder, Value};
use super::messages::Attribute;
use super::scorer::{hidden_layers, layer_normalization, linear_layer, log1p};
use crate::scorer::{AttentionScorer, Block, LatentCrossScorer};

/// The attention logit for padding, which is the same as in [`AttentionScorer`].
const OUTSIDE: f32 = f32::MIN / 2.0;

/// Adds a self-attention scorer to the graph.
///
/// # Shapes
/// - `x`: `[documents, features]`
/// - output: `[documents, 1]`
pub(super) fn attention_scorer(graph: &mut GraphBuilder, prefix: &str, scorer: &AttentionScorer, x: &Value) -> Value {
    let x = if scorer.config().input.log1p { log1p(graph, x) } else { x.clone() };
    represented(graph, prefix, scorer, &x)
}

/// Adds a latent cross of self-attention and a perceptron to the graph.
///
/// # Shapes
/// As [`attention_scorer`].
pub(super) fn latent_cross_scorer(
    graph: &mut GraphBuilder,
    prefix: &str,
    scorer: &LatentCrossScorer,
    x: &Value,
) -> Value {
    let x = if scorer.config().input.log1p { log1p(graph, x) } else { x.clone() };
    let hidden = hidden_layers(graph, &format!("{prefix}perceptron."), &scorer.perceptron, x.clone());
    let context = represented(graph, &format!("{prefix}attention."), &scorer.attention, &x);
    let one = graph.floats("one_float", &[], &[1.0]);
    let context = graph.node("Add", &[&context, &one]);
    let crossed = graph.node("Mul", &[&context, &hidden]);
    linear_layer(graph, &format!("{prefix}perceptron.output"), scorer.perceptron.output(), &crossed)
}

/// Adds the output layer of self-attention to the graph.
fn represented(graph: &mut GraphBuilder, prefix: &str, scorer: &AttentionScorer, x: &Value) -> Value {
    let (heads, width) = (scorer.config().heads, scorer.config().width);
    let mut x = linear_layer(graph, &format!("{prefix}input"), &scorer.input, x);
    for (number, block) in scorer.blocks.iter().enumerate() {
        let name = format!("{prefix}blocks.{number}");
        let inner = layer_normalization(graph, &format!("{name}.attention_norm"), &block.attention_norm, &x);
        let attended = attend(graph, &name, block, &inner, [heads, width]);
        x = graph.node("Add", &[&x, &attended]);
        let inner = layer_normalization(graph, &format!("{name}.feed_forward_norm"), &block.feed_forward_norm, &x);
        let hidden = linear_layer(graph, &format!("{name}.expand"), &block.expand, &inner);
        let hidden = graph.node("Relu", &[&hidden]);
        let fed = linear_layer(graph, &format!("{name}.contract"), &block.contract, &hidden);
        x = graph.node("Add", &[&x, &fed]);
    }
    let x = layer_normalization(graph, &format!("{prefix}norm"), &scorer.norm, &x);
    linear_layer(graph, &format!("{prefix}output"), &scorer.output, &x)
}

/// Adds multi-head attention among the documents of each query to the graph.
///
/// # Shapes
/// - `x` and output: `[documents, width]`
fn attend(graph: &mut GraphBuilder, name: &str, block: &Block, x: &Value, [heads, width]: [usize; 2]) -> Value {
    let size = width / heads;
    let tail = [heads as i64, size as i64];
    let permuted = |graph: &mut GraphBuilder, value: &Value, order: &[i64]| {
        graph.node_with("Transpose", &[value], vec![Attribute::ints("perm", order)])
    };
    let mut part = |layer, part: &str, order: &[i64]| {
        let value = linear_layer(graph, &format!("{name}.{part}"), layer, x);
        let value = graph.by_query(&value, &tail);
        permuted(graph, &value, order)
    };
    // The shape is [queries, heads, documents, size], with the last two dimensions of the keys swapped.
    let query = part(&block.query, "query", &[0, 2, 1, 3]);
    let key = part(&block.key, "key", &[0, 2, 3, 1]);
    let value = part(&block.value, "value", &[0, 2, 1, 3]);
    let root = graph.floats(&format!("{name}.root"), &[], &[(size as f64).sqrt() as f32]);
    let logits = graph.node("MatMul", &[&query, &key]);
    let mut logits = graph.node("Div", &[&logits, &root]);
    if let Some(mask) = graph.mask() {
        let axes = graph.integers("heads_and_documents", &[2], &[1, 2]);
        let mask = graph.node("Unsqueeze", &[&mask, &axes]);
        let outside = graph.floats("outside", &[], &[OUTSIDE]);
        logits = graph.node("Where", &[&mask, &logits, &outside]);
    }
    let weights = graph.node_with("Softmax", &[&logits], vec![Attribute::int("axis", -1)]);
    let mixed = graph.node("MatMul", &[&weights, &value]);
    let mixed = permuted(graph, &mixed, &[0, 2, 1, 3]);
    let mixed = graph.reshaped(&mixed, &[-1, width as i64]);
    linear_layer(graph, &format!("{name}.merge"), &block.merge, &mixed)
}
