//! Builds two kinds of scorers from ONNX operators: self-attention over the documents of a query, and a latent cross of
//! this self-attention with a perceptron. Self-attention and the latent cross are exported without dropout, which only
//! training uses.

use super::graph::Value;
use super::messages::Attribute;
use super::scorer::{hidden_layers, layer_normalization, linear_layer, transformed};
use crate::scorer::{AttentionScorer, Block, LatentCrossScorer};

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
