//! Builds the weighted mean of the standardized scores of several rankers from ONNX operators. Mean and deviation are
//! computed in double precision over the documents of a query, as in this crate.

use super::graph::{GraphBuilder, Value};
use super::messages::Attribute;
use super::scores_of;
use crate::ranker::members::Members;

/// Adds the members to the graph, whose features are the rows `x`.
///
/// # Shapes
/// - `x`: `[documents, features]`
/// - output: `[documents, 1]`
pub(super) fn member_scores(graph: &mut GraphBuilder, members: &Members, x: &Value) -> Result<Value, String> {
    let mut sum: Option<Value> = None;
    for (number, (member, share, deviation)) in members.shares().enumerate() {
        let score = graph
            .within(&format!("{number}."), x.clone(), |graph| scores_of(graph, &member.ranker))
            .map_err(|reason| format!("member `{}`: {reason}", member.name))?;
        let score = match deviation {
            Some(_) => graph.as_double(&score),
            None => standardized(graph, &score),
        };
        let scale = graph.doubles(&format!("{number}.share"), &[], &[share / deviation.unwrap_or(1.0)]);
        let part = graph.node("Mul", &[&score, &scale]);
        sum = Some(match sum {
            Some(sum) => graph.node("Add", &[&sum, &part]),
            None => part,
        });
    }
    let sum = sum.ok_or("an ensemble without members: expected at least one")?;
    Ok(graph.as_float(&sum))
}

/// Adds `(s - mean) / deviation` over the documents of each query to the graph, and 0 where all scores are equal.
///
/// # Shapes
/// - `score` and output: `[documents, 1]`; the output is in double precision
fn standardized(graph: &mut GraphBuilder, score: &Value) -> Value {
    let score = graph.by_query(score, &[]);
    let axes = || vec![Attribute::ints("axes", &[1]), Attribute::int("keepdims", 1)];
    let outside = |graph: &mut GraphBuilder, score: &Value, name: &str, value: f32| match graph.mask() {
        None => score.clone(),
        Some(mask) => {
            let value = graph.floats(name, &[], &[value]);
            graph.node("Where", &[&mask, score, &value])
        }
    };
    let (least, most) =
        (outside(graph, &score, "least_score", f32::MIN), outside(graph, &score, "largest_score", f32::MAX));
    let largest = graph.node_with("ReduceMax", &[&least], axes());
    let smallest = graph.node_with("ReduceMin", &[&most], axes());
    let all_equal = graph.node("Equal", &[&largest, &smallest]);

    let clean = outside(graph, &score, "no_score", 0.0);
    let clean = graph.as_double(&clean);
    let (mask, count) = match graph.mask() {
        None => (None, None),
        Some(mask) => {
            let mask = graph.as_double(&mask);
            let count = total(graph, &mask);
            (Some(mask), Some(count))
        }
    };
    let mean_of = |graph: &mut GraphBuilder, value: &Value| match &count {
        None => graph.node_with("ReduceMean", &[value], axes()),
        Some(count) => {
            let sum = total(graph, value);
            graph.node("Div", &[&sum, count])
        }
    };
    let mean = mean_of(graph, &clean);
    let mut centered = graph.node("Sub", &[&clean, &mean]);
    if let Some(mask) = &mask {
        centered = graph.node("Mul", &[&centered, mask]);
    }
    let square = graph.node("Mul", &[&centered, &centered]);
    let variance = mean_of(graph, &square);
    let deviation = graph.node("Sqrt", &[&variance]);
    let score = graph.node("Div", &[&centered, &deviation]);
    let zero = graph.doubles("zero", &[], &[0.0]);
    let score = graph.node("Where", &[&all_equal, &zero, &score]);
    graph.reshaped(&score, &[-1, 1])
}

/// Adds the sum over the documents of each query to the graph.
fn total(graph: &mut GraphBuilder, value: &Value) -> Value {
    let axes = graph.integers("documents_axis", &[1], &[1]);
    graph.node_with("ReduceSum", &[value, &axes], vec![Attribute::int("keepdims", 1)])
}
