//! Helpers that more than one suite uses.

#![allow(dead_code, reason = "no suite uses everything")]

pub mod format_1;
pub mod pages;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns the root of the repository, whichever of its packages the suite belongs to.
pub fn root() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.find(|folder| folder.join("Cargo.lock").exists()).expect("Cargo.lock is at the root")
}

/// Returns `path` inside the folder of expected values.
pub fn expected(path: &str) -> PathBuf {
    root().join("tests/golden/expected").join(path)
}

/// Reads the text of a file inside the folder of expected values.
#[track_caller]
pub fn expected_text(path: &str) -> String {
    std::fs::read_to_string(expected(path)).unwrap_or_else(|error| panic!("{}: {error}", expected(path).display()))
}

/// Reads a JSON file inside the folder of expected values.
#[track_caller]
pub fn expected_json<T: serde::de::DeserializeOwned>(path: &str) -> T {
    serde_json::from_str(&expected_text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Asserts that every line of `found` is in the expected file, in the same order. Returns how many lines these are, and
/// the first words of the expected lines that we do not print.
#[track_caller]
pub fn lines_within(found: &str, expected: &str) -> (usize, BTreeSet<String>) {
    let expected = expected_text(expected);
    let mut found = found.lines().peekable();
    let (mut compared, mut others) = (0, BTreeSet::new());
    for line in expected.lines() {
        if found.next_if_eq(&line).is_some() {
            compared += 1;
        } else {
            others.insert(line.split_whitespace().next().unwrap().to_string());
        }
    }
    assert_eq!(found.next(), None, "this line is not in the expected output");
    (compared, others)
}
