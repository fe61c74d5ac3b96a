//! Exports a linear ranker as a linear regression model of RankLib. The file has two comment lines, followed by the
//! line `0:BIAS 1:WEIGHT ...`. The first comment line names the model.
//!
//! The exported weights absorb a normalizer that is linear in each feature. With `z = (x - mean) scale`, `w . z + b`
//! equals `(w scale) . x + (b - sum w scale mean)`. Weights are written in double precision without loss.

use std::fmt::Write;

use super::{ExportError, ExportFormat};
use crate::data::FeatureMap;
use crate::ranker::artifact::Ranker;
use crate::ranker::model::Model;
use crate::scorer::Scorer;

pub(super) fn encode(ranker: &Ranker) -> Result<Vec<u8>, ExportError> {
    let Model::Scorer(Scorer::Linear(scorer)) = ranker.model() else {
        let expected = "a linear ranker; ONNX holds multi-layer perceptrons";
        return Err(ExportError::model(ranker.model(), ExportFormat::RankLib, expected));
    };
    ExportError::check_filling(ranker, ExportFormat::RankLib)?;
    let (weights, bias) = scorer.weights();
    let mut weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
    let mut bias = f64::from(bias);
    match ranker.normalizer().map() {
        FeatureMap::None => {}
        FeatureMap::ZScore { mean, scale } => {
            for ((weight, mean), scale) in weights.iter_mut().zip(mean).zip(scale) {
                *weight *= scale;
                bias -= *weight * mean;
            }
        }
        _ => {
            let expected = "`none` or `z_score`; ONNX holds every normalizer";
            return Err(ExportError::normalizer(ranker.normalizer().kind(), ExportFormat::RankLib, expected));
        }
    }
    let mut text = "## Linear Regression\n## Written by burn-rank; takes raw features\n".to_string();
    // `{:?}` writes the shortest text that reads back as the same number, with an exponent if it is long.
    let _ = write!(text, "0:{bias:?}");
    for (feature, weight) in (1..).zip(&weights) {
        let _ = write!(text, " {feature}:{weight:?}");
    }
    text.push('\n');
    Ok(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::data::{NormalizerKind, RankingDataset};
    use crate::ranker::export::testing::{mlp, ranker};
    use crate::scorer::LinearScorer;

    fn linear() -> Model {
        Model::Scorer(Scorer::Linear(LinearScorer::from_weights(&[0.5, -2.0], 0.25, &Device::flex())))
    }

    /// Creates two documents with two features each. The means of the features are 2 and 10, and their standard
    /// deviations are 1 and 10.
    fn data() -> RankingDataset {
        RankingDataset::builder()
            .features(vec![1.0, 0.0, 3.0, 20.0], 2)
            .labels(vec![0.0, 1.0])
            .query_sizes(&[2])
            .build()
            .unwrap()
    }

    #[test]
    fn folded_weights_equal_those_worked_by_hand() {
        let text = |kind| String::from_utf8(encode(&ranker(kind, linear(), &data())).unwrap()).unwrap();
        let raw = text(NormalizerKind::None);
        assert!(raw.starts_with("## Linear Regression\n"), "{raw}");
        assert_eq!(raw.lines().last().unwrap(), "0:0.25 1:0.5 2:-2.0");
        // 0.25 - 0.5 x 2 + 0.2 x 10
        assert_eq!(text(NormalizerKind::ZScore).lines().last().unwrap(), "0:1.25 1:0.5 2:-0.2");
    }

    #[test]
    fn folded_weights_score_as_the_ranker() {
        let data = data();
        let ranker = ranker(NormalizerKind::ZScore, linear(), &data);
        let text = String::from_utf8(encode(&ranker).unwrap()).unwrap();
        let weights: Vec<f64> = text
            .lines()
            .last()
            .unwrap()
            .split(' ')
            .map(|pair| pair.split_once(':').unwrap().1.parse().unwrap())
            .collect();
        for (row, score) in data.features.to_slice().chunks(2).zip(ranker.predict(&data, &Device::flex()).unwrap()) {
            let folded = weights[0] + weights[1] * f64::from(row[0]) + weights[2] * f64::from(row[1]);
            assert!((folded - f64::from(score)).abs() < 1e-6, "{folded} {score}");
        }
    }

    #[test]
    fn models_and_normalizers_that_do_not_fold_are_refused() {
        let error = |kind, model| encode(&ranker(kind, model, &data())).unwrap_err().to_string();
        assert_eq!(
            error(NormalizerKind::Log1p, linear()),
            "RankLib text cannot hold the normalizer `log1p`: expected `none` or `z_score`; ONNX holds every normalizer"
        );
        assert_eq!(
            error(NormalizerKind::None, mlp(2)),
            "RankLib text cannot hold a multi-layer perceptron: expected a linear ranker; ONNX holds multi-layer perceptrons"
        );
    }
}
