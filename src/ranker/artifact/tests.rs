//! Tests that rankers are saved, read, used and described, and what is refused.

use std::collections::BTreeMap;

use super::*;
use crate::data::{NormalizerKind, SynthConfig};
use crate::json::json;
use crate::ranker::parts::Values;
use crate::ranker::{LEAF, Node, TreeArrays, TreeEnsemble};
use crate::scorer::{
    AttentionScorerConfig, InputConfig, LatentCrossScorerConfig, LinearScorerConfig, MlpScorerConfig, NormKind,
    ScorerConfig,
};

fn data() -> RankingDataset {
    let config = SynthConfig { queries: 6, features: 5, median_length: 9.0, max_length: 20, ..Default::default() };
    config.generate().unwrap()
}

fn ranker(model: Model) -> Ranker {
    let metadata = Metadata {
        feature_names: Some((1..=model.features()).map(|feature| format!("f{feature}")).collect()),
        config: json!({ "learner": { "kind": "gradient", "learning_rate": 0.1 } }),
        measures: BTreeMap::from([("validation ndcg@10".to_string(), 0.1 + 0.2)]),
        seed: u64::MAX,
        ..Metadata::default()
    };
    Ranker::new(Normalizer::fit(&data(), NormalizerKind::ZScore), model, metadata).unwrap()
}

fn models() -> Vec<Model> {
    let attention =
        AttentionScorerConfig { width: 4, heads: 2, blocks: 1, feed_forward: 4, dropout: 0.1, ..Default::default() };
    let mlp = MlpScorerConfig { hidden: vec![4, 3], norm: NormKind::Batch, ..Default::default() };
    let input = InputConfig { log1p: true, noise: 0.5 };
    let cross = LatentCrossScorerConfig { hidden: vec![4, 3], width: 4, input, ..Default::default() };
    let configs = [
        ScorerConfig::Linear(LinearScorerConfig { bias: true }),
        ScorerConfig::Linear(LinearScorerConfig { bias: false }),
        ScorerConfig::Mlp(mlp),
        ScorerConfig::Attention(attention),
    ];
    let mut models: Vec<Model> =
        configs.iter().map(|config| Model::Scorer(config.init(5, 3, &Device::flex()).unwrap())).collect();
    let mut trees = TreeEnsemble::new(5);
    let split = |missing_left| Node::Split { feature: 2, threshold: 0.1, left: 1, right: 2, missing_left };
    trees.push(&[split(false), Node::Leaf { value: 0.5 }, Node::Leaf { value: -0.1 }]).unwrap();
    models.push(Model::Trees(trees.clone()));
    trees.push(&[split(true), Node::Leaf { value: 0.5 }, Node::Leaf { value: -0.1 }]).unwrap();
    models.push(Model::Trees(trees));
    models.push(Model::Scorer(ScorerConfig::LatentCross(cross).init(5, 3, &Device::flex()).unwrap()));
    models
}

#[test]
fn a_saved_ranker_scores_as_before() {
    let device = Device::flex();
    let folder = tempfile::tempdir().unwrap();
    for model in models() {
        let ranker = ranker(model);
        let path = folder.path().join("ranker.safetensors");
        ranker.save(&path).unwrap();
        let again = Ranker::load(&path, &device).unwrap();
        assert_eq!(again.predict(&data(), &device).unwrap(), ranker.predict(&data(), &device).unwrap());
        assert_eq!(again.metadata(), ranker.metadata());
        assert_eq!(again.to_bytes(), std::fs::read(&path).unwrap());
    }
}

