//! Tests of SmoothRank on small data.

use std::borrow::Cow;

use super::descent;
use super::objective::{LinearObjective, Objective};
use super::{Optimizer, SmoothRankConfig, default_loss};
use crate::data::RankingDataset;
use crate::learner::Job;
use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
use crate::learner::shared::context::StopReason;
use crate::learner::shared::cost_path::Candidates;
use crate::learner::shared::judge::Judge;
use crate::learner::shared::rounds::Set;
use crate::learner::testing::{self, linear_weights};
use crate::loss::{LossSpec, RankingLoss};
use crate::ranker::Model;
use crate::scorer::{MlpScorerConfig, NormKind, ScorerConfig};

const SURROGATES: [&str; 4] = ["smooth_ndcg", "smooth_ap_indicator", "smooth_ap_rank", "approx_ndcg"];

fn config() -> SmoothRankConfig {
    SmoothRankConfig {
        lambda: Candidates::Many(vec![0.01, 1.0]),
        first_sigma: 4.0,
        last_sigma: 0.25,
        steps: 10,
        ..SmoothRankConfig::default()
    }
}

fn objective(data: &RankingDataset) -> LinearObjective<'_> {
    LinearObjective::new(Cow::Borrowed(data), None, None, &testing::context(None).device).unwrap()
}

#[test]
fn gradients_agree_with_finite_differences() {
    let data = testing::random(3, 7, 3, 1);
    let objective = objective(&data);
    let weights = [0.3, -0.7, 0.2];
    let cells = ["success@2:expected_ranks", "kendall_tau:rank_indicators"].map(LossSpec::parse);
    for loss in SURROGATES.map(LossSpec::new).into_iter().chain(cells) {
        let name = loss.to_string();
        let learner = config().check(&Parts::default().with_loss(loss)).unwrap();
        for sigma in [8.0, 0.5] {
            let loss = learner.surrogate(sigma).unwrap();
            let (_, gradient) = objective.value_and_gradient(&weights, &*loss);
            for feature in 0..3 {
                let at = |step: f64| {
                    let mut moved = weights;
                    moved[feature] += step;
                    objective.value_and_gradient(&moved, &*loss).0
                };
                let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((gradient[feature] - numeric).abs() < 1e-6, "{name} {sigma}: {gradient:?} {numeric}");
            }
        }
    }
}

#[test]
fn losses_whose_gradient_is_not_that_of_their_value_are_refused() {
    let error = config().check(&Parts::default().with_loss(LossSpec::new("stochastic_rank"))).unwrap_err().to_string();
    let expected = "loss: expected a loss with the gradient of its value, to minimize it";
    assert_eq!(error, format!("{expected}: stochastic_rank holds the value"));
    let unit = LossSpec::new("smooth_ndcg").with("query_gradients", "unit");
    let error = config().check(&Parts::default().with_loss(unit)).unwrap_err().to_string();
    assert_eq!(
        error,
        "loss.query_gradients: expected a loss with the gradient of its value, to minimize it: smooth_ndcg holds the \
         length of each query's gradient"
    );
    let spread = LossSpec::new("smooth_ndcg").with("temperature_unit", "spread");
    let learner = config().check(&Parts::default().with_loss(spread)).unwrap();
    assert_eq!(learner.surrogate(1.0).unwrap().about().held_constant, None);
}

#[test]
fn batch_norm_is_refused_since_nothing_collects_its_statistics() {
    let scorer = ScorerConfig::Mlp(MlpScorerConfig { norm: NormKind::Batch, ..Default::default() });
    let parts = Parts::default().with_scorer(&scorer);
    let expected = "scorer.norm = \"batch\": expected another: only `gradient` and `ada_rank` collect the statistics of \
                    batch norm";
    assert_eq!(config().check(&parts).unwrap_err().to_string(), expected);
}

