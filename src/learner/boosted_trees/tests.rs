//! Tests of boosted trees on small data.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use rand::RngExt;

use super::config::{BoostedTreesConfig, Steps};
use super::fit::member_seed;
use super::histogram::Block;
use super::member::{ensemble, towards_gains};
use crate::data::RankingDataset;
use crate::json::json;
use crate::learner::Job;
use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
use crate::learner::shared::context::{Fitted, StopReason};
use crate::learner::shared::judge::Judge;
use crate::learner::shared::rounds::STATE_FILE;
use crate::learner::testing::{self, dataset};
use crate::loss::LossSpec;
use crate::ranker::{LEAF, Model, Node, NodeStatistics, TreeArrays, TreeEnsemble};
use crate::scorer::{LinearScorerConfig, ScorerConfig};
use crate::testing::random;

/// Makes queries in which a document is relevant if exactly one of two features is 1, which no linear ranker can learn.
fn exclusive_or() -> RankingDataset {
    let query: &[(f32, &[f32])] =
        &[(0.0, &[0.0, 0.0]), (1.0, &[0.0, 1.0]), (1.0, &[1.0, 0.0]), (0.0, &[1.0, 1.0]), (0.0, &[1.0, 1.0])];
    dataset(2, &[query; 4])
}

fn small() -> BoostedTreesConfig {
    BoostedTreesConfig { min_documents: 1, l2: Some(0.0), leaves: 4, rounds: 20, ..BoostedTreesConfig::default() }
}

fn fit_spec(config: &BoostedTreesConfig, loss: &LossSpec, data: &RankingDataset) -> Fitted {
    config.check(&Parts::default().with_loss(loss)).unwrap().fit(Job::new(data, None, &testing::context(None))).unwrap()
}

fn fit(config: &BoostedTreesConfig, loss: &str, data: &RankingDataset) -> Fitted {
    fit_spec(config, &LossSpec::new(loss), data)
}

#[test]
fn an_exclusive_or_is_ordered_by_every_kind_of_loss() {
    for loss in ["lambda_ndcg", "rank_net", "approx_ndcg", "list_net", "mse_gain"] {
        let fitted = fit(&small(), loss, &exclusive_or());
        assert_eq!(fitted.history[fitted.best_round - 1].train, Some(1.0), "{loss}");
        let Model::Trees(trees) = fitted.model else { panic!("trees") };
        assert_eq!(trees.trees(), fitted.best_round);
    }
}

/// Losses with softmax indicators are flat at equal scores, where boosting starts.
#[test]
fn a_loss_that_is_flat_at_equal_scores_is_learned() {
    let by_name = ["smooth_ndcg", "smooth_ap_indicator", "smooth_rr"].map(LossSpec::new);
    let others = [LossSpec::new("smooth_precision").with("k", 2), LossSpec::parse("ap:rank_indicators")];
    for loss in by_name.into_iter().chain(others) {
        let fitted = fit_spec(&small(), &loss, &exclusive_or());
        assert_eq!(fitted.history[fitted.best_round - 1].train, Some(1.0), "{loss:?}");
    }
}

/// If the scores differ by `d`, the loss is 1 - 1 / log2(2 + 1 / (1 + exp(10 d))). It falls by at most 0.2435 in total,
/// and by 0.825 per unit at first.
#[test]
fn a_step_ends_where_the_loss_levels_off() {
    let config = BoostedTreesConfig { rounds: 1, learning_rate: 1.0, steps: Some(Steps::LineSearch), ..small() };
    let fitted = fit_spec(&config, &LossSpec::new("approx_ndcg").with("alpha", 10.0), &testing::two_documents());
    let scores = fitted.model.predict(&testing::two_documents(), &Device::flex());
    let apart = scores[1] - scores[0];
    assert!((0.1..0.66).contains(&apart), "{apart}");
}

/// Two queries have opposite labels, so the documents with larger weights decide.
#[test]
fn trees_follow_the_weights_of_documents() {
    let rising: &[(f32, &[f32])] = &[(0.0, &[0.0]), (1.0, &[1.0])];
    let falling: &[(f32, &[f32])] = &[(1.0, &[0.0]), (0.0, &[1.0])];
    let data = dataset(1, &[rising, falling]);
    // With second derivatives, by automatic differentiation, and flat at equal scores.
    for loss in ["rank_net", "lambda_ndcg", "softmax_cross_entropy", "smooth_dcg"] {
        let rises = |weights: [f32; 4]| {
            let data = data.clone().with_document_weights(weights.to_vec()).unwrap();
            let scores = fit(&small(), loss, &data).model.predict(&data, &Device::flex());
            scores[1] > scores[0]
        };
        assert!(rises([1.0, 3.0, 1.0, 1.0]), "{loss}");
        assert!(!rises([1.0, 1.0, 3.0, 1.0]), "{loss}");
    }
}