#[test]
fn raw_data_are_normalized_and_narrow_data_are_filled_with_zeros() {
    let device = Device::flex();
    let ranker = ranker(models().remove(0));
    let mut zero_at_the_end = data();
    zero_at_the_end.features.to_mut_slice().iter_mut().skip(4).step_by(5).for_each(|value| *value = 0.0);
    let narrow = RankingDataset {
        features: zero_at_the_end.features.to_slice().chunks(5).flat_map(|row| row[..4].to_vec()).collect(),
        feature_count: 4,
        ..zero_at_the_end.clone()
    };
    let expected = ranker.predict(&zero_at_the_end, &device).unwrap();
    assert_eq!(ranker.predict(&narrow, &device).unwrap(), expected);
    let mut normalized = zero_at_the_end;
    ranker.normalizer().apply(&mut normalized).unwrap();
    assert_eq!(ranker.model().predict(&normalized, &device), expected);
}

#[test]
fn data_with_unknown_features_are_refused() {
    let wide = SynthConfig { queries: 1, features: 7, ..Default::default() }.generate().unwrap();
    let error = ranker(models().remove(0)).predict(&wide, &Device::flex()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the data have feature 7, but the ranker was trained on features 1 to 5: \
         use data with the same features, or train a ranker on these data"
    );
}

#[test]
fn features_are_found_by_the_names_that_ranker_and_data_have() {
    let device = Device::flex();
    let turned = RankingDataset {
        features: data().features.to_slice().chunks(5).flat_map(|row| row.iter().rev().copied()).collect(),
        ..data()
    };
    let scores = |ranker: &Ranker, names: &[&str], data: &RankingDataset| {
        let feature_names = names.iter().map(|name| name.to_string()).collect();
        ranker.predict(&RankingDataset { feature_names, ..data.clone() }, &device)
    };
    let ranker = ranker(models().remove(0));
    let expected = ranker.predict(&data(), &device).unwrap();
    assert_eq!(scores(&ranker, &["f1", "f2", "f3", "f4", "f5"], &data()).unwrap(), expected);
    assert_eq!(scores(&ranker, &["f5", "f4", "f3", "f2", "f1"], &turned).unwrap(), expected);
    let message = "feature_names = `f1`, `f2`, `f3`, `f4`, `other`: expected `f5` too, as the ranker has, or data \
                   without names";
    assert_eq!(scores(&ranker, &["f1", "f2", "f3", "f4", "other"], &data()).unwrap_err().to_string(), message);
    // What only one of them knows is found by its place.
    assert_ne!(scores(&ranker, &[], &turned).unwrap(), expected);
    let of = |feature_names: Option<Vec<String>>, config: Value| {
        let metadata = Metadata { feature_names, config, ..Metadata::default() };
        ranker.clone().with_metadata(metadata).unwrap()
    };
    let changed = ["a_1", "a_2", "a_3", "a_4", "a_5"].map(String::from).to_vec();
    let (numbers, imported) = (of(None, json!({})), of(Some(changed), json!({ "import": {} })));
    let numbered = of(Some(numbered(5)), json!({}));
    for ranker in [&numbers, &numbered, &imported] {
        assert_eq!(scores(ranker, &["1", "2", "3", "4", "5"], &data()).unwrap(), expected);
    }
    let names = ["feature_5", "feature_4", "feature_3", "feature_2", "feature_1"];
    assert_eq!(scores(&numbers, &names, &turned).unwrap(), expected);
    assert_eq!(scores(&imported, &["a 5", "a 4", "a 3", "a 2", "a 1"], &turned).unwrap(), expected);
}

#[test]
fn missing_values_are_scored_by_trees_and_refused_by_others() {
    let mut missing = data();
    missing.features.to_mut_slice()[2] = f32::NAN;
    for model in models() {
        let takes = model.takes_missing();
        match ranker(model).predict(&missing, &Device::flex()) {
            Ok(scores) => assert!(takes && scores.iter().all(|score| score.is_finite())),
            Err(error) => {
                assert!(!takes);
                let start = format!("query `{}`, document 1: feature 3 is missing", missing.query_ids[0]);
                assert!(error.to_string().starts_with(&start), "{error}");
            }
        }
    }
}

