//! `expected/exports.json`: the scores that onnxruntime, LightGBM and XGBoost give exported rankers, and the
//! explanations of LightGBM and XGBoost for trees that know their documents and gains.
//!
//! The rankers are made here from only whole numbers and square roots, so their exports have the same bytes everywhere.
//! Each case has the checksum of the bytes that the other system scored. To renew the file, write the exports with
//! `BURN_RANK_EXPORTS=FOLDER cargo test --lib golden_tests` and run `expected/generate_exports.py FOLDER`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use crate::data::{Normalizer, NormalizerKind, RankingDataset};
use crate::ranker::export::ExportFormat;
use crate::ranker::parts::{Parts, Values};
use crate::ranker::tree_ensemble::{LEAF, NodeStatistics, TreeArrays};
use crate::ranker::tree_shap::TreeShap;
use crate::ranker::{KernelExpansion, Member, Members, Metadata, Model, Node, Ranker, TreeEnsemble};
use crate::scorer::{
    Activation, AttentionScorerConfig, InputConfig, LatentCrossScorerConfig, LinearScorerConfig, MlpScorerConfig,
    NormKind, Scorer, ScorerConfig,
};
use burn::tensor::Device;
use serde::Deserialize;
use sha2::{Digest, Sha256};

const FEATURES: usize = 6;
const LENGTHS: [usize; 4] = [7, 1, 12, 3];

const NORMALIZERS: [NormalizerKind; 5] = [
    NormalizerKind::None,
    NormalizerKind::QueryMinMax,
    NormalizerKind::ZScore,
    NormalizerKind::Log1p,
    NormalizerKind::Quantile,
];

const ACTIVATIONS: [Activation; 7] = [
    Activation::Relu,
    Activation::LeakyRelu,
    Activation::Gelu,
    Activation::Silu,
    Activation::Tanh,
    Activation::Sigmoid,
    Activation::Identity,
];

/// Returns a number in `[0, 1)` that looks random.
fn noise(seed: usize) -> f32 {
    ((seed * 7919 + 13) * 104_729 % 9973) as f32 / 9973.0
}

/// Makes documents with features of several kinds: small, with a large mean, constant, with two values, with many ties,
/// and of both signs.
fn data(seed: usize, lengths: &[usize]) -> RankingDataset {
    let documents: usize = lengths.iter().sum();
    let row = |document: usize| {
        let noise = |feature: usize| noise(seed + document * FEATURES + feature);
        [
            noise(0),
            40_000.0 + 200.0 * noise(1),
            7.0,
            (2.0 * noise(3)).floor(),
            (5.0 * noise(4)).floor() * 0.25,
            9.0 * noise(5) - 4.5,
        ]
    };
    let labels = (0..documents).map(|document| (3.0 * noise(document)).floor()).collect();
    RankingDataset::builder()
        .features((0..documents).flat_map(row).collect(), FEATURES)
        .labels(labels)
        .query_sizes(lengths)
        .build()
        .unwrap()
}

fn train() -> RankingDataset {
    data(5000, &[20, 20])
}

fn queries() -> RankingDataset {
    data(0, &LENGTHS)
}

fn ranker(normalizer: NormalizerKind, model: Model) -> Ranker {
    Ranker::new(Normalizer::fit(&train(), normalizer), model, Metadata::default()).unwrap()
}

/// Makes a scorer with weights that depend on no seed, and running statistics other than 0 and 1.
fn scorer(config: &ScorerConfig) -> Scorer {
    let mut parts = Parts::from_model(&Model::Scorer(config.init(FEATURES, 1, &Device::flex()).unwrap()));
    for (number, array) in parts.arrays.iter_mut().enumerate() {
        let is_variance = array.name.ends_with("variance");
        let Values::F32(values) = &mut array.values else { panic!("{} is not of floats", array.name) };
        for (place, value) in values.iter_mut().enumerate() {
            let noise = noise(number * 1000 + place);
            *value = if is_variance { 0.5 + noise } else { noise - 0.5 };
        }
    }
    let Model::Scorer(scorer) = parts.build(&Device::flex()).unwrap() else { panic!("a scorer") };
    scorer
}

fn linear(bias: bool) -> Scorer {
    scorer(&ScorerConfig::Linear(LinearScorerConfig { bias }))
}

fn mlp(hidden: &[usize], activation: Activation, norm: NormKind) -> Scorer {
    mlp_of(MlpScorerConfig { hidden: hidden.to_vec(), activation, dropout: 0.1, norm, ..MlpScorerConfig::default() })
}

fn mlp_of(config: MlpScorerConfig) -> Scorer {
    scorer(&ScorerConfig::Mlp(config))
}

