//! Exports rankers to ONNX, as one graph that contains the normalizer and the model. onnxruntime and most inference
//! engines can run it.
//!
//! The input `features` has the shape `[documents, features]`. The input holds the raw features of at least one
//! document of a single query, as 32-bit floats. The output `scores` has the shape `[documents]`. The graph scores one
//! query at a time, because the normalizer `query_min_max` and self-attention look at the whole list. A graph for many
//! queries pads all lists to one length and needs a mask. In the graph, normalizers use double precision, as in this
//! crate, and scorers use single precision. If the features have names, the metadata of the model have the entry
//! `feature_names`, a JSON list in the order of the columns of `features`.

mod graph;
mod messages;
mod normalizer;
mod scorer;
mod trees;

use super::entry::ExportEntry;
use crate::ranker::artifact::Ranker;
use crate::ranker::members::Members;
use crate::ranker::model::Model;
use crate::scorer::Scorer;
use graph::{GraphBuilder, Value};
use messages::{Attribute, Property};
use trees::tree_scores;

pub(super) const ENTRY: ExportEntry = ExportEntry {
    name: "onnx",
    title: "ONNX",
    extension: "onnx",
    by_name: true,
    help: "ONNX graph for one query",
    row: "onnxruntime and others | every ranker, one query at a time | all | within 1e-5",
    accepts: |_| true,
    expected: "any ranker",
    system: None,
    write: |ranker| {
        encode(GraphBuilder::default(), ranker, "Scores of the documents of one query, from their raw features.")
    },
};

pub(super) const BATCH: ExportEntry = ExportEntry {
    name: "onnx-batch",
    title: "ONNX of many queries",
    by_name: false,
    help: "ONNX graph for many queries, which are padded and masked",
    row: "onnxruntime and others | every ranker, many queries with a mask | all | within 1e-5",
    write: |ranker| {
        encode(GraphBuilder::batch(), ranker, "Scores of the documents of many queries, from their raw features.")
    },
    ..ENTRY
};

fn encode(graph: GraphBuilder, ranker: &Ranker, description: &str) -> Result<Vec<u8>, String> {
    let scores = scores_of(ranker, normalizer::raw(&graph, ranker.features()))?;
    let (mut description, mut properties) = (description.to_string(), Vec::new());
    if let Some(names) = &ranker.metadata().feature_names {
        description += " The columns of `features` have the order of `feature_names` in the metadata.";
        let value = serde_json::Value::from(names.clone()).to_string();
        properties.push(Property { key: "feature_names".to_string(), value });
    }
    Ok(graph.finish(scores, ranker.features(), description, properties))
}

/// Adds a ranker to the graph of the raw features and returns its scores, which have the shape `[documents, 1]`.
fn scores_of<'g>(ranker: &Ranker, features: Value<'g>) -> Result<Value<'g>, String> {
    let normalizer = ranker.normalizer();
    let x = || normalizer::filled(normalizer, features);
    Ok(match ranker.model() {
        // Trees get the raw features, since most normalizers become part of the thresholds.
        Model::Trees(trees) => tree_scores(trees, normalizer, features)?,
        Model::Scorer(scorer) => scores("", scorer, x()),
        Model::Ensemble(members) => ensemble(members, x()).ok_or("a sum of scorers: expected at least one scorer")?,
        Model::Kernel(expansion) => scorer::kernel_scores(expansion, x()),
        Model::Members(members) => member_scores(members, x())?,
    })
}

/// Adds a scorer to the graph and returns its scores, which have the shape `[documents, 1]`.
fn scores<'g>(prefix: &str, scorer: &Scorer, x: Value<'g>) -> Value<'g> {
    match scorer {
        Scorer::Linear(scorer) => scorer::linear_scorer(prefix, scorer, x),
        Scorer::Mlp(scorer) => scorer::mlp_scorer(prefix, scorer, x),
        Scorer::Attention(scorer) => scorer::attention_scorer(prefix, scorer, x),
        Scorer::LatentCross(scorer) => scorer::latent_cross_scorer(prefix, scorer, x),
    }
}

/// Adds an ensemble's weighted sum of scores to the graph. Like [`Model::predict`], the graph adds in double precision.
fn ensemble<'g>(members: &[(f64, Scorer)], x: Value<'g>) -> Option<Value<'g>> {
    let parts = members.iter().enumerate().map(|(number, (weight, scorer))| {
        let score = scores(&format!("{number}."), scorer, x).as_double();
        score * x.graph.doubles(&format!("{number}.member_weight"), &[], &[*weight])
    });
    parts.reduce(|sum, part| sum + part).map(Value::as_float)
}

/// Adds the members to the graph, whose features are the rows `x`.
///
/// # Shapes
/// - `x`: `[documents, features]`
/// - output: `[documents, 1]`
fn member_scores<'g>(members: &Members, x: Value<'g>) -> Result<Value<'g>, String> {
    let mut sum: Option<Value> = None;
    for (number, (member, share, deviation)) in members.shares().enumerate() {
        let score = x.graph.within(&format!("{number}."), || scores_of(&member.ranker, x));
        let score = score.map_err(|reason| format!("member `{}`: {reason}", member.name))?;
        let score = if deviation.is_some() { score.as_double() } else { standardized(score) };
        let scale = x.graph.doubles(&format!("{number}.share"), &[], &[share / deviation.unwrap_or(1.0)]);
        let part = score * scale;
        sum = Some(sum.map_or(part, |sum| sum + part));
    }
    let sum = sum.ok_or("an ensemble without members: expected at least one")?;
    Ok(sum.as_float())
}

/// Adds `(s - mean) / deviation` over the documents of each query to the graph, and 0 where all scores are equal.
///
/// # Shapes
/// - `score` and output: `[documents, 1]`; the output is in double precision, as are the mean and the deviation
fn standardized(score: Value) -> Value {
    let (graph, score) = (score.graph, score.by_query(&[]));
    let axes = || vec![Attribute::ints("axes", &[1]), Attribute::int("keepdims", 1)];
    let outside = |name: &str, value: f32| match graph.mask() {
        None => score,
        Some(mask) => graph.node("Where", &[mask, score, graph.floats(name, &[], &[value])]),
    };
    let (least, most) = (outside("least_score", f32::MIN), outside("largest_score", f32::MAX));
    let largest = graph.node_with("ReduceMax", &[least], axes());
    let smallest = graph.node_with("ReduceMin", &[most], axes());
    let all_equal = graph.node("Equal", &[largest, smallest]);

    let clean = outside("no_score", 0.0).as_double();
    let mask = graph.mask().map(Value::as_double);
    let count = mask.map(total);
    let mean_of = |value| match count {
        None => graph.node_with("ReduceMean", &[value], axes()),
        Some(count) => total(value) / count,
    };
    let centered = clean - mean_of(clean);
    let centered = mask.map_or(centered, |mask| centered * mask);
    let deviation = mean_of(centered * centered).apply("Sqrt");
    let score = centered / deviation;
    let zero = graph.doubles("zero", &[], &[0.0]);
    graph.node("Where", &[all_equal, zero, score]).reshaped(&[-1, 1])
}

/// Adds the sum over the documents of each query to the graph.
fn total(value: Value) -> Value {
    let axes = value.graph.integers("documents_axis", &[1], &[1]);
    value.graph.node_with("ReduceSum", &[value, axes], vec![Attribute::int("keepdims", 1)])
}
