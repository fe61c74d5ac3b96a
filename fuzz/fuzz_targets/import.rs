//! Rankers of other systems: bytes as they come, read as the format that they look like, or as one that is chosen. An
//! error, or a ranker that scores, saves, loads and exports.
#![no_main]

use std::path::Path;

use burn::tensor::Device;
use burn_rank::data::RankingDataset;
use burn_rank::ranker::{ExportFormat, ImportFormat, Ranker};
use burn_rank_fuzz::choice;
use libfuzzer_sys::fuzz_target;

/// Wider rankers are read but not run: their cost is what they ask for.
const FEATURES: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    let (which, text) = choice(bytes);
    let Some(format) = ImportFormat::detect(bytes).or_else(|| ImportFormat::all().nth(which)) else { return };
    let text = if ImportFormat::detect(bytes).is_some() { bytes } else { text };
    let Ok(ranker) = Ranker::import(text, format, Path::new("fuzz")) else { return };
    let features = ranker.model().features();
    if features == 0 || features > FEATURES {
        return;
    }
    let device = Device::flex();
    let values = (0..3 * features).map(|place| place as f32 / 7.0 - 1.0).collect();
    let data = RankingDataset::builder()
        .features(values, features)
        .labels(vec![0.0; 3])
        .query_sizes(&[2, 1])
        .build()
        .expect("three documents");
    let scores = ranker.predict(&data, &device).expect("data with the features of the ranker");
    let again = Ranker::from_bytes(&ranker.to_bytes(), Path::new("again"), &device).expect("what is saved is loaded");
    let same = again.predict(&data, &device).expect("the same ranker");
    assert!(scores.iter().zip(&same).all(|(one, other)| one.to_bits() == other.to_bits()));
    for format in ["onnx", "lightgbm", "xgboost", "ranklib"] {
        let _ = ranker.export(ExportFormat::named(format, ranker.model()).expect("a format"));
    }
});
