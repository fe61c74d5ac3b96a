//! Tests of AdaRank on small data.

use proptest::prelude::*;

use super::feature::FeatureRankers;
use super::{AdaRank, AdaRankConfig, Directions, Emphasis};
use crate::data::RankingDataset;
use crate::distributed::ProcessGroup;
use crate::distributed::testing::in_processes;
use crate::learner::Job;
use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
use crate::learner::shared::context::{Fitted, Round, StopReason};
use crate::learner::shared::judge::Judge;
use crate::learner::testing::{self, dataset};
use crate::loss::LossSpec;
use crate::measure::Measure;
use crate::ranker::Model;
use crate::scorer::ScorerConfig;

fn figure(round: &Round, name: &str) -> f64 {
    round.figures.iter().find(|(found, _)| found == name).map(|(_, value)| *value).expect("reported")
}

fn fit(config: &AdaRankConfig, data: &RankingDataset) -> Fitted {
    config.check(&Parts::default()).unwrap().fit(Job::new(data, None, &testing::context(None))).unwrap()
}

/// Feature 1 orders the first query correctly and the second wrongly (AP 1 and 1/2). Feature 2 does the reverse and has
/// the AP 1/3 on the first query.
fn two_queries() -> RankingDataset {
    dataset(
        2,
        &[&[(1.0, &[3.0, 1.0]), (0.0, &[2.0, 3.0]), (0.0, &[1.0, 2.0])], &[(0.0, &[1.0, 0.0]), (1.0, &[0.0, 1.0])]],
    )
}

#[test]
fn two_rounds_are_worked_by_hand() {
    let config = AdaRankConfig { rounds: 2, directions: Directions::Descending, ..AdaRankConfig::default() };
    let fitted = fit(&config, &two_queries());
    // Round 1, P = (1/2, 1/2): phi is 3/4 for feature 1 and 2/3 for feature 2.
    let first = &fitted.history[0];
    assert_eq!(figure(first, "feature"), 1.0);
    assert!((figure(first, "phi") - 0.75).abs() < 1e-12);
    let alpha_1 = 0.5 * 7.0f64.ln();
    assert!((figure(first, "alpha") - alpha_1).abs() < 1e-12);
    assert!((first.objective - ((-1.0f64).exp() + (-0.5f64).exp()) / 2.0).abs() < 1e-12);
    assert_eq!(first.train, Some(0.75));
    // delta = min(1 - alpha, 1/2 - alpha / 2) = 1 - alpha if alpha > 1, else (1 - alpha) / 2.
    let delta = 0.5 * (1.0 - alpha_1);
    assert!((figure(first, "bound") - (1.0 - (-delta).exp() * (1.0f64 - 0.5625).sqrt())).abs() < 1e-12);

    // Round 2: P ~ (e^-1, e^-1/2). Feature 1 has P_1 + P_2 / 2, feature 2 has P_1 / 3 + P_2.
    let second = &fitted.history[1];
    let p_1 = (-1.0f64).exp() / ((-1.0f64).exp() + (-0.5f64).exp());
    let phi = p_1 / 3.0 + (1.0 - p_1);
    assert!(phi > p_1 + (1.0 - p_1) / 2.0);
    assert_eq!(figure(second, "feature"), 2.0);
    assert!((figure(second, "phi") - phi).abs() < 1e-12);
    assert!((figure(second, "alpha") - phi.atanh()).abs() < 1e-12);
}

#[test]
fn the_best_round_is_a_prefix_of_the_rounds() {
    let config = AdaRankConfig { rounds: 5, directions: Directions::Descending, ..AdaRankConfig::default() };
    let fitted = fit(&config, &two_queries());
    let (weights, _) = testing::linear_weights(&fitted.model);
    let mut expected = [0.0; 2];
    for round in &fitted.history[..fitted.best_round] {
        expected[figure(round, "feature") as usize - 1] += figure(round, "alpha");
    }
    assert_eq!(weights, expected.map(|weight| weight as f32));
}

#[test]
fn among_equal_weak_rankers_the_lowest_feature_descending_is_chosen() {
    let data = dataset(3, &[&[(0.0, &[5.0, 0.0, 0.0]), (1.0, &[5.0, 1.0, 1.0]), (0.0, &[5.0, 0.0, 0.0])]]);
    let fitted = fit(&AdaRankConfig::default(), &data);
    assert_eq!((figure(&fitted.history[0], "feature"), figure(&fitted.history[0], "direction")), (2.0, 1.0));
}

