//! Checks the page of a run as Chromium shows it: width, color schemes, contrast, labels, and that nothing is loaded.

use std::path::PathBuf;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::bench::trained_and_cross_validated;

/// Finds the browser that looks at pages.
pub fn found() -> Result<PathBuf, String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut paths = std::env::split_paths(&folders).flat_map(|folder| names.map(|name| folder.join(name)));
    paths.find(|path| path.is_file()).ok_or_else(|| "no chromium".into())
}

pub fn a_browser_sees_pages_that_fit_in_light_and_dark() {
    let browser = found().unwrap();
    let bench = trained_and_cross_validated();
    let page = |run: &str| bench.text(&format!("{run}/report.html"));
    // The text of a script must not contain the end of the script.
    bench.done("synth --queries 30 --features 10 --out data.txt");
    for (run, measure) in [("one", "regression"), ("two", "rank_boost")] {
        bench.write("c.toml", &format!("data = {{ train = [\"data.txt\"] }}\nlearner = {{ kind = \"{measure}\" }}\n"));
        bench.output(&["train", "c.toml", "--out", run]);
    }
    let compare = bench.done("compare one two data.txt --resamples 100 --html -");
    let pages = json!({"train": page("train"), "cv": page("cv"), "compare": compare}).to_string().replace("</", "<\\/");
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
        assert_eq!(seen.len(), 6);
        for (name, seen) in seen {
            let number = |key: &str| seen[key].as_f64().unwrap();
            assert!(number("overflow") <= 0.0, "{name} scrolls sideways: {seen}");
            let least = if name.starts_with("compare") { 1.0 } else { 6.0 };
            assert!(number("plots") >= least && seen["plots"] == seen["plotsInAll"], "{name}: {seen}");
            assert_eq!(seen["cut"], json!([]), "{name}: labels outside of their plots");
            assert_eq!((&seen["concluded"], &seen["cutTables"]), (&json!(true), &json!(0)), "{name}: {seen}");
            assert!(number("smallest") >= 10.0, "{name}: {seen}");
            assert_eq!(seen["dark"], dark, "{name}");
            assert!(number("faintText") >= 4.5, "{name}: {seen}");
            assert_eq!(seen["faintInk"], json!({}), "{name}");
            assert_eq!(seen["loaded"], json!([]), "{name}");
        }
    }
}
