//! ONNX: a graph of tensors that onnxruntime and most inference engines run, normaliser included.
//!
//! Input `features`: `[documents, features]`, 32-bit floats, the raw features of the documents of **one** query, at
//! least one document. Output `scores`: `[documents]`. The graph takes one query at a time, since the normaliser
//! `query_min_max` looks at the whole list. Normalisers are computed in double precision, as in this crate; scorers in
//! single precision.

mod graph;
mod messages;
mod normalizer;
mod scorer;

use super::{ExportError, ExportFormat};
use crate::ranker::{Model, Ranker};
use crate::scorer::Scorer;
use graph::{GraphBuilder, Value};

pub(super) fn encode(ranker: &Ranker) -> Result<Vec<u8>, ExportError> {
    let mut graph = GraphBuilder::default();
    let x = normalizer::normalized(&mut graph, ranker.normalizer());
    let scores = match ranker.model() {
        Model::Scorer(scorer) => scores(&mut graph, "", scorer, &x),
        Model::Ensemble(members) => ensemble(&mut graph, members, &x),
        Model::Trees(_) | Model::Kernel(_) => None,
    };
    let expected = "linear and mlp scorers, and sums of them";
    let scores = scores.ok_or_else(|| ExportError::model(ranker.model(), ExportFormat::Onnx, expected))?;
    let description = "Scores of the documents of one query, from their raw features.".to_string();
    Ok(graph.finish(&scores, ranker.model().features(), description))
}

/// Adds the scores, `[documents, 1]`, to the graph; `None` for a scorer that has no graph.
fn scores(graph: &mut GraphBuilder, prefix: &str, scorer: &Scorer, x: &Value) -> Option<Value> {
    match scorer {
        Scorer::Linear(scorer) => Some(scorer::linear_scorer(graph, prefix, scorer, x)),
        Scorer::Mlp(scorer) => Some(scorer::mlp_scorer(graph, prefix, scorer, x)),
        Scorer::Attention(_) | Scorer::LatentCross(_) => None,
    }
}

/// Adds the weighted sum of the members' scores to the graph, in double precision as [`Model::predict`] computes it.
fn ensemble(graph: &mut GraphBuilder, members: &[(f64, Scorer)], x: &Value) -> Option<Value> {
    let mut sum: Option<Value> = None;
    for (number, (weight, scorer)) in members.iter().enumerate() {
        let score = scores(graph, &format!("{number}."), scorer, x)?;
        let score = graph.as_double(&score);
        let weight = graph.doubles(&format!("{number}.member_weight"), &[], &[*weight]);
        let part = graph.node("Mul", &[&score, &weight]);
        sum = Some(match sum {
            Some(sum) => graph.node("Add", &[&sum, &part]),
            None => part,
        });
    }
    sum.map(|sum| graph.as_float(&sum))
}
