//! Training runs: what they leave, and that they come back.

use std::fs;

use serde_json::Value;

use super::{Bench, SMALL, files};

#[test]
fn a_run_leaves_a_ranker_that_predicts_and_evaluates() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let table = bench.output(&["train", "small.toml"]);
    assert!(table.contains("test") && table.contains("ndcg@10"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "fits 80 columns:\n{table}");
    let folder = bench.path("runs/small");
    for name in ["README.md", "config.toml", "ranker.safetensors", "report.json", "run.json"] {
        assert!(files(&folder).contains(&name.to_string()), "{name}: {:?}", files(&folder));
    }

    bench.output(&["synth", "--queries", "5", "--features", "10", "--out", "data.txt"]);
    let documents = fs::read_to_string(bench.path("data.txt")).unwrap().lines().count();
    let scores = bench.output(&["predict", "runs/small/ranker.safetensors", "data.txt"]);
    assert_eq!(scores.lines().count(), documents);
    bench.write("scores.txt", &scores);
    let by_model = bench.output(&["eval", "runs/small/ranker.safetensors", "data.txt", "--json"]);
    let by_scores = bench.output(&["eval", "--scores", "scores.txt", "data.txt", "--json"]);
    assert_eq!(by_model, by_scores);
    let run = bench.output(&["predict", "runs/small/ranker.safetensors", "data.txt", "--run-id", "small"]);
    assert!(run.lines().next().unwrap().ends_with(" small"), "{run}");
    assert_eq!(run.lines().count(), documents);

    // The run and the labels beside it are the same ranking: `letor` orders ties by file, which the run keeps.
    let files = ["--run-id", "small", "--qrels", "qrels", "--out", "run.txt"];
    bench.output(&[&["predict", "runs/small/ranker.safetensors", "data.txt"][..], &files].concat());
    assert_eq!(fs::read_to_string(bench.path("run.txt")).unwrap(), run);
    let options = ["-m", "ndcg@10,map,err@5", "-c", "letor", "--json", "-q"];
    let by_run = bench.output(&[&["eval", "--qrels", "qrels", "--run", "run.txt"][..], &options].concat());
    let by_model = bench.output(&[&["eval", "runs/small/ranker.safetensors", "data.txt"][..], &options].concat());
    let (by_run, by_model): (Value, Value) =
        (serde_json::from_str(&by_run).unwrap(), serde_json::from_str(&by_model).unwrap());
    for key in ["convention", "queries", "empty_queries", "measures", "per_query"] {
        assert_eq!(by_run[key], by_model[key], "{key}");
    }
    assert_eq!((&by_run["run"], &by_run["missing_queries"]), (&Value::from("small"), &Value::from(0)));

    // A ranker and its own scores do not differ, and share its convention with no score file.
    let compared = bench.output(&["compare", "runs/small/ranker.safetensors", "scores.txt", "data.txt", "--json"]);
    let compared: Value = serde_json::from_str(&compared).unwrap();
    assert_eq!(compared["convention"], "standard");
    assert_eq!(compared["measures"]["map"]["pairs"][0]["mean_difference"], 0.0);
    assert_eq!(compared["measures"]["map"]["pairs"][0]["ties"], 5);
    assert!(bench.output(&["models", "show", "runs/small/ranker.safetensors"]).contains("approx_ndcg"));
}

#[test]
fn the_resolved_configuration_gives_the_same_run() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench.output(&["train", "small.toml", "--out", "first"]);
    bench.output(&["train", "first/config.toml", "--out", "second"]);
    let config = |run: &str| fs::read(bench.path(&format!("{run}/config.toml"))).unwrap();
    assert_eq!(config("first"), config("second"));
    let ranker = |run: &str| fs::read(bench.path(&format!("{run}/ranker.safetensors"))).unwrap();
    assert_eq!(ranker("first"), ranker("second"));
}

