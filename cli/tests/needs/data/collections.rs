//! Published collections are read as their descriptions say.

use std::path::PathBuf;

use burn_rank::data::folds::{self, Fold};
use burn_rank::data::letor::{ReadOptions, read};
use burn_rank::data::{Normalizer, NormalizerKind, RankingDataset};

use super::shared;

fn set(paths: &[PathBuf]) -> RankingDataset {
    let data = read(paths, &ReadOptions::default()).unwrap();
    data.check().unwrap();
    data
}

fn shape(data: &RankingDataset) -> (usize, usize, usize) {
    (data.queries(), data.documents(), data.feature_count)
}

/// Asserts that every fold has every query once, and that every query is tested once.
fn check_folds(folds: &[Fold], expected: (usize, usize, usize)) {
    assert_eq!(folds.iter().map(|fold| fold.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let tests: Vec<PathBuf> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
    assert_eq!(shape(&set(&tests)), expected);
    for fold in folds {
        let all = [fold.train.as_slice(), &fold.validation, &fold.test].concat();
        assert_eq!(shape(&set(&all)), expected, "fold {}", fold.number);
    }
}

pub fn letor_3_ohsumed() {
    let folder = shared("data/letor3-ohsumed").unwrap();
    let folds = folds::discover(&folder).unwrap();
    check_folds(&folds, (106, 16_140, 45));
    let mut data = set(&folds.iter().flat_map(|fold| fold.test.clone()).collect::<Vec<_>>());
    let empty: Vec<&str> =
        (0..data.queries()).filter(|&q| !data.has_relevant(q)).map(|q| data.query_ids[q].as_str()).collect();
    assert_eq!(empty, ["8"]);
    assert!(data.document_ids.iter().all(|id| id.parse::<u32>().is_ok()), "numbers of MEDLINE documents");
    data.check_integer_labels(2).unwrap();
    assert!(data.check_integer_labels(1).is_err());
    // The collection is normalized as `query_min_max` does, and rounded to six places.
    let published = data.features.clone();
    Normalizer::fit(&data, NormalizerKind::QueryMinMax).apply(&mut data).unwrap();
    let differences =
        published.to_slice().iter().zip(data.features.to_slice()).map(|(published, ours)| (published - ours).abs());
    assert!(differences.fold(0.0, f32::max) < 2e-6);
}

pub fn letor_2_ohsumed_in_parts_with_crlf() {
    let folder = shared("data/letor2-ohsumed").unwrap();
    let folds = folds::discover(&folder).unwrap();
    assert_eq!(folds[3].train, ["S4.txt", "S5.txt", "S1.txt"].map(|name| folder.join(name)));
    check_folds(&folds, (106, 16_140, 25));
}

pub fn letor_4_mq2008() {
    let folder = shared("data/mq2008").unwrap();
    let folds = folds::discover(&folder).unwrap();
    check_folds(&folds, (784, 15_211, 46));
    let data = set(&folds.iter().flat_map(|fold| fold.test.clone()).collect::<Vec<_>>());
    assert_eq!(data.statistics().empty_queries, 220);
    assert!(data.document_ids.iter().all(|id| id.starts_with("GX") && !id.contains(' ')));
}

pub fn mslr_sample() {
    let path = shared("data/mslr-sample/sample.txt").unwrap();
    let data = set(&[path]);
    assert_eq!(shape(&data), (54, 5_575, 136));
    let statistics = data.statistics();
    assert_eq!((statistics.length_range.0, statistics.length_range.2), (10, 261));
    assert_eq!(statistics.labels.iter().map(|(label, _)| *label).collect::<Vec<_>>(), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert!(data.document_ids.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.txt");
    let mut text = Vec::new();
    data.write_letor(&mut text).unwrap();
    std::fs::write(&copy, text).unwrap();
    assert_eq!(set(&[copy]), data);
}

pub fn lightgbm_group_sizes() {
    let folder = shared("data/lightgbm-lambdarank").unwrap();
    let options = ReadOptions { features: Some(300), ..ReadOptions::default() };
    for (name, expected) in [("rank.train", (201, 3_005, 300)), ("rank.test", (50, 768, 300))] {
        assert_eq!(shape(&read(&[folder.join(name)], &options).unwrap()), expected);
    }
}
