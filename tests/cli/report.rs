//! The page of a run: written beside its JSON, a view of it, and looked at in a browser.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::{Value, json};

use super::{Bench, SMALL, files};

/// A run of `train` in `train` and one of `cv` in `cv`.
fn runs() -> Bench {
    let bench = Bench::default();
    let linear = SMALL.replace("kind = \"mlp\"\nhidden = [8]", "kind = \"linear\"");
    bench.write("train.toml", &format!("name = \"<script>alert('1')</script>\"\n{linear}"));
    bench.output(&["train", "train.toml", "--out", "train"]);
    let split = linear
        .replace("test_queries = 8", "test_queries = 0")
        .replace("validation_queries = 8", "validation_queries = 0");
    let grid = "[cv]\nsplit = 3\nseeds = [1, 2]\n\n[grid]\n\"learner.learning_rate\" = [0.001, 0.01]\n";
    bench.write("cv.toml", &format!("{split}{grid}"));
    bench.output(&["cv", "cv.toml", "--out", "cv"]);
    bench
}

#[test]
fn every_run_leaves_a_page_that_is_a_view_of_its_json() {
    let bench = runs();
    for run in ["train", "cv"] {
        let page = fs::read_to_string(bench.path(run).join("report.html")).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert!(!page.contains("<script"));
        assert_eq!(bench.output(&["report", run, "--out", "again.html"]), "again.html\n");
        assert_eq!(fs::read_to_string(bench.path("again.html")).unwrap(), page, "{run}");
        assert_eq!(bench.output(&["report", run, "--out", "-"]), page);
    }
    assert!(!bench.path("-").exists());
    // Without the part that differs between machines, the rest is shown.
    fs::remove_file(bench.path("train/run.json")).unwrap();
    bench.output(&["report", "train"]);
    let page = fs::read_to_string(bench.path("train/report.html")).unwrap();
    assert!(page.contains("Learning curves") && !page.contains("largest memory"));
}

#[test]
fn the_json_holds_what_the_page_shows() {
    let bench = runs();
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
    assert_eq!(details[0]["fits"].as_array().unwrap().len(), 2, "one a seed");
    for (fold, details) in cv["folds"].as_array().unwrap().iter().zip(details) {
        let points: Vec<f64> = details["points"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect();
        assert_eq!(fold["validation"].as_f64().unwrap(), points.iter().copied().fold(f64::MIN, f64::max));
        assert!(fold["standard_errors"]["ndcg@10"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_cross_validation_without_a_folder_writes_nothing() {
    let bench = Bench::default();
    bench.write("cv.toml", SMALL);
    bench.output(&["cv", "cv.toml"]);
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
    assert_eq!(files(&bench.path("run")), ["report.json"], "nothing half-written");
}

/// The browser that looks at pages; `None`, with a message, where there is none.
fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: no chromium here to look at the page");
    }
    found
}

#[test]
fn a_browser_sees_pages_that_fit_in_light_and_dark() {
    let Some(browser) = browser() else { return };
    let bench = runs();
    let page = |run: &str| fs::read_to_string(bench.path(run).join("report.html")).unwrap();
    // A script must not end within its own text.
    let pages = json!({"train": page("train"), "cv": page("cv")}).to_string().replace("</", "<\\/");
    let look = bench.write("look.html", &include_str!("look.html").replace("PAGES", &pages));
    for (scheme, dark) in [("1", false), ("0", true)] {
        let output = Command::new(&browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
            .args(["--enable-logging=stderr", "--dump-dom"])
            .arg(format!("--user-data-dir={}", bench.path(&format!("profile{scheme}")).display()))
            .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
            .arg(format!("file://{}", look.display()))
            .timeout(Duration::from_secs(300))
            .output()
            .unwrap();
        let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(console.len() == 1 && console[0].contains("looked"), "{log}");
        let seen = dom.split_once("<pre id=\"seen\">").unwrap().1.split_once("</pre>").unwrap().0;
        let seen: Value =
            serde_json::from_str(&seen.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")).unwrap();
        let seen = seen.as_object().unwrap();
        assert_eq!(seen.len(), 4);
        for (name, seen) in seen {
            let number = |key: &str| seen[key].as_f64().unwrap();
            assert!(number("overflow") <= 0.0, "{name} scrolls sideways: {seen}");
            assert!(number("plots") >= 6.0 && seen["plots"] == seen["plotsInAll"], "{name}: {seen}");
            assert_eq!(seen["cut"], json!([]), "{name}: labels outside of their plots");
            assert!(number("smallest") >= 10.0, "{name}: {seen}");
            assert_eq!(seen["dark"], dark, "{name}");
            assert!(number("faintText") >= 4.5, "{name}: {seen}");
            assert_eq!(seen["faintInk"], json!({}), "{name}");
            assert_eq!(seen["loaded"], json!([]), "{name}");
        }
    }
}
