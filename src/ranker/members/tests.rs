//! Tests that members score as the formula says, and what is refused.

use super::*;
use crate::data::{NormalizerKind, SynthConfig};
use crate::ranker::{Node, TreeEnsemble};
use crate::scorer::{AttentionScorerConfig, LinearScorerConfig, MlpScorerConfig, ScorerConfig};
use crate::testing::random;
use rand::seq::SliceRandom;
use std::sync::LazyLock;

fn data() -> RankingDataset {
    static DATA: LazyLock<RankingDataset> = LazyLock::new(|| {
        let config = SynthConfig { queries: 8, features: 5, median_length: 6.0, max_length: 12, ..Default::default() };
        config.generate().unwrap()
    });
    DATA.clone()
}

fn named(model: Model, kind: NormalizerKind) -> Ranker {
    let names = (1..=5).map(|feature| format!("f{feature}")).collect();
    let metadata = Metadata { feature_names: Some(names), ..Metadata::default() };
    Ranker::new(Normalizer::fit(&data(), kind), model, metadata).unwrap()
}

fn scorer(config: ScorerConfig, seed: u64) -> Model {
    Model::Scorer(config.init(5, seed, &Device::flex()).unwrap())
}

/// Makes trees with one split and the given leaves.
fn trees(leaves: [f64; 2], feature: u32) -> Model {
    let mut trees = TreeEnsemble::new(5);
    let split = Node::Split { feature, threshold: 0.1, left: 1, right: 2, missing_left: true };
    trees.push(&[split, Node::Leaf { value: leaves[0] }, Node::Leaf { value: leaves[1] }]).unwrap();
    Model::Trees(trees)
}

fn rankers() -> Vec<Ranker> {
    let attention = AttentionScorerConfig { width: 4, heads: 2, blocks: 1, feed_forward: 4, ..Default::default() };
    vec![
        named(
            scorer(ScorerConfig::Mlp(MlpScorerConfig { hidden: vec![4], ..Default::default() }), 1),
            NormalizerKind::Gauss,
        ),
        named(scorer(ScorerConfig::Linear(LinearScorerConfig { bias: true }), 2), NormalizerKind::ZScore),
        named(scorer(ScorerConfig::Attention(attention), 3), NormalizerKind::QueryMinMax),
        named(trees([-0.5, 40.0], 2), NormalizerKind::None),
    ]
}

fn joined(rankers: Vec<Ranker>, weights: &[f64]) -> Result<Members, RankerError> {
    let member =
        |(number, (ranker, &weight)): (usize, (Ranker, &f64))| Member { name: format!("m{number}"), weight, ranker };
    Members::new(rankers.into_iter().zip(weights).enumerate().map(member).collect())
}

fn ranker_of(rankers: Vec<Ranker>, weights: &[f64]) -> Ranker {
    Ranker::of_members(joined(rankers, weights).unwrap()).unwrap()
}

fn fixed(rankers: Vec<Ranker>, weights: &[f64]) -> Ranker {
    let members = joined(rankers, weights).unwrap().with_fixed_deviations(&data(), &Device::flex()).unwrap();
    Ranker::of_members(members).unwrap()
}

fn refusal<T: std::fmt::Debug>(result: Result<T, RankerError>) -> String {
    result.unwrap_err().to_string()
}

/// Computes the population deviation by the difference of moments, on scores shifted by the first one.
fn deviation(scores: &[f32]) -> f64 {
    let shifted: Vec<f64> = scores.iter().map(|&score| f64::from(score) - f64::from(scores[0])).collect();
    let mean_of = |power: i32| shifted.iter().map(|score| score.powi(power)).sum::<f64>() / shifted.len() as f64;
    (mean_of(2) - mean_of(1).powi(2)).max(0.0).sqrt()
}

