//! Tests of RankBoost on small data.

use proptest::prelude::*;

use super::potentials::Levels;
use super::{LARGEST_EDGE, RankBoostConfig, best_weak_ranker};
use crate::learner::Job;
use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
use crate::learner::shared::context::StopReason;
use crate::learner::solver::bins::bins_of_all;
use crate::learner::testing::{self, dataset};
use crate::ranker::{Model, NodeStatistics};

#[test]
fn potentials_are_those_of_the_pairs() {
    // Labels 2, 0, 1 and scores 0, 1, 3 (then a query with equal labels, which has no pair).
    let data = dataset(1, &[&[(2.0, &[0.0]), (0.0, &[0.0]), (1.0, &[0.0])], &[(1.0, &[0.0]), (1.0, &[0.0])]]);
    let scores = [0.0, 1.0, 3.0, 5.0, 6.0];
    let [a, b, c] = [1.0f64.exp(), 3.0f64.exp(), (-2.0f64).exp()]; // 0 over 1, 0 over 2, 2 over 1
    let (mean, potentials) = Levels::new(&data).potentials(&scores);
    let total = a + b + c;
    assert!((mean - total / 3.0).abs() < 1e-12);
    let expected = [(a + b) / total, -(a + c) / total, (c - b) / total, 0.0, 0.0];
    for (found, expected) in potentials.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{potentials:?}");
    }
}

#[test]
fn the_first_round_is_worked_by_hand() {
    // Pairs: (a, c), (b, c), relevant a and b. x > 0.5 holds only for a: edge 1/2; y > 0.5 only for c: edge -1.
    let data = dataset(2, &[&[(1.0, &[1.0, 0.0]), (1.0, &[0.0, 0.0]), (0.0, &[0.0, 1.0])]]);
    let bins = bins_of_all(&data, 0..2, 256);
    let levels = Levels::new(&data);
    let (mean, potentials) = levels.potentials(&[0.0; 3]);
    assert_eq!((mean, &potentials[..]), (1.0, &[0.5, 0.5, -1.0][..]));
    assert_eq!(best_weak_ranker(&data, &bins, 0..2, &potentials), Some((1, 0.5, -1.0)));
    // On only the first feature: alpha = 1/2 ln 3, so the loss is (1/sqrt(3) + 1) / 2.
    let data = dataset(1, &[&[(1.0, &[1.0]), (1.0, &[0.0]), (0.0, &[0.0])]]);
    let config = RankBoostConfig { rounds: 1, ..RankBoostConfig::default() };
    let fitted = config.check(&Parts::default()).unwrap().fit(Job::new(&data, None, &testing::context(None))).unwrap();
    let round = &fitted.history[0];
    assert!((round.objective - (1.0 / 3.0f64.sqrt() + 1.0) / 2.0).abs() < 1e-12);
    assert!((round.figures[3].1 - 3.0f64.ln() / 2.0).abs() < 1e-12, "alpha");
}

#[test]
fn exported_stumps_carry_counts_and_gains() {
    // Pairs: (a, c), (b, c). x > 0.5 holds only for a.
    let data = dataset(1, &[&[(1.0, &[1.0]), (1.0, &[0.0]), (0.0, &[0.0])]]);
    let learner = RankBoostConfig { rounds: 1, ..RankBoostConfig::default() }.check(&Parts::default()).unwrap();
    let Model::Trees(trees) = learner.fit(Job::new(&data, None, &testing::context(None))).unwrap().model else {
        panic!("trees")
    };
    let NodeStatistics { count, weight, gain } = &trees.arrays().statistics;
    assert_eq!((&count[..], &weight[..], &gain[1..]), (&[3, 2, 1][..], &[][..], &[0.0, 0.0][..]));
    assert!((f64::from(gain[0]) + 0.75f64.sqrt().ln()).abs() < 1e-7, "{gain:?}");
}

