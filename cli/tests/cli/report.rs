//! The page of a run is written next to its JSON and is a view of it. `cli/tests/needs/browser.rs` checks it in a browser.

use std::fs;

use serde_json::Value;

use super::bench::trained_and_cross_validated;
use super::{Bench, SMALL, files};

#[test]
fn every_run_leaves_a_page_that_is_a_view_of_its_json() {
    let bench = trained_and_cross_validated();
    for run in ["train", "cv"] {
        let page = fs::read_to_string(bench.path(run).join("report.html")).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert!(!page.contains("<script"));
        assert_eq!(bench.output(&["report", run, "--out", "again.html"]), "again.html\n");
        assert_eq!(fs::read_to_string(bench.path("again.html")).unwrap(), page, "{run}");
        assert_eq!(bench.output(&["report", run, "--out", "-"]), page);
    }
    assert!(!bench.path("-").exists());
    // Without `run.json`, which differs between machines, the rest is shown.
    fs::remove_file(bench.path("train/run.json")).unwrap();
    bench.output(&["report", "train"]);
    let page = fs::read_to_string(bench.path("train/report.html")).unwrap();
    assert!(page.contains("Learning curves") && !page.contains("largest memory"));
}

#[test]
fn the_json_holds_what_the_page_shows() {
    let bench = trained_and_cross_validated();
    let read = |path: &str| -> Value { serde_json::from_slice(&fs::read(bench.path(path)).unwrap()).unwrap() };
    let train = read("train/report.json");
    assert_eq!(train["command"], "train");
    assert_eq!(train["data"]["test"]["statistics"]["queries"], 8);
    assert_eq!(train["per_query"]["queries"].as_array().unwrap().len(), 8);
    let values = train["per_query"]["values"]["ndcg@10"].as_array().unwrap();
    let counted: Vec<f64> = values.iter().filter_map(Value::as_f64).collect();
    let mean = counted.iter().sum::<f64>() / counted.len() as f64;
    assert!((train["measures"]["test"]["measures"]["ndcg@10"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert_eq!(train["weights"].as_array().unwrap().len(), 10);
    assert_eq!(train["config"]["learner"]["optimizer"]["kind"], "adam", "a default");
    let first = &train["history"][0];
    assert!(first["train"].is_f64() && first["validation"].is_f64(), "{first}");
    assert!(first["figures"].as_array().unwrap().iter().any(|figure| figure[0] == "surrogate"), "{first}");
    assert!(read("train/run.json")["peak_memory_mib"].as_f64().is_none_or(|mib| mib > 1.0));

    let cv = read("cv/report.json");
    let details = cv["details"].as_array().unwrap();
    assert_eq!((cv["command"].as_str(), details.len(), cv["points"].as_array().unwrap().len()), (Some("cv"), 3, 2));
    let tested: usize = details.iter().map(|fold| fold["per_query"]["queries"].as_array().unwrap().len()).sum();
    assert_eq!(tested, 20, "every query is tested once");
    assert_eq!(details[0]["fits"].as_array().unwrap().len(), 2, "one per seed");
    for (fold, details) in cv["folds"].as_array().unwrap().iter().zip(details) {
        let points: Vec<f64> = details["points"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect();
        assert_eq!(fold["validation"].as_f64().unwrap(), points.iter().copied().fold(f64::MIN, f64::max));
        assert!(fold["standard_errors"]["ndcg@10"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn no_out_writes_nothing() {
    let bench = Bench::default();
    bench.write("cv.toml", SMALL);
    bench.output(&["cv", "cv.toml", "--no-out"]);
    bench.output(&["train", "cv.toml", "--no-out"]);
    assert_eq!(files(&bench.path("")), ["cv.toml"]);
}

#[test]
fn a_folder_without_a_run_is_refused() {
    let bench = Bench::default();
    let message = bench.refused(&["report", "nowhere"]);
    assert!(message.contains("nowhere: no report.json here"), "{message}");
    fs::create_dir(bench.path("run")).unwrap();
    bench.write("run/report.json", "{\"command\": \"train\",\n \"name\": 3}");
    let message = bench.refused(&["report", "run"]);
    assert!(message.contains("run/report.json: invalid type"), "{message}");
    assert!(!message.contains("newer"), "{message}");
    let newer = "{\"command\": \"train\", \"name\": 3, \"versions\": {\"burn_rank\": \"99.0.0\"}}";
    bench.write("run/report.json", newer);
    let message = bench.refused(&["report", "run"]);
    assert!(message.contains("; written by burn-rank 99.0.0, newer than this one, "), "{message}");
    assert_eq!(files(&bench.path("run")), ["report.json"], "nothing half-written");
}
