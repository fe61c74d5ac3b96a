//! Missing values in networks: from a table to scores and exports.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use super::Bench;
use super::init::contains_all;

const CONFIG: &str = r#"
normalizer = "auto"
[data]
train = ["train.csv"]
test = ["test.csv"]
[data.read]
missing = "indicator"
[scorer]
kind = "mlp"
hidden = [8]
[loss]
name = "list_net"
[learner]
kind = "gradient"
epochs = 30
learning_rate = 0.01
"#;

/// Documents that are relevant where the price is missing; the other columns say nothing. A number that is there may be
/// 0, so that 0 in place of a missing one says nothing either.
fn table(queries: std::ops::Range<usize>) -> String {
    let mut text = String::from("query,label,price,age\n");
    let noise = |at: usize| at * 7919 % 104_729 * 31 % 101;
    for query in queries {
        for place in 0..8 {
            let at = query * 8 + place;
            let is_missing = noise(at + 1000) % 4 == 0;
            let price = if is_missing { String::new() } else { (noise(at) % 3).to_string() };
            writeln!(text, "q{query},{},{price},{}", u8::from(is_missing), noise(at + 5000)).unwrap();
        }
    }
    text
}

fn bench() -> Bench {
    let bench = Bench::default();
    bench.write("run.toml", CONFIG);
    bench.write("train.csv", &table(0..40));
    bench.write("test.csv", &table(40..60));
    bench
}

fn report(bench: &Bench, run: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(bench.path(&format!("{run}/report.json"))).unwrap()).unwrap()
}

fn test_ndcg(bench: &Bench, run: &str) -> f64 {
    report(bench, run)["measures"]["test"]["measures"]["ndcg@10"].as_f64().unwrap()
}

#[test]
fn a_network_learns_what_a_missing_value_means_and_0_in_its_place_does_not() {
    let bench = bench();
    bench.output(&["train", "run.toml", "--out", "run"]);
    bench.output(&["train", "run.toml", "--out", "zero", "--set", "data.read.missing=zero"]);
    let (indicator, zero) = (test_ndcg(&bench, "run"), test_ndcg(&bench, "zero"));
    // Over seeds the means are .998 and .756, with deviations of .003 and .019.
    assert!(indicator > 0.98 && indicator - zero > 0.1, "{indicator} {zero}");
    assert_eq!(report(&bench, "run")["indicated"], serde_json::json!([1]));
    assert_eq!(report(&bench, "zero").get("indicated"), None);
    // A line has a weight for the column.
    bench.output(&["train", "run.toml", "--out", "line", "--set", "scorer={kind=\"linear\"}"]);
    assert!(test_ndcg(&bench, "line") > 0.98);
    assert_eq!(report(&bench, "line")["weights"].as_array().unwrap().len(), 3);
    let shown = bench.output(&["models", "show", "line"]);
    contains_all(&shown, &["| features | 2 |", "a column each for `price` |", "price is missing", "+"]);
    let shown: Value = serde_json::from_str(&bench.output(&["models", "show", "line", "--json"])).unwrap();
    assert_eq!(shown["indicated"], serde_json::json!([1]));
    assert!(fs::read_to_string(bench.path("line/report.html")).unwrap().contains("price is missing"));
}

#[test]
fn studies_train_on_data_with_missing_values() {
    let bench = bench();
    for study in ["measure-accuracy", "smoothness", "truncation"] {
        bench.output(&["study", study, "--config", "run.toml", "--quick"]);
    }
}

#[test]
fn a_ranker_reads_missing_values_as_it_was_trained() {
    let bench = bench();
    bench.output(&["train", "run.toml", "--out", "run"]);
    let scores = bench.output(&["predict", "run", "test.csv"]);
    assert_eq!(bench.output(&["predict", "run", "test.csv", "--missing", "keep"]), scores);
    assert_ne!(bench.output(&["predict", "run", "test.csv", "--missing", "zero"]), scores);
    let message = bench.refused(&["predict", "run", "test.csv", "--missing", "error"]);
    contains_all(&message, &["test.csv:", "`price`", "expected a finite value of feature 1", "\"indicator\""]);
    // A number that stood for a missing value stands for one again.
    let marked = |from: std::ops::Range<usize>| table(from).replace(",,", ",-1,");
    bench.write("train.csv", &marked(0..40));
    bench.write("marked.csv", &marked(40..60));
    bench.output(&[
        "train",
        "run.toml",
        "--out",
        "marked",
        "--set",
        "data.read.missing_value=-1",
        "--set",
        "data.test=[]",
    ]);
    assert_eq!(bench.output(&["predict", "marked", "marked.csv"]), scores);
    let text = bench.output(&["eval", "run", "test.csv", "--json"]);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["measures"]["ndcg@10"].as_f64().unwrap_or(f64::NAN), test_ndcg(&bench, "run"), "{text}");
    let importance = bench.output(&["importance", "run", "test.csv", "--json"]);
    contains_all(&importance, &["\"price\"", "\"age\""]);
    assert!(!importance.contains("is missing"), "{importance}");
}

