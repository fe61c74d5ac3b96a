//! Where the tests find golden values and data that are not part of the repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// `path` inside the shared folder (`BURN_RANK_SHARED`, else `../shared` beside the repository); `None`, with a
/// message, when it is absent, so that the repository passes its tests alone.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("BURN_RANK_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let full = root.join(path);
    if full.exists() {
        Some(full)
    } else {
        eprintln!("skipped: {} is not here", full.display());
        None
    }
}

/// Every line of `found` stands in the shared file `expected`, in its order: how many, and the first words of the
/// lines that we do not print.
#[track_caller]
#[allow(dead_code, reason = "not every suite compares lines")]
pub fn lines_within(found: &str, expected: &str) -> Option<(usize, BTreeSet<String>)> {
    let expected = std::fs::read_to_string(shared(expected)?).unwrap();
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
    Some((compared, others))
}
