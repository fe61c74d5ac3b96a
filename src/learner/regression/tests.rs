//! Tests of ridge regression on small data.

use super::RegressionConfig;
use crate::data::RankingDataset;
use crate::learner::Job;
use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
use crate::learner::shared::gains::{balanced_weights, start_gains};
use crate::learner::solver::normal_equations::NormalEquations;
use crate::learner::testing::{self, dataset};
use crate::loss::LossSpec;
use crate::measure::Gain;

fn equations(data: &RankingDataset, targets: &[f64], weights: &[f64], intercept: bool) -> NormalEquations {
    NormalEquations::new(data, targets, weights, intercept, &|| false).unwrap()
}

#[test]
fn normal_equations_of_three_points_are_worked_by_hand() {
    // x = 0, 1, 2 with targets 1, 2, 4 and equal weights: variance of x 2/3, covariance 1, mean target 7/3.
    let data = dataset(1, &[&[(0.0, &[0.0]), (0.0, &[1.0]), (0.0, &[2.0])]]);
    let of_points = equations(&data, &[1.0, 2.0, 4.0], &[1.0; 3], true);
    let solution = of_points.solve(1.0 / 3.0, &|| false).unwrap();
    assert!((solution.weights[0] - 1.0).abs() < 1e-12, "1 / (2/3 + 1/3)");
    assert!((solution.bias - (7.0 / 3.0 - 1.0)).abs() < 1e-12);
    // Residuals of s = 4/3 + x: 1/3, 1/3, -2/3; their mean square is 2/9.
    assert!((of_points.objective(&[1.0], 1.0 / 3.0) - (2.0 / 9.0 + 1.0 / 3.0)).abs() < 1e-12);
    // Without intercept: sum x t / (sum x^2 + 3 lambda) = 10 / (5 + 5).
    let through_zero = equations(&data, &[1.0, 2.0, 4.0], &[1.0; 3], false).solve(5.0 / 3.0, &|| false).unwrap();
    assert!((through_zero.weights[0] - 1.0).abs() < 1e-12);
    assert_eq!(through_zero.bias, 0.0);
}

#[test]
fn blocks_add_up_to_the_whole() {
    let rows: Vec<[f32; 2]> = (0..3000).map(|i| [(i % 7) as f32, (i % 11) as f32 * 0.25]).collect();
    let documents: Vec<(f32, &[f32])> = rows.iter().map(|row| (0.0, &row[..])).collect();
    let data = dataset(2, &[&documents]);
    // An exact linear target is recovered up to the penalty.
    let targets: Vec<f64> = rows.iter().map(|row| 3.0 * f64::from(row[0]) - f64::from(row[1]) + 5.0).collect();
    let solution = equations(&data, &targets, &vec![1.0; 3000], true).solve(1e-12, &|| false).unwrap();
    assert!((solution.weights[0] - 3.0).abs() < 1e-9 && (solution.weights[1] + 1.0).abs() < 1e-9);
    assert!((solution.bias - 5.0).abs() < 1e-9);
}

#[test]
fn few_documents_of_many_features_give_what_the_products_of_features_give() {
    let rows: Vec<Vec<f32>> =
        (0..9).map(|d| (0..12).map(|f| ((d * 31 + f * f * 17 + d * f) % 23) as f32 - 9.0).collect()).collect();
    let documents: Vec<(f32, &[f32])> = rows.iter().map(|row| (0.0, &row[..])).collect();
    let targets: Vec<f64> = (0..18).map(|d| f64::from(d % 9 * d % 5)).collect();
    let weights: Vec<f64> = (0..18).map(|d| 1.0 + f64::from(d % 9)).collect();
    // Each document twice: as many documents as the sums over features need.
    let (once, twice) = (dataset(12, &[&documents]), dataset(12, &[&documents, &documents]));
    for intercept in [true, false] {
        let few = equations(&once, &targets[..9], &weights[..9], intercept);
        let many = equations(&twice, &[&targets[..9], &targets[..9]].concat(), &weights, intercept);
        for lambda in [0.01, 1.0, 100.0] {
            let (few_solved, many_solved) =
                (few.solve(lambda, &|| false).unwrap(), many.solve(lambda, &|| false).unwrap());
            for (one, other) in few_solved.weights.iter().zip(&many_solved.weights) {
                assert!((one - other).abs() < 1e-9, "{lambda}: {one}, {other}");
            }
            assert!((few_solved.bias - many_solved.bias).abs() < 1e-9);
            let objectives = [&few, &many].map(|equations| equations.objective(&few_solved.weights, lambda));
            assert!((objectives[0] / objectives[1] - 1.0).abs() < 1e-9, "{objectives:?}");
        }
        assert!(many.solve(1.0, &|| true).is_none());
    }
    assert!(NormalEquations::new(&twice, &[0.0; 18], &[1.0; 18], true, &|| true).is_none());
}