/// Creates a ranker with the given scorer, trained on data with missing values. Returns the ranker and the data.
fn filling(scorer: ScorerConfig, kind: NormalizerKind) -> (Ranker, RankingDataset) {
    let mut train = data();
    (0..train.features.len()).step_by(7).for_each(|at| train.features.to_mut_slice()[at] = f32::NAN);
    // The last feature is never missing.
    train
        .features
        .to_mut_slice()
        .iter_mut()
        .skip(4)
        .step_by(5)
        .for_each(|value| *value = if value.is_nan() { 1.0 } else { *value });
    let normalizer = Normalizer::fit_with_indicators(&train, kind).unwrap();
    let model = Model::Scorer(scorer.init(normalizer.columns(), 3, &Device::flex()).unwrap());
    let whole = ranker(models().remove(0));
    (Ranker::new(normalizer, model, whole.metadata).unwrap(), train)
}

#[test]
fn a_ranker_that_fills_missing_values_is_one_of_the_features_of_the_data() {
    let device = Device::flex();
    for kind in [NormalizerKind::None, NormalizerKind::Gauss, NormalizerKind::QueryMinMax] {
        let (ranker, train) = filling(ScorerConfig::Mlp(MlpScorerConfig::default()), kind);
        assert_eq!((ranker.features(), ranker.model().features()), (5, 9));
        assert!(ranker.takes_missing() && !ranker.model().takes_missing());
        assert_eq!(ranker.column_names()[4..7], ["f5", "f1 is missing", "f2 is missing"]);
        let scores = ranker.predict(&train, &device).unwrap();
        let mut normalized = train.clone();
        ranker.normalizer().apply(&mut normalized).unwrap();
        assert_eq!(ranker.model().predict(&normalized, &device), scores);
        let again = Ranker::from_bytes(&ranker.to_bytes(), Path::new("a"), &device).unwrap();
        assert_eq!(again.predict(&train, &device).unwrap(), scores);
        assert_eq!(again.normalizer(), ranker.normalizer());
        assert!(ranker.card("a").contains("and a column each for `f1`, `f2`, `f3`, `f4` |"), "{}", ranker.card("a"));
    }
}

#[cfg(feature = "export")]
#[test]
fn formats_without_means_and_columns_refuse_a_ranker_that_fills() {
    use crate::ranker::ExportFormat;
    let (ranker, _) = filling(ScorerConfig::Linear(LinearScorerConfig::default()), NormalizerKind::None);
    let named = |name| ExportFormat::named(name, ranker.model()).unwrap();
    for name in ["ranklib", "solr", "plugin-linear"] {
        let error = ranker.export(named(name)).unwrap_err().to_string();
        assert!(error.contains("cannot hold a ranker that fills missing values: expected"), "{error}");
    }
    ranker.export(named("onnx")).unwrap();
}

