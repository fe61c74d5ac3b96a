//! Tests of RankSVM on small data.

use super::risk::PairRisk;
use super::{PairWeighting, RankSvmConfig, RankSvmLoss, newton};
use crate::distributed::ProcessGroup;
use crate::distributed::testing::in_processes;
use crate::learner::Job;
use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
use crate::learner::shared::context::StopReason;
use crate::learner::shared::cost_path::Candidates;
use crate::learner::solver::cutting_plane;
use crate::learner::testing::{self, linear_weights};

const LOSSES: [RankSvmLoss; 2] = [RankSvmLoss::Hinge, RankSvmLoss::SquaredHinge];

fn config(loss: RankSvmLoss, c: f64) -> RankSvmConfig {
    RankSvmConfig { c: Candidates::One(c), loss, tolerance: 1e-10, ..RankSvmConfig::default() }
}

/// One pair with the difference (-1, 1) has the solution `w = a (-1, 1)`. For the hinge, `a = min(C, 1/2)`, and for its
/// square, `a = 2 C / (1 + 4 C)`.
#[test]
fn two_documents_have_the_analytic_solution() {
    for c in [0.2, 3.0] {
        for (loss, expected) in LOSSES.into_iter().zip([f64::min(c, 0.5), 2.0 * c / (1.0 + 4.0 * c)]) {
            let learner = config(loss, c).check(&Parts::default()).unwrap();
            let fitted = learner.fit(Job::new(&testing::two_documents(), None, &testing::context(None))).unwrap();
            assert_eq!(fitted.stop, StopReason::Converged);
            let (weights, _) = linear_weights(&fitted.model);
            assert!((f64::from(weights[0]) + expected).abs() < 1e-6, "{loss:?} {c}: {weights:?}");
            assert!((f64::from(weights[1]) - expected).abs() < 1e-6, "{loss:?} {c}: {weights:?}");
        }
    }
}

#[test]
fn the_duality_gap_bounds_the_distance_to_the_optimum() {
    let data = testing::random(4, 20, 3, 1);
    let risk = PairRisk::new(&data, PairWeighting::Query);
    let (zeros, forever) = ([0.0; 3], || false);
    let hinge = |tolerance, most| {
        cutting_plane::minimize(20.0, &zeros, &|weights: &[f64]| risk.hinge(weights), tolerance, most, &forever)
            .unwrap()
    };
    let squared = |tolerance, most| newton::minimize(&risk, 20.0, &zeros, (tolerance, most), &forever);
    for (exact, rough) in [(hinge(1e-9, 500), hinge(1e-9, 3)), (squared(1e-9, 100), squared(1e-9, 1))] {
        assert!(exact.converged && exact.gap.unwrap() <= 1e-9 * exact.objective);
        assert!(!rough.converged && rough.objective > exact.objective);
        assert!(rough.objective - exact.objective <= rough.gap.unwrap());
    }
}

#[test]
fn separable_data_are_separated() {
    let data = testing::dataset(
        2,
        &[&[(2.0, &[0.9, 0.1]), (1.0, &[0.5, 0.3]), (0.0, &[0.1, 0.2])], &[(0.0, &[0.2, 0.9]), (1.0, &[0.6, 0.8])]],
    );
    for loss in LOSSES {
        let fitted = config(loss, 1e3)
            .check(&Parts::default())
            .unwrap()
            .fit(Job::new(&data, None, &testing::context(None)))
            .unwrap();
        assert_eq!(fitted.history[0].train, Some(1.0));
    }
}

#[test]
fn fits_are_reproducible() {
    let (train, validation) = (testing::random(4, 15, 3, 2), testing::random(2, 15, 3, 3));
    for loss in LOSSES {
        let learner = RankSvmConfig { loss, ..RankSvmConfig::default() }.check(&Parts::default()).unwrap();
        testing::assert_reproducible(&learner, &train, &validation, 2);
    }
}

#[test]
fn a_solver_that_is_cut_short_is_reported() {
    let warnings = testing::Warnings::default();
    let mut context = testing::context(None);
    context.progress = &warnings;
    let short = RankSvmConfig { max_steps: 1, ..config(RankSvmLoss::Hinge, 100.0) }.check(&Parts::default()).unwrap();
    let fitted = short.fit(Job::new(&testing::random(4, 15, 3, 2), None, &context)).unwrap();
    assert_eq!(fitted.stop, StopReason::NotConverged);
    assert!(warnings.text().contains("raise learner.max_steps"), "{}", warnings.text());
}

#[test]
fn parameters_out_of_range_are_named() {
    let refused = |text: &str| {
        serde_json::from_str::<RankSvmConfig>(text).unwrap().check(&Parts::default()).unwrap_err().to_string()
    };
    assert_eq!(refused(r#"{"c": [1.0, 0.0]}"#), "learner.c = 0: expected a finite number above 0");
    assert_eq!(refused(r#"{"max_steps": 0}"#), "learner.max_steps = 0: expected at least 1");
    assert!(serde_json::from_str::<RankSvmConfig>(r#"{"lambda": 1.0}"#).is_err());
}

#[test]
fn processes_share_the_queries() {
    // Four blocks of queries; one query has no pairs.
    let (mut train, validation) = (testing::random(50, 8, 3, 2), testing::random(20, 8, 3, 3));
    train.labels[20 * 8..21 * 8].fill(1.0);
    for loss in LOSSES {
        for weighting in [PairWeighting::Pair, PairWeighting::Query] {
            let c = Candidates::Many(vec![1e-3, 1e-2, 0.1]);
            let config = RankSvmConfig { c, loss, weighting, ..RankSvmConfig::default() };
            testing::assert_same_in_processes(&config.check(&Parts::default()).unwrap(), &train, &validation, 2);
        }
    }
}

/// A signal reaches the processes at different moments, possibly while a solver runs.
#[test]
fn only_the_first_process_decides_to_stop() {
    let data = testing::random(20, 8, 3, 2);
    for loss in LOSSES {
        let learner = config(loss, 0.01).check(&Parts::default()).unwrap();
        let fit = |group: &ProcessGroup| {
            let context = testing::context(None);
            if !group.leads() {
                context.interrupt.request();
            }
            let fitted = learner.fit(Job::new(&testing::shared(&data, group), None, &context)).unwrap();
            (fitted.history, fitted.stop, linear_weights(&fitted.model))
        };
        let alone = fit(ProcessGroup::ALONE);
        assert!(in_processes(3, fit).iter().all(|fitted| *fitted == alone));
    }
}
