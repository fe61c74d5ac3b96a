//! Training on features that stay in their file.

use std::fs;

use super::Bench;

fn bench() -> Bench {
    let bench = Bench::default();
    for (name, queries, seed) in [("train", "80", "1"), ("vali", "20", "2")] {
        let out = format!("{name}.arrow");
        bench.output(&["synth", "--queries", queries, "--features", "7", "--seed", seed, "--out", &out]);
    }
    bench.write("run.toml", &config("gradient", ""));
    bench
}

fn config(learner: &str, data: &str) -> String {
    format!(
        "normalizer = \"z_score\"\n[data]\ntrain = [\"train.arrow\"]\nvalidation = [\"vali.arrow\"]\n{data}\n\
         [scorer]\nkind = \"mlp\"\nhidden = [8]\n[loss]\nname = \"list_net\"\n[learner]\nkind = \"{learner}\"\nepochs = 4\n"
    )
}

/// The rounds of a run and the scores of its ranker.
fn results(bench: &Bench, out: &str, more: &[&str]) -> (String, String) {
    bench.output(&[&["train", "run.toml", "--quiet", "--out", out], more].concat());
    let scores = bench.output(&["predict", out, "vali.arrow"]);
    (fs::read_to_string(bench.path(&format!("{out}/metrics.jsonl"))).unwrap(), scores)
}

#[test]
fn memory_changes_no_number_and_a_window_of_all_is_the_order_of_memory() {
    let bench = bench();
    let in_memory = results(&bench, "a", &[]);
    let all = results(&bench, "b", &["--set", "data.memory=1 GiB"]);
    assert_eq!(all, in_memory);
    let window = ["--set", "data.window=16 KiB", "--set"];
    let small = results(&bench, "c", &[&window[..], &["data.memory=32 KiB"]].concat());
    let large = results(&bench, "d", &[&window[..], &["data.memory=8 MiB"]].concat());
    assert_eq!(small, large);
    assert_ne!(small, in_memory);
}

#[test]
fn streamed_shards_are_those_of_memory() {
    let bench = bench();
    let shards = ["--set", "learner.shards=3"];
    let with = |out: &str, more: &[&str]| {
        let results = results(&bench, out, &[&shards[..], more].concat());
        (results, fs::read(bench.path(&format!("{out}/report.json"))).unwrap())
    };
    let in_memory = with("a", &[]);
    let all = with("b", &["--set", "data.memory=1 GiB"]);
    assert_eq!(all.0, in_memory.0);
    let small = with("c", &["--set", "data.window=16 KiB", "--set", "data.memory=32 KiB"]);
    assert_ne!(small.0, in_memory.0);
    let hash = |report: &[u8]| {
        let text = String::from_utf8(report.to_vec()).unwrap();
        text.lines().find(|line| line.contains("\"hash\"")).unwrap().to_string()
    };
    assert_eq!(hash(&small.1), hash(&in_memory.1));
    bench.output(&["train", "run.toml", "--quiet", "--out", "d"]);
    assert_ne!(hash(&fs::read(bench.path("d/report.json")).unwrap()), hash(&in_memory.1));
    let message = bench.refused(&["train", "run.toml", "--set", "learner.shards=81", "--set", "data.memory=1 GiB"]);
    assert!(message.contains("learner.shards = 81: expected at most 80, the number of training queries"), "{message}");
}

#[test]
fn trees_of_streamed_data_are_those_of_data_in_memory() {
    let bench = bench();
    let trees = config("boosted_trees", "").replace("[scorer]\nkind = \"mlp\"\nhidden = [8]\n", "");
    bench.write("run.toml", &trees.replace("list_net", "lambda_ndcg").replace("epochs = 4", "rounds = 4"));
    let scores = |out: &str, more: &[&str]| {
        bench.output(&[&["train", "run.toml", "--quiet", "--out", out], more].concat());
        bench.output(&["predict", out, "vali.arrow"])
    };
    assert_eq!(scores("a", &["--set", "data.window=8 KiB", "--set", "data.memory=16 KiB"]), scores("b", &[]));
}

#[test]
fn what_cannot_be_streamed_is_refused_by_its_key() {
    let bench = bench();
    let refused = |set: &[&str], expected: &str| {
        let mut args = vec!["train", "run.toml", "--out", "no"];
        args.extend(set.iter().flat_map(|set| ["--set", set]));
        let message = bench.refused(&args);
        assert!(message.contains(expected), "{message}");
        assert!(!bench.path("no").exists());
    };
    refused(&["data.memory=1 GB"], "a whole number above 0 with a unit (B, KiB, MiB, GiB, TiB)");
    refused(&["data.memory=1 MiB"], "data.memory: found 1 MiB, expected at least twice data.window, which is 256 MiB");
    refused(&["data.window=1 MiB"], "data.window: found 1 MiB, expected `data.memory` with it");
    bench.write(
        "regression.toml",
        "[data]\ntrain = [\"train.arrow\"]\nmemory = \"1 GiB\"\n[learner]\nkind = \"regression\"\n",
    );
    let message = bench.refused(&["train", "regression.toml"]);
    let expected =
        "found 1 GiB, expected none: the learner `regression` does not stream data; `boosted_trees` and `gradient` do";
    assert!(message.contains(expected), "{message}");
    bench.write("cv.toml", &config("gradient", "memory = \"1 GiB\"\n[cv]\nsplit = 3\n"));
    let message = bench.refused(&["cv", "cv.toml"]);
    assert!(message.contains("data.memory = 1 GiB: expected none: `cv` holds the data in memory"), "{message}");
    bench.output(&["convert", "train.arrow", "train.txt"]);
    refused(
        &["data.memory=1 GiB", "data.train=['train.txt']"],
        "the place of the features is memory, expected in one uncompressed Arrow file",
    );
    refused(
        &["data.memory=1 GiB", "data.read={missing=\"indicator\", missing_value=-1}"],
        "data.memory: found 1 GiB, expected none with data.read.missing_value: write the missing values with",
    );
}