#[test]
fn scores_are_the_weighted_mean_of_standardized_scores() {
    let (device, data, weights) = (Device::flex(), data(), [1.0, 0.5, 2.0, 4.5]);
    let own: Vec<Vec<f32>> = rankers().iter().map(|ranker| ranker.predict(&data, &device).unwrap()).collect();
    let deviations: Vec<Vec<f64>> =
        own.iter().map(|scores| queries_of(&data).map(|range| deviation(&scores[range])).collect()).collect();
    let per_query = ranker_of(rankers(), &weights).predict(&data, &device).unwrap();
    let by_constants = fixed(rankers(), &weights).predict(&data, &device).unwrap();
    for (query, range) in queries_of(&data).enumerate() {
        for document in range.clone() {
            let (mut standardized, mut divided) = (0.0, 0.0);
            for (member, weight) in weights.iter().enumerate() {
                let score = f64::from(own[member][document]);
                let mean =
                    own[member][range.clone()].iter().map(|&score| f64::from(score)).sum::<f64>() / range.len() as f64;
                let deviation = deviations[member][query];
                standardized += weight / 8.0 * if deviation > 1e-9 { (score - mean) / deviation } else { 0.0 };
                divided += weight / 8.0 * score / (deviations[member].iter().sum::<f64>() / data.queries() as f64);
            }
            assert!((f64::from(per_query[document]) - standardized).abs() < 1e-5, "document {document}");
            assert!((f64::from(by_constants[document]) - divided).abs() < 1e-5, "document {document}");
        }
    }
    assert!(deviations[3].contains(&0.0) && deviations[3].iter().any(|deviation| *deviation > 0.0));
}

#[test]
fn neither_order_nor_other_queries_change_a_score() {
    let (device, data) = (Device::flex(), data());
    let ranker = ranker_of(rankers(), &[1.0, 2.0, 3.0, 1.0]);
    let scores = ranker.predict(&data, &device).unwrap();
    let mut random = random(5);
    for query in 0..data.queries() {
        let range = data.range(query);
        let mut order: Vec<usize> = range.clone().collect();
        order.shuffle(&mut random);
        let rows = order.iter().flat_map(|&document| data.row(document).to_vec()).collect();
        let shuffled = RankingDataset::builder().features(rows, 5).labels(vec![0.0; order.len()]);
        let shuffled = shuffled.query_sizes(&[order.len()]).build().unwrap();
        for (score, &document) in ranker.predict(&shuffled, &device).unwrap().iter().zip(&order) {
            assert!((score - scores[document]).abs() < 1e-5, "query {query}");
        }
        assert_eq!(ranker.predict(&data.select(&[query]), &device).unwrap(), scores[range]);
    }
}

#[test]
fn equal_scores_and_single_documents_become_0() {
    let device = Device::flex();
    // The mean of equal scores may round to another number.
    let constant = || named(trees([0.1, 0.1], 0), NormalizerKind::None);
    let linear = || rankers().remove(1);
    let scores = ranker_of(vec![constant(), linear()], &[3.0, 1.0]).predict(&data(), &device).unwrap();
    let alone = ranker_of(vec![linear()], &[0.25]).predict(&data(), &device).unwrap();
    scores.iter().zip(alone).for_each(|(score, alone)| assert!((score * 4.0 - alone).abs() < 1e-5));
    let data = data();
    let first = data.select(&[0]);
    let one = RankingDataset::builder().features(first.row(0).to_vec(), 5).labels(vec![0.0]).query_sizes(&[1]);
    assert_eq!(ranker_of(rankers(), &[1.0; 4]).predict(&one.build().unwrap(), &device).unwrap(), [0.0]);

    let error = joined(vec![linear(), constant()], &[1.0, 1.0]).unwrap().with_fixed_deviations(&data, &device);
    assert_eq!(
        refusal(error),
        "member `m1`: found the mean deviation 0 on the validation queries, expected scores that differ within a query"
    );
}

#[test]
fn saved_members_score_as_before() {
    let device = Device::flex();
    let nested = ranker_of(vec![fixed(rankers(), &[1.0; 4]), rankers().remove(0)], &[2.0, 1.0]);
    for ranker in [ranker_of(rankers(), &[1.0, 0.0, 3.0, 2.0]), fixed(rankers(), &[1.0; 4]), nested] {
        let bytes = ranker.to_bytes();
        let again = Ranker::from_bytes(&bytes, "file".as_ref(), &device).unwrap();
        assert_eq!(again.predict(&data(), &device).unwrap(), ranker.predict(&data(), &device).unwrap());
        assert_eq!((again.to_bytes(), again.metadata()), (bytes, ranker.metadata()));
        let card = again.card("joined");
        assert!(card.contains("| member `m0` |") && card.contains("A weighted mean of"), "{card}");
    }
}

