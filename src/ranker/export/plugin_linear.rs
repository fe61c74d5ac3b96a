//! Exports a linear ranker as `model/linear` for the learning-to-rank plug-ins of OpenSearch and Elasticsearch. The
//! file is a JSON object that maps the names of features to their weights. A `model/linear` file can hold neither a
//! constant nor a normalizer.

use super::entry::{ExportEntry, Linear, is_linear};
use super::raw_trees::{feature_names, quoted, refuse_normalizer};
use crate::data::NormalizerKind;
use crate::ranker::artifact::Ranker;

pub(super) const ENTRY: ExportEntry = ExportEntry {
    name: "plugin-linear",
    title: "JSON of weights",
    extension: "json",
    by_name: false,
    help: "JSON weights of a linear ranker for OpenSearch and Elasticsearch (model/linear); not yet tested there",
    row: "OpenSearch, Elasticsearch: `model/linear` | linear rankers without a constant | `none` | within rounding",
    accepts: is_linear,
    expected: "a linear ranker",
    system: None,
    write: encode,
};

fn encode(ranker: &Ranker) -> Result<Vec<u8>, String> {
    if ranker.normalizer().kind() != NormalizerKind::None {
        return refuse_normalizer(ranker, "`none`; RankLib text, which `model/ranklib` reads, holds `z_score`");
    }
    let Linear { weights, .. } = Linear::of(ranker, Some("RankLib text holds it"))?;
    let names = feature_names(ranker);
    let weights: Vec<String> =
        names.iter().zip(&weights).map(|(name, weight)| format!("{}:{weight:?}", quoted(name))).collect();
    Ok(format!("{{{}}}\n", weights.join(",")).into_bytes())
}
