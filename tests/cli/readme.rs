//! The pages outside the guide do what they say: every command of README.md runs, every TOML block of it is a
//! configuration, and the Python blocks of docs/EXPORT.md read what `convert` wrote. A line that is not run is named
//! here, with the reason.

use std::fs;
use std::path::Path;
use std::process::Command;

use burn_rank::experiment::{Document, ExperimentConfig};

use super::{Bench, SMALL};

/// Lines of `sh` blocks that no test runs, and why.
const LEFT_OUT: [(&str, &str, &str); 3] = [
    ("README.md", "cargo test", "it is what runs this"),
    ("README.md", "cargo install --path .", "builds the whole crate again"),
    (
        "docs/EXPORT.md",
        "java -jar RankLib.jar -load ranker.txt -rank test.txt -score scores.txt",
        "RankLib comes with its own releases; tests/python/exports.py reads its text by its formula",
    ),
];

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The text of each block fenced as `info`.
fn blocks(page: &str, info: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take().filter(|(wanted, _)| *wanted).map(|(_, text)| text)),
            (Some(found), None) => open = Some((found == info, String::new())),
            (None, Some((_, text))) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    blocks
}

/// The lines of a page's `sh` blocks that are commands of ours; the others have to be left out by name.
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

/// Files in the places that README.md names: what a user has, three sets of queries, a run and its judgements.
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
    fs::copy(bench.path("data/test.txt"), bench.path("test.txt")).unwrap();
    bench.write("qrels.txt", "1 0 a 1\n1 0 b 0\n");
    bench.write("run.txt", "1 Q0 a 1 2.0 theirs\n1 Q0 b 2 1.0 theirs\n");
    bench
}

#[test]
fn every_command_of_the_readme_runs() {
    let bench = as_a_user_has_it();
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let data = format!("{}/", bench.path("data").display());
    let commands = commands("README.md");
    assert!(commands.len() >= 8, "{commands:?}");
    for line in commands {
        let output = Command::new("sh")
            .args(["-c", &line.replace("/data/", &data)])
            .current_dir(bench.path(""))
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    for file in ["runs/mine/report.html", "runs/quickstart/ranker.safetensors", "scores.txt", "run.txt", "qrels.txt"] {
        assert!(bench.path(file).exists(), "{file}");
    }
}

#[test]
fn every_configuration_of_the_readme_is_valid() {
    let mut blocks = blocks(&page("README.md"), "toml");
    // What a Cargo.toml needs is compared with ours elsewhere (`manifest.rs`).
    blocks.retain(|text| !text.starts_with("[dependencies]"));
    assert!(!blocks.is_empty());
    for text in blocks {
        let document = Document::parse(Path::new("README.toml"), text, &[]).unwrap_or_else(|error| panic!("{error}"));
        ExperimentConfig::from_document(&document).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_python_of_the_page_on_exports_reads_exports() {
    assert_eq!(commands("docs/EXPORT.md"), [""; 0]);
    let packages = Command::new("python3").args(["-c", "import lightgbm, numpy, onnxruntime, safetensors"]).output();
    if !packages.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: python3 has not all of lightgbm, numpy, onnxruntime and safetensors");
        return;
    }
    let bench = Bench::default();
    let data = SMALL.split("[scorer]").next().unwrap();
    let linear =
        "[scorer]\nkind = \"linear\"\n[loss]\nname = \"list_net\"\n[learner]\nkind = \"gradient\"\nepochs = 2\n";
    let trees = "[loss]\nname = \"lambda_ndcg\"\n[learner]\nkind = \"boosted_trees\"\nrounds = 3\n";
    for (name, rest) in [("linear", linear), ("trees", trees)] {
        bench.write(&format!("{name}.toml"), &format!("normaliser = \"z_score\"\n{data}\n{rest}"));
        bench.output(&["train", &format!("{name}.toml"), "--out", name]);
    }
    bench.output(&["convert", "linear/ranker.safetensors", "ranker.onnx"]);
    bench.output(&["convert", "trees/ranker.safetensors", "ranker.txt"]);
    fs::copy(bench.path("linear/ranker.safetensors"), bench.path("ranker.safetensors")).unwrap();
    let blocks = blocks(&page("docs/EXPORT.md"), "python");
    assert_eq!(blocks.len(), 3);
    // One block after the other, the scores of each kept. The first and the last read the same ranker.
    let mut script = String::from("found = []\n");
    for block in blocks {
        script += &format!("{block}found.append(numpy.ravel(scores))\n");
    }
    script += "assert [len(scores) for scores in found] == [20, 20, 20], found\n";
    script += "assert numpy.allclose(found[0], found[2], rtol=1e-5, atol=1e-5), found\n";
    bench.write("blocks.py", &script);
    let output = Command::new("python3").arg("blocks.py").current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
}