#[test]
fn rankers_that_read_missing_values_in_another_way_are_compared() {
    let bench = bench();
    let train = |out: &str, set: &str| bench.output(&["train", "run.toml", "--out", out, "--set", set]);
    train("run", "learner.epochs=3");
    train("other", "learner.epochs=5");
    train("zero", "data.read.missing=zero");
    bench.output(&["compare", "run", "other", "test.csv"]);
    bench.output(&["compare", "run", "zero", "test.csv"]);
    bench.output(&["compare", "run", "zero", "test.csv", "--missing", "zero"]);
}

#[test]
fn a_streamed_fit_with_missing_values_gives_the_ranker_of_one_in_memory() {
    let bench = bench();
    for set in ["train", "test"] {
        bench.output(&["convert", &format!("{set}.csv"), &format!("{set}.arrow"), "--missing", "keep"]);
    }
    bench.write("run.toml", &CONFIG.replace(".csv", ".arrow"));
    bench.output(&["train", "run.toml", "--out", "table"]);
    let streamed = ["--set", "data.memory=\"64 MiB\"", "--set", "data.window=\"32 MiB\""];
    bench.output(&[&["train", "run.toml", "--out", "streamed"][..], &streamed].concat());
    let scores = |run: &str| bench.output(&["predict", run, "test.arrow"]);
    assert_eq!(scores("streamed"), scores("table"));
    assert_eq!(report(&bench, "streamed")["measures"], report(&bench, "table")["measures"]);
}

#[test]
fn exports_hold_the_means_and_the_columns_or_are_refused() {
    let bench = bench();
    bench.output(&["train", "run.toml", "--out", "run"]);
    contains_all(&bench.output(&["convert", "run", "run.onnx"]), &["ONNX, 2 features"]);
    let linear = ["--set", "scorer={kind=\"linear\"}", "--set", "normalizer=none"];
    bench.output(&[&["train", "run.toml", "--out", "line"][..], &linear].concat());
    for (file, format) in [("a.txt", "ranklib"), ("a.json", "solr"), ("b.json", "plugin-linear")] {
        let message = bench.refused(&["convert", "line", file, "--format", format]);
        contains_all(&message, &["cannot hold a ranker that fills missing values", "ONNX holds it"]);
        assert!(!bench.path(file).exists());
    }
}

#[test]
fn what_becomes_of_a_missing_value_is_one_of_five_words() {
    let bench = bench();
    let refused = |set: &str| bench.refused(&["train", "run.toml", "--out", "run", "--set", set]);
    contains_all(&refused("data.read.missing=indicators"), &["data.read.missing", "indicators", "`indicator`"]);
    let kept = refused("data.read.missing=keep");
    contains_all(&kept, &["expected \"indicator\", \"zero\" or \"query-min\"", "`boosted_trees` does"]);
    contains_all(&refused("data.read.missing=error"), &["train.csv:", "`price`", "\"indicator\" gives every"]);
    assert!(!bench.path("run").exists());
    // Trees take missing values as they are.
    let trees = ["learner={kind=\"boosted_trees\", rounds=2}", "loss={name=\"lambda_ndcg\"}"].map(|set| ["--set", set]);
    let text = CONFIG.replace("[scorer]\nkind = \"mlp\"\nhidden = [8]\n", "");
    bench.write("trees.toml", &text);
    for (missing, out) in [("keep", "kept"), ("indicator", "same")] {
        let set = format!("data.read.missing={missing}");
        bench.output(&[&["train", "trees.toml", "--out", out, "--set", &set][..], &trees.concat()].concat());
    }
    assert_eq!(bench.output(&["predict", "kept", "test.csv"]), bench.output(&["predict", "same", "test.csv"]));
}
