//! Boosted trees from the file to the score: missing values, contributions.

use super::Bench;
use crate::common::root;

const CONFIG: &str = r#"
[data]
train = ["train.txt"]
read = { missing = "keep" }
[loss]
name = "lambda_ndcg"
[learner]
kind = "boosted_trees"
rounds = 5
min_documents = 1
"#;

/// Documents that are relevant where the first feature is missing, or high.
fn documents() -> String {
    let value = |place: usize| match place % 5 {
        0 => "nan".to_string(),
        1 => "NULL".to_string(),
        other => format!("0.{other}"),
    };
    let line = |at: usize| {
        let label = u8::from(matches!(at % 5, 0 | 1 | 4));
        format!("{label} qid:{} 1:{} 2:{}\n", at / 10 + 1, value(at), at % 7)
    };
    (0..80).map(line).collect()
}

fn trained() -> Bench {
    let bench = Bench::default();
    bench.write("run.toml", CONFIG);
    bench.write("train.txt", &documents());
    bench.output(&["train", "run.toml", "--out", "run"]);
    bench
}

#[test]
fn a_named_treatment_keeps_what_else_the_ranker_remembers() {
    let bench = Bench::default();
    bench.write("run.toml", &CONFIG.replace("missing = \"keep\"", "missing = \"keep\", absent = \"missing\""));
    bench.write("train.txt", &documents().replace(" 1:nan", ""));
    bench.output(&["train", "run.toml", "--out", "run"]);
    let scores = bench.output(&["predict", "run", "train.txt"]);
    assert_eq!(bench.output(&["predict", "run", "train.txt", "--missing", "keep"]), scores);
    assert_ne!(bench.output(&["predict", "run", "train.txt", "--missing", "keep", "--read", "absent=zero"]), scores);
}

#[test]
fn trees_learn_what_missing_values_mean() {
    let bench = trained();
    let scores = bench.output(&["predict", "run", "train.txt", "--missing", "keep"]);
    let scores: Vec<f64> = scores.lines().map(|line| line.parse().unwrap()).collect();
    for query in scores.chunks(5) {
        assert!(query[0].min(query[1]).min(query[4]) > query[2].max(query[3]), "{query:?}");
    }
    let report = std::fs::read_to_string(bench.path("run/report.json")).unwrap();
    assert!(report.contains("\"missing_values\": 32"), "{report}");
    bench.output(&["convert", "run", "trees.txt"]);
}

#[test]
fn a_missing_value_is_refused_with_its_place() {
    let bench = trained();
    let place = "train.txt:1:11: found `nan`, expected a finite value of feature 1 (option `missing` = \"zero\" or \
                 \"query-min\" replaces a missing one, \"keep\" leaves it to boosted trees, \"indicator\" gives \
                 every learner a mean and a column)\n";
    assert!(bench.refused(&["predict", "run", "train.txt", "--missing", "error"]).ends_with(place));
    bench.write("linear.toml", &CONFIG.replace("\"keep\"", "\"zero\"").replace("boosted_trees", "regression"));
    let linear = std::fs::read_to_string(bench.path("linear.toml")).unwrap();
    let linear = linear.replace("[loss]\nname = \"lambda_ndcg\"\n", "").replace("rounds = 5\nmin_documents = 1\n", "");
    bench.write("linear.toml", &linear);
    bench.output(&["train", "linear.toml", "--out", "linear"]);
    let message = bench.refused(&["train", "linear.toml", "--out", "other", "--set", "data.read.missing=keep"]);
    assert!(
        message.contains("the learner `regression` does not accept missing values; `boosted_trees` does"),
        "{message}"
    );
    assert!(!bench.path("other").exists());
    let message = bench.refused(&["predict", "linear", "train.txt", "--missing", "keep"]);
    assert!(message.contains("missing = keep: expected error, zero or query-min"), "{message}");
    let message = bench.refused(&["eval", "linear", "train.txt", "--missing", "keep"]);
    assert!(
        message.contains("query `1`, document 1: feature 1 is missing, which this ranker does not accept"),
        "{message}"
    );
}

