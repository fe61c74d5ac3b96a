//! Model files: bytes as they come, and, since a checksum stands before the model, the parts behind it as JSON. An
//! error, or a ranker that scores, saves, loads and exports.
#![no_main]

use std::path::Path;

use burn::tensor::Device;
use burn_rank::data::RankingDataset;
use burn_rank::ranker::{ExportFormat, Model, Ranker};
use burn_rank::workbench::ranker::{EXPORTS, Parts};
use libfuzzer_sys::fuzz_target;

/// Wider models are built but not run: their cost is what they ask for.
const FEATURES: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    let device = Device::flex();
    if let Ok(parts) = serde_json::from_slice::<Parts>(bytes) {
        if let Ok(model) = parts.build(&device) {
            scores(&model, &device);
        }
        return;
    }
    let Ok(ranker) = Ranker::from_bytes(bytes, Path::new("fuzz"), &device) else { return };
    scores(ranker.model(), &device);
    let again = Ranker::from_bytes(&ranker.to_bytes(), Path::new("again"), &device).expect("what is saved is loaded");
    assert_eq!(again.metadata(), ranker.metadata());
    for format in EXPORTS.iter().filter_map(|entry| ExportFormat::named(entry.name, ranker.model())) {
        let _ = ranker.export(format);
    }
});

fn scores(model: &Model, device: &Device) {
    let features = model.features();
    if features <= FEATURES {
        let values = (0..3 * features).map(|place| place as f32 / 7.0 - 1.0).collect();
        let data = RankingDataset::builder()
            .features(values, features)
            .labels(vec![0.0; 3])
            .query_sizes(&[2, 1])
            .build()
            .expect("three documents");
        assert_eq!(model.predict(&data, device).len(), 3);
    }
}