/// No single stump orders three labels, so in each round the scores of separable data move apart by about 0.7. An edge
/// of 1/2 lowers the bound on the loss by the factor sqrt(1 - 1/4).
#[test]
fn scores_far_apart_leave_the_loss_finite() {
    let query: Vec<(f32, [f32; 1])> = (0..6).map(|d| ((d % 3) as f32, [(d % 3) as f32])).collect();
    let query: Vec<(f32, &[f32])> = query.iter().map(|(label, row)| (*label, &row[..])).collect();
    let data = dataset(1, &[&query, &query]);
    let learner = RankBoostConfig { rounds: 1500, ..RankBoostConfig::default() }.check(&Parts::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let context = testing::context(Some(folder.path()));
    let fitted = learner.fit(Job::new(&data, None, &context)).unwrap();
    assert_eq!((fitted.stop, fitted.history.len()), (StopReason::Completed, 1500));
    let objectives: Vec<f64> = fitted.history.iter().map(|round| round.objective).collect();
    assert!(objectives.is_sorted_by(|before, after| *after <= *before && after.is_finite()));
    assert_eq!(learner.fit(Job::new(&data, None, &context)).unwrap().history, fitted.history, "read back");

    // Scores 0, 800, 1600 by label: the loss sums over the neighboring labels' 16 pairs, e^-800 each.
    let scores: Vec<f64> = data.labels.iter().map(|&label| 800.0 * f64::from(label)).collect();
    let (mean, potentials) = Levels::new(&data).potentials(&scores);
    assert_eq!(mean, 0.0);
    for (label, potential) in data.labels.iter().zip(potentials) {
        let expected = [-1.0 / 8.0, 0.0, 1.0 / 8.0][*label as usize];
        assert!((potential - expected).abs() < 1e-12, "{label}: {potential}");
    }
}

#[test]
fn fits_are_reproducible() {
    let (train, validation) = (testing::random(4, 15, 3, 2), testing::random(2, 15, 3, 3));
    let learner = RankBoostConfig { rounds: 20, ..RankBoostConfig::default() }.check(&Parts::default()).unwrap();
    testing::assert_reproducible(&learner, &train, &validation, 5);
}

#[test]
fn a_perfect_weak_ranker_ends_the_fit_with_a_finite_weight() {
    let data = testing::two_documents();
    let fitted = RankBoostConfig::default()
        .check(&Parts::default())
        .unwrap()
        .fit(Job::new(&data, None, &testing::context(None)))
        .unwrap();
    assert_eq!((fitted.stop, fitted.history.len()), (StopReason::Converged, 1));
    let Model::Trees(trees) = fitted.model else { panic!("stumps") };
    let scores = trees.scores(data.features.to_slice());
    assert!(scores[1] > scores[0] && scores.iter().all(|score| score.abs() < 20.0), "{scores:?}");
}

#[test]
fn parameters_out_of_range_are_named() {
    let message = |text: &str| {
        let config: RankBoostConfig = serde_json::from_str(text).unwrap();
        config.check(&Parts::default()).unwrap_err().to_string()
    };
    assert_eq!(message(r#"{"rounds": 0}"#), "learner.rounds = 0: expected at least 1");
    assert_eq!(message(r#"{"thresholds": 256}"#), "learner.thresholds = 256: expected 1 to 255");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_loss_never_grows_and_obeys_its_bound(
        documents in proptest::collection::vec((0u8..3, 0u8..4, 0u8..9), 4..24),
    ) {
        let rows: Vec<(f32, [f32; 2])> =
            documents.iter().map(|&(label, a, b)| (f32::from(label), [f32::from(a), f32::from(b)])).collect();
        let rows: Vec<(f32, &[f32])> = rows.iter().map(|(label, row)| (*label, &row[..])).collect();
        let data = dataset(2, &[&rows[..rows.len() / 2], &rows[rows.len() / 2..]]);
        let config = RankBoostConfig { rounds: 30, ..RankBoostConfig::default() };
        if let Ok(fitted) = config.check(&Parts::default()).unwrap().fit(Job::new(&data, None, &testing::context(None))) {
            let mut before = 1.0;
            for round in &fitted.history {
                let edge = round.figures[2].1.clamp(-LARGEST_EDGE, LARGEST_EDGE);
                prop_assert!(round.objective <= before * (1.0 - edge * edge).sqrt() + 1e-12);
                before = round.objective;
            }
        }
    }
}

#[test]
fn processes_share_the_features_and_the_queries() {
    // Three blocks of queries; one query has no pairs; features that are equal in pairs have equal edges.
    let (mut train, mut validation) = (testing::random(40, 8, 6, 2), testing::random(12, 8, 6, 3));
    train.labels[20 * 8..21 * 8].fill(1.0);
    for data in [&mut train, &mut validation] {
        data.features.to_mut().chunks_mut(6).for_each(|row| row[5] = row[0]);
    }
    for thresholds in [255, 4] {
        let config = RankBoostConfig { rounds: 6, thresholds, ..RankBoostConfig::default() };
        testing::assert_same_in_processes(&config.check(&Parts::default()).unwrap(), &train, &validation, 2);
    }
}
