//! `expected/imports.json`: the scores that LightGBM, XGBoost and CatBoost give their rankers, whose files are in
//! `expected/imports`. To renew both, run `expected/generate_imports.py`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burn_rank::data::RankingDataset;
use burn_rank::ranker::{ExportFormat, ImportFormat, Model, Ranker};
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
    let data = RankingDataset::builder()
        .features(features, width)
        .labels(vec![0.0; documents])
        .query_sizes(&[documents])
        .build()
        .unwrap();
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

/// The numbers of a list of a LightGBM file, of each tree in ascending order: trees may number their nodes otherwise.
fn lists(text: &str, name: &str) -> Vec<Vec<f32>> {
    let lists = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let numbers = |list: &str| -> Vec<f32> {
        let mut numbers: Vec<f32> = list.split_whitespace().map(|number| number.parse().unwrap()).collect();
        numbers.sort_by(f32::total_cmp);
        numbers
    };
    lists.map(numbers).collect()
}

fn format(name: &str, ranker: &Ranker) -> ExportFormat {
    ExportFormat::named(name, ranker.model()).unwrap()
}

#[test]
fn counts_and_gains_survive_import_and_export() {
    for name in ["lightgbm.txt", "lightgbm-forest.txt", "lightgbm-no-missing.txt", "lightgbm-zero-as-missing.txt"] {
        let path = folder().join("imports").join(name);
        let ranker = Ranker::open(&path, &Device::flex()).unwrap();
        assert!(ranker.export_notes(format("lightgbm", &ranker)).is_empty(), "{name}");
        let written = String::from_utf8(ranker.export(format("lightgbm", &ranker)).unwrap()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for list in ["leaf_count", "internal_count", "leaf_weight", "internal_weight", "split_gain"] {
            let (ours, theirs) = (lists(&written, list), lists(&text, list));
            assert!(theirs.iter().flatten().any(|&number| number > 0.0), "{name}: {list}");
            assert_eq!(ours, theirs, "{name}: {list}");
        }
    }
    for name in ["xgboost.json", "xgboost-base-score.json", "xgboost-dart.json"] {
        let path = folder().join("imports").join(name);
        let ranker = Ranker::open(&path, &Device::flex()).unwrap();
        assert_eq!(ranker.export_notes(format("lightgbm", &ranker)).len(), 1, "{name}");
        assert!(ranker.export_notes(format("xgboost", &ranker)).is_empty(), "{name}");
        let trees = |text: &str| {
            let file: serde_json::Value = serde_json::from_str(text).unwrap();
            let booster = &file["learner"]["gradient_booster"];
            let model = booster.get("model").unwrap_or(&booster["gbtree"]["model"]);
            model["trees"].as_array().unwrap().clone()
        };
        let written = trees(std::str::from_utf8(&ranker.export(format("xgboost", &ranker)).unwrap()).unwrap());
        let read = trees(&std::fs::read_to_string(&path).unwrap());
        // The base score is a tree here.
        assert_eq!(written.len(), read.len() + 1, "{name}");
        for (ours, theirs) in written[1..].iter().zip(&read) {
            for list in ["sum_hessian", "loss_changes"] {
                let numbers = |tree: &serde_json::Value| {
                    let mut numbers: Vec<f32> =
                        tree[list].as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect();
                    numbers.sort_by(f32::total_cmp);
                    numbers
                };
                assert_eq!(numbers(ours), numbers(theirs), "{name}: {list}");
            }
        }
    }
    for name in ["catboost.json", "catboost-depthwise.json", "catboost-nan-max.json"] {
        let ranker = Ranker::open(&folder().join("imports").join(name), &Device::flex()).unwrap();
        let Model::Trees(trees) = ranker.model() else { panic!("trees") };
        let arrays = serde_json::to_value(trees).unwrap();
        let count = |root: &serde_json::Value| arrays["count"][root.as_u64().unwrap() as usize].as_u64().unwrap();
        // All 300 documents, and none at the bias.
        let (bias, roots) = arrays["roots"].as_array().unwrap().split_last().unwrap();
        assert!(roots.iter().all(|root| count(root) == 300), "{name}");
        assert_eq!(count(bias), 0, "{name}");
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
            assert!(Ranker::import(cut, format, &path).is_err(), "{}: {length} bytes", path.display());
        }
    }
}
