//! `expected/imports.json`: the scores that LightGBM, XGBoost and CatBoost give rankers of their own, whose files are in
//! `expected/imports`. To renew both, run `expected/generate_imports.py`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burn_rank::data::RankingDataset;
use burn_rank::ranker::{ImportFormat, Ranker};
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    /// Features of each document; a missing value is null.
    rows: Vec<Vec<Option<f32>>>,
    /// One score per document, by the name of the file.
    scores: BTreeMap<String, Vec<f64>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/expected")
}

#[test]
fn rankers_of_other_systems_score_as_in_their_own_library() {
    let expected: Expected =
        serde_json::from_str(&std::fs::read_to_string(folder().join("imports.json")).unwrap()).unwrap();
    let documents = expected.rows.len();
    let width = expected.rows[0].len();
    let features: Vec<f32> = expected.rows.iter().flatten().map(|value| value.unwrap_or(f32::NAN)).collect();
    let data = RankingDataset::from_groups(features, width, vec![0.0; documents], &[documents]).unwrap();
    let device = Device::flex();
    let files = std::fs::read_dir(folder().join("imports")).unwrap().count();
    assert_eq!(expected.scores.len(), files);
    for (name, expected) in expected.scores {
        let path = folder().join("imports").join(&name);
        let ranker = Ranker::open(&path, &device).unwrap();
        let scores = ranker.predict(&data, &device).unwrap();
        assert_eq!(scores.len(), expected.len(), "{name}");
        for (document, (&score, expected)) in scores.iter().zip(expected).enumerate() {
            let near = 1e-6 * expected.abs().max(1.0);
            assert!((f64::from(score) - expected).abs() <= near, "{name}, document {document}: {score} {expected}");
        }
        let distinct = scores.iter().map(|score| score.to_bits()).collect::<std::collections::BTreeSet<_>>().len();
        assert!(distinct > 2, "{name} tells documents apart: {scores:?}");
        let again = Ranker::from_bytes(&ranker.to_bytes(), Path::new("again"), &device).unwrap();
        assert_eq!(again.predict(&data, &device).unwrap(), scores, "{name}, saved");
    }
}

#[test]
fn no_truncated_file_is_read() {
    for entry in std::fs::read_dir(folder().join("imports")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let format = ImportFormat::of_file(&path).unwrap();
        // Behind the last tree, LightGBM's file has nothing that a score depends on.
        let end = text.find("end of trees").unwrap_or(text.trim_end().len());
        for length in (0..end).step_by(7) {
            let cut = &text.as_bytes()[..length];
            assert!(Ranker::import(cut, format).is_err(), "{}: {length} bytes", path.display());
        }
    }
}
