//! The page of a run is written next to its JSON and is a view of it. `cli/tests/needs/browser.rs` checks it in a
//! browser.

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
    assert!(page.contains("Learning curves") && !page.contains("peak memory"));
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
    assert!(message.contains("; it was written by burn-rank 99.0.0, which is newer than this version ("), "{message}");
    assert_eq!(files(&bench.path("run")), ["report.json"], "nothing half-written");
}

/// Three runs that differ in their learning rate, and a `cv` of the same configuration, in one folder.
fn many_runs() -> Bench {
    let bench = trained_and_cross_validated();
    for rate in ["0.001", "0.1"] {
        let out = format!("runs/rate/{rate}");
        let name = format!("name=rate {rate}");
        let rate = format!("learner.learning_rate={rate}");
        bench.output(&["train", "train.toml", "--out", &out, "--set", &rate, "--set", &name]);
    }
    fs::rename(bench.path("train"), bench.path("runs/default")).unwrap();
    fs::rename(bench.path("cv"), bench.path("runs/cv")).unwrap();
    bench
}

#[test]
fn a_folder_of_runs_gives_one_table() {
    let bench = many_runs();
    let table: Value = serde_json::from_str(&bench.output(&["report", "runs", "--json"])).unwrap();
    let runs = table["runs"].as_array().unwrap();
    let of = |folder: &str| runs.iter().find(|run| run["folder"] == folder).unwrap();
    assert_eq!(runs.len(), 4, "the fits of cv are not runs");
    let read = |run: &str| -> Value {
        serde_json::from_slice(&fs::read(bench.path("runs").join(run).join("report.json")).unwrap()).unwrap()
    };
    let report = read("rate/0.1");
    for set in ["train", "validation", "test"] {
        let expected = &report["measures"][set];
        let found = &of("runs/rate/0.1")["measures"][set]["ndcg@10"];
        assert_eq!(found["mean"], expected["measures"]["ndcg@10"], "{set}");
        assert_eq!(found["standard_error"], expected["standard_errors"]["ndcg@10"], "{set}");
    }
    assert_eq!(of("runs/rate/0.001")["settings"]["learner.learning_rate"], 0.001);
    assert!(of("runs/rate/0.001")["settings"].get("loss.name").is_none(), "the same in all runs");
    let trained: Vec<&Value> = runs.iter().filter(|run| run["command"] == "train").collect();
    let best = trained.iter().filter(|run| run["best"] == true).collect::<Vec<_>>();
    assert_eq!(best.len(), 1);
    let validation = |run: &Value| run["measures"]["validation"]["ndcg@10"]["mean"].as_f64().unwrap();
    assert!(trained.iter().all(|run| validation(run) <= validation(best[0])));
    for run in trained.iter().filter(|run| run["best"] == false) {
        let test = |run: &Value| run["measures"]["test"]["ndcg@10"]["mean"].as_f64().unwrap();
        assert!((run["difference"]["mean"].as_f64().unwrap() - (test(run) - test(best[0]))).abs() < 1e-12);
        assert!(run["difference"]["p"].as_f64().unwrap() <= 1.0);
    }
    assert!(table["notes"][0].as_str().unwrap().contains("2 different sets of queries"), "{}", table["notes"]);

    let text = bench.output(&["report", "runs", "--sort", "folder"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("runs/rate/0.001") && text.contains("best"), "{text}");
    let page = bench.output(&["report", "runs", "--out", "-"]);
    assert!(page.starts_with("<!DOCTYPE html>") && !page.contains("<script") && page.contains("Learning curves"));
    bench.output(&["report", "runs/default", "runs/cv", "--out", "two.html"]);
    assert!(bench.path("two.html").exists());
}

#[test]
fn a_table_of_runs_is_chosen_and_sorted() {
    let bench = many_runs();
    let folders = |arguments: &[&str]| -> Vec<String> {
        let all = [&["report", "runs", "--json"], arguments].concat();
        let table: Value = serde_json::from_str(&bench.output(&all)).unwrap();
        let runs = table["runs"].as_array().unwrap().iter();
        runs.map(|run| run["folder"].as_str().unwrap().replace("runs/", "")).collect()
    };
    let by_rate = folders(&["--where", "scorer.kind=linear", "--sort", "learner.learning_rate"]);
    assert_eq!(by_rate.len(), 4);
    // The points of a grid complete their rates, so the cross-validation has none.
    assert_eq!([0, 2, 3].map(|at| by_rate[at].as_str()), ["rate/0.001", "rate/0.1", "cv"]);
    assert_eq!(folders(&["--where", "learner.learning_rate=0.1"]), ["rate/0.1"]);
    let refused = |arguments: &[&str]| bench.refused(&[&["report", "runs"], arguments].concat());
    let message = refused(&["--where", "learner.learning_rat=0.1"]);
    assert!(message.contains("did you mean `learner.learning_rate`?"), "{message}");
    let message = refused(&["--where", "scorer.kind=mlp"]);
    assert!(message.contains("no run has this value, expected one of linear"), "{message}");
    let message = refused(&["--sort", "second"]);
    assert!(message.contains("did you mean `seconds`?"), "{message}");
    let message = refused(&["--out", "runs/default/report.json"]);
    assert!(message.contains("is a file of the run"), "{message}");
    let message = refused(&["--json", "--out", "-"]);
    assert!(message.contains("--json: found --out -, expected a file: standard output can hold only one"), "{message}");
}

#[test]
fn runs_that_cannot_be_read_are_left_out_with_a_note() {
    let bench = many_runs();
    for folder in ["damaged", "unfinished"] {
        fs::create_dir(bench.path("runs").join(folder)).unwrap();
    }
    bench.write("runs/damaged/report.json", "{");
    fs::copy(bench.path("runs/default/.burn-rank"), bench.path("runs/unfinished/.burn-rank")).unwrap();
    let text = bench.output(&["report", "runs"]).replace("\n         ", " ");
    assert!(text.contains("Left out: runs/damaged/report.json: EOF"), "{text}");
    assert!(text.contains("Left out: runs/unfinished is not finished."), "{text}");
    // A fit that was stopped leaves a report.
    fs::create_dir(bench.path("runs/stopped")).unwrap();
    let report = bench.text("runs/default/report.json").replace("\"stop\": \"completed\"", "\"stop\": \"interrupted\"");
    bench.write("runs/stopped/report.json", &report);
    let text = bench.output(&["report", "runs"]).replace("\n         ", " ");
    assert!(text.contains("Left out: runs/stopped is not finished."), "{text}");
    let message = bench.refused(&["compare", "runs/default", "runs/stopped"]);
    assert!(message.contains("runs/stopped: found a run that was stopped, expected a finished one"), "{message}");
    fs::create_dir(bench.path("empty")).unwrap();
    let message = bench.refused(&["report", "runs", "empty"]);
    assert!(message.contains("empty: no report.json here or in a folder below"), "{message}");
}