#[test]
fn a_ranker_is_continued() {
    let bench = trained();
    bench.output(&["train", "run.toml", "--continue", "run", "--out", "more", "--set", "learner.rounds=2"]);
    let scores = |run: &str| bench.output(&["predict", run, "train.txt", "--missing", "keep"]);
    assert_ne!(scores("run"), scores("more"));
    let config = std::fs::read_to_string(bench.path("more/config.toml")).unwrap();
    assert!(config.contains("start = ") && config.contains(bench.path("run").to_str().unwrap()), "{config}");
    // The folder's configuration makes the same run from anywhere.
    bench.output(&["train", "more/config.toml", "--out", "again"]);
    assert_eq!(scores("again"), scores("more"));
    let refused = |args: &[&str]| bench.refused(&[&["train", "run.toml", "--out", "other"], args].concat());
    let message = refused(&["--continue", "run", "--set", "normalizer=z_score"]);
    assert!(message.contains("start: found a ranker with the normalizer none, expected z_score"), "{message}");
    let message = refused(&["--continue", "absent"]);
    assert!(message.contains("absent: No such file"), "{message}");
    let other = ["--set", "learner={kind=\"rank_svm\"}", "--set", "loss=", "--set", "data.read.missing=zero"];
    let message = refused(&[&["--continue", "run"], &other[..]].concat());
    assert!(message.contains("does not start from a ranker; `boosted_trees` does"), "{message}");
    let message = bench.refused(&["cv", "run.toml", "--set", "start=run", "--set", "cv.split=3", "--out", "other"]);
    assert!(message.contains("start: not read by `cv`"), "{message}");
    assert!(!bench.path("other").exists());
}

/// The numbers of a list of a LightGBM file, tree by tree.
fn numbers(text: &str, name: &str) -> Vec<Vec<f64>> {
    let lists = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    lists.map(|list| list.split(' ').map(|number| number.parse().unwrap()).collect()).collect()
}

#[test]
fn exported_trees_carry_counts_and_gains() {
    let bench = trained();
    let sampled = ["--continue", "run", "--set", "learner.subsample=0.5", "--set", "learner.rounds=2"];
    bench.output(&[&["train", "run.toml", "--out", "more"], &sampled[..]].concat());
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path("run/report.json")).unwrap()).unwrap();
    for run in ["run", "more"] {
        let converted = bench.run(&["convert", run, "trees.txt"]).success();
        assert_eq!(String::from_utf8_lossy(&converted.get_output().stderr), "", "{run}");
        let text = std::fs::read_to_string(bench.path("trees.txt")).unwrap();
        // Every document of the file, whether the tree was fitted to it or not.
        let counts = numbers(&text, "leaf_count");
        assert!(counts.iter().all(|counts| counts.iter().sum::<f64>() == 80.0), "{run}: {counts:?}");
        assert!(numbers(&text, "internal_count").iter().all(|counts| counts[0] == 80.0), "{run}");
        assert!(numbers(&text, "leaf_weight").iter().flatten().all(|&weight| weight > 0.0), "{run}");
        // The report covers the trees of its own run, without the trees that it continues.
        if run == "run" {
            let (splits, gains) = (numbers(&text, "split_feature").concat(), numbers(&text, "split_gain").concat());
            for feature in 0..2 {
                let own = splits.iter().zip(&gains).filter(|(split, _)| **split == feature as f64);
                let gain: f64 = own.map(|(_, gain)| gain).sum();
                let reported = report["importance"]["gain"][feature].as_f64().unwrap();
                assert!((gain - reported).abs() <= 1e-6 * reported, "feature {feature}: {gain} {reported}");
            }
        }
    }
    bench.output(&["convert", "run", "trees.json", "--format", "xgboost"]);
    let text = std::fs::read_to_string(bench.path("trees.json")).unwrap();
    assert_eq!(text.matches("\"sum_hessian\":[80.0,").count(), text.matches("\"sum_hessian\"").count());
}

