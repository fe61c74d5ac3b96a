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
mod scores;
mod trees;

use super::entry::ExportEntry;
use crate::ranker::artifact::Ranker;
use graph::GraphBuilder;
use messages::Property;
use scores::scores_of;

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
