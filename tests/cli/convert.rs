//! `convert`: the formats of other systems, and what they cannot hold.

use std::fs;

use super::{Bench, SMALL, files};

/// Makes a folder with a trained ranker in `run/ranker.safetensors`.
fn trained(scorer: &str, learner: &str, normalizer: &str) -> Bench {
    let bench = Bench::default();
    let data = SMALL.split("[scorer]").next().unwrap();
    bench.write("run.toml", &format!("normaliser = \"{normalizer}\"\n{data}\n{scorer}\n{learner}"));
    bench.output(&["train", "run.toml", "--out", "run"]);
    bench
}

const LINEAR: &str = "[scorer]\nkind = \"linear\"\n";
const GRADIENT: &str = "[loss]\nname = \"list_net\"\n[learner]\nkind = \"gradient\"\nepochs = 1\n";
const TREES: &str = "[loss]\nname = \"lambda_ndcg\"\n[learner]\nkind = \"boosted_trees\"\nrounds = 3\n";

#[test]
fn a_linear_ranker_is_written_as_onnx_and_as_ranklib_text() {
    let bench = trained(LINEAR, GRADIENT, "z_score");
    let line = bench.output(&["convert", "run/ranker.safetensors", "linear.onnx"]);
    assert!(line.starts_with("linear.onnx: ONNX, 10 features, "), "{line}");
    let bytes = fs::read(bench.path("linear.onnx")).unwrap();
    for name in ["features", "scores", "Gemm"] {
        assert!(bytes.windows(name.len()).any(|window| window == name.as_bytes()), "{name}");
    }
    bench.output(&["convert", "run/ranker.safetensors", "again.onnx"]);
    assert_eq!(fs::read(bench.path("again.onnx")).unwrap(), bytes, "the same bytes for the same ranker");

    bench.output(&["convert", "run/ranker.safetensors", "linear.txt"]);
    let text = fs::read_to_string(bench.path("linear.txt")).unwrap();
    let weights = text.lines().last().unwrap();
    assert!(text.starts_with("## Linear Regression\n") && weights.starts_with("0:"), "{text}");
    assert_eq!(weights.split(' ').count(), 11);
}

#[test]
fn trees_are_written_as_lightgbm_text() {
    let bench = trained("", TREES, "quantile");
    let line = bench.output(&["convert", "run/ranker.safetensors", "trees.txt"]);
    assert!(line.starts_with("trees.txt: LightGBM text, 10 features, "), "{line}");
    let text = fs::read_to_string(bench.path("trees.txt")).unwrap();
    assert!(text.starts_with("tree\nversion=v4\n") && text.contains("\nTree=0\n"), "{text}");
}

#[test]
fn what_a_format_cannot_hold_is_refused_and_nothing_is_written() {
    let bench = trained(LINEAR, GRADIENT, "query_min_max");
    let before = files(&bench.path(""));
    let message = bench.refused(&["convert", "run/ranker.safetensors", "linear.txt"]);
    assert!(
        message.contains("run/ranker.safetensors: RankLib text cannot hold the normaliser `query_min_max`"),
        "{message}"
    );
    let message = bench.refused(&["convert", "run/ranker.safetensors", "linear.pt"]);
    assert!(message.contains("linear.pt: expected a name that ends in .onnx or .txt"), "{message}");
    let message = bench.refused(&["convert", "run.toml", "linear.onnx"]);
    assert!(message.contains("run.toml: not a ranker of burn-rank"), "{message}");
    let message = bench.refused(&["convert", "run/ranker.safetensors", "no/folder.onnx"]);
    assert!(message.contains("no/folder.onnx: cannot write"), "{message}");
    assert_eq!(files(&bench.path("")), before);

    let trees = trained("", TREES, "none");
    let message = trees.refused(&["convert", "run/ranker.safetensors", "trees.onnx"]);
    assert!(message.contains("ONNX cannot hold a sum of trees: expected linear and mlp scorers"), "{message}");
}