#[test]
fn members_of_other_features_are_refused_by_name() {
    let narrow = {
        let config = SynthConfig { queries: 2, features: 4, ..Default::default() };
        let normalizer = Normalizer::fit(&config.generate().unwrap(), NormalizerKind::ZScore);
        let scorer = ScorerConfig::Linear(LinearScorerConfig::default()).init(4, 1, &Device::flex()).unwrap();
        Ranker::new(normalizer, Model::Scorer(scorer), Metadata::default()).unwrap()
    };
    let all = vec![rankers().remove(0), narrow];
    assert_eq!(refusal(joined(all, &[1.0, 1.0])), "member `m1`: found 4 features, expected 5, as member `m0` has");
    let mut other = rankers().remove(1);
    let mut names = other.metadata().feature_names.clone().unwrap();
    names.swap(2, 3);
    other = Ranker::new(
        other.normalizer().clone(),
        other.model().clone(),
        Metadata { feature_names: Some(names), ..Metadata::default() },
    )
    .unwrap();
    assert_eq!(
        refusal(joined(vec![rankers().remove(0), other], &[1.0, 1.0])),
        "member `m1`: feature 3 is `f4`, expected `f3`, as member `m0` has"
    );
}

#[test]
fn weights_that_give_no_mean_are_refused() {
    assert_eq!(refusal(Members::new(Vec::new())), "found no members, expected at least one");
    let error = |weights: [f64; 2]| refusal(joined(rankers().drain(..2).collect(), &weights));
    assert_eq!(error([1.0, -0.5]), "member `m1`: found the weight -0.5, expected a finite number, at least 0");
    assert_eq!(error([f64::NAN, 1.0]), "member `m0`: found the weight NaN, expected a finite number, at least 0");
    assert_eq!(error([0.0, 0.0]), "found weights with the sum 0, expected a finite sum above 0");
    assert_eq!(error([f64::MAX, f64::MAX]), "found weights with the sum inf, expected a finite sum above 0");
}

#[test]
fn damaged_members_are_refused() {
    let whole = Parts::from_model(fixed(rankers(), &[1.0; 4]).model());
    let error = |change: fn(&mut Parts)| {
        let mut parts = whole.clone();
        change(&mut parts);
        parts.build(&Device::flex()).unwrap_err().to_string()
    };
    assert!(error(|parts| parts.config = json!({})).contains("members: "));
    assert!(
        error(|parts| parts.config["members"][1]["kind"] = json!("other")).starts_with("member `m1`: model of kind")
    );
    assert!(error(|parts| parts.config["members"][2]["deviation"] = json!(null)).contains("deviations: found ["));
    assert!(error(|parts| parts.config["members"][2]["deviation"] = json!(-1.0)).contains("finite and above 0"));
    assert!(error(|parts| parts.config["members"][0]["weight"] = json!("1")).contains("`m0`: found the weight NaN"));
    assert!(error(|parts| parts.config["members"][3]["ranker"] = json!(1)).starts_with("member `m3`: metadata: "));
    assert!(error(|parts| parts.arrays[0].name = "9.weight".into()).contains("is missing"));
    let added = |parts: &mut Parts| parts.arrays.push(Array { name: "9.more".into(), ..parts.arrays[0].clone() });
    assert_eq!(error(added), "unexpected array `more`: no member has it");
}

#[test]
fn missing_values_are_taken_where_all_members_take_them() {
    let device = Device::flex();
    let mut missing = data();
    missing.features.to_mut_slice()[2] = f32::NAN;
    let of_trees = ranker_of(vec![rankers().remove(3), rankers().remove(3)], &[1.0, 1.0]);
    assert!(
        of_trees.takes_missing() && of_trees.predict(&missing, &device).unwrap().iter().all(|score| !score.is_nan())
    );
    let mixed = ranker_of(rankers(), &[1.0; 4]);
    assert!(refusal(mixed.predict(&missing, &device)).starts_with("query `"));
    let found = "only trees have contributions: found an ensemble of members, expected a ranker that is a sum of trees";
    assert_eq!(refusal(mixed.contributions(&data(), &data())), found);
}