fn attention() -> Scorer {
    let sizes = AttentionScorerConfig { width: 6, heads: 2, blocks: 2, feed_forward: 5, ..Default::default() };
    scorer(&ScorerConfig::Attention(sizes))
}

fn latent_cross() -> Scorer {
    let input = InputConfig { log1p: true, noise: 0.5 };
    scorer(&ScorerConfig::LatentCross(LatentCrossScorerConfig {
        hidden: vec![5, 4],
        norm: NormKind::Batch,
        width: 4,
        heads: 2,
        blocks: 1,
        feed_forward: 3,
        input,
        ..Default::default()
    }))
}

/// Makes kernels around training documents.
fn kernels(normalizer: NormalizerKind) -> KernelExpansion {
    let mut landmarks = train();
    Normalizer::fit(&landmarks, normalizer).apply(&mut landmarks).unwrap();
    let coefficients = (0..8).map(|number| f64::from(noise(number)) - 0.5).collect();
    let gamma = if normalizer == NormalizerKind::None { 1e-4 } else { 0.3 };
    KernelExpansion::new(FEATURES, landmarks.features.to_slice()[..8 * FEATURES].to_vec(), coefficients, gamma).unwrap()
}

fn trees(normalizer: NormalizerKind) -> Ranker {
    let normalized = {
        let mut data = train();
        Normalizer::fit(&data, normalizer).apply(&mut data).unwrap();
        data
    };
    // Thresholds are values of documents, so that the side of a tie shows.
    let threshold = |document: usize, feature: u32| normalized.row(document)[feature as usize];
    let mut ensemble = TreeEnsemble::new(FEATURES);
    for tree in 0..5usize {
        let features = [tree as u32, 5 - tree as u32, (tree as u32 + 3) % 6];
        let split = |number: usize, left, right| Node::Split {
            feature: features[number],
            threshold: threshold(3 * tree + number, features[number]),
            left,
            right,
            missing_left: false,
        };
        let leaf = |number: usize| Node::Leaf { value: f64::from(noise(tree * 10 + number)) / 3.0 - 0.1 };
        let nodes = [split(0, 1, 2), split(1, 3, 4), leaf(0), split(2, 5, 6), leaf(1), leaf(2), leaf(3)];
        ensemble.push(&nodes).unwrap();
    }
    ensemble.push(&[Node::Leaf { value: 0.1 }]).unwrap();
    ranker(normalizer, Model::Trees(ensemble))
}

/// Documents that trees are explained by: every combination of three, two, three and two values of four features.
fn background() -> RankingDataset {
    let row = |d: usize| {
        let level = |step: usize, levels: usize| (d / step % levels) as f32;
        [0.4 * level(1, 3), 40_000.0 + 150.0 * level(3, 2), 7.0, 0.0, 0.4 * level(6, 3), 3.0 * level(18, 2) - 1.0]
    };
    RankingDataset::builder()
        .features((0..36).flat_map(row).collect(), FEATURES)
        .labels(vec![0.0; 36])
        .query_sizes(&[36])
        .build()
        .unwrap()
}

/// Trees that know how many documents of the background reach each node, each at least one, and gains that look random.
fn counted() -> TreeEnsemble {
    let mut trees = TreeEnsemble::new(FEATURES);
    for (tree, features) in [[0, 1, 5], [5, 4, 0], [1, 5, 4], [4, 0, 1]].into_iter().enumerate() {
        let split = |number: usize, left, right| Node::Split {
            feature: features[number],
            threshold: [0.5, 40_100.0, 0.0, 0.0, 0.5, 0.0][features[number] as usize],
            left,
            right,
            missing_left: false,
        };
        let leaf = |number: usize| Node::Leaf { value: f64::from(noise(900 + tree * 10 + number)) / 3.0 - 0.1 };
        trees.push(&[split(0, 1, 2), split(1, 3, 4), leaf(0), split(2, 5, 6), leaf(1), leaf(2), leaf(3)]).unwrap();
    }
    trees.push(&[Node::Leaf { value: 0.1 }]).unwrap();
    let TreeArrays { roots, feature, threshold, left, right, .. } = trees.arrays();
    let (data, mut count) = (background(), vec![0; feature.len()]);
    for document in 0..data.documents() {
        for &root in roots {
            let mut node = root as usize;
            count[node] += 1;
            while feature[node] != LEAF {
                let goes_left = data.row(document)[feature[node] as usize] <= threshold[node];
                node = if goes_left { left[node] } else { right[node] } as usize;
                count[node] += 1;
            }
        }
    }
    assert!(count.iter().all(|&count| count > 0), "{count:?}");
    let gain = |node: usize| if feature[node] == LEAF { 0.0 } else { 0.25 + noise(700 + node) };
    let gain = (0..feature.len()).map(gain).collect();
    let statistics = NodeStatistics { weight: count.iter().map(|&count| 0.25 * count as f32).collect(), count, gain };
    let mut arrays = trees.arrays().clone();
    arrays.statistics = statistics;
    TreeEnsemble::from_arrays(FEATURES, arrays).unwrap()
}

