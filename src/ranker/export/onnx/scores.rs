//! Builds the scores of a ranker, whose model may be members that are rankers. The weighted mean of the standardized
//! scores of members has mean and deviation in double precision over the documents of a query, as in this crate.

use super::graph::Value;
use super::messages::Attribute;
use super::trees::tree_scores;
use super::{normalizer, scorer};
use crate::ranker::artifact::Ranker;
use crate::ranker::members::Members;
use crate::ranker::model::Model;
use crate::scorer::Scorer;

/// Adds a ranker to the graph of the raw features and returns its scores, which have the shape `[documents, 1]`.
pub(super) fn scores_of<'g>(ranker: &Ranker, features: Value<'g>) -> Result<Value<'g>, String> {
    let normalizer = ranker.normalizer();
    if let Model::Trees(trees) = ranker.model() {
        return tree_scores(trees, normalizer, features);
    }
    let x = normalizer::filled(normalizer, features);
    Ok(match ranker.model() {
        Model::Trees(_) => unreachable!("trees normalize their thresholds"),
        Model::Scorer(scorer) => scores("", scorer, x),
        Model::Ensemble(members) => ensemble(members, x).ok_or("a sum of scorers: expected at least one scorer")?,
        Model::Kernel(expansion) => scorer::kernel_scores(expansion, x),
        Model::Members(members) => member_scores(members, x)?,
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
/// - `score` and output: `[documents, 1]`; the output is in double precision
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
