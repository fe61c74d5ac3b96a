//! Exports a linear ranker as `model/linear` for the learning-to-rank plug-ins of OpenSearch and Elasticsearch. The
//! file is a JSON object that maps the names of features to their weights. A `model/linear` file can hold neither a
//! constant nor a normalizer.

use super::raw_trees::{feature_names, quoted};
use super::{ExportError, ExportFormat};
use crate::data::NormalizerKind;
use crate::ranker::artifact::Ranker;
use crate::ranker::model::Model;
use crate::scorer::Scorer;

pub(super) fn encode(ranker: &Ranker) -> Result<Vec<u8>, ExportError> {
    let format = ExportFormat::PluginLinear;
    let Model::Scorer(Scorer::Linear(scorer)) = ranker.model() else {
        return Err(ExportError::model(ranker.model(), format, "a linear ranker"));
    };
    if ranker.normalizer().kind() != NormalizerKind::None {
        let expected = "`none`; RankLib text, which `model/ranklib` reads, holds `z_score`";
        return Err(ExportError::normalizer(ranker.normalizer().kind(), format, expected));
    }
    ExportError::check_filling(ranker, format)?;
    let (weights, bias) = scorer.weights();
    if bias != 0.0 {
        let expected = "a linear ranker without a constant (`bias = false`); RankLib text holds it";
        return Err(ExportError::model(ranker.model(), format, expected));
    }
    let weights: Vec<String> = feature_names(ranker)
        .iter()
        .zip(&weights)
        .map(|(name, weight)| format!("{}:{weight:?}", quoted(name)))
        .collect();
    Ok(format!("{{{}}}\n", weights.join(",")).into_bytes())
}
