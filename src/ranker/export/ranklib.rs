//! Exports rankers as models of RankLib: a linear ranker as a linear regression, trees as a LambdaMART, which the
//! plug-ins of OpenSearch and Elasticsearch read as `model/ranklib`.
//!
//! The file of a linear ranker has two comment lines, the first of which names the model, and the line
//! `0:BIAS 1:WEIGHT ...`. The weights absorb a normalizer that is linear in each feature. With `z = (x - mean) scale`,
//! `w . z + b` equals `(w scale) . x + (b - sum w scale mean)`. Weights are written in double precision without loss.
//!
//! The file of trees is XML. After comment lines, it has an `ensemble` element that contains a `tree` element for each
//! tree. Each `tree` element consists of nested `split` elements. A split compares values in single precision and sends
//! a document left if `x <= threshold`. A missing value counts as 0. RankLib stores and adds leaf values in single
//! precision. RankLib numbers features from 1, just like the data.

use std::fmt::Write;

use super::entry::{ExportEntry, Linear, is_linear, is_trees};
use super::raw_trees::{RawTree, raw_trees};
use crate::ranker::artifact::Ranker;

pub(super) const TREES: ExportEntry = ExportEntry {
    name: "ranklib",
    title: "RankLib XML",
    extension: "xml",
    by_name: true,
    help: "RankLib's text for a linear ranker, or its XML for trees",
    row: "RankLib; OpenSearch, Elasticsearch: `model/ranklib` | trees in which no missing value goes left, or \
        each goes with 0 | all but `query_min_max` | 32 bits",
    accepts: is_trees,
    expected: "a sum of trees",
    system: None,
    write: trees,
};

pub(super) const LINEAR: ExportEntry = ExportEntry {
    title: "RankLib text",
    extension: "txt",
    row: "RankLib, linear regression | linear rankers | `none`, `z_score` | within rounding",
    accepts: is_linear,
    expected: "a linear ranker; ONNX holds multi-layer perceptrons",
    write: linear,
    ..TREES
};

fn linear(ranker: &Ranker) -> Result<Vec<u8>, String> {
    let Linear { weights, bias, z_score } = Linear::of(ranker, None)?;
    let mut weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
    let mut bias = f64::from(bias);
    if let Some((mean, scale)) = z_score {
        for ((weight, mean), scale) in weights.iter_mut().zip(mean).zip(scale) {
            *weight *= scale;
            bias -= *weight * mean;
        }
    }
    // `{:?}` writes the shortest text that reads back as the same number, with an exponent if it is long.
    let mut text = format!("## Linear Regression\n## Written by burn-rank; takes raw features\n0:{bias:?}");
    for (feature, weight) in (1..).zip(&weights) {
        let _ = write!(text, " {feature}:{weight:?}");
    }
    text.push('\n');
    Ok(text.into_bytes())
}

fn trees(ranker: &Ranker) -> Result<Vec<u8>, String> {
    let trees = raw_trees(ranker)?;
    let leaves: usize = trees.iter().map(|tree| tree.nodes.len() / 2 + 1).max().unwrap_or(1);
    let mut text = format!(
        "## LambdaMART\n## Written by burn-rank; takes raw features\n## No. of trees = {}\n## No. of leaves = {leaves}\n\n\
         <ensemble>\n",
        trees.len()
    );
    for (number, tree) in (1..).zip(&trees) {
        tree.check_missing()?;
        let _ = write!(text, "\t<tree id=\"{number}\" weight=\"1.0\">\n{}\t</tree>\n", nodes(tree));
    }
    text += "</ensemble>\n";
    Ok(text.into_bytes())
}

/// Returns the splits of a tree as XML, with each split on its own lines.
fn nodes(tree: &RawTree) -> String {
    // A node's text opens before its side is named, so the surrounding text names the side.
    let inner = tree.nested(
        |_, split, _| {
            let before = format!(
                "<feature> {} </feature>\n<threshold> {:?} </threshold>\n<split pos=\"left\">\n",
                split.feature + 1,
                split.at_most
            );
            [before, "</split>\n<split pos=\"right\">\n".into(), "</split>\n".into()]
        },
        |_, value, _| format!("<output> {:?} </output>\n", value as f32),
    );
    format!("<split>\n{inner}</split>\n")
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::data::{NormalizerKind, RankingDataset};
    use crate::ranker::export::tests::{mlp, ranker};
    use crate::ranker::{ExportFormat, Model};
    use crate::scorer::{LinearScorer, Scorer};

    fn model() -> Model {
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
        let text = |kind| String::from_utf8(linear(&ranker(kind, model(), &data())).unwrap()).unwrap();
        let raw = text(NormalizerKind::None);
        assert!(raw.starts_with("## Linear Regression\n"), "{raw}");
        assert_eq!(raw.lines().last().unwrap(), "0:0.25 1:0.5 2:-2.0");
        // 0.25 - 0.5 x 2 + 0.2 x 10
        assert_eq!(text(NormalizerKind::ZScore).lines().last().unwrap(), "0:1.25 1:0.5 2:-0.2");
    }

    #[test]
    fn folded_weights_score_as_the_ranker() {
        let data = data();
        let ranker = ranker(NormalizerKind::ZScore, model(), &data);
        let text = String::from_utf8(linear(&ranker).unwrap()).unwrap();
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
        let error = |kind, model| {
            let ranker = ranker(kind, model, &data());
            let format = ExportFormat::named("ranklib", ranker.model()).unwrap();
            ranker.export(format).unwrap_err().to_string()
        };
        assert_eq!(
            error(NormalizerKind::Log1p, model()),
            "RankLib text cannot hold the normalizer `log1p`: expected `none` or `z_score`; ONNX holds every normalizer"
        );
        assert_eq!(
            error(NormalizerKind::None, mlp(2)),
            "RankLib text cannot hold a multi-layer perceptron: expected a linear ranker; ONNX holds multi-layer perceptrons"
        );
    }
}