#[test]
fn a_feature_that_orders_backwards_is_used_ascending_where_allowed() {
    let data = dataset(1, &[&[(0.0, &[2.0]), (1.0, &[1.0]), (0.0, &[3.0])]]);
    let fitted = fit(&AdaRankConfig::default(), &data);
    assert_eq!(figure(&fitted.history[0], "direction"), -1.0);
    // A perfect weak ranker has a finite weight and leaves nothing to learn.
    assert_eq!((fitted.stop, fitted.history.len(), fitted.history[0].train), (StopReason::Converged, 1, Some(1.0)));
    let (weights, _) = testing::linear_weights(&fitted.model);
    assert!(weights[0] < 0.0 && weights[0].is_finite());
    let descending = AdaRankConfig { directions: Directions::Descending, rounds: 1, ..AdaRankConfig::default() };
    assert_eq!(figure(&fit(&descending, &data).history[0], "direction"), 1.0);
}

#[test]
fn without_reuse_the_fit_ends_when_no_feature_is_left() {
    let config = AdaRankConfig { reuse: false, ..AdaRankConfig::default() };
    let fitted = fit(&config, &two_queries());
    assert_eq!((fitted.stop, fitted.history.len()), (StopReason::Converged, 2));
    assert_eq!(figure(&fitted.history[1], "feature"), 2.0);
}

/// The second feature ranks no relevant document first.
#[test]
fn without_reuse_the_fit_ends_where_no_feature_left_is_of_any_use() {
    let data = dataset(2, &[&[(1.0, &[1.0, 0.0]), (0.0, &[0.0, 1.0])], &[(1.0, &[0.0, 0.0]), (0.0, &[1.0, 1.0])]]);
    let measure = Some(Measure::Precision(Some(1)));
    let config =
        AdaRankConfig { reuse: false, directions: Directions::Descending, measure, ..AdaRankConfig::default() };
    let fitted = fit(&config, &data);
    assert_eq!((fitted.stop, fitted.history.len(), fitted.best_round), (StopReason::Converged, 1, 1));
    let learner = config.check(&Parts::default()).unwrap();
    let error = learner.fit(Job::new(&data.select(&[1]), None, &testing::context(None))).unwrap_err().to_string();
    assert!(error.contains(" 0 on every query: choose another learner.measure"), "{error}");
}

#[test]
fn scores_that_overflow_are_refused_with_advice() {
    let query = |labels: [f32; 2]| [(labels[0], &[3e38f32][..]), (labels[1], &[1e38][..])];
    let (right, wrong) = (query([1.0, 0.0]), query([0.0, 1.0]));
    // The weight of the first weak ranker is 1.2.
    let data = dataset(1, &[&right, &right, &wrong]);
    let learner = AdaRankConfig::default().check(&Parts::default()).unwrap();
    let error = learner.fit(Job::new(&data, None, &testing::context(None))).unwrap_err().to_string();
    assert_eq!(error, "ada_rank: the scores are not finite: normalize the features");
}

#[test]
fn a_fit_without_progress_ends() {
    let config = AdaRankConfig { patience: Some(3), rounds: 100, ..AdaRankConfig::default() };
    // With one feature f_t orders as f_1 does, so the objective never decreases again.
    let data = dataset(1, &[&[(0.0, &[2.0]), (1.0, &[1.0]), (1.0, &[3.0])]]);
    let fitted = fit(&config, &data);
    assert_eq!((fitted.stop, fitted.history.len(), fitted.best_round), (StopReason::Converged, 4, 1));
}

#[test]
fn measures_outside_the_unit_interval_are_refused() {
    let config = AdaRankConfig { measure: Some(Measure::Dcg(Some(10))), ..AdaRankConfig::default() };
    let message = config.check(&Parts::default()).unwrap_err().to_string();
    assert_eq!(message, "learner.measure = dcg@10: expected a measure with values in [0, 1], such as ndcg@10 or map");
    // Without `learner.measure` the selection measure takes its place.
    let mut context = testing::context(None);
    context.selection.measure = Measure::Dcg(Some(10));
    let learner = AdaRankConfig::default().check(&Parts::default()).unwrap();
    assert!(learner.fit(Job::new(&two_queries(), None, &context)).unwrap_err().to_string().contains("dcg@10"));
}