#[test]
fn a_folder_keeps_one_run() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench.output(&["train", "small.toml", "--out", "run"]);
    let before = fs::read(bench.path("run/ranker.safetensors")).unwrap();
    let message = bench.refused(&["train", "small.toml", "--out", "run", "--set", "seed=2"]);
    assert!(message.contains("another configuration"), "{message}");
    let message = bench.refused(&["train", "small.toml", "--out", "run", "--set", "seed=2", "--resume"]);
    assert!(message.contains("--resume needs the configuration"), "{message}");
    assert_eq!(fs::read(bench.path("run/ranker.safetensors")).unwrap(), before);
    // A finished run is made again; an unfinished one is kept until told otherwise.
    bench.output(&["train", "small.toml", "--out", "run"]);
    fs::remove_file(bench.path("run/report.json")).unwrap();
    let message = bench.refused(&["train", "small.toml", "--out", "run"]);
    assert!(message.contains("--resume continues it"), "{message}");
    bench.output(&["train", "small.toml", "--out", "run", "--set", "seed=2", "--overwrite"]);
    assert_ne!(fs::read(bench.path("run/ranker.safetensors")).unwrap(), before);
}

#[test]
fn cross_validation_selects_on_validation_and_reports_errors() {
    let bench = Bench::default();
    let config = SMALL
        .replace("test_queries = 8", "test_queries = 0")
        .replace("validation_queries = 8", "validation_queries = 0")
        + "[cv]\nsplit = 4\nseeds = [1, 2]\n\n[grid]\n\"learner.learning_rate\" = [0.001, 0.01]\n";
    bench.write("cv.toml", &config);
    let text = bench.output(&["cv", "cv.toml", "--json", "--out", "cv"]);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["queries"], 20);
    let folds = value["folds"].as_array().unwrap();
    assert_eq!(folds.len(), 4);
    let of = |fold: &Value| fold["measures"]["ndcg@10"].as_f64().unwrap();
    let mean = folds.iter().map(of).sum::<f64>() / 4.0;
    assert!((value["measures"]["ndcg@10"].as_f64().unwrap() - mean).abs() < 1e-12);
    let error = value["standard_errors"]["ndcg@10"].as_f64().unwrap();
    assert!(error > 0.0 && error < 0.2, "{error}");
    assert!(folds.iter().all(|fold| fold["selected"].as_str().unwrap().starts_with("learner.learning_rate=")));

    // Side by side or one after the other, and from finished fits: the same numbers.
    assert_eq!(bench.output(&["cv", "cv.toml", "--json", "--jobs", "1"]), text);
    let jobs = || fs::read_dir(bench.path("cv/jobs")).unwrap().map(|job| job.unwrap().path());
    fs::remove_dir_all(jobs().next().unwrap()).unwrap();
    assert_eq!(bench.output(&["cv", "cv.toml", "--json", "--out", "cv", "--resume"]), text);

    // Another configuration takes the folder of this one only where it is told to.
    let before = fs::read(bench.path("cv/config.toml")).unwrap();
    let message = bench.refused(&["cv", "cv.toml", "--out", "cv", "--set", "cv.seeds=[1]"]);
    assert!(message.contains("holds a run of another configuration"), "{message}");
    assert_eq!(fs::read(bench.path("cv/config.toml")).unwrap(), before);
    let [all, finished] = [jobs().count(), 16];
    assert_eq!(all, finished);
    bench.output(&["cv", "cv.toml", "--out", "cv", "--set", "cv.seeds=[1]", "--resume"]);
    // A value more in the grid: the fits of the others stay.
    let wider = r#"grid={"learner.learning_rate"=[0.001, 0.01, 0.1]}"#;
    bench.output(&["cv", "cv.toml", "--out", "cv", "--set", wider, "--resume"]);
    assert_eq!(jobs().count(), finished + 8);
    let message = bench.refused(&["train", "cv.toml", "--out", "cv"]);
    assert!(message.contains("another command"), "{message}");
}
