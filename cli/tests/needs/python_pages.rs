//! Pages whose commands run Python: every file is written, and every command in `sh` and `bash` runs. And a program of
//! theirs whose own data are too large for a test.

use std::process::Command;

use crate::bench::Bench;
use crate::common::root;
use crate::follow::follow;

fn runs(page: &str, left_out: Option<&str>) {
    let admitted = |line: &str| !left_out.is_some_and(|word| line.contains(word));
    let commands = follow(&root().join(page), &["sh", "bash"], admitted);
    assert!(commands > 3, "{page}: {commands} commands");
}

pub fn text_and_categories_as_features_with_pandas() {
    runs("docs/how-to/categories.md", Some("polars"));
}

pub fn text_and_categories_as_features_with_polars() {
    runs("docs/how-to/categories.md", None);
}

pub fn grades_from_clicks_and_purchases() {
    runs("docs/how-to/grades.md", None);
}

pub fn a_new_ranker_every_night() {
    runs("docs/how-to/nightly.md", None);
}

pub fn a_ranker_in_onnx_runtime() {
    runs("docs/how-to/deploy.md", None);
}

pub fn a_table_and_a_figure_for_a_paper() {
    runs("docs/how-to/paper.md", None);
}

/// WordNet counts the places of meanings in each of its files anew.
pub fn adjectives_and_adverbs_of_wordnet_keep_their_definitions() {
    let bench = Bench::default();
    for (kind, letter, gloss) in [
        ("noun", 'n', "a time without food; \"a fast of three days\""),
        ("verb", 'v', "eat nothing; \"fast before a test\""),
        ("adj", 'a', "moving quickly; \"a fast car\""),
        ("adv", 'r', "in a quick way; \"drive fast\""),
    ] {
        bench.write(&format!("data.{kind}"), &format!("00000001 00 {letter} 01 fast 0 000 | {gloss}\n"));
        bench.write(&format!("index.{kind}"), &format!("fast {letter} 1 0 1 0 00000001\n"));
    }
    let script = root().join("examples/wordnet_lists.py");
    let output = Command::new("python3").arg(script).args([".", "out"]).current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = ["train", "validation", "test"].map(|part| bench.text(&format!("out/{part}.jsonl"))).concat();
    for definition in ["a time without food", "eat nothing", "moving quickly", "in a quick way"] {
        assert_eq!(lines.matches(definition).count(), 4, "{definition}: {lines}");
    }
}