#[test]
fn a_sample_without_a_split_does_not_end_the_fit() {
    let rows = [0.0, 1.0, 2.0].map(|x| [0.0, 0.0, x, 0.0, 0.0]);
    let query: &[(f32, &[f32])] = &[(0.0, &rows[0]), (1.0, &rows[1]), (2.0, &rows[2])];
    let data = dataset(5, &[query; 4]);
    let leaves = |fitted: &Fitted| -> Vec<f64> {
        let of_round = fitted.history.iter().map(|round| round.figures.iter().find(|(name, _)| name == "leaves"));
        of_round.map(|leaves| leaves.unwrap().1).collect()
    };
    for loss in ["lambda_ndcg", "approx_ndcg", "list_net"] {
        let config = BoostedTreesConfig { rounds: 30, colsample: 0.2, ..small() };
        let fitted = fit(&config, loss, &data);
        assert_eq!((fitted.stop, fitted.history.len()), (StopReason::Completed, 30), "{loss}");
        let leaves = leaves(&fitted);
        assert!(leaves.contains(&0.0) && leaves.iter().any(|leaves| *leaves > 1.0), "{loss}: {leaves:?}");
    }
    let learner = |min_documents| {
        let config = BoostedTreesConfig { rounds: 6, colsample: 0.2, min_documents, ..small() };
        config.check(&Parts::default().with_loss(LossSpec::new("lambda_ndcg"))).unwrap()
    };
    let error = learner(1000).fit(Job::new(&data, None, &testing::context(None))).unwrap_err().to_string();
    assert!(error.contains("no tree of 4 leaves"), "{error}");
    for rounds in [1, 3] {
        testing::assert_reproducible(&learner(1), &data, &data, rounds);
    }
}

#[test]
fn data_that_no_tree_splits_are_refused() {
    let config = BoostedTreesConfig { min_documents: 1000, ..small() };
    let learner = config.check(&Parts::default().with_loss(LossSpec::new("rank_net"))).unwrap();
    let error = learner.fit(Job::new(&exclusive_or(), None, &testing::context(None))).unwrap_err().to_string();
    assert!(error.contains("lower learner.min_documents"), "{error}");
}

#[test]
fn defect_18_what_is_set_to_hinder_every_split_is_named() {
    let words = |config: BoostedTreesConfig| config.what_hinders_splits(1000);
    let usual = BoostedTreesConfig::default;
    assert_eq!(words(usual()), "lower learner.min_documents or learner.min_gain");
    assert_eq!(words(BoostedTreesConfig { l2: Some(1e308), ..usual() }), "lower learner.l2 = 1e308");
    assert_eq!(words(BoostedTreesConfig { subsample: 1e-9, ..usual() }), "raise learner.subsample = 1e-9");
    let two = BoostedTreesConfig { l1: 1e30, min_curvature: 5.0, decreasing: vec![1], ..usual() };
    assert_eq!(words(two), "lower learner.min_curvature = 5 or lower learner.l1 = 1e30 or shorten learner.decreasing");
    let few = usual().what_hinders_splits(30);
    assert_eq!(few, "lower learner.min_documents = 20, since there are only 30 training documents");
}

#[test]
fn the_loss_decreases_in_every_round() {
    for loss in ["rank_net", "list_net", "approx_ndcg", "mse_gain"] {
        let steps = Some(if loss == "rank_net" { Steps::Newton } else { Steps::LineSearch });
        let fitted = fit(&BoostedTreesConfig { learning_rate: 0.05, steps, ..small() }, loss, &exclusive_or());
        assert!(fitted.history.len() > 5, "{loss}");
        for pair in fitted.history.windows(2) {
            assert!(pair[1].objective <= pair[0].objective + 1e-6, "{loss}: {pair:?}");
        }
    }
}

#[test]
fn two_documents_take_the_newton_step() {
    // RankNet at equal scores: gradient -1/2 and 1/2, curvature 1/4 each, so the leaves are 2 and -2.
    let config = BoostedTreesConfig { rounds: 1, learning_rate: 0.5, ..small() };
    let fitted = fit(&config, "rank_net", &testing::two_documents());
    let Model::Trees(trees) = fitted.model else { panic!("trees") };
    assert_eq!(trees.scores(testing::two_documents().features.to_slice()), [-1.0, 1.0]);
    assert!((fitted.history[0].objective - (1.0 + (-2.0f64).exp()).ln()).abs() < 1e-12);
}

/// If all documents of a leaf pull to one side, the leaf is two spreads from 0. The spread of equal scores is 1.
#[test]
fn two_documents_move_by_two_spreads() {
    let config = BoostedTreesConfig { rounds: 1, learning_rate: 0.5, steps: Some(Steps::Balance), ..small() };
    for loss in ["approx_ndcg", "soft_ap", "rank_net", "list_net"] {
        let fitted = fit(&config, loss, &testing::two_documents());
        let Model::Trees(trees) = fitted.model else { panic!("trees") };
        let scores = trees.scores(testing::two_documents().features.to_slice());
        assert!((scores[0] + 1.0).abs() < 1e-3 && (scores[1] - 1.0).abs() < 1e-3, "{loss}: {scores:?}");
    }
}

/// Nothing stops the scores of two documents from growing if the loss never levels off.
#[test]
fn scores_that_grow_stay_finite() {
    let config = BoostedTreesConfig { rounds: 2000, learning_rate: 1.0, patience: Some(2000), ..small() };
    let spec = LossSpec::new("soft_ndcg").with("sigma", 0.5).with("temperature_unit", "spread");
    let fitted = fit_spec(&config, &spec, &testing::two_documents());
    assert_eq!(fitted.history.len(), 2000);
    assert!(fitted.history.iter().all(|round| round.objective.is_finite()));
}