#[test]
fn a_ranker_without_counts_is_converted_with_a_note() {
    let bench = Bench::default();
    let ranker = root().join("tests/golden/format_1/synth-lambda-mart.safetensors");
    let ranker = ranker.to_str().unwrap();
    let converted = bench.run(&["convert", ranker, "trees.txt"]).success();
    assert_eq!(
        String::from_utf8_lossy(&converted.get_output().stderr),
        "note: trees.txt: LightGBM's contributions are not numbers: the ranker does not say how many training documents \
         reach its nodes\n\
         note: trees.txt: LightGBM's importances are 0: the ranker does not say what its splits gain\n"
    );
    let converted = bench.run(&["convert", ranker, "trees.onnx"]).success();
    assert_eq!(String::from_utf8_lossy(&converted.get_output().stderr), "");
}

#[test]
fn importance_is_reported() {
    let bench = Bench::default();
    bench.write("run.toml", CONFIG);
    bench.write("train.txt", &documents());
    let seeds = ["--set", "learner.seeds=2", "--set", "learner.subsample=0.5"];
    let printed = bench.output(&[&["train", "run.toml", "--out", "run", "--json"], &seeds[..]].concat());
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let report = std::fs::read_to_string(bench.path("run/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(printed["importance"], report["importance"]);
    assert!(printed["importance"]["gain"][0].as_f64() > printed["importance"]["gain"][1].as_f64());
    assert!(printed["importance"]["splits"][0].as_u64() > Some(0));
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(page.contains("Feature importance") && page.contains("share of the gain by feature"));
    let effects = report["partial_dependence"].as_array().unwrap();
    for key in ["feature", "scores", "missing"] {
        assert_eq!(printed["partial_dependence"][0][key], effects[0][key]);
    }
    assert_eq!(effects[0]["feature"], 1);
    let scores = effects[0]["scores"].as_array().unwrap();
    assert_eq!((scores.len(), effects[0]["values"].as_array().unwrap().len()), (21, 21));
    assert!(scores[20].as_f64() > scores[0].as_f64());
    assert!(effects[0]["missing"]["share"].as_f64() > Some(0.0));
    assert!(page.contains("Partial dependence") && page.contains("mean score by feature 1"));
    bench.write("linear.toml", "data = { synthetic = {} }\nlearner = { kind = \"regression\" }\n");
    let printed = bench.output(&["train", "linear.toml", "--out", "linear", "--json"]);
    assert!(!printed.contains("importance") && !printed.contains("partial_dependence"), "{printed}");
}

#[test]
fn contributions_sum_to_the_scores() {
    let bench = trained();
    let data = ["train.txt", "--missing", "keep"];
    let scores = bench.output(&[&["predict", "run"], &data[..]].concat());
    bench.write("one.txt", documents().lines().next().unwrap());
    for background in [&[][..], &["--background", "one.txt"]] {
        let found = bench.output(&[&["predict", "run", "--contributions"], &data[..], background].concat());
        let mut expected = Vec::new();
        for (line, score) in found.lines().zip(scores.lines()) {
            let numbers: Vec<f64> = line.split('\t').map(|number| number.parse().unwrap()).collect();
            assert_eq!(numbers.len(), 3);
            assert!((numbers.iter().sum::<f64>() - score.parse::<f64>().unwrap()).abs() < 1e-6, "{line} {score}");
            expected.push(numbers[2]);
        }
        assert_eq!((expected.len(), expected.iter().all(|mean| *mean == expected[0])), (80, true));
        // Contributions of the only document that they start from are none.
        let first: Vec<&str> = found.lines().next().unwrap().split('\t').take(2).collect();
        assert_eq!(first == ["0", "0"], !background.is_empty(), "{first:?}");
    }
    bench.write("linear.toml", "data = { synthetic = {} }\nlearner = { kind = \"regression\" }\n");
    bench.output(&["train", "linear.toml", "--out", "linear"]);
    let message = bench.refused(&["predict", "linear", "one.txt", "--contributions"]);
    assert!(message.contains("expected a ranker that is a sum of trees"), "{message}");
    let message = bench.refused(&["predict", "run", "one.txt", "--contributions", "--run-id", "tag"]);
    assert!(message.contains("cannot be used with"), "{message}");
}
