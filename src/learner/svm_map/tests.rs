//! Tests of SVMmap on small data.

use super::SvmMapConfig;
use super::risk::ApRisk;
use crate::learner::Job;
use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
use crate::learner::shared::context::StopReason;
use crate::learner::shared::cost_path::Candidates;
use crate::learner::shared::judge::Judge;
use crate::learner::shared::share::linear_scores as scores;
use crate::learner::solver::cutting_plane;
use crate::learner::testing::{self, linear_weights};

/// One inverted pair loses 1/2 and has the margin `2 w . d` with `d = (-1, 1)`, so `w = 2 min(C, 1/16) d`.
#[test]
fn two_documents_have_the_analytic_solution() {
    for (c, expected) in [(0.03, 0.06), (5.0, 0.125)] {
        let config = SvmMapConfig { c: Candidates::One(c), tolerance: 1e-10, ..SvmMapConfig::default() };
        let fitted = config
            .check(&Parts::default())
            .unwrap()
            .fit(Job::new(&testing::two_documents(), None, &testing::context(None)))
            .unwrap();
        assert_eq!(fitted.stop, StopReason::Converged);
        let (weights, _) = linear_weights(&fitted.model);
        assert!((weights[0] + expected).abs() < 1e-6 && (weights[1] - expected).abs() < 1e-6, "{weights:?}");
    }
}

#[test]
fn the_risk_bounds_the_loss_and_its_planes_lie_below_it() {
    let data = testing::random(3, 12, 3, 4);
    let risk = ApRisk::new(&data).unwrap();
    let judge = Judge::new(&testing::context(None).selection).unwrap();
    let points = [[0.0, 0.0, 0.0], [0.5, -0.2, 0.1], [-1.0, 2.0, 0.3], [4.0, 0.1, -3.0]];
    for at in points {
        let here = risk.at(&at);
        let loss = 1.0 - judge.mean(&data, &scores(&data, &at)).unwrap().unwrap();
        // At w = 0 the scores tie, and the worst order counts.
        assert!(here.value >= loss - 1e-12, "{at:?}: {} {loss}", here.value);
        for other in points {
            let step: f64 = (0..3).map(|feature| here.slope[feature] * (other[feature] - at[feature])).sum();
            assert!(risk.at(&other).value >= here.value + step - 1e-12, "{at:?} {other:?}");
        }
    }
}

#[test]
fn the_duality_gap_is_reached() {
    let data = testing::random(5, 20, 4, 9);
    let risk = ApRisk::new(&data).unwrap();
    let minimize = |most| {
        let risk = |weights: &[f64]| risk.at(weights);
        cutting_plane::minimize(50.0, &[0.0; 4], &risk, 1e-8, most, &|| false).unwrap()
    };
    let (exact, rough) = (minimize(500), minimize(2));
    assert!(exact.converged && exact.gap.unwrap() <= 1e-8 * exact.objective);
    assert!(rough.objective - exact.objective <= rough.gap.unwrap());
}

#[test]
fn fits_are_reproducible() {
    let (train, validation) = (testing::random(4, 15, 3, 2), testing::random(2, 15, 3, 3));
    testing::assert_reproducible(&SvmMapConfig::default().check(&Parts::default()).unwrap(), &train, &validation, 3);
}

#[test]
fn labels_without_relevance_are_refused() {
    let data = testing::dataset(1, &[&[(2.0, &[0.5]), (1.0, &[0.1])]]);
    let fitted =
        SvmMapConfig::default().check(&Parts::default()).unwrap().fit(Job::new(&data, None, &testing::context(None)));
    assert!(fitted.unwrap_err().to_string().starts_with("svm_map: no training query has both relevant"));
}

#[test]
fn parameters_out_of_range_are_named() {
    let refused = |text: &str| {
        serde_json::from_str::<SvmMapConfig>(text).unwrap().check(&Parts::default()).unwrap_err().to_string()
    };
    assert_eq!(refused(r#"{"c": -1.0}"#), "learner.c = -1: expected a finite number above 0");
    assert_eq!(refused(r#"{"tolerance": 0.0}"#), "learner.tolerance = 0: expected a finite number above 0");
}

#[test]
fn processes_share_the_queries() {
    // Three blocks of queries; one query has no irrelevant document.
    let (mut train, validation) = (testing::random(40, 8, 3, 2), testing::random(20, 8, 3, 3));
    train.labels[20 * 8..21 * 8].fill(1.0);
    let config = SvmMapConfig { c: Candidates::Many(vec![0.1, 1.0, 10.0]), ..SvmMapConfig::default() };
    testing::assert_same_in_processes(&config.check(&Parts::default()).unwrap(), &train, &validation, 2);
}
