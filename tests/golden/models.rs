//! The rankers of `models/` load, and give the same scores as when they were made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burn_rank::data::SynthConfig;
use burn_rank::measure::{Measure, evaluate};
use burn_rank::ranker::Ranker;
use serde::Deserialize;

#[derive(Deserialize)]
struct Expectation {
    synth: SynthConfig,
    scores: Vec<f32>,
    measures: BTreeMap<String, f64>,
}

fn names() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
        .collect();
    names.sort();
    names
}

#[test]
fn shipped_rankers_reproduce_their_scores() {
    let device = Device::flex();
    assert!(names().len() >= 2);
    for path in names() {
        let ranker = Ranker::load(&path, &device).unwrap();
        let expected = std::fs::read_to_string(path.with_extension("json")).unwrap();
        let expected: Expectation = serde_json::from_str(&expected).unwrap();
        let data = expected.synth.generate().unwrap();
        let scores = ranker.predict(&data, &device).unwrap();
        assert_eq!(scores.len(), expected.scores.len());
        for (score, expected) in scores.iter().zip(&expected.scores) {
            assert!(
                (score - expected).abs() <= 1e-5 * expected.abs().max(1.0),
                "{}: {score} {expected}",
                path.display()
            );
        }
        let measures: Vec<Measure> = expected.measures.keys().map(|name| name.parse().unwrap()).collect();
        let evaluation = evaluate(&data.rankings(&scores), &measures, &ranker.metadata().convention).unwrap();
        for (measure, value) in evaluation.means {
            assert!((value - expected.measures[&measure.to_string()]).abs() < 1e-6, "{}: {measure}", path.display());
        }
    }
}

#[test]
fn every_shipped_ranker_has_an_accurate_card() {
    for path in names() {
        let ranker = Ranker::load(&path, &Device::flex()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy();
        let card = std::fs::read_to_string(path.with_extension("md")).unwrap();
        assert_eq!(card, ranker.card(&name));
        assert!(ranker.metadata().measures["test ndcg@10"] > 0.5, "{name}");
    }
}
