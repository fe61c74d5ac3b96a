//! `cv --keep`: rankers, scores and runs of the selected fits, and what reads them.

use std::collections::HashSet;
use std::fs;

use serde_json::Value;

use super::{Bench, files, grid};

/// Three folds of one file, two points of a grid.
fn bench() -> Bench {
    grid("{ split = 3 }")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The content of every kept file, by name.
fn kept(bench: &Bench, run: &str) -> Vec<(String, Vec<u8>)> {
    let folder = bench.path(run).join("kept");
    let mut names = files(&folder);
    names.sort();
    names.into_iter().map(|name| (name.clone(), fs::read(folder.join(&name)).unwrap())).collect()
}

/// The query of a line of a run.
fn query(line: &str) -> &str {
    line.split(' ').next().unwrap()
}

#[test]
fn the_selected_fit_of_each_fold_is_kept() {
    let bench = bench();
    let text = bench.done("cv grid.toml --out all --keep rankers,scores,runs");
    let there = kept(&bench, "all");
    let names: Vec<&str> = there.iter().map(|(name, _)| name.as_str()).collect();
    let of_fold = |fold: usize| ["run.txt", "safetensors", "scores.txt"].map(|end| format!("fold{fold}-seed1.{end}"));
    assert_eq!(names, (1..=3).flat_map(of_fold).collect::<Vec<_>>());
    let bytes: usize = there.iter().map(|(_, content)| content.len()).sum();
    assert!(text.contains(&format!("\nkept 9 files, {bytes} bytes, in all/kept\n")), "{text}");

    // Without the option nothing is kept, and all else is the same.
    let plain = bench.done("cv grid.toml --out plain");
    assert_eq!(
        text.replace("to all, open all/", "to plain, open plain/")
            .lines()
            .filter(|line| !line.starts_with("kept"))
            .collect::<Vec<_>>(),
        plain.lines().collect::<Vec<_>>()
    );
    assert!(!bench.path("plain/kept").exists());
    let printed = json(&bench.done("cv grid.toml --out all --keep scores --json"));
    assert_eq!(printed["kept"]["files"][0], "kept/fold1-seed1.scores.txt");
    assert_eq!(kept(&bench, "all"), there);

    // The ranker, its scores and its run are the same ranking.
    let model = "all/kept/fold2-seed1.safetensors";
    bench.output(&["predict", model, "data.txt", "--run-id", "grid", "--qrels", "qrels", "--out", "whole.run"]);
    let whole = bench.text("whole.run");
    let of_fold = bench.text("all/kept/fold2-seed1.run.txt");
    assert!(of_fold.lines().count() > 6);
    let queries: HashSet<&str> = of_fold.lines().map(query).collect();
    let cut: Vec<&str> = whole.lines().filter(|line| queries.contains(query(line))).collect();
    assert_eq!(of_fold.lines().collect::<Vec<_>>(), cut, "the tag is the name of the experiment");
    let scores = bench.text("all/kept/fold2-seed1.scores.txt");
    let mut of_run: Vec<&str> = of_fold.lines().map(|line| line.split(' ').nth(4).unwrap()).collect();
    let mut lines: Vec<&str> = scores.lines().collect();
    of_run.sort_unstable();
    lines.sort_unstable();
    assert_eq!(of_run, lines);
}

#[test]
fn kept_scores_have_the_order_of_a_file_whose_queries_stand_apart() {
    let bench = bench();
    bench.done("synth --queries 6 --features 5 --seed 2 --out test.txt");
    let text = bench.text("test.txt");
    let (even, odd): (Vec<_>, Vec<_>) = text.lines().enumerate().partition(|(place, _)| place % 2 == 0);
    let apart: String = even.into_iter().chain(odd).map(|(_, line)| format!("{line}\n")).collect();
    bench.write("test.txt", &apart);
    let data = "data={train=[\"data.txt\"], validation=[\"data.txt\"], test=[\"test.txt\"], read={sort=true}}";
    let cv = ["cv", "grid.toml", "--set", data, "--set", "cv={}", "--out"];
    bench.output(&[&cv[..], &["a", "--keep", "rankers,scores"]].concat());
    bench.output(&[&cv[..], &["b", "--keep", "rankers"]].concat());
    let predicted = bench.done("predict a/kept/fold1-seed1.safetensors test.txt --read sort=true");
    assert_eq!(bench.text("a/kept/fold1-seed1.scores.txt"), predicted);
    let means = &json(&bench.done("compare a b --json -m err@5"))["measures"]["err@5"]["means"];
    assert_eq!(means[0], means[1], "what was kept is read in the same order");
}

#[test]
fn a_run_that_kept_nothing_keeps_it_when_it_is_resumed() {
    let bench = bench();
    let all = ["--keep", "rankers,scores,runs"];
    bench.output(&[&["cv", "grid.toml", "--out", "at-once"][..], &all].concat());
    bench.done("cv grid.toml --out later");
    let rankers = |run: &str| {
        let jobs = fs::read_dir(bench.path(run).join("jobs")).unwrap().map(|job| job.unwrap().path());
        jobs.filter(|job| job.join("ranker.safetensors").exists()).count()
    };
    assert_eq!((rankers("at-once"), rankers("later")), (6, 0));
    bench.output(&[&["cv", "grid.toml", "--out", "later"][..], &all].concat());
    assert_eq!(rankers("later"), 3, "only the selected fits are made again");
    assert_eq!(kept(&bench, "later"), kept(&bench, "at-once"));
    let report = |run: &str| bench.read(&format!("{run}/report.json"));
    assert_eq!(report("later"), report("at-once"));

    // Files kept by another configuration do not belong to this run.
    bench.done("cv grid.toml --out later --overwrite --set cv.folds=[1]");
    assert!(!bench.path("later/kept").exists());
}

#[test]
fn what_a_finished_run_keeps_is_not_replaced() {
    let bench = bench();
    let keep = ["cv", "grid.toml", "--out", "run", "--keep", "scores"];
    bench.output(&keep);
    fs::write(bench.path("run/kept/notes"), "mine").unwrap();
    fs::write(bench.path("run/kept/fold1-seed1.scores.txt"), "mine").unwrap();
    bench.done("cv grid.toml --out run --keep scores,runs");
    assert_eq!(bench.read("run/kept/fold1-seed1.scores.txt"), b"mine");
    assert_eq!(files(&bench.path("run/kept")).len(), 7, "three runs more");
    bench.done("cv grid.toml --out run --overwrite");
    assert!(!bench.path("run/kept").exists() && bench.path("run.old-1/kept/notes").exists());
}

#[test]
fn compare_measures_what_was_kept_as_it_is_asked() {
    let bench = bench();
    for (run, keep) in [("a", "scores"), ("b", "rankers")] {
        let seed = if run == "a" { "learner.lambda=[0.01]" } else { "learner.lambda=[100.0]" };
        bench.output(&["cv", "grid.toml", "--set", "grid={}", "--set", seed, "--out", run, "--keep", keep]);
    }
    let compare = |more: &[&str]| json(&bench.output(&[&["compare", "a", "b", "--json", "-q"][..], more].concat()));
    // The reports have MAP only; with another measure both are computed, and MAP stays what it was.
    let (reported, computed) = (compare(&[]), compare(&["-m", "map,err@5"]));
    let values = |of: &Value| -> Vec<f64> {
        let rows = of["per_query"].as_array().unwrap();
        rows.iter().flat_map(|row| row["measures"]["map"].as_array().unwrap()).filter_map(Value::as_f64).collect()
    };
    let (left, right) = (values(&reported), values(&computed));
    assert!(!left.is_empty() && left.len() == right.len());
    assert!(left.iter().zip(&right).all(|(left, right)| (left - right).abs() < 1e-12));
    assert!(computed["measures"]["err@5"]["means"][0].as_f64().unwrap() > 0.0);
    assert_eq!(compare(&["-c", "letor"])["convention"], "letor");

    // A run that kept nothing has only what its report has.
    bench.done("cv grid.toml --out plain");
    let message = bench.refused(&["compare", "a", "plain", "-m", "err@5"]);
    assert!(message.contains("no values of err@5, found map"), "{message}");
    // Data that have changed since are refused.
    bench.done("synth --queries 18 --features 5 --seed 9 --out data.txt");
    let message = bench.refused(&["compare", "a", "b", "-m", "err@5"]);
    assert!(message.contains("are not those of the run; its data have changed or moved"), "{message}");
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let bench = bench();
    let message = bench.refused(&["cv", "grid.toml", "--keep", "scores", "--no-out"]);
    assert!(message.contains("'--no-out' cannot be used with") || message.contains("cannot be used with"), "{message}");
    let message = bench.refused(&["cv", "grid.toml", "--out", "run", "--keep", "scores,ranker"]);
    let expected = "keep = `ranker`: expected rankers, scores, runs, separated by commas; did you mean `rankers`?\n";
    assert_eq!(message, format!("error: {expected}"));
    assert!(!bench.path("run").exists());
    // A file in the old folder would go away with it.
    bench.done("cv grid.toml --out run --refit final");
    for scores in ["run/s.csv", "final/s.csv"] {
        let line = format!("cv grid.toml --out run --refit final --overwrite --scores {scores}");
        let message = bench.refused(&super::words(&line));
        let expected = format!("error: --scores {scores}: found a folder that --overwrite replaces, expected another");
        assert!(message.starts_with(&expected), "{message}");
    }
    bench.done("cv grid.toml --out run --resume --scores run/s.csv");
}