#[test]
fn balanced_weights_give_each_kind_half_the_total() {
    let data = dataset(1, &[&[(2.0, &[0.0]), (0.0, &[0.0]), (0.0, &[0.0]), (1.0, &[0.0]), (0.0, &[0.0])]]);
    assert_eq!(balanced_weights(&data), [0.25, 1.0 / 6.0, 1.0 / 6.0, 0.25, 1.0 / 6.0]);
}

#[test]
fn two_documents_are_ordered() {
    let data = testing::two_documents();
    let context = testing::context(None);
    let fitted =
        RegressionConfig::default().check(&Parts::default()).unwrap().fit(Job::new(&data, None, &context)).unwrap();
    assert_eq!(fitted.history[fitted.best_round - 1].train, Some(1.0));
    let (weights, _) = testing::linear_weights(&fitted.model);
    assert!(weights[0] < 0.0 && weights[1] > 0.0, "{weights:?}");
}

#[test]
fn parameters_and_labels_out_of_range_are_named() {
    let config: RegressionConfig = serde_json::from_str(r#"{"lambda": [1.0, -1.0]}"#).unwrap();
    let message = config.check(&Parts::default()).unwrap_err().to_string();
    assert_eq!(message, "learner.lambda = -1: expected a finite number above 0");
    assert!(serde_json::from_str::<RegressionConfig>(r#"{"lamda": 1.0}"#).is_err());
    let table = RegressionConfig { gain: Gain::Table(vec![0.0]), ..RegressionConfig::default() };
    let fitted =
        table.check(&Parts::default()).unwrap().fit(Job::new(&testing::two_documents(), None, &testing::context(None)));
    let message = fitted.unwrap_err().to_string();
    assert_eq!(message, "regression: label 1 of query 1 has no finite gain: change learner.gain");
}

#[test]
fn start_gains_are_those_of_the_loss_and_errors_name_no_foreign_keys() {
    let gains = |spec: LossSpec, label: f32| {
        let mut data = testing::two_documents();
        data.labels[1] = label;
        start_gains("test", &data, &*spec.build().unwrap()).map_err(|error| error.to_string())
    };
    assert_eq!(gains(LossSpec::new("smooth_ndcg").with("gain", "linear"), 2000.0).unwrap(), [0.0, 2000.0]);
    assert_eq!(gains(LossSpec::new("smooth_ndcg"), 3.0).unwrap(), [0.0, 7.0]);
    assert_eq!(gains(LossSpec::new("smooth_ap_rank"), 3.0).unwrap(), [0.0, 7.0]);
    let message = gains(LossSpec::new("smooth_ap_rank"), 2000.0).unwrap_err();
    assert_eq!(message, "test: label 2000 of query 1 has no finite gain, from which the fit starts: lower the labels");
}

#[test]
fn a_constant_feature_has_no_weight_beside_an_intercept() {
    let data = dataset(2, &[&[(0.0, &[0.0, 3.0]), (1.0, &[1.0, 3.0]), (2.0, &[2.0, 3.0])]]);
    let weight =
        |intercept| equations(&data, &[1.0, 2.0, 3.0], &[1.0; 3], intercept).solve(0.1, &|| false).unwrap().weights[1];
    assert_eq!(weight(true), 0.0);
    assert!(weight(false) > 0.1);
}

#[test]
fn fits_are_reproducible() {
    let (train, validation) = (testing::random(4, 15, 3, 2), testing::random(2, 15, 3, 3));
    let learner = RegressionConfig::default().check(&Parts::default()).unwrap();
    testing::assert_reproducible(&learner, &train, &validation, 3);
}

#[test]
fn processes_share_the_features_and_the_queries() {
    // More than one block of documents, and fewer features than processes.
    for features in [5, 2] {
        let (train, validation) = (testing::random(120, 12, features, 2), testing::random(40, 9, features, 3));
        for (balanced, intercept) in [(true, true), (false, true), (true, false)] {
            let config = RegressionConfig { balanced, intercept, ..RegressionConfig::default() };
            let learner = config.check(&Parts::default()).unwrap();
            testing::assert_same_in_processes(&learner, &train, &validation, 3);
        }
    }
}
