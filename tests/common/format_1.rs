//! The contents of `tests/golden/format_1/`: saved rankers, generated queries, and the bits of their scores.

use std::collections::BTreeMap;
use std::path::PathBuf;

use burn::tensor::Device;
use burn_rank::data::letor::{ReadOptions, read};
use burn_rank::ranker::Ranker;

/// Bits of the scores in hexadecimal by instruction set, or under [`EVERY`] if they do not depend on it.
pub type Bits = BTreeMap<String, Vec<String>>;

pub const EVERY: &str = "every";

pub fn folder() -> PathBuf {
    super::root().join("tests/golden/format_1")
}

/// Reads the recorded bits of each ranker.
pub fn recorded() -> BTreeMap<String, Bits> {
    serde_json::from_str(&std::fs::read_to_string(folder().join("bits.json")).unwrap()).unwrap()
}

/// Returns the scores that a saved ranker gives the generated queries in `queries.txt`.
pub fn scores(name: &str) -> Vec<f32> {
    let device = Device::flex();
    let ranker = Ranker::load(&folder().join(name).with_extension("safetensors"), &device).unwrap();
    assert_eq!(ranker.metadata().versions.format, 1, "{name}");
    let queries = read(&[folder().join("queries.txt")], &ReadOptions::default()).unwrap();
    ranker.predict(&queries, &device).unwrap()
}

pub fn bits(scores: &[f32]) -> Vec<String> {
    scores.iter().map(|score| format!("{:08x}", score.to_bits())).collect()
}
