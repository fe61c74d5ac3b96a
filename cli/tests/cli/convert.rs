//! `convert`: the formats of other systems, and what they cannot hold.

use std::fs;

use super::{Bench, SMALL, files};

/// Makes a folder with a trained ranker in `run/ranker.safetensors`.
fn trained(scorer: &str, learner: &str, normalizer: &str) -> Bench {
    let bench = Bench::default();
    let data = SMALL.split("[scorer]").next().unwrap();
    bench.write("run.toml", &format!("normalizer = \"{normalizer}\"\n{data}\n{scorer}\n{learner}"));
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
        message.contains("run/ranker.safetensors: RankLib text cannot hold the normalizer `query_min_max`"),
        "{message}"
    );
    let message = bench.refused(&["convert", "run/ranker.safetensors", "linear.pt"]);
    assert!(
        message.contains("linear.pt: expected a name that ends in .onnx, .txt, .xml or .safetensors, or another"),
        "{message}"
    );
    let message = bench.refused(&["convert", "run.toml", "linear.onnx"]);
    assert!(message.contains("run.toml: found a configuration, expected a ranker of burn-rank"), "{message}");
    let message = bench.refused(&["convert", "run/ranker.safetensors", "no/folder.onnx"]);
    assert!(message.contains("no/folder.onnx: cannot write"), "{message}");
    assert_eq!(files(&bench.path("")), before);

    let message = bench.refused(&["convert", "run/ranker.safetensors", "linear.json"]);
    assert!(message.contains("linear.json: several formats are JSON, expected --format xgboost, "), "{message}");

    let trees = trained("", TREES, "none");
    let message = trees.refused(&["convert", "run/ranker.safetensors", "trees.json", "--format", "plugin-linear"]);
    assert!(message.contains("JSON of weights cannot hold a sum of trees: expected a linear ranker"), "{message}");
}

#[test]
fn text_does_not_lose_what_it_keeps_in_other_files() {
    let bench = Bench::default();
    bench.write("taught.csv", "label,query,f,t,w,p\n0,a,1,0.5,1,1\n1,a,2,0.25,2,2\n");
    for read in ["columns.teacher=t", "columns.weight=w", "columns.position=p"] {
        let others: Vec<&str> = ["t", "w", "p"].into_iter().filter(|name| !read.ends_with(name)).collect();
        let drop = format!("columns.drop={others:?}");
        let message = bench.refused(&["convert", "taught.csv", "out.txt", "--read", read, "--read", &drop]);
        let expected = "text keeps weights, positions and a teacher's scores in separate files";
        assert!(message.contains(expected), "{read}: {message}");
        assert!(!bench.path("out.txt").exists());
    }
    bench.output(&["convert", "taught.csv", "out.txt", "--read", "columns.drop=[\"t\", \"w\", \"p\"]"]);
}

#[test]
fn trees_are_written_for_every_system_that_serves_them() {
    let bench = trained("", TREES, "none");
    for (out, format, begins, what) in [
        ("trees.onnx", None, "", "ONNX"),
        ("batch.onnx", Some("onnx-batch"), "", "ONNX of many queries"),
        ("trees.xml", None, "## LambdaMART\n", "RankLib XML"),
        ("model.txt", Some("ranklib"), "## LambdaMART\n", "RankLib XML"),
        ("xgboost.json", Some("xgboost"), "{\"learner\":", "XGBoost JSON"),
        ("plugin.json", Some("xgboost-dump"), "[{\"nodeid\":0,", "XGBoost dump"),
        ("solr.json", Some("solr"), "{\"class\":\"org.apache.solr.ltr.model.MultipleAdditiveTreesModel\"", "Solr JSON"),
    ] {
        let mut args = vec!["convert", "run/ranker.safetensors", out];
        args.extend(format.iter().flat_map(|format| ["--format", format]));
        let line = bench.output(&args);
        assert!(line.starts_with(&format!("{out}: {what}, 10 features, ")), "{line}");
        let bytes = fs::read(bench.path(out)).unwrap();
        assert!(bytes.starts_with(begins.as_bytes()), "{out}");
    }
}

#[test]
fn a_ranker_of_another_system_stands_wherever_a_ranker_does() {
    let bench = trained("", TREES, "none");
    bench.output(&["synth", "--queries", "5", "--features", "10", "--out", "train.txt"]);
    let ours = bench.output(&["predict", "run", "train.txt"]);
    for (out, format) in [("trees.txt", "lightgbm"), ("trees.json", "xgboost"), ("trees.xml", "ranklib")] {
        bench.output(&["convert", "run/ranker.safetensors", out, "--format", format]);
        let theirs = bench.output(&["predict", out, "train.txt"]);
        for (ours, theirs) in ours.lines().zip(theirs.lines()) {
            let (ours, theirs): (f64, f64) = (ours.parse().unwrap(), theirs.parse().unwrap());
            assert!((ours - theirs).abs() < 1e-6, "{out}: {ours} {theirs}");
        }
        // A file in the format of this crate keeps the scores.
        let line = bench.output(&["convert", out, "own.safetensors"]);
        assert!(line.starts_with("own.safetensors: a saved ranker, "), "{line}");
        assert_eq!(bench.output(&["predict", "own.safetensors", "train.txt"]), theirs, "{out}");
        bench.output(&["compare", "run", out, "train.txt"]);
        assert!(bench.output(&["models", "show", out]).contains("A sum of "), "{out}");
    }
    bench.write("cut.txt", "tree\nversion=v4\nnum_class=1\n");
    let message = bench.refused(&["predict", "cut.txt", "train.txt"]);
    assert!(message.contains("cut.txt: LightGBM text: line 1: found no `num_tree_per_iteration` below"), "{message}");
    bench.write("dump.json", "[{\"nodeid\":0,\"leaf\":0.5}]");
    let message = bench.refused(&["predict", "dump.json", "train.txt"]);
    assert!(
        message.contains("dump.json: XGBoost JSON with a dump, which has no base score, cannot be read"),
        "{message}"
    );
}