#[test]
fn the_objective_never_rises_within_a_sigma() {
    let data = testing::random(4, 12, 3, 2);
    let objective = objective(&data);
    let learner = config().check(&Parts::default()).unwrap();
    let limits = SmoothRankConfig { steps: 20, tolerance: 0.0, ..config() };
    for optimizer in [Optimizer::ConjugateGradient, Optimizer::Lbfgs] {
        for sigma in [4.0, 0.25] {
            let loss = learner.surrogate(sigma).unwrap();
            let start = [0.1, 0.4, -0.2];
            let config = SmoothRankConfig { optimizer, ..limits.clone() };
            let descent = descent::minimize(&objective, &*loss, 0.01, &[0.0; 3], &start, &config).unwrap();
            assert!(descent.objectives.len() > 3, "{optimizer:?} makes steps: {:?}", descent.objectives);
            assert!(descent.objectives.is_sorted_by(|before, after| after <= before), "{:?}", descent.objectives);
        }
    }
}

#[test]
fn a_large_lambda_or_sigma_stays_at_the_ridge_solution() {
    // Section 5.3: as sigma grows the surrogate is constant and the minimizer is w_0.
    let data = testing::random(4, 12, 3, 3);
    for (lambda, sigma) in [(1e9, 1.0), (1.0, 1e9)] {
        let config =
            SmoothRankConfig { lambda: Candidates::One(lambda), first_sigma: sigma, last_sigma: sigma, ..config() };
        let learner = config.check(&Parts::default()).unwrap();
        let fitted = learner.fit(Job::new(&data, None, &testing::context(None))).unwrap();
        let (weights, _) = linear_weights(&fitted.model);
        for (weight, start) in weights.iter().zip(learner.ridge(&data).unwrap()) {
            assert!((f64::from(*weight) - start).abs() < 1e-5, "{lambda} {sigma}");
        }
    }
}

#[test]
fn annealing_lowers_the_sharpest_loss() {
    let data = testing::random(6, 15, 4, 4);
    let config = SmoothRankConfig { lambda: Candidates::One(1e-3), ..config() };
    let learner = config.check(&Parts::default()).unwrap();
    let fitted = learner.fit(Job::new(&data, None, &testing::context(None))).unwrap();
    assert_eq!((fitted.stop, fitted.best_round), (StopReason::Completed, 5));
    let (weights, _) = linear_weights(&fitted.model);
    let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
    let (objective, loss) = (objective(&data), learner.surrogate(0.25).unwrap());
    let value = |weights: &[f64]| objective.value_and_gradient(weights, &*loss).0;
    assert!(value(&weights) < value(&learner.ridge(&data).unwrap()) - 0.05, "{}", value(&weights));
}

#[test]
fn only_rounds_at_the_last_sigma_are_chosen() {
    let learner = config().check(&Parts::default()).unwrap();
    let fitted = learner.fit(Job::new(&testing::random(4, 10, 3, 2), None, &testing::context(None))).unwrap();
    assert_eq!((fitted.best_round % 5, fitted.history.len()), (0, 10));
}

#[test]
fn a_round_that_is_given_is_kept_at_any_sigma() {
    let data = testing::random(4, 10, 3, 2);
    let learner = config().check(&Parts::default()).unwrap();
    let mut context = testing::context(None);
    context.selection.round = Some(3);
    let fitted = learner.fit(Job::new(&data, None, &context)).unwrap();
    assert_eq!((fitted.best_round, fitted.history.len()), (3, 3));
    let (weights, _) = linear_weights(&fitted.model);
    assert!(weights.iter().zip(learner.ridge(&data).unwrap()).any(|(weight, start)| *weight != start as f32));
}

#[test]
fn kernel_components_and_networks_learn_what_a_line_cannot() {
    // Relevant documents lie in the middle.
    let documents: Vec<(f32, [f32; 1])> =
        (0..15).map(|place| (f32::from(u8::from((5..10).contains(&place))), [place as f32 / 14.0])).collect();
    let documents: Vec<(f32, &[f32])> = documents.iter().map(|(label, row)| (*label, &row[..])).collect();
    let data = testing::dataset(1, &[&documents]);
    let lambda = Candidates::One(1e-3);
    let kernel =
        SmoothRankConfig { kernel_components: Some(6), kernel_gamma: 10.0, lambda: lambda.clone(), ..config() };
    let network = SmoothRankConfig { lambda, steps: 60, ..config() };
    let mlp = ScorerConfig::Mlp(crate::scorer::MlpScorerConfig::default());
    for (config, scorer) in [(kernel, ScorerConfig::default()), (network, mlp)] {
        let learner = config.check(&Parts::default().with_scorer(&scorer)).unwrap();
        let context = testing::context(None);
        let fitted = learner.fit(Job::new(&data, None, &context)).unwrap();
        let scores: Vec<f64> = fitted.model.predict(&data, &context.device).into_iter().map(f64::from).collect();
        assert_eq!(Judge::new(&context.selection).unwrap().mean(&data, &scores).unwrap(), Some(1.0), "{scorer:?}");
        testing::assert_reproducible(&learner, &data, &data, 2);
    }
}