#[test]
fn contributions_and_their_expected_value_sum_to_the_scores() {
    for model in models() {
        let is_trees = model.takes_missing();
        let ranker = ranker(model);
        let Ok(Contributions { values, expected }) = ranker.contributions(&data(), &data()) else {
            assert!(!is_trees);
            continue;
        };
        let scores = ranker.predict(&data(), &Device::flex()).unwrap();
        for (score, own) in scores.iter().zip(values.chunks(5)) {
            assert!((expected + own.iter().sum::<f64>() - f64::from(*score)).abs() < 1e-6);
        }
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let other = SynthConfig { queries: 1, features: 7, ..Default::default() }.generate().unwrap();
    let whole = ranker(models().remove(0));
    let normalizer = Normalizer::fit(&other, NormalizerKind::None);
    let error = Ranker::new(normalizer, whole.model.clone(), whole.metadata.clone()).unwrap_err();
    assert_eq!(error.to_string(), "the normalizer has 7 features, but the model has 5");

    let error = |change: fn(&mut Parts)| {
        let mut parts = Parts::from_model(&whole.model);
        change(&mut parts);
        parts.build(&Device::flex()).unwrap_err().to_string()
    };
    assert_eq!(error(|parts| drop(parts.arrays.pop())), "array `Linear.linear.bias` is missing");
    assert_eq!(
        error(|parts| parts.arrays[0].shape = vec![1, 5]),
        "array `Linear.linear.weight` is F32 [1, 5], expected F32 [5, 1]"
    );
    assert_eq!(
        error(|parts| {
            let mut other = parts.arrays[1].clone();
            other.name = "other".into();
            parts.arrays.push(other);
        }),
        "unexpected arrays: other"
    );
    assert_eq!(
        error(|parts| parts.kind = "magic".into()),
        "model of kind `magic`: expected `scorer`, `ensemble`, `kernel`, `members` or `trees`"
    );
    assert!(error(|parts| parts.config["features"] = 0.into()).contains("scorer.features = 0"));
    let huge = error(|parts| parts.config["features"] = u64::MAX.into());
    assert_eq!(huge, format!("model configuration: it announces {} values, but the file has 6", usize::MAX));
    let trees = Parts {
        kind: "trees".into(),
        config: json!({ "features": 5 }),
        arrays: Parts::from_model(&models()[4]).arrays,
    };
    let mut broken = trees.clone();
    let Values::U32(feature) = &mut broken.arrays[1].values else { panic!("features are integers") };
    feature[0] = 9;
    assert!(broken.build(&Device::flex()).unwrap_err().to_string().contains("feature[0] = 9"));
    let Model::Trees(trees) = trees.build(&Device::flex()).unwrap() else { panic!("trees") };
    let TreeArrays { feature, .. } = trees.arrays();
    assert_eq!(feature, &[2, LEAF, LEAF]);
}

#[test]
fn a_file_that_is_not_a_ranker_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("absent");
    assert!(Ranker::load(&path, &Device::flex()).unwrap_err().to_string().contains("absent: "));
    std::fs::write(&path, "text").unwrap();
    let message = Ranker::load(&path, &Device::flex()).unwrap_err().to_string();
    assert!(message.contains("absent: found text of another kind, expected a ranker of burn-rank"), "{message}");
    let error = ranker(models().remove(0)).save(&folder.path().join("no/folder")).unwrap_err();
    assert!(matches!(error, RankerError::File { .. }), "{error}");
}

#[test]
fn a_damaged_file_never_gives_other_scores() {
    let device = Device::flex();
    let whole = ranker(models().remove(4));
    let bytes = whole.to_bytes();
    let scores = whole.predict(&data(), &device).unwrap();
    let read = |bytes: &[u8]| Ranker::from_bytes(bytes, Path::new("damaged"), &device);
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "truncated to {length}");
    }
    assert!(read(&[&bytes[..], &[0]].concat()).is_err(), "one byte more");
    let mut harmless = 0;
    for position in 0..bytes.len() {
        for flip in [0x01, 0x20, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] ^= flip;
            // White space that pads the header may become other white space: nothing else may pass.
            if let Ok(passed) = read(&damaged) {
                assert_eq!(passed.to_bytes(), bytes, "{flip:#x} at {position}");
                assert_eq!(passed.predict(&data(), &device).unwrap(), scores);
                harmless += 1;
            }
        }
    }
    assert!(harmless < 8, "{harmless} flips passed");
}

#[test]
fn a_normalizer_that_no_fit_produces_is_refused() {
    let whole = ranker(models().remove(0));
    let mut saved = whole.saved();
    saved["normalizer"]["map"]["z_score"]["mean"].as_array_mut().unwrap().pop();
    let bytes = file::encode(&Parts::from_model(&whole.model), saved);
    let error = Ranker::from_bytes(&bytes, Path::new("made"), &Device::flex()).unwrap_err().to_string();
    assert_eq!(error, "made: metadata: normalizer.mean = 4 values: expected one for each of 5 features");
}

