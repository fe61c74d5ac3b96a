//! The pages outside the guide do what they say: every command in README.md runs, and every TOML block in it is a
//! configuration. A line that is not run is named here, with the reason. The Python blocks of docs/EXPORT.md are run by
//! `tests/needs/export_page.rs`.

use std::fs;
use std::path::Path;
use std::process::Command;

use burn_rank::experiment::{Document, ExperimentConfig};

use super::Bench;
use super::common::pages::{blocks, page};

/// Lines of `sh` blocks that no test runs, and why.
const LEFT_OUT: [(&str, &str, &str); 2] = [
    ("README.md", "cargo install --locked --path .", "builds the whole crate again"),
    (
        "docs/EXPORT.md",
        "java -jar RankLib.jar -load ranker.txt -rank test.txt -score scores.txt",
        "RankLib comes with its own releases; tests/python/exports.py reads its text by its formula",
    ),
];

/// Returns the lines of a page's `sh` blocks that are our commands; all others must be listed in `LEFT_OUT`.
fn commands(name: &str) -> Vec<String> {
    let text = page(name);
    let lines: Vec<String> = blocks(&text, "sh").iter().flat_map(|block| block.lines()).map(String::from).collect();
    let mut left_out: Vec<&str> =
        LEFT_OUT.iter().filter(|(page, ..)| *page == name).map(|(_, line, _)| *line).collect();
    let mut ours = Vec::new();
    for line in lines {
        let command = line.strip_prefix("cargo run --release -- ").map(|rest| format!("burn-rank {rest}"));
        match command.or_else(|| line.starts_with("burn-rank ").then(|| line.clone())) {
            Some(command) => ours.push(command),
            None => {
                let known = left_out.iter().position(|known| *known == line);
                let known =
                    known.unwrap_or_else(|| panic!("{name}: no test runs `{line}`: run it, or say here why not"));
                left_out.remove(known);
            }
        }
    }
    assert!(left_out.is_empty(), "{name} no longer has {left_out:?}");
    ours
}

/// Puts a user's files in the places that README.md names: three sets of queries.
fn as_a_user_has_it() -> Bench {
    let bench = Bench::default();
    fs::create_dir(bench.path("configs")).unwrap();
    bench.write("configs/quickstart.toml", &page("configs/quickstart.toml"));
    bench.output(&[
        "synth",
        "--queries",
        "30",
        "--features",
        "12",
        "--median-length",
        "10",
        "--parts",
        "3",
        "--out",
        "data",
    ]);
    for (part, set) in [("S1", "train"), ("S2", "vali"), ("S3", "test")] {
        fs::rename(bench.path(&format!("data/{part}.txt")), bench.path(&format!("data/{set}.txt"))).unwrap();
    }
    bench
}

#[test]
fn every_command_of_the_readme_runs() {
    let bench = as_a_user_has_it();
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let data = format!("{}/", bench.path("data").display());
    let commands = commands("README.md");
    assert!(commands.len() >= 5, "{commands:?}");
    for line in commands {
        let output = Command::new("sh")
            .args(["-c", &line.replace("/data/", &data)])
            .current_dir(bench.path(""))
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    for file in ["runs/mine/report.html", "runs/quickstart/ranker.safetensors", "scores.txt"] {
        assert!(bench.path(file).exists(), "{file}");
    }
}

#[test]
fn every_configuration_of_the_readme_is_valid() {
    let blocks = blocks(&page("README.md"), "toml");
    assert!(!blocks.is_empty());
    for text in blocks {
        let document = Document::parse(Path::new("README.toml"), text, &[]).unwrap_or_else(|error| panic!("{error}"));
        ExperimentConfig::from_document(&document).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_page_on_exports_has_no_command_of_ours() {
    assert_eq!(commands("docs/EXPORT.md"), [""; 0]);
}

#[test]
fn the_readme_is_short_and_shows_first_what_it_is() {
    let text = page("README.md");
    assert!(text.lines().count() <= 120, "{} lines", text.lines().count());
    let first: Vec<&str> = text.lines().take(30).collect();
    for (what, start) in [("command", "cargo run --release -- "), ("picture", "!["), ("table", "|---|")] {
        assert!(first.iter().any(|line| line.starts_with(start)), "no {what} in the first thirty lines");
    }
}