/// The rankers, and the names of the formats in which they are exported.
fn cases() -> Vec<(String, Ranker, &'static str)> {
    let mut cases = Vec::new();
    let mut onnx = |name: String, normalizer, model| cases.push((name, ranker(normalizer, model), "onnx"));
    for (number, normalizer) in NORMALIZERS.into_iter().enumerate() {
        onnx(format!("linear-{normalizer:?}"), normalizer, Model::Scorer(linear(number % 2 == 0)));
        for norm in [NormKind::None, NormKind::Layer, NormKind::Batch] {
            let model = Model::Scorer(mlp(&[8, 5], Activation::Gelu, norm));
            onnx(format!("mlp-{normalizer:?}-{norm:?}"), normalizer, model);
        }
    }
    for activation in ACTIVATIONS {
        for norm in [NormKind::None, NormKind::Layer, NormKind::Batch] {
            let model = Model::Scorer(mlp(&[6], activation, norm));
            onnx(format!("mlp-{activation:?}-{norm:?}"), NormalizerKind::ZScore, model);
        }
    }
    // Noise belongs only to training and has no part in the graph.
    let input = InputConfig { log1p: true, noise: 0.5 };
    let logarithm = mlp_of(MlpScorerConfig { hidden: vec![5], input, ..MlpScorerConfig::default() });
    onnx("mlp-input-log1p".into(), NormalizerKind::None, Model::Scorer(logarithm));
    let shallow = mlp(&[], Activation::Relu, NormKind::None);
    onnx("mlp-no-hidden-layer".into(), NormalizerKind::Log1p, Model::Scorer(shallow.clone()));
    let members = vec![(0.5, mlp(&[4], Activation::Tanh, NormKind::Batch)), (-0.25, linear(true)), (2.0, shallow)];
    onnx("ensemble".into(), NormalizerKind::Quantile, Model::Ensemble(members));
    for normalizer in NORMALIZERS {
        onnx(format!("attention-{normalizer:?}"), normalizer, Model::Scorer(attention()));
        onnx(format!("latent-cross-{normalizer:?}"), normalizer, Model::Scorer(latent_cross()));
        onnx(format!("kernels-{normalizer:?}"), normalizer, Model::Kernel(kernels(normalizer)));
    }
    for normalizer in NORMALIZERS {
        cases.push((format!("trees-onnx-{normalizer:?}"), trees(normalizer), "onnx"));
    }
    for normalizer in NORMALIZERS.into_iter().filter(|kind| *kind != NormalizerKind::QueryMinMax) {
        cases.push((format!("trees-{normalizer:?}"), trees(normalizer), "lightgbm"));
        cases.push((format!("trees-xgboost-{normalizer:?}"), trees(normalizer), "xgboost"));
    }
    for (name, format) in [("trees-counted", "lightgbm"), ("trees-xgboost-counted", "xgboost")] {
        cases.push((name.into(), ranker(NormalizerKind::None, Model::Trees(counted())), format));
    }
    let networks = || {
        vec![
            ranker(NormalizerKind::ZScore, Model::Scorer(mlp(&[4], Activation::Tanh, NormKind::Batch))),
            ranker(NormalizerKind::QueryMinMax, Model::Scorer(attention())),
            ranker(NormalizerKind::Quantile, Model::Kernel(kernels(NormalizerKind::Quantile))),
            ranker(NormalizerKind::Log1p, Model::Scorer(linear(true))),
        ]
    };
    // A member of one leaf gives all documents the same score.
    let mut leaf = TreeEnsemble::new(FEATURES);
    leaf.push(&[Node::Leaf { value: 0.1 }]).unwrap();
    let with_trees = vec![trees(NormalizerKind::QueryMinMax), trees(NormalizerKind::ZScore)];
    let mut all = [networks(), with_trees, vec![ranker(NormalizerKind::None, Model::Trees(leaf))]].concat();
    all.push(joined(networks(), true));
    cases.push(("members".into(), joined(all, false), "onnx"));
    cases.push(("members-fixed".into(), joined(networks(), true), "onnx"));
    let of_trees = || joined(vec![trees(NormalizerKind::ZScore), trees(NormalizerKind::ZScore)], true);
    cases.push(("members-trees".into(), of_trees(), "lightgbm"));
    cases.push(("members-trees-xgboost".into(), of_trees(), "xgboost"));
    cases
}