#[test]
fn a_card_describes_its_ranker() {
    let card = ranker(models().remove(2)).card("small");
    for part in [
        "# small",
        "hidden layers of [4, 3] neurons",
        "| features | 5 |",
        "`z_score`",
        "`standard`",
        "| validation ndcg@10 | 0.3000 |",
        "18446744073709551615",
        "\"learning_rate\": 0.1",
    ] {
        assert!(card.contains(part), "{part} in {card}");
    }
}

#[test]
fn a_card_has_names_as_text() {
    let mut ranker = ranker(models().remove(2));
    let name = "<script>alert(1)</script> | *a*\n# b\u{1b}[2J";
    ranker.metadata.config = json!({ "name": name, "c1": "\u{9b}2J" });
    ranker.metadata.convention.name = "`<b>`".into();
    ranker.metadata.measures = [("test <i>".to_string(), 0.5)].into();
    ranker.metadata.versions.burn = "0<br>".into();
    let card = ranker.card(name);
    let title = r"# \<script\>alert(1)\</script\> \| \*a\*\\n# b\\u{1b}\[2J";
    assert_eq!(card.lines().next(), Some(title));
    for part in [r"| \`\<b\>\` |", r"| test \<i\> | 0.5000 |", r"burn 0\<br\>,", r#""\u009b2J""#] {
        assert!(card.contains(part), "{part} in {card}");
    }
    assert!(!card.chars().any(|c| c.is_control() && c != '\n'), "{card}");
}

#[test]
fn a_ranker_has_the_features_of_data_that_have_its_names_in_its_order() {
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<String>>();
    let of = |feature_names: Option<&[&str]>, is_imported: bool| {
        let config = if is_imported { json!({ "import": {} }) } else { json!({}) };
        let metadata = Metadata { feature_names: feature_names.map(names), config, ..Metadata::default() };
        let normalizer =
            Normalizer::fit(&RankingDataset { feature_count: 2, ..Default::default() }, NormalizerKind::None);
        Ranker::new(normalizer, Model::Trees(TreeEnsemble::new(2)), metadata).unwrap()
    };
    for (ranker, data, expected) in [
        (of(Some(&["a", "b"]), false), &["a", "b"][..], true),
        (of(Some(&["a", "b"]), false), &["b", "a"][..], false),
        (of(Some(&["a", "b"]), false), &[][..], true),
        (of(Some(&["a", "b_c"]), false), &["a", "b c"][..], false),
        (of(Some(&["a", "b_c"]), true), &["a", "b c"][..], true),
        (of(Some(&["f0", "f1"]), true), &["a", "b"][..], true),
        (of(Some(&["f0", "f1"]), false), &["a", "b"][..], false),
        (of(None, false), &["a", "b"][..], true),
        (of(None, false), &["feature_1", "feature_2"][..], true),
        (of(None, false), &["feature_2", "feature_1"][..], false),
    ] {
        assert_eq!(has_features(&ranker, &names(data)), expected, "{:?} {data:?}", ranker.metadata().feature_names);
    }
}

#[cfg(feature = "columnar")]
#[test]
fn a_column_by_which_queries_are_split_is_dropped_unless_it_has_a_role() {
    let of = |columns: Value, by: Value| {
        let config = json!({ "data": { "columns": columns }, "cv": { "split": { "folds": 3, "by": by } } });
        let ranker = ranker(models().remove(0));
        let metadata = Metadata { config, ..ranker.metadata().clone() };
        ranker.with_metadata(metadata).unwrap().columns().drop
    };
    assert_eq!(of(json!({}), json!({ "group": "user" })), ["user"]);
    assert!(of(json!({}), json!({ "time": "query" })).is_empty());
    assert!(of(json!({ "query": "day" }), json!({ "time": "day" })).is_empty());
    assert_eq!(of(json!({ "query": "day" }), json!({ "time": "query" })), ["query"]);
}