/// With labels and features that overflow an `f32` network, the solver once panicked or never ended.
#[test]
fn a_start_that_is_not_finite_is_refused_with_advice() {
    let linear_gain = LossSpec::new("smooth_ndcg").with("gain", "linear");
    let mlp = ScorerConfig::Mlp(crate::scorer::MlpScorerConfig::default());
    let fit = |loss: &LossSpec, scorer: &ScorerConfig, largest: f32, feature: f32| {
        let mut data = testing::random(3, 6, 2, 5);
        data.labels[0] = largest;
        data.features.to_mut_slice()[0] *= feature;
        let learner = config().check(&Parts::default().with_loss(loss).with_scorer(scorer)).unwrap();
        learner.fit(Job::new(&data, None, &testing::context(None))).map_err(|error| error.to_string())
    };
    // The start is a regression on the loss's own gains, so labels that the loss accepts are fitted.
    for label in [126.0, 180.0, 900.0] {
        assert!(fit(&linear_gain, &mlp, label, 1.0).is_ok(), "{label}");
        assert!(fit(&linear_gain, &ScorerConfig::default(), label, 1.0).is_ok(), "{label}");
    }
    for (scorer, label, feature) in [(&mlp, 126.0, 1.0), (&mlp, 180.0, 1.0), (&mlp, 900.0, 1.0), (&mlp, 2.0, 1e25)] {
        let message = fit(&LossSpec::new("smooth_ap_rank"), scorer, label, feature).unwrap_err();
        assert!(message.starts_with("smooth_rank: the descent on `mse_gain` starts at the value"), "{message}");
        assert!(message.ends_with("normalize the features, or lower the labels or their gains"), "{message}");
    }
    let message = fit(&LossSpec::new("smooth_ap_rank"), &ScorerConfig::default(), 200.0, 1.0).unwrap_err();
    assert!(message.contains("infinite weights: lower the labels"), "{message}");
}

/// A convex objective that is NaN in one region, like a network whose scores overflow.
struct Bowl;

impl Objective for Bowl {
    fn value_and_gradient(&self, weights: &[f64], _: &dyn RankingLoss) -> (f64, Vec<f64>) {
        let value = if weights[0] < 0.5 { f64::NAN } else { weights[0] * weights[0] };
        (value, vec![2.0 * weights[0]])
    }

    fn scores(&self, _: &[f64], _: Set) -> Vec<f64> {
        unreachable!("only descended on")
    }

    fn model(&self, _: &[f64]) -> Model {
        unreachable!("only descended on")
    }
}

#[test]
fn a_line_search_ends_at_nan() {
    let loss = default_loss().build().unwrap();
    let limits = SmoothRankConfig { steps: 20, tolerance: 0.0, ..config() };
    for optimizer in [Optimizer::ConjugateGradient, Optimizer::Lbfgs] {
        let config = SmoothRankConfig { optimizer, ..limits.clone() };
        let descent = descent::minimize(&Bowl, &*loss, 1e-9, &[0.0], &[1.0], &config).unwrap();
        assert!(descent.weights[0] >= 0.5 && descent.objectives.iter().all(|value| value.is_finite()), "{optimizer:?}");
        assert!(!descent.cut_short, "{optimizer:?}");
        assert!(descent::minimize(&Bowl, &*loss, 1e-9, &[0.0], &[0.1], &config).is_err());
    }
}