#[test]
fn parameters_out_of_range_and_unknown_keys_are_named() {
    let message = |text: &str| {
        let config: AdaRankConfig = serde_json::from_str(text).unwrap();
        config.check(&Parts::default()).unwrap_err().to_string()
    };
    assert_eq!(message(r#"{"rounds": 0}"#), "learner.rounds = 0: expected at least 1");
    assert_eq!(message(r#"{"tolerance": -1}"#), "learner.tolerance = -1: expected a finite number, 0 or above");
    assert!(serde_json::from_str::<AdaRankConfig>(r#"{"round": 5}"#).is_err());
}

fn with_scorers(emphasis: Emphasis, scorer: &str) -> AdaRank {
    let config = AdaRankConfig { rounds: 3, epochs: 3, emphasis, ..AdaRankConfig::default() };
    let scorer: ScorerConfig = serde_json::from_str(scorer).unwrap();
    config.check(&Parts::default().with_scorer(&scorer).with_loss(LossSpec::new("approx_ndcg"))).unwrap()
}

#[test]
fn linear_scorers_add_up_to_one_linear_scorer() {
    for emphasis in [Emphasis::Weighted, Emphasis::Sampled] {
        let learner = with_scorers(emphasis, r#"{"kind": "linear"}"#);
        let data = two_queries();
        let fitted = learner.fit(Job::new(&data, None, &testing::context(None))).unwrap();
        let (weights, _) = testing::linear_weights(&fitted.model);
        assert!(weights.iter().all(|weight| weight.is_finite() && *weight != 0.0));
        let judge = Judge::new(&testing::context(None).selection).unwrap();
        let scores: Vec<f64> =
            fitted.model.predict(&data, &testing::context(None).device).into_iter().map(f64::from).collect();
        // The returned model ranks as the combination that was measured in its round.
        assert_eq!(judge.mean(&data, &scores).unwrap(), fitted.history[fitted.best_round - 1].train);
    }
}

#[test]
fn other_scorers_stay_an_ensemble() {
    let learner = with_scorers(Emphasis::Weighted, r#"{"kind": "mlp"}"#);
    let fitted = learner.fit(Job::new(&two_queries(), None, &testing::context(None))).unwrap();
    let Model::Ensemble(members) = fitted.model else { panic!("an ensemble") };
    assert_eq!(members.len(), fitted.best_round);
}

#[test]
fn fits_are_reproducible() {
    let data = two_queries();
    let features = AdaRankConfig { rounds: 6, ..AdaRankConfig::default() }.check(&Parts::default()).unwrap();
    let scorers = with_scorers(Emphasis::Sampled, r#"{"kind": "linear"}"#);
    for learner in [features, scorers] {
        testing::assert_reproducible(&learner, &data, &data, 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn theorem_4_holds(
        documents in proptest::collection::vec((0u8..3, 0u8..5, 0u8..5, 0u8..5), 6..30),
        ndcg in any::<bool>(),
    ) {
        let rows: Vec<(f32, [f32; 3])> = documents
            .iter()
            .map(|&(label, a, b, c)| (f32::from(label), [f32::from(a), f32::from(b), f32::from(c)]))
            .collect();
        let rows: Vec<(f32, &[f32])> = rows.iter().map(|(label, row)| (*label, &row[..])).collect();
        let third = rows.len() / 3;
        let data = dataset(3, &[&rows[..third], &rows[third..2 * third], &rows[2 * third..]]);
        let measure = if ndcg { Measure::Ndcg(Some(5)) } else { Measure::Ap(None) };
        let config = AdaRankConfig { rounds: 20, measure: Some(measure), ..AdaRankConfig::default() };
        if let Ok(fitted) = config.check(&Parts::default()).unwrap().fit(Job::new(&data, None, &testing::context(None))) {
            for round in &fitted.history {
                let value = figure(round, &measure.to_string());
                prop_assert!(value >= figure(round, "bound") - 1e-9, "{round:?}");
            }
        }
    }
}

#[test]
fn processes_share_the_weak_rankers_and_the_queries() {
    let (train, validation) = (testing::random(25, 8, 5, 2), testing::random(10, 8, 5, 3));
    let features = AdaRankConfig { rounds: 6, ..AdaRankConfig::default() };
    let once = AdaRankConfig {
        reuse: false,
        directions: Directions::Descending,
        measure: Some(Measure::Ndcg(Some(5))),
        ..features.clone()
    };
    for config in [features, once] {
        testing::assert_same_in_processes(&config.check(&Parts::default()).unwrap(), &train, &validation, 2);
    }
    for (emphasis, scorer) in
        [(Emphasis::Weighted, r#"{"kind": "linear"}"#), (Emphasis::Sampled, r#"{"kind": "mlp", "dropout": 0.1}"#)]
    {
        testing::assert_same_in_processes(&with_scorers(emphasis, scorer), &train, &validation, 1);
    }
}

#[test]
fn a_measure_that_a_process_cannot_take_is_refused_by_all() {
    let mut data = testing::random(6, 5, 4, 1);
    // A document that no convention can grade.
    data.labels[7] = -1.0;
    let convention = crate::measure::Convention::preset("letor").unwrap();
    let selection = crate::learner::shared::context::Selection { measure: Measure::Ap(None), convention, round: None };
    let judge = Judge::new(&selection).unwrap();
    let refused = |group: &ProcessGroup| {
        let (data, context) = (testing::shared(&data, group), testing::context(None));
        let config = AdaRankConfig::default();
        let rankers = FeatureRankers::new(&config, &judge, Job::new(&data, None, &context));
        rankers.err().expect("refused").to_string()
    };
    let alone = refused(ProcessGroup::ALONE);
    assert!(in_processes(3, refused).iter().all(|refused| *refused == alone), "{alone}");
}