#[test]
fn the_loss_decides_about_steps_that_are_not_named() {
    let steps = |loss: &str| small().steps_for(&*LossSpec::parse(loss).build().unwrap());
    for (loss, expected) in [
        ("lambda_ndcg", Steps::Newton),
        ("soft_ndcg", Steps::Balance),
        ("ap:rank_indicators", Steps::Balance),
        ("list_net", Steps::LineSearch),
        ("mse_gain", Steps::LineSearch),
    ] {
        assert_eq!(steps(loss), expected, "{loss}");
    }
}

#[test]
fn every_kind_of_step_orders_an_exclusive_or() {
    for (steps, losses) in [
        (Steps::Balance, &["approx_ndcg", "soft_ap", "smooth_ndcg", "list_net", "lambda_ndcg"][..]),
        (Steps::LineSearch, &["approx_ndcg", "list_net", "rank_net"][..]),
        (Steps::Newton, &["lambda_ndcg", "rank_net"][..]),
    ] {
        for loss in losses {
            let fitted = fit(&BoostedTreesConfig { steps: Some(steps), ..small() }, loss, &exclusive_or());
            assert_eq!(fitted.history[fitted.best_round - 1].train, Some(1.0), "{steps:?}, {loss}");
        }
    }
    let config = BoostedTreesConfig { steps: Some(Steps::Newton), ..small() };
    let refused = config.check(&Parts::default().with_loss(LossSpec::new("soft_ap"))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "learner.steps = newton: expected balance or line_search: soft_ap has no second derivatives"
    );
}

#[test]
fn unit_gradients_grow_trees_by_newton_and_by_balance_and_a_line_search_refuses_them() {
    let unit = |loss: &str| LossSpec::new(loss).with("query_gradients", "unit");
    for loss in ["lambda_ndcg", "rank_net", "approx_ndcg"] {
        let fitted = fit_spec(&small(), &unit(loss), &exclusive_or());
        assert_eq!(fitted.history[fitted.best_round - 1].train, Some(1.0), "{loss}");
    }
    // Both derivatives are divided by one number: a leaf of one query moves as far as it does without.
    let [raw, unit_trees] = [LossSpec::new("rank_net"), unit("rank_net")].map(|spec| {
        let config = BoostedTreesConfig { rounds: 1, l2: Some(0.0), ..small() };
        let Model::Trees(trees) = fit_spec(&config, &spec, &testing::two_documents()).model else { panic!("trees") };
        trees.scores(testing::two_documents().features.to_slice())
    });
    assert!(raw.iter().zip(&unit_trees).all(|(raw, unit)| (raw - unit).abs() < 1e-6), "{raw:?} {unit_trees:?}");
    let message = |config: BoostedTreesConfig, loss: &str| {
        config.check(&Parts::default().with_loss(unit(loss))).unwrap_err().to_string()
    };
    let expected = "loss.query_gradients = \"unit\": expected \"raw\" with steps = \"line_search\", which compares \
                    values, or steps = \"balance\"";
    assert_eq!(message(BoostedTreesConfig { steps: Some(Steps::LineSearch), ..small() }, "approx_ndcg"), expected);
    assert_eq!(message(small(), "list_net"), expected);
    // A loss that holds something else constant does not hide that its teacher's gradients are unit gradients.
    let teacher = json!({"name": "teacher_kl", "query_gradients": "unit"});
    let taught = LossSpec::new("lambda_ndcg").with("teacher", teacher);
    let config = BoostedTreesConfig { steps: Some(Steps::LineSearch), ..small() };
    let refused = config.check(&Parts::default().with_loss(taught)).unwrap_err().to_string();
    assert_eq!(refused, expected.replace("loss.", "loss.teacher."));
}

#[test]
fn patience_ends_a_fit_that_does_not_improve() {
    let fitted = fit(&BoostedTreesConfig { patience: Some(3), ..small() }, "rank_net", &exclusive_or());
    assert_eq!((fitted.stop, fitted.history.len()), (StopReason::EarlyStopped, fitted.best_round + 3));
}

#[test]
fn a_flat_loss_starts_from_its_own_gains() {
    let data = dataset(1, &[&[(0.0, &[0.0]), (2.0, &[1.0])]]);
    let slopes = |loss: LossSpec| towards_gains(&data, &*loss.build().unwrap()).unwrap().gradient;
    assert_eq!(slopes(LossSpec::new("smooth_ndcg").with("gain", "linear")), [1.0, -1.0]);
    assert_eq!(slopes(LossSpec::new("smooth_ndcg")), [1.5, -1.5]);
    assert_eq!(slopes(LossSpec::new("smooth_ap_rank")), [1.5, -1.5]);
}