/// A direction of conjugate gradients may lead uphill. The descent once ended at such a point, with a steep gradient.
#[test]
fn a_descent_ends_where_no_step_along_the_gradient_descends() {
    let (lambda, mut ended) = (1e-4, 0);
    let loss = LossSpec::new("soft_ndcg").with("k", 2).with("sigma", 0.0625).build().unwrap();
    for seed in 0..6 {
        let data = testing::random(8, 8, 4, seed);
        let objective = objective(&data);
        let center = [0.1, 0.1, -0.1, 0.1];
        let penalized = |weights: &[f64]| {
            let away: f64 = weights.iter().zip(&center).map(|(weight, at)| (weight - at).powi(2)).sum();
            objective.value_and_gradient(weights, &*loss).0 + lambda * away
        };
        for optimizer in [Optimizer::ConjugateGradient, Optimizer::Lbfgs] {
            let config = SmoothRankConfig { optimizer, steps: 400, tolerance: 0.0, ..config() };
            let descent = descent::minimize(&objective, &*loss, lambda, &center, &center, &config).unwrap();
            if descent.cut_short {
                continue;
            }
            ended += 1;
            let (_, mut gradient) = objective.value_and_gradient(&descent.weights, &*loss);
            for ((slope, weight), at) in gradient.iter_mut().zip(&descent.weights).zip(&center) {
                *slope += 2.0 * lambda * (weight - at);
            }
            let lowest = penalized(&descent.weights);
            for exponent in 1..10 {
                let step = 10f64.powi(-exponent) / descent.gradient_norm.max(1e-12);
                let moved: Vec<f64> =
                    descent.weights.iter().zip(&gradient).map(|(w, slope)| w - step * slope).collect();
                let below = lowest - penalized(&moved);
                assert!(below <= 1e-7 * lowest.abs(), "{optimizer:?}, seed {seed}: {below:e} lower, at 1e-{exponent}");
            }
        }
    }
    assert!(ended > 0, "every descent wanted more steps");
}

#[test]
fn a_last_sigma_that_runs_out_of_steps_is_reported_once() {
    let data = testing::random(6, 15, 4, 4);
    let warned = |steps: usize| {
        let warnings = testing::Warnings::default();
        let mut context = testing::context(None);
        context.progress = &warnings;
        let config = SmoothRankConfig { lambda: Candidates::One(0.01), steps, tolerance: 1e-4, ..config() };
        let learner = config.check(&Parts::default()).unwrap();
        let fitted = learner.fit(Job::new(&data, None, &context)).unwrap();
        (warnings.text(), fitted.history[fitted.best_round - 1].figures[2].clone())
    };
    assert_eq!(
        warned(1),
        (
            "smooth_rank: the last sigma of lambda = 0.01 ended after learner.steps = 1 steps, above learner.tolerance"
                .to_string(),
            ("steps".to_string(), 1.0)
        )
    );
    let (warnings, (_, steps)) = warned(500);
    assert!(warnings.is_empty() && steps < 500.0, "{warnings} {steps}");
}

#[test]
fn processes_share_the_batches() {
    let (train, validation) = (testing::random(1400, 12, 3, 2), testing::random(2, 10, 3, 3));
    let config = SmoothRankConfig { steps: 2, ..config() };
    for scorer in [ScorerConfig::default(), ScorerConfig::Mlp(crate::scorer::MlpScorerConfig::default())] {
        let learner = config.check(&Parts::default().with_scorer(&scorer)).unwrap();
        testing::assert_same_in_processes(&learner, &train, &validation, 2);
    }
}

#[test]
fn fits_are_reproducible() {
    let (train, validation) = (testing::random(4, 10, 3, 2), testing::random(2, 10, 3, 3));
    let learner = config().check(&Parts::default()).unwrap();
    testing::assert_reproducible(&learner, &train, &validation, 3);
    testing::assert_reproducible(&learner, &train, &validation, 5);
}

#[test]
fn parameters_out_of_range_are_named() {
    let refused = |text: &str, loss: &str| {
        let config: SmoothRankConfig = serde_json::from_str(text).unwrap();
        config.check(&Parts::default().with_loss(LossSpec::new(loss))).unwrap_err().to_string()
    };
    assert_eq!(
        refused(r#"{"lambda": [1.0, 0.0]}"#, "smooth_ndcg"),
        "learner.lambda = 0: expected a finite number above 0"
    );
    assert_eq!(
        refused(r#"{"last_sigma": 128.0}"#, "smooth_ndcg"),
        "learner.last_sigma = 128: expected at most first_sigma = 64"
    );
    assert!(refused("{}", "list_net").contains("expected a surrogate with a temperature"));
    assert!(refused("{}", "smoth_ndcg").contains("smooth_ndcg"));
}
