//! Exports rankers as Solr's JSON, with a `MultipleAdditiveTreesModel` for trees and a `LinearModel` for linear
//! rankers.
//!
//! Solr adds 1e-6 to every threshold, in single precision. It then sends a document left if `x <= threshold`. A missing
//! value counts as 0. For each threshold, the exported file contains the float that yields this threshold after Solr's
//! addition. Solr's addition cannot produce some thresholds near 0; a ranker with one of these thresholds is
//! rejected. A linear model in Solr has no constant. The normalizer `z_score` becomes one of Solr's own normalizers for
//! each feature. Features are identified by name, or by `feature_1` and so on if the ranker has no names.

use super::entry::{ExportEntry, Linear, is_linear, is_trees};
use super::raw_trees::{RawTree, feature_names, quoted, raw_trees};
use crate::ranker::artifact::Ranker;

pub(super) const ENTRY: ExportEntry = ExportEntry {
    name: "solr",
    title: "Solr JSON",
    extension: "json",
    by_name: false,
    help: "Solr's JSON for trees or a linear ranker; not yet tested in Solr",
    row: "Solr, `MultipleAdditiveTreesModel`, `LinearModel` | trees as in RankLib, linear rankers without a \
        constant | as RankLib | 32 bits",
    accepts: |model| is_trees(model) || is_linear(model),
    expected: "a linear ranker or a sum of trees",
    system: None,
    write: |ranker| if is_trees(ranker.model()) { trees(ranker) } else { linear(ranker) },
};

/// The number that Solr adds to each threshold.
const SLACK: f32 = 1e-6;

/// How many floats are tried above and below `threshold - SLACK`.
const NEIGHBORS: usize = 4;

fn trees(ranker: &Ranker) -> Result<Vec<u8>, String> {
    let names: Vec<String> = feature_names(ranker).iter().map(|name| quoted(name)).collect();
    let (mut trees, mut raw) = (Vec::new(), raw_trees(ranker)?);
    if raw.is_empty() {
        raw.push(RawTree::zero());
    }
    for tree in raw {
        tree.check_missing()?;
        let mut unreachable = None;
        let root = tree.nested(
            |_, split, _| {
                let threshold = without_slack(split.at_most).unwrap_or_else(|| {
                    unreachable = Some(split.at_most);
                    split.at_most
                });
                let name = &names[split.feature as usize];
                let before = format!("{{\"feature\":{name},\"threshold\":\"{threshold:?}\",\"left\":");
                [before, ",\"right\":".into(), "}".into()]
            },
            |_, value, _| format!("{{\"value\":\"{:?}\"}}", value as f32),
        );
        if let Some(threshold) = unreachable {
            let expected = "one that is the sum of 1e-6 and a 32-bit float";
            return Err(format!("the threshold {threshold:?}: expected {expected}"));
        }
        trees.push(format!("{{\"weight\":\"1\",\"root\":{root}}}"));
    }
    let features: Vec<String> = names.iter().map(|name| format!("{{\"name\":{name}}}")).collect();
    Ok(file("MultipleAdditiveTreesModel", &features, &format!("\"trees\":[\n{}\n]", trees.join(",\n"))))
}

/// Returns a float that gives `threshold` after Solr adds its slack, if there is one.
fn without_slack(threshold: f32) -> Option<f32> {
    let start = (0..NEIGHBORS).fold(threshold - SLACK, |float, _| float.next_down());
    std::iter::successors(Some(start), |float| Some(float.next_up()))
        .take(2 * NEIGHBORS + 1)
        .find(|float| float.is_finite() && float + SLACK == threshold)
}

fn linear(ranker: &Ranker) -> Result<Vec<u8>, String> {
    let Linear { mut weights, z_score, .. } = Linear::of(ranker, Some("RankLib text and ONNX hold it"))?;
    let names: Vec<String> = feature_names(ranker).iter().map(|name| quoted(name)).collect();
    let features: Vec<String> = match z_score {
        None => names.iter().map(|name| format!("{{\"name\":{name}}}")).collect(),
        Some((mean, scale)) => {
            let feature = |((name, mean), scale): ((&String, &f64), &f64)| {
                // A constant feature has no effect, and Solr rejects a deviation of 0.
                let deviation = if *scale == 0.0 { 1.0 } else { 1.0 / scale };
                format!(
                    "{{\"name\":{name},\"norm\":{{\"class\":\"org.apache.solr.ltr.norm.StandardNormalizer\",\
                     \"params\":{{\"avg\":\"{:?}\",\"std\":\"{:?}\"}}}}}}",
                    *mean as f32, deviation as f32
                )
            };
            weights.iter_mut().zip(scale).filter(|(_, scale)| **scale == 0.0).for_each(|(weight, _)| *weight = 0.0);
            names.iter().zip(mean).zip(scale).map(feature).collect()
        }
    };
    let weights: Vec<String> = names.iter().zip(&weights).map(|(name, weight)| format!("{name}:{weight:?}")).collect();
    Ok(file("LinearModel", &features, &format!("\"weights\":{{{}}}", weights.join(","))))
}

fn file(class: &str, features: &[String], parameters: &str) -> Vec<u8> {
    format!(
        "{{\"class\":\"org.apache.solr.ltr.model.{class}\",\"name\":\"burn-rank\",\n\"features\":[\n{}\n],\n\
         \"params\":{{{parameters}}}}}\n",
        features.join(",\n")
    )
    .into_bytes()
}