/// Joins rankers with the weights 1, 2, 3 and so on.
fn joined(rankers: Vec<Ranker>, is_fixed: bool) -> Ranker {
    let member = |(number, ranker): (usize, Ranker)| Member { name: number.to_string(), weight: number as f64, ranker };
    let members = Members::new((1..).zip(rankers).map(member).collect()).unwrap();
    let members = if is_fixed { members.with_fixed_deviations(&train(), &Device::flex()).unwrap() } else { members };
    Ranker::of_members(members).unwrap()
}

#[derive(Deserialize)]
struct Expected {
    cases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
struct Case {
    /// Checksum of the bytes that were scored.
    sha256: String,
    /// One score per document, in the order of the data.
    scores: Vec<f64>,
    /// Checks the other system's explanation of the trees that know their documents and gains.
    explained: Option<Explained>,
}

#[derive(Deserialize)]
struct Explained {
    /// For each document the contribution of each feature, then the expected score.
    contributions: Vec<f64>,
    /// Importances of the features: number of splits, and their gains.
    splits: Vec<f64>,
    gains: Vec<f64>,
}

fn export(ranker: &Ranker, format: &str) -> Vec<u8> {
    ranker.export(ExportFormat::named(format, ranker.model()).unwrap()).unwrap()
}

/// Writes every export, and the queries as JSON, for `generate_exports.py`.
fn write(folder: PathBuf) {
    for (name, ranker, format) in cases() {
        let extension = ExportFormat::named(format, ranker.model()).unwrap().0.extension;
        std::fs::write(folder.join(name).with_extension(extension), export(&ranker, format)).unwrap();
    }
    let data = queries();
    let rows: Vec<&[f32]> = (0..data.queries())
        .map(|q| data.range(q))
        .map(|r| &data.features.to_slice()[r.start * FEATURES..r.end * FEATURES])
        .collect();
    std::fs::write(folder.join("queries.json"), serde_json::to_vec(&rows).unwrap()).unwrap();
}

#[test]
fn other_systems_score_exports_alike() {
    if let Some(folder) = std::env::var_os("BURN_RANK_EXPORTS") {
        write(folder.into());
        // Not `eprintln!`, whose output is not shown for tests that pass.
        let _ = writeln!(std::io::stderr(), "skipped: exports are written, not compared");
        return;
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/expected/exports.json");
    let expected: Expected = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = cases();
    assert_eq!(cases.len(), expected.cases.len());
    for (name, ranker, format) in cases {
        let case = &expected.cases[&name];
        let bytes = export(&ranker, format);
        let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, case.sha256, "{name}: another export than the one scored; see the head of this file");
        let scores = ranker.predict(&queries(), &Device::flex()).unwrap();
        assert_eq!(scores.len(), case.scores.len(), "{name}");
        for (&score, &expected) in scores.iter().zip(&case.scores) {
            match format {
                // The same sums in double precision, except that members round their scores.
                "lightgbm" if !name.starts_with("members") => assert_eq!(score, expected as f32, "{name}"),
                _ => {
                    let near = 1e-5 * expected.abs().max(1.0);
                    assert!((f64::from(score) - expected).abs() <= near, "{name}: {score} {expected}")
                }
            }
        }
        if let Some(explained) = case.explained.as_ref() {
            assert_explained(&name, explained);
        }
        assert_eq!(case.explained.is_some(), name.ends_with("counted"), "{name}");
        let distinct = scores.iter().map(|score| score.to_bits()).collect::<std::collections::BTreeSet<_>>().len();
        assert!(distinct > 5, "{name} tells documents apart: {scores:?}");
    }
}

/// The background of TreeSHAP is the data that were counted.
fn assert_explained(name: &str, explained: &Explained) {
    let trees = counted();
    let shap = TreeShap::new(&trees, background().features.to_slice()).unwrap();
    let data = queries();
    for (document, found) in explained.contributions.chunks(FEATURES + 1).enumerate() {
        let mut ours = shap.contributions(data.row(document));
        ours.push(shap.expected);
        for (ours, found) in ours.iter().zip(found) {
            // LightGBM computes in 64 bits, XGBoost in 32.
            let near = if name.contains("xgboost") { 1e-6 } else { 1e-12 };
            assert!((ours - found).abs() < near, "{name}, document {document}: {ours} {found}");
        }
    }
    assert_eq!(explained.contributions.len(), data.documents() * (FEATURES + 1));
    let TreeArrays { feature, statistics, .. } = trees.arrays();
    for number in 0..FEATURES {
        let gains = feature.iter().zip(&statistics.gain).filter(|(split, _)| **split as usize == number);
        let (splits, gain) = gains.fold((0.0, 0.0), |(splits, sum), (_, &gain)| (splits + 1.0, sum + f64::from(gain)));
        assert_eq!(explained.splits[number], splits, "{name}, feature {number}");
        assert!((explained.gains[number] - gain).abs() < 1e-5, "{name}, feature {number}");
    }
}