/// Makes queries of 20 documents. The first feature ranks the documents that have it, and documents without it are the
/// best. The second feature, half of whose values are missing, has no information.
fn half_missing(queries: usize, seed: u64) -> RankingDataset {
    let mut random = random(seed);
    let (mut features, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..20 * queries {
        let value: f32 = random.random_range(0.0..1.0);
        let is_missing = random.random_range(0.0..1.0) < 0.3;
        features.push(if is_missing { f32::NAN } else { value });
        let other: f32 = random.random_range(0.0..1.0);
        features.push(if random.random_range(0.0..1.0) < 0.5 { f32::NAN } else { other });
        labels.push(if is_missing { 2.0 } else { f32::from(u8::from(value > 0.6)) });
    }
    RankingDataset::builder().features(features, 2).labels(labels).query_sizes(&vec![20; queries]).build().unwrap()
}

#[test]
fn a_learned_direction_recovers_what_missing_values_mean() {
    let (train, test) = (half_missing(30, 1), half_missing(10, 2));
    let config = BoostedTreesConfig { rounds: 30, min_documents: 5, ..BoostedTreesConfig::default() };
    let context = testing::context(None);
    let judge = Judge::new(&context.selection).unwrap();
    let measured = |train: &RankingDataset, test: &RankingDataset| {
        let scores = fit(&config, "lambda_ndcg", train).model.predict(test, &Device::flex());
        judge.mean(test, &scores.into_iter().map(f64::from).collect::<Vec<_>>()).unwrap().unwrap()
    };
    // Over 24 draws of the data the mean is .9997, with a deviation of .0009.
    assert!(measured(&train, &test) > 0.99);
    for loss in ["approx_ndcg", "rank_net"] {
        let fitted = fit(&config, loss, &train);
        assert!(fitted.history[fitted.best_round - 1].train > Some(0.99), "{loss}");
    }
    let learner = config.check(&Parts::default().with_loss(LossSpec::new("lambda_ndcg"))).unwrap();
    let fitted = fit(&config, "lambda_ndcg", &train);
    let Model::Trees(trees) = &fitted.model else { panic!("trees") };
    assert!(!trees.arrays().missing_left.is_empty() || trees.arrays().threshold.contains(&f32::MAX));
    testing::assert_reproducible(&learner, &train, &test, 2);
}

#[test]
fn without_missing_values_no_direction_is_stored() {
    let fitted = fit(&small(), "lambda_ndcg", &exclusive_or());
    let Model::Trees(trees) = fitted.model else { panic!("trees") };
    assert!(trees.arrays().missing_left.is_empty());
    assert!(!serde_json::to_string(&trees).unwrap().contains("missing"));
}

/// Makes a query from the columns of its features, with the labels 0, 1, 2, 0, ...
fn of_columns(columns: &[&[f32]]) -> RankingDataset {
    let documents = columns[0].len();
    let features = (0..documents).flat_map(|d| columns.iter().map(move |column| column[d])).collect();
    let labels = (0..documents).map(|d| (d % 3) as f32).collect();
    RankingDataset::builder()
        .features(features, columns.len())
        .labels(labels)
        .query_sizes(&[documents])
        .build()
        .unwrap()
}

#[test]
fn odd_features_are_learned_around() {
    let value: Vec<f32> = (0..12).map(|d| (d % 3) as f32 + 0.01 * d as f32).collect();
    let (missing, constant) = (vec![f32::NAN; 12], vec![7.0; 12]);
    let largest: Vec<f32> = value.iter().map(|&x| if x > 1.5 { f32::MAX } else { f32::MIN }).collect();
    let alone =
        fit(&small(), "lambda_ndcg", &of_columns(&[&value])).model.predict(&of_columns(&[&value]), &Device::flex());
    let scores = |columns: &[&[f32]]| {
        let data = of_columns(columns);
        fit(&small(), "lambda_ndcg", &data).model.predict(&data, &Device::flex())
    };
    // Features that say nothing, or the same again, change nothing.
    assert_eq!(scores(&[&missing, &value]), alone);
    assert_eq!(scores(&[&constant, &value]), alone);
    assert_eq!(scores(&[&value, &value]), alone);
    assert!(scores(&[&largest]).iter().all(|score| score.is_finite()));
    let refused = |data: &RankingDataset| {
        let learner = small().check(&Parts::default().with_loss(LossSpec::new("lambda_ndcg"))).unwrap();
        learner.fit(Job::new(data, None, &testing::context(None))).unwrap_err().to_string()
    };
    assert!(refused(&of_columns(&[&missing])).contains("the only feature does not vary"));
    // One value, but not everywhere: whether it is there says something.
    let there: Vec<f32> = (0..12).map(|d| if d % 3 == 0 { f32::NAN } else { 1.0 }).collect();
    let found = scores(&[&there]);
    assert!(found[0] < found[1], "{found:?}");
    let infinite = RankingDataset::builder()
        .features(vec![f32::INFINITY, 0.0], 1)
        .labels(vec![0.0, 1.0])
        .query_sizes(&[2])
        .build()
        .unwrap_err();
    assert!(infinite.to_string().contains("features[0] = inf: expected a finite number"), "{infinite}");
    // Queries of one document and of equal labels, next to one that can be learned; more leaves than documents.
    let data = dataset(1, &[&[(1.0, &[0.0])], &[(1.0, &[1.0]), (1.0, &[0.0])], &[(0.0, &[0.0]), (1.0, &[f32::NAN])]]);
    let found = fit(&BoostedTreesConfig { leaves: 64, ..small() }, "lambda_ndcg", &data);
    assert_eq!(found.history[found.best_round - 1].train, Some(1.0));
    assert!(refused(&dataset(1, &[&[(1.0, &[0.0])], &[(1.0, &[1.0])]])).contains("every query has one document"));
    assert!(refused(&dataset(1, &[&[(1.0, &[0.0]), (1.0, &[1.0])]])).contains("all labels are 1, so no query has two"));
}

/// Returns the trees of each seed from the state that a fit saved in a folder.
fn saved_trees(folder: &Path) -> (serde_json::Value, Vec<serde_json::Value>) {
    let text = std::fs::read_to_string(folder.join(STATE_FILE)).unwrap();
    let state = &serde_json::from_str::<serde_json::Value>(&text).unwrap()["state"];
    let others = state["others"].as_array().map(|all| all.iter().map(|trees| trees["trees"].clone()).collect());
    (state["trees"].clone(), others.unwrap_or_default())
}

#[test]
fn several_seeds_are_one_ranker_with_their_mean_score() {
    let data = testing::random(30, 10, 4, 3);
    let one = BoostedTreesConfig { rounds: 6, subsample: 0.5, min_documents: 5, ..BoostedTreesConfig::default() };
    let three = BoostedTreesConfig { seeds: Some(3), ..one.clone() };
    let fit_in = |config: &BoostedTreesConfig, folder: &Path, seed: u64| {
        let learner = config.check(&Parts::default().with_loss(LossSpec::new("lambda_ndcg"))).unwrap();
        let mut context = testing::context(Some(folder));
        context.seed = seed;
        learner.fit(Job::new(&data, None, &context)).unwrap()
    };
    let all = tempfile::tempdir().unwrap();
    let fitted = fit_in(&three, all.path(), 7);
    let (first, others) = saved_trees(all.path());
    let mut mean = vec![0.0; data.documents()];
    for (number, trees) in std::iter::once(first).chain(others).enumerate() {
        let alone = tempfile::tempdir().unwrap();
        fit_in(&one, alone.path(), member_seed(7, number));
        assert_eq!(trees, saved_trees(alone.path()).0, "seed {number}");
        let trees: Vec<Vec<Node>> = serde_json::from_value(trees).unwrap();
        let scores = ensemble(&trees[..fitted.best_round], 4).unwrap().scores(data.features.to_slice());
        mean.iter_mut().zip(scores).for_each(|(mean, score)| *mean += score / 3.0);
    }
    let Model::Trees(trees) = &fitted.model else { panic!("trees") };
    assert_eq!(trees.trees(), 3 * fitted.best_round);
    for (score, mean) in trees.scores(data.features.to_slice()).iter().zip(mean) {
        assert!((score - mean).abs() < 1e-12);
    }
    let learner = three.check(&Parts::default().with_loss(LossSpec::new("approx_ndcg"))).unwrap();
    testing::assert_reproducible(&learner, &data, &data, 2);
    let same = BoostedTreesConfig { seeds: Some(3), ..small() };
    let error = same.check(&Parts::default().with_loss(LossSpec::new("rank_net"))).unwrap_err().to_string();
    assert!(
        error.starts_with("learner.seeds = 3: expected subsample, colsample or colsample_by_node below 1"),
        "{error}"
    );
    let many = BoostedTreesConfig { seeds: Some(1_000_000_000_000), ..one };
    let error = many.check(&Parts::default().with_loss(LossSpec::new("rank_net"))).unwrap_err().to_string();
    assert_eq!(error, "learner.seeds = 1000000000000: expected at most 1000");
}

#[test]
fn a_fit_that_goes_on_is_the_fit_in_one_go() {
    let data = testing::random(30, 10, 4, 3);
    let fit_in = |rounds, start: Option<&Model>| {
        let config = BoostedTreesConfig { rounds, subsample: 0.7, min_documents: 5, ..BoostedTreesConfig::default() };
        let learner: Arc<dyn RankingLearner> =
            Arc::new(config.check(&Parts::default().with_loss(LossSpec::new("rank_net"))).unwrap());
        let learner = start.map_or(learner.clone(), |model| learner.starting_from(model).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let fitted = learner.fit(Job::new(&data, None, &testing::context(Some(folder.path())))).unwrap();
        let trees: Vec<Vec<Node>> = serde_json::from_value(saved_trees(folder.path()).0).unwrap();
        (fitted, trees)
    };
    let ((whole, all), (_, first)) = (fit_in(8, None), fit_in(5, None));
    let start = Model::Trees(ensemble(&first, 4).unwrap());
    let (second, rest) = fit_in(3, Some(&start));
    assert_eq!([first, rest.clone()].concat(), all);
    assert_eq!(second.history[2].objective, whole.history[7].objective);
    // The trees that it started from are part of it.
    let Model::Trees(trees) = &second.model else { panic!("trees") };
    let expected = ensemble(&all[..5 + second.best_round], 4).unwrap();
    assert_eq!(*trees, expected);
}

#[test]
fn trees_start_from_trees_of_the_same_features() {
    let learner = || small().check(&Parts::default().with_loss(LossSpec::new("rank_net"))).unwrap();
    let device = Device::flex();
    let linear = ScorerConfig::Linear(LinearScorerConfig::default()).init(2, 1, &device).unwrap();
    let error = learner().starting_from(&Model::Scorer(linear)).unwrap_err().to_string();
    assert_eq!(error, "start = another model: expected a ranker that is a sum of trees");
    let other = learner().starting_from(&Model::Trees(TreeEnsemble::new(3))).unwrap();
    let error = other.fit(Job::new(&exclusive_or(), None, &testing::context(None))).unwrap_err().to_string();
    assert_eq!(error, "start = trees of 3 features: expected 2, as in the data");
    // A fit from other trees does not accept the state of this fit.
    let folder = tempfile::tempdir().unwrap();
    learner().fit(Job::new(&exclusive_or(), None, &testing::context(Some(folder.path())))).unwrap();
    let context = testing::context(Some(folder.path()));
    let starting = learner().starting_from(&Model::Trees(TreeEnsemble::new(2))).unwrap();
    let error = starting.fit(Job::new(&exclusive_or(), None, &context)).unwrap_err().to_string();
    assert!(error.contains("state of another fit"), "{error}");
    // A resumed fit that starts from trees ends in the same bytes.
    let data = testing::random(20, 8, 3, 5);
    let first = learner().fit(Job::new(&data, None, &testing::context(None))).unwrap().model;
    let starting = learner().starting_from(&first).unwrap();
    testing::assert_reproducible(&*starting, &data, &data, 2);
}

#[test]
fn importance_counts_the_splits_and_their_gains() {
    let fitted = fit(&small(), "rank_net", &exclusive_or());
    let importance = fitted.importance.unwrap();
    let Model::Trees(trees) = &fitted.model else { panic!("trees") };
    for feature in 0..2 {
        let splits = trees.arrays().feature.iter().filter(|&&split| split == feature).count();
        assert_eq!(importance.splits[feature as usize], splits);
        assert!(importance.gain[feature as usize] > 0.0);
    }
    // RankNet at equal scores: sums -1/2 and 1/2 with curvature 1/4 each, so the merits are 1 each; the root's is 0.
    let config = BoostedTreesConfig { rounds: 1, ..small() };
    let importance = fit(&config, "rank_net", &testing::two_documents()).importance.unwrap();
    assert_eq!((importance.gain, importance.splits), (vec![2.0, 0.0], vec![1, 0]));
}

/// Checks that counts cover all training documents, even with samples, and that importances contain each gain once.
#[test]
fn exported_trees_carry_counts_and_gains() {
    let data = half_missing(30, 1);
    let plain = BoostedTreesConfig { rounds: 8, min_documents: 5, ..BoostedTreesConfig::default() };
    let sampled = BoostedTreesConfig { subsample: 0.5, colsample_by_node: 0.6, ..plain.clone() };
    let several = BoostedTreesConfig { seeds: Some(2), ..sampled.clone() };
    let searched = BoostedTreesConfig { steps: Some(Steps::LineSearch), ..sampled.clone() };
    for (config, loss) in
        [(&plain, "lambda_ndcg"), (&sampled, "rank_net"), (&several, "approx_ndcg"), (&searched, "soft_ndcg")]
    {
        let fitted = fit(config, loss, &data);
        let importance = fitted.importance.unwrap();
        let Model::Trees(trees) = fitted.model else { panic!("trees") };
        let TreeArrays { roots, feature, statistics, .. } = trees.arrays();
        let NodeStatistics { count, weight, gain } = statistics;
        assert_eq!(*count, trees.reached(data.features.to_slice()), "{loss}");
        assert!(roots.iter().all(|&root| count[root as usize] as usize == data.documents()), "{loss}");
        assert!(weight.len() == count.len() && weight.iter().all(|&weight| weight > 0.0), "{loss}");
        let mut found = [0.0; 2];
        for (&feature, &gain) in feature.iter().zip(gain) {
            assert_eq!(feature == LEAF, gain == 0.0, "{loss}");
            if feature != LEAF {
                found[feature as usize] += f64::from(gain);
            }
        }
        for (found, expected) in found.iter().zip(importance.gain) {
            assert!((found - expected).abs() <= 1e-6 * expected, "{loss}: {found} {expected}");
        }
    }
    // RankNet at equal scores: the gain is 2, as in the test above, and the curvatures are 1/4 each.
    let config = BoostedTreesConfig { rounds: 1, ..small() };
    let Model::Trees(trees) = fit(&config, "rank_net", &testing::two_documents()).model else { panic!("trees") };
    let expected = NodeStatistics { count: vec![2, 1, 1], weight: vec![0.5, 0.25, 0.25], gain: vec![2.0, 0.0, 0.0] };
    assert_eq!(trees.arrays().statistics, expected);
}

#[test]
fn trees_that_go_on_keep_the_counts_that_all_of_them_have() {
    let data = testing::random(20, 8, 3, 5);
    let config = BoostedTreesConfig { subsample: 0.5, ..small() };
    let learner = || config.check(&Parts::default().with_loss(LossSpec::new("rank_net"))).unwrap();
    let start = learner().fit(Job::new(&data, None, &testing::context(None))).unwrap().model;
    let Model::Trees(trees) = &start else { panic!("trees") };
    let bare = TreeArrays { statistics: NodeStatistics::default(), ..trees.arrays().clone() };
    let bare = Model::Trees(TreeEnsemble::from_arrays(3, bare).unwrap());
    let statistics = |start: &Model| {
        let learner = learner().starting_from(start).unwrap();
        let fitted = learner.fit(Job::new(&data, None, &testing::context(None))).unwrap();
        let Model::Trees(trees) = fitted.model else { panic!("trees") };
        (trees.reached(data.features.to_slice()), trees.arrays().statistics.clone(), fitted.importance)
    };
    let (reached, known, importance) = statistics(&start);
    assert_eq!(known.count, reached);
    // The importance counts all trees.
    let (importance, gain) = (importance.unwrap(), known.gain.iter().copied().map(f64::from).sum::<f64>());
    assert_eq!(importance.splits.iter().sum::<usize>(), known.gain.iter().filter(|gain| **gain > 0.0).count());
    assert!((importance.gain.iter().sum::<f64>() - gain).abs() < 1e-6 * gain);
    let (_, unknown, importance) = statistics(&bare);
    assert_eq!((unknown, importance), (NodeStatistics::default(), None));
}

#[test]
fn histograms_beyond_the_memory_are_refused() {
    let data = testing::random(20, 8, 3, 5);
    // No tree has more leaves than documents.
    assert!(Block::ask_memory(&data, &BoostedTreesConfig { leaves: usize::MAX, ..small() }).is_ok());
    let wide = RankingDataset { feature_count: 1 << 40, ..data };
    let error = Block::ask_memory(&wide, &small()).unwrap_err().to_string();
    let expected = "learner.leaves: growing trees of up to 4 leaves on 1099511627776 features takes about ";
    assert!(error.starts_with(expected) && error.ends_with("lower it, or train on fewer features"), "{error}");
}

#[test]
fn noise_is_drawn_anew_in_every_round() {
    let config = BoostedTreesConfig { rounds: 2, learning_rate: 1e-9, ..small() };
    for (loss, is_noisy) in [("yeti_loss", true), ("lambda_ndcg", false)] {
        let rounds = fit(&config, loss, &exclusive_or()).history;
        let difference = (rounds[1].objective - rounds[0].objective).abs();
        assert!((difference > 1e-4) == is_noisy, "{loss}: {difference}");
    }
    let data = testing::random(20, 8, 3, 5);
    // The loss of equal scores does not depend on the noise of XE-NDCG, but trees do.
    for (loss, is_noisy) in [("xe_ndcg", true), ("lambda_ndcg", false)] {
        let config = BoostedTreesConfig { rounds: 2, ..small() };
        let learner = config.check(&Parts::default().with_loss(LossSpec::new(loss))).unwrap();
        let objective = |seed| {
            let mut context = testing::context(None);
            context.seed = seed;
            learner.fit(Job::new(&data, None, &context)).unwrap().history[1].objective
        };
        assert_eq!(objective(1) != objective(2), is_noisy, "{loss}");
    }
    for loss in ["xe_ndcg", "stochastic_rank"] {
        let config = BoostedTreesConfig { rounds: 4, ..small() };
        let learner = config.check(&Parts::default().with_loss(LossSpec::new(loss))).unwrap();
        testing::assert_reproducible(&learner, &data, &data, 2);
        testing::assert_same_in_processes(&learner, &data, &data, 2);
    }
}

#[test]
fn processes_share_the_queries_the_features_and_the_batches() {
    // Three blocks of features, and two batches of queries for automatic differentiation.
    let (train, validation) = (testing::random(1400, 12, 20, 5), testing::random(10, 8, 20, 6));
    let config = BoostedTreesConfig { rounds: 4, subsample: 0.5, colsample_by_node: 0.8, ..small() };
    for loss in ["lambda_ndcg", "list_net", "smooth_dcg"] {
        let learner = config.check(&Parts::default().with_loss(LossSpec::new(loss))).unwrap();
        testing::assert_same_in_processes(&learner, &train, &validation, 2);
    }
}

#[test]
fn fits_are_reproducible() {
    let data = exclusive_or();
    let config = BoostedTreesConfig { rounds: 8, subsample: 0.5, colsample: 0.5, ..small() };
    for loss in ["lambda_ndcg", "approx_ndcg"] {
        testing::assert_reproducible(
            &config.check(&Parts::default().with_loss(LossSpec::new(loss))).unwrap(),
            &data,
            &data,
            2,
        );
    }
}

/// Trees once supported RankNet only as a sum over pairs.
#[test]
fn a_mean_over_pairs_takes_newton_steps_too() {
    let loss = LossSpec::new("rank_net").with("mean_over_pairs", true);
    let fitted = fit_spec(&small(), &loss, &exclusive_or());
    let (first, last) = (&fitted.history[0], &fitted.history[fitted.history.len() - 1]);
    assert!(last.objective < first.objective, "{first:?} {last:?}");
}

#[test]
fn parameters_out_of_range_are_named() {
    let message = |text: &str, loss: &str| {
        let config: BoostedTreesConfig = serde_json::from_str(text).unwrap();
        config.check(&Parts::default().with_loss(LossSpec::new(loss))).unwrap_err().to_string()
    };
    assert_eq!(
        message(r#"{"learning_rate": 0}"#, "rank_net"),
        "learner.learning_rate = 0: expected a number above 0, at most 1"
    );
    assert_eq!(message(r#"{"leaves": 1}"#, "rank_net"), "learner.leaves = 1: expected at least 2");
    assert_eq!(message(r#"{"bins": 300}"#, "rank_net"), "learner.bins = 300: expected 2 to 256");
    assert!(message("{}", "rank_nt").contains("did you mean `rank_net`?"));
}

#[cfg(feature = "columnar")]
#[test]
fn streamed_data_give_the_trees_of_data_in_memory() {
    use crate::data::{Normalizer, NormalizerKind};

    let mut data = [testing::random(12, 9, 21, 3), testing::random(6, 7, 21, 4)];
    data[0].features.to_mut_slice()[5] = f32::NAN;
    let configs = [small(), BoostedTreesConfig { subsample: 0.7, colsample: 0.6, seeds: Some(2), ..small() }];
    for (kind, config) in [NormalizerKind::None, NormalizerKind::QueryMinMax].into_iter().zip(configs) {
        // A column of the training data has 432 bytes: a pass takes 8 of 21 features.
        let files = data.each_ref().map(|data| testing::streamed(data, "4 KiB", "1 KiB"));
        let mut streamed = files.each_ref().map(|(_, data)| data.clone());
        let mut in_memory = data.clone();
        let normalizer = Normalizer::fit(&in_memory[0], kind);
        in_memory.iter_mut().chain(&mut streamed).for_each(|data| normalizer.apply(data).unwrap());
        let learner = config.check(&Parts::default().with_loss(LossSpec::new("lambda_ndcg"))).unwrap();
        let [memory, file] = [&in_memory, &streamed]
            .map(|[train, vali]| learner.fit(Job::new(train, Some(vali), &testing::context(None))).unwrap());
        assert_eq!(file.history, memory.history);
        assert_eq!(
            file.model.predict(&streamed[1], &Device::flex()),
            memory.model.predict(&in_memory[1], &Device::flex())
        );
        assert!(streamed.iter().all(|data| !data.features.is_copied()));
    }
}

/// Labels say which document is first, and only the teacher tells the others apart.
fn taught() -> RankingDataset {
    let query: &[(f32, &[f32])] = &[(1.0, &[0.0]), (0.0, &[1.0]), (0.0, &[2.0]), (0.0, &[3.0])];
    let idle: &[(f32, &[f32])] = &[(0.0, &[1.0]), (0.0, &[2.0]), (0.0, &[3.0])];
    let data = dataset(1, &[query, query, idle]);
    let teacher = [f32::NAN, -1.0, 3.0, 1.0, f32::NAN, -1.0, 3.0, f32::NAN, -1.0, 3.0, 1.0];
    data.with_teacher(teacher.to_vec()).unwrap()
}

#[test]
fn trees_learn_from_labels_and_a_teacher() {
    let data = taught();
    let scores = |spec: &LossSpec| fit_spec(&small(), spec, &data).model.predict(&data, &Device::flex());
    for (labels, teacher) in [("lambda_ndcg", "teacher_kl"), ("approx_ndcg", "list_net")] {
        let both = LossSpec::new(labels).with("teacher", crate::json::json!({"name": teacher}));
        let found = scores(&both);
        assert!(found[0] > found[2] && found[2] > found[3] && found[3] > found[1], "{labels}: {found:?}");
    }
    for name in ["teacher_kl", "margin_mse", "teacher_mse"] {
        let found = scores(&LossSpec::new(name));
        assert!(found[2] > found[3] && found[3] > found[1], "{name}: {found:?}");
    }
    let refused = |loss: LossSpec, data: &RankingDataset| {
        let learner = small().check(&Parts::default().with_loss(loss)).unwrap();
        learner.fit(Job::new(data, None, &testing::context(None))).unwrap_err().to_string()
    };
    let both = LossSpec::new("lambda_ndcg").with("teacher", crate::json::json!({"name": "teacher_kl"}));
    assert!(refused(both, &data.clone().without_weights()).starts_with("loss.teacher: found no teacher's scores"));
    let unread = refused(LossSpec::new("lambda_ndcg"), &data);
    assert!(unread.starts_with("data.teacher = the loss `lambda_ndcg`, which reads labels: expected"), "{unread}");
}

#[test]
fn a_teacher_and_single_documents_are_learned_without_two_labels_in_a_query() {
    let mut data = taught();
    data.labels.fill(0.0);
    let found = fit_spec(&small(), &LossSpec::new("teacher_kl"), &data).model.predict(&data, &Device::flex());
    assert!(found[2] > found[3] && found[3] > found[1], "{found:?}");
    let one: &[(f32, &[f32])] = &[(1.0, &[1.0])];
    let zero: &[(f32, &[f32])] = &[(0.0, &[0.0])];
    let data = dataset(1, &[one, zero, one, zero]);
    let loss = LossSpec::new("binary_cross_entropy");
    let config = BoostedTreesConfig { min_documents: 1, ..small() };
    let found = fit_spec(&config, &loss, &data).model.predict(&data, &Device::flex());
    assert!(found[0] > found[1], "{found:?}");
}
