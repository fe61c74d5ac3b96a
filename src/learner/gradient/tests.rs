//! Tests of gradient training on small generated data.

use std::path::Path;
use std::sync::Mutex;

use super::config::{Gradient, GradientConfig};
use super::fit::Session;
use super::log::LOG_FILE;
use crate::data::{Normalizer, NormalizerKind, RankingDataset, SynthConfig};
use crate::json::json;
use crate::learner::Job;
use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
use crate::learner::error::Result;
use crate::learner::shared::context::{FitContext, Fitted, Interrupt, Progress, Round, Selection, StopReason};
use crate::learner::shared::judge::Judge;
#[cfg(feature = "columnar")]
use crate::learner::testing::{self, StopAfter, streamed};
use crate::loss::{LossSpec, TrainingLoss};
use crate::measure::Measure;
use crate::ranker::Parts as ModelParts;
use crate::scorer::{Scorer, ScorerConfig};
use burn::module::Module;

mod positions;
mod precision;

/// Generates queries of 2 to 40 documents with 6 features.
fn generated() -> RankingDataset {
    let config = SynthConfig {
        queries: 60,
        features: 6,
        seed: 3,
        median_length: 12.0,
        max_length: 40,
        ..SynthConfig::default()
    };
    config.generate().unwrap()
}

/// Splits the queries into training and validation queries.
fn parted(all: &RankingDataset) -> (RankingDataset, RankingDataset) {
    (all.select(&(0..40).collect::<Vec<_>>()), all.select(&(40..60).collect::<Vec<_>>()))
}

/// Returns normalized training and validation data.
fn data() -> (RankingDataset, RankingDataset) {
    let mut all = generated();
    Normalizer::fit(&all, NormalizerKind::ZScore).apply(&mut all).unwrap();
    parted(&all)
}

fn context<'a>(directory: Option<&'a Path>, progress: &'a dyn Progress) -> FitContext<'a> {
    FitContext { selection: Selection::best(Measure::Ndcg(Some(10))), progress, ..testing::context(directory) }
}

fn built(config: GradientConfig, scorer: ScorerConfig, loss: impl Into<TrainingLoss>) -> Result<Gradient> {
    config.check(&Parts::default().with_scorer(&scorer).with_loss(loss))
}

fn learner(config: crate::json::Value, scorer: crate::json::Value, loss: &str) -> Gradient {
    built(crate::json::from_value(config).unwrap(), crate::json::from_value(scorer).unwrap(), LossSpec::new(loss))
        .unwrap()
}

/// Returns a learner in which everything has state: dropout, batch statistics, momentum, a schedule and a plateau.
fn stateful() -> Gradient {
    learner(
        json!({
            "epochs": 8, "batch_queries": 12, "batch_cells": 200,
            "optimizer": {"kind": "adam"},
            "schedule": {"kind": "exponential", "factor": 0.9},
            "anneal": {"kind": "plateau", "from": 1.0, "to": 50.0, "factor": 2.0, "patience": 1},
            "clip": {"norm": 1.0},
        }),
        json!({"kind": "mlp", "hidden": [8, 4], "dropout": 0.2, "norm": "batch"}),
        "approx_ndcg",
    )
}

/// Returns the mean selection measure of a model's scores.
fn measure(context: &FitContext, data: &RankingDataset, scores: &[f32]) -> f64 {
    let scores: Vec<f64> = scores.iter().copied().map(f64::from).collect();
    Judge::new(&context.selection).unwrap().mean(data, &scores).unwrap().unwrap()
}

/// Over 24 seeds the differences are .203 to .216, with deviations of .004 to .015.
#[test]
fn every_scorer_beats_a_random_order() {
    let (train, validation) = data();
    let constant = vec![0.0; validation.documents()];
    let context = context(None, &());
    let random = measure(&context, &validation, &constant);
    for scorer in [
        json!({"kind": "linear"}),
        json!({"kind": "mlp", "hidden": [16], "norm": "layer"}),
        json!({"kind": "attention", "width": 8, "heads": 2, "blocks": 1, "feed_forward": 8, "dropout": 0.0}),
        json!({
            "kind": "latent_cross", "hidden": [8], "width": 8, "blocks": 1, "feed_forward": 8, "dropout": 0.0,
            "input": {"log1p": true, "noise": 0.1}
        }),
    ] {
        let learner = learner(json!({"epochs": 12, "batch_queries": 10, "learning_rate": 0.02}), scorer, "list_net");
        let fitted = learner.fit(Job::new(&train, Some(&validation), &context)).unwrap();
        let history = &fitted.history;
        assert_eq!((history.len(), fitted.stop), (12, StopReason::Completed));
        let best = history[fitted.best_round - 1].validation.unwrap();
        assert!(best > random + 0.1, "{learner:?}: {best} and at random {random}");
        let scores = fitted.model.predict(&validation, &context.device);
        assert_eq!(measure(&context, &validation, &scores), best);
    }
}

#[test]
fn every_optimizer_and_schedule_lowers_the_loss() {
    let (train, _) = data();
    let constant = json!({"kind": "constant"});
    for (optimizer, rate, schedule) in [
        (json!({"kind": "sgd"}), 0.3, json!({"kind": "cosine"})),
        (json!({"kind": "sgd", "momentum": 0.9, "nesterov": true}), 0.1, json!({"kind": "linear", "floor": 0.1})),
        (json!({"kind": "adamw"}), 0.05, json!({"kind": "noam", "warmup": 2})),
        (json!({"kind": "rmsprop"}), 0.02, json!({"kind": "step", "epochs": 2, "factor": 0.5})),
        (json!({"kind": "adagrad"}), 0.1, constant.clone()),
        (json!({"kind": "lion"}), 0.02, constant.clone()),
        (json!({"kind": "adan"}), 0.02, constant.clone()),
        (json!({"kind": "lamb"}), 0.1, constant.clone()),
        (json!({"kind": "adafactor", "scale_parameter": false}), 0.1, constant.clone()),
    ] {
        let config = json!({
            "epochs": 5, "learning_rate": rate, "optimizer": optimizer, "schedule": schedule, "clip": {"value": 1.0}
        });
        let fitted = learner(config, json!({"kind": "linear"}), "list_net")
            .fit(Job::new(&train, None, &context(None, &())))
            .unwrap();
        let objectives: Vec<f64> = fitted.history.iter().map(|round| round.objective).collect();
        assert!(objectives[4] < objectives[0], "{optimizer} {schedule}: {objectives:?}");
        assert!(fitted.history.iter().all(|round| round.train.is_some()), "selected on the training data");
    }
}

#[test]
fn fits_are_reproducible() {
    let (train, validation) = data();
    for rounds in 1..8 {
        testing::assert_reproducible(&stateful(), &train, &validation, rounds);
    }
    testing::assert_reproducible(&noisy(3), &train, &validation, 1);
}

/// Returns learners whose components have state.
fn with_states() -> Vec<Gradient> {
    let mlp = json!({"kind": "mlp", "hidden": [8, 4], "activation": "tanh"});
    let batch = json!({"kind": "mlp", "hidden": [8], "dropout": 0.2, "norm": "batch"});
    let average = json!({
        "epochs": 6, "batch_queries": 12, "warmup": 3, "schedule": {"kind": "cosine"}, "average": 0.9
    });
    let cross = json!({
        "kind": "latent_cross", "hidden": [8], "norm": "batch", "width": 4, "blocks": 1, "feed_forward": 4,
        "input": {"log1p": true, "noise": 0.2}
    });
    let adam = json!({"epochs": 6, "batch_queries": 12, "batch_cells": 200});
    let adafactor = json!({"epochs": 6, "batch_queries": 12, "optimizer": {"kind": "adafactor"}});
    let muon = json!({
        "epochs": 6, "batch_queries": 12, "optimizer": {"kind": "muon"}, "clip": {"norm": 1.0}, "average": 0.5
    });
    let lbfgs = json!({
        "epochs": 6, "batch_queries": 40, "learning_rate": 1.0, "optimizer": {"kind": "lbfgs", "history": 2}
    });
    vec![
        learner(average, batch, "approx_ndcg"),
        learner(adafactor, mlp.clone(), "approx_ndcg"),
        learner(adam, cross, "approx_ndcg"),
        learner(muon, mlp.clone(), "approx_ndcg"),
        learner(lbfgs, mlp, "approx_ndcg"),
    ]
}

#[test]
fn states_of_optimizers_schedules_and_averages_are_resumed() {
    let (train, validation) = data();
    for learner in with_states() {
        for rounds in [1, 2, 4] {
            testing::assert_reproducible(&learner, &train, &validation, rounds);
        }
    }
}

/// Clones of a scorer share the statistics of batch norm, so resuming could change the best scorer.
#[test]
fn resuming_does_not_change_the_best_of_the_rounds_before() {
    let (train, validation) = data();
    let scorer = json!({"kind": "mlp", "hidden": [8], "norm": "batch"});
    let device = context(None, &()).device;
    let mut earlier = 0;
    for rate in [0.1, 1.0, 10.0, 100.0] {
        let config = json!({"epochs": 12, "batch_queries": 12, "learning_rate": rate, "average": 0.5});
        let learner = learner(config, scorer.clone(), "softmax_cross_entropy");
        let folder = tempfile::tempdir().unwrap();
        let context = context(Some(folder.path()), &());
        let fit = || learner.fit(Job::new(&train, Some(&validation), &context)).unwrap();
        let (whole, resumed) = (fit(), fit());
        assert_eq!(resumed.history, whole.history);
        let scores = |fitted: &Fitted| fitted.model.predict(&validation, &device);
        assert_eq!(scores(&resumed), scores(&whole), "{rate}");
        earlier += usize::from(whole.best_round < whole.history.len());
    }
    assert!(earlier > 0, "the last round is always the best");
}

#[test]
fn the_average_is_what_is_measured_and_saved_and_never_trained_on() {
    let (train, validation) = data();
    let context = context(None, &());
    let fit = |average: crate::json::Value| {
        let mut config = json!({"epochs": 6, "batch_queries": 10, "learning_rate": 0.1});
        config["average"] = average;
        learner(config, json!({"kind": "linear"}), "list_net")
            .fit(Job::new(&train, Some(&validation), &context))
            .unwrap()
    };
    let (plain, averaged) = (fit(json!(null)), fit(json!(0.9)));
    let objectives = |fitted: &Fitted| fitted.history.iter().map(|round| round.objective).collect::<Vec<_>>();
    assert_eq!(objectives(&averaged), objectives(&plain));
    assert_ne!(testing::linear_weights(&averaged.model), testing::linear_weights(&plain.model));
    let scores = averaged.model.predict(&validation, &context.device);
    let best = averaged.history[averaged.best_round - 1].validation.unwrap();
    assert_eq!(measure(&context, &validation, &scores), best);

    // The average of one step is that step.
    let of_one = |average: crate::json::Value| {
        let mut config = json!({"epochs": 1, "batch_queries": 40});
        config["average"] = average;
        let fitted =
            learner(config, json!({"kind": "linear"}), "list_net").fit(Job::new(&train, None, &context)).unwrap();
        testing::linear_weights(&fitted.model)
    };
    assert_eq!(of_one(json!(0.99)), of_one(json!(null)));
}

#[test]
fn l_bfgs_descends_further_than_plain_descent_and_takes_all_queries_at_once() {
    let (train, _) = data();
    let context = context(None, &());
    let fit = |optimizer: crate::json::Value, batch: usize| {
        let config = json!({"epochs": 12, "batch_queries": batch, "learning_rate": 1.0, "optimizer": optimizer});
        learner(config, json!({"kind": "linear"}), "list_net").fit(Job::new(&train, None, &context))
    };
    let last = |fitted: Fitted| fitted.history.last().unwrap().objective;
    let lbfgs = fit(json!({"kind": "lbfgs"}), 64).unwrap();
    let objectives: Vec<f64> = lbfgs.history.iter().map(|round| round.objective).collect();
    assert!(objectives.windows(2).all(|pair| pair[1] <= pair[0]), "{objectives:?}");
    assert!(last(lbfgs) < last(fit(json!({"kind": "sgd"}), 40).unwrap()));
    let error = fit(json!({"kind": "lbfgs"}), 39).unwrap_err().to_string();
    assert_eq!(error, "learner.batch_queries = 39: expected at least 40: L-BFGS uses all training queries at once");
}

#[test]
fn unit_gradients_train_and_l_bfgs_refuses_them() {
    let (train, validation) = data();
    let context = context(None, &());
    let unit = LossSpec::new("approx_ndcg").with("query_gradients", "unit");
    let learner = |config: crate::json::Value| {
        let scorer = crate::json::from_value(json!({"kind": "linear"})).unwrap();
        built(crate::json::from_value(config).unwrap(), scorer, unit.clone())
    };
    let config = json!({"epochs": 5, "learning_rate": 0.1});
    let fitted = learner(config).unwrap().fit(Job::new(&train, Some(&validation), &context)).unwrap();
    // Over 24 seeds the difference is .191, with a deviation of .018.
    let random = measure(&context, &validation, &vec![0.0; validation.documents()]);
    let best = fitted.history[fitted.best_round - 1].validation.unwrap();
    assert!(best > random + 0.1, "{best} and at random {random}");
    let error = learner(json!({"optimizer": {"kind": "lbfgs"}})).unwrap_err().to_string();
    assert_eq!(
        error,
        "loss.query_gradients: expected a loss whose gradient is the derivative of its value with optimizer `lbfgs`: \
         approx_ndcg holds the length of each query's gradient"
    );
}

/// Checks the definition of Muon: the change of a matrix has singular values near the learning rate. AdamW's first step
/// moves every other parameter by the learning rate.
#[test]
fn muon_orthogonalizes_the_steps_of_matrices_alone() {
    let (train, _) = data();
    let context = context(None, &());
    let config = json!({"epochs": 1, "batch_queries": 40, "optimizer": {"kind": "muon", "weight_decay": 0.0}});
    let learner = learner(config, json!({"kind": "mlp", "hidden": [3], "activation": "tanh"}), "list_net");
    let mut session = Session::start(&learner, Job::new(&train, None, &context)).unwrap();
    let layers = |session: &Session| {
        let Scorer::Mlp(mlp) = session.model.scorer.valid() else { panic!("a perceptron") };
        let (layer, _) = mlp.hidden().next().unwrap();
        (layer.weight.val(), layer.bias.clone().unwrap().val())
    };
    let (weight, bias) = layers(&session);
    session.epoch(1).unwrap();
    let (weight_after, bias_after) = layers(&session);
    let step = (weight - weight_after) / (0.01 * 0.2 * 6f64.sqrt());
    let gram: Vec<f32> = step.clone().transpose().matmul(step).into_data().try_to_vec().unwrap();
    // Newton and Schulz's iteration leaves singular values between about 0.7 and 1.2.
    for (place, value) in gram.iter().enumerate() {
        let diagonal = place % 4 == 0;
        assert!(if diagonal { (0.4..1.6).contains(value) } else { value.abs() < 0.5 }, "{gram:?}");
    }
    let moved: Vec<f32> = (bias - bias_after).abs().into_data().try_to_vec().unwrap();
    assert!(moved.iter().all(|moved| (moved - 0.01).abs() < 1e-4), "{moved:?}");
}

/// Without dropout, batch norm and noise in the loss, only rounding depends on how queries share batches.
#[test]
fn noise_on_features_does_not_depend_on_the_parts_of_a_step() {
    let (train, _) = data();
    let fit = |cells: usize, noise: f64| {
        let config = json!({"epochs": 3, "batch_queries": 40, "batch_cells": cells});
        let scorer = json!({"kind": "mlp", "hidden": [6], "activation": "tanh", "input": {"noise": noise}});
        let fitted = learner(config, scorer, "list_net").fit(Job::new(&train, None, &context(None, &()))).unwrap();
        fitted.history.iter().map(|round| round.objective).collect::<Vec<_>>()
    };
    let (whole, parts, plain) = (fit(1 << 20, 0.5), fit(50, 0.5), fit(1 << 20, 0.0));
    for ((whole, part), plain) in whole.iter().zip(&parts).zip(&plain) {
        assert!((whole - part).abs() < 1e-5 && (whole - plain).abs() > 1e-4, "{whole} {part} {plain}");
    }
}

/// Gives the queries the weights 0.5, 1, 1.5, 2 in turn, and with `with_zeros` gives some queries the weight 0.
fn weighted(data: &RankingDataset, with_zeros: bool) -> RankingDataset {
    let weight = |query: usize| if with_zeros && query % 3 == 1 { 0.0 } else { 0.5 * (query % 4 + 1) as f32 };
    data.clone().with_query_weights((0..data.queries()).map(weight).collect()).unwrap()
}

#[test]
fn a_query_of_weight_two_is_the_query_twice() {
    let (train, _) = data();
    let mut twice = RankingDataset::concat(&[&train, &{
        let mut again = train.select(&(0..10).collect::<Vec<_>>());
        again.query_ids.iter_mut().for_each(|id| id.push_str(" again"));
        again
    }])
    .unwrap();
    twice.document_ids.clear();
    let weights = (0..train.queries()).map(|query| if query < 10 { 2.0 } else { 1.0 }).collect();
    let weighted = train.clone().with_query_weights(weights).unwrap();
    for (optimizer, scorer) in [
        (json!({"kind": "sgd", "momentum": 0.5}), json!({"kind": "linear"})),
        (json!({"kind": "adam"}), json!({"kind": "mlp", "hidden": [4], "activation": "tanh"})),
        (json!({"kind": "lbfgs"}), json!({"kind": "linear"})),
    ] {
        let fit = |data: &RankingDataset| {
            let config = json!({
                "epochs": 5, "batch_queries": 100, "learning_rate": 0.1, "optimizer": optimizer.clone()
            });
            let learner = learner(config, scorer.clone(), "list_net");
            let history = learner.fit(Job::new(data, None, &context(None, &()))).unwrap().history;
            history.iter().map(|round| round.objective).collect::<Vec<_>>()
        };
        let (weighted, twice, plain) = (fit(&weighted), fit(&twice), fit(&train));
        for ((weighted, twice), plain) in weighted.iter().zip(&twice).zip(&plain) {
            assert!((weighted - twice).abs() < 1e-5 && (weighted - plain).abs() > 1e-4, "{weighted} {twice} {plain}");
        }
    }
}

#[test]
fn a_query_of_weight_zero_is_absent_and_equal_weights_are_none() {
    let (train, validation) = data();
    let context = context(None, &());
    let fit = |data: &RankingDataset| {
        let fitted = stateful().fit(Job::new(data, Some(&validation), &context)).unwrap();
        (ModelParts::from_model(&fitted.model), fitted.history)
    };
    let weighted = weighted(&train, true);
    let present: Vec<usize> = (0..train.queries()).filter(|query| query % 3 != 1).collect();
    assert_eq!(fit(&weighted), fit(&weighted.select(&present)));
    assert_ne!(fit(&weighted).1, fit(&train).1);
    let equal = |weight: f32| train.clone().with_query_weights(vec![weight; train.queries()]).unwrap();
    assert_eq!(fit(&equal(1.0)), fit(&train));
    assert_eq!(fit(&equal(3.0)), fit(&train));
}

#[test]
fn weighted_fits_are_resumed_and_do_not_depend_on_the_parts_of_a_step() {
    let (train, validation) = data();
    let weighted = weighted(&train, true);
    testing::assert_reproducible(&stateful(), &weighted, &validation, 3);
    let fit = |cells: usize| {
        let config = json!({"epochs": 3, "batch_queries": 40, "batch_cells": cells});
        let learner = learner(config, json!({"kind": "linear"}), "approx_ndcg");
        learner.fit(Job::new(&weighted, None, &context(None, &()))).unwrap().history
    };
    for (whole, parts) in fit(1 << 20).iter().zip(&fit(50)) {
        assert!((whole.objective - parts.objective).abs() < 1e-5, "{whole:?} {parts:?}");
    }
}

/// With one query per step, a weight scales the step.
#[test]
fn a_weight_counts_in_a_step_of_one_query() {
    let (train, _) = data();
    let two = train.select(&[0, 1]);
    let after_one_epoch = |weights: [f32; 2]| {
        let data = two.clone().with_query_weights(weights.to_vec()).unwrap();
        let config = json!({"epochs": 1, "batch_queries": 1, "learning_rate": 1e-3, "optimizer": {"kind": "sgd"}});
        let learner = learner(config, json!({"kind": "linear"}), "list_net");
        testing::linear_weights(&learner.fit(Job::new(&data, None, &context(None, &()))).unwrap().model).0
    };
    let (first, second) = (after_one_epoch([3.0, 1.0]), after_one_epoch([1.0, 3.0]));
    assert!(first.iter().zip(&second).any(|(a, b)| (a - b).abs() > 1e-5), "{first:?} {second:?}");
}

/// Gives the documents the weights 1, 2 and 3 in turn.
fn with_document_weights(data: &RankingDataset) -> RankingDataset {
    let weights = (0..data.documents()).map(|document| (document % 3 + 1) as f32).collect();
    data.clone().with_document_weights(weights).unwrap()
}

/// With a linear gain, weights of documents are factors of their labels.
#[test]
fn document_weights_reach_the_loss() {
    let (train, _) = data();
    let weighted = with_document_weights(&train);
    let mut multiplied = train.clone();
    multiplied.labels.iter_mut().zip(&weighted.document_weights).for_each(|(label, weight)| *label *= weight);
    let config = || json!({"epochs": 3, "batch_queries": 7, "batch_cells": 50});
    let fit = |data: &RankingDataset| {
        let learner = learner(config(), json!({"kind": "linear"}), "softmax_cross_entropy");
        let history = learner.fit(Job::new(data, None, &context(None, &()))).unwrap().history;
        history.iter().map(|round| round.objective).collect::<Vec<_>>()
    };
    assert_eq!(fit(&weighted), fit(&multiplied));
    assert_ne!(fit(&weighted), fit(&train));
    let equal = train.clone().with_document_weights(vec![1.0; train.documents()]).unwrap();
    assert_eq!(fit(&equal), fit(&train));
}

#[test]
fn fits_with_document_weights_are_resumed_and_report_no_surrogate() {
    let (train, validation) = data();
    let weighted = with_document_weights(&train);
    testing::assert_reproducible(&stateful(), &weighted, &validation, 3);
    let learner = |loss| learner(json!({"epochs": 1}), json!({"kind": "linear"}), loss);
    let fitted = learner("approx_ndcg").fit(Job::new(&weighted, None, &context(None, &()))).unwrap();
    assert!(fitted.history[0].figures.iter().all(|(name, _)| name != "surrogate"), "{:?}", fitted.history[0]);
    let refused = learner("approx_ap").fit(Job::new(&weighted, None, &context(None, &()))).unwrap_err().to_string();
    assert!(refused.starts_with("approx_ap does not accept document weights: "), "{refused}");
}

#[test]
fn the_log_of_a_resumed_fit_is_its_history() {
    let (train, validation) = data();
    let folder = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::default();
    let stop = StopAfter { rounds: 3, interrupt: interrupt.clone() };
    let first = FitContext { interrupt, ..context(Some(folder.path()), &stop) };
    assert_eq!(stateful().fit(Job::new(&train, Some(&validation), &first)).unwrap().stop, StopReason::Interrupted);
    let second = context(Some(folder.path()), &());
    let resumed = stateful().fit(Job::new(&train, Some(&validation), &second)).unwrap();
    let lines = std::fs::read_to_string(folder.path().join(LOG_FILE)).unwrap();
    let logged: Vec<Round> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((logged.len(), logged), (8, resumed.history));
}

/// Returns a learner with Gumbel noise in the loss, and with steps so short that only the noise changes.
fn noisy(epochs: usize) -> Gradient {
    let config: GradientConfig = crate::json::from_value(json!({
        "epochs": epochs, "batch_queries": 12, "batch_cells": 200, "learning_rate": 1e-30, "optimizer": {"kind": "sgd"}
    }))
    .unwrap();
    let loss = LossSpec::new("softmax_cross_entropy").with("gumbel_samples", 1);
    config.check(&Parts::default().with_loss(&loss)).unwrap()
}

/// All queries have the same documents, so their losses differ only by noise.
#[test]
fn noise_is_drawn_anew_for_each_epoch_and_query() {
    let query: &[(f32, &[f32])] = &[(1.0, &[1.0, 0.0]), (0.0, &[0.0, 1.0]), (0.0, &[0.5, 0.5])];
    let data = testing::dataset(2, &[query; 30]);
    let fitted = noisy(3).fit(Job::new(&data, None, &context(None, &()))).unwrap();
    let mut objectives: Vec<f64> = fitted.history.iter().map(|round| round.objective).collect();
    objectives.sort_by(f64::total_cmp);
    assert!(objectives[0] < objectives[1] && objectives[1] < objectives[2], "{objectives:?}");

    // The mean over 30 draws is near the expectation; one draw for all would be far from it.
    let all = noisy(20).fit(Job::new(&data, None, &context(None, &()))).unwrap().history;
    let mean = all.iter().map(|round| round.objective).sum::<f64>() / 20.0;
    let variance = all.iter().map(|round| (round.objective - mean).powi(2)).sum::<f64>() / 20.0;
    let loss = |seed: u64| {
        let spec = LossSpec::new("softmax_cross_entropy").with("gumbel_samples", 1).with("seed", seed);
        crate::loss::explain(&*spec.build().unwrap(), &[0.0; 3], &[1.0, 0.0, 0.0], burn::tensor::DType::F64)
            .unwrap()
            .loss
    };
    let one: Vec<f64> = (0..200).map(loss).collect();
    let mean_of_one = one.iter().sum::<f64>() / 200.0;
    let variance_of_one = one.iter().map(|loss| (loss - mean_of_one).powi(2)).sum::<f64>() / 200.0;
    assert!(variance < 0.25 * variance_of_one, "{variance} {variance_of_one}");
}

#[test]
fn a_step_in_parts_equals_the_whole_step() {
    let (train, _) = data();
    let fit = |cells: usize| {
        let config = json!({"epochs": 3, "batch_queries": 40, "batch_cells": cells});
        learner(config, json!({"kind": "linear"}), "approx_ndcg")
            .fit(Job::new(&train, None, &context(None, &())))
            .unwrap()
    };
    let (whole, parts) = (fit(1 << 20), fit(50));
    for (a, b) in whole.history.iter().zip(&parts.history) {
        assert!((a.objective - b.objective).abs() < 1e-5, "{a:?} {b:?}");
    }
}

/// Returns a learner with random draws and state, except batch norm, whose steps have several parts.
fn in_shards(shards: usize) -> Gradient {
    built(
        crate::json::from_value(json!({
            "epochs": 4, "batch_queries": 12, "batch_cells": 100, "shards": shards, "average": 0.9, "evaluate_train_every": 2,
        }))
        .unwrap(),
        crate::json::from_value(json!({"kind": "mlp", "hidden": [8], "dropout": 0.2, "input": {"noise": 0.1}})).unwrap(),
        LossSpec::new("softmax_cross_entropy").with("gumbel_samples", 2),
    )
    .unwrap()
}

#[test]
fn a_step_of_all_queries_in_shards_is_the_whole_step_to_rounding() {
    let (train, validation) = data();
    let fit = |shards: usize| {
        let config = json!({"epochs": 3, "batch_queries": 40, "shards": shards});
        let learner = learner(config, json!({"kind": "mlp", "hidden": [6], "activation": "tanh"}), "approx_ndcg");
        let fitted = learner.fit(Job::new(&train, Some(&validation), &context(None, &()))).unwrap();
        fitted.history.iter().map(|round| round.objective).collect::<Vec<_>>()
    };
    let whole = fit(1);
    for shards in [2, 3, 7, 40] {
        for (whole, sharded) in whole.iter().zip(&fit(shards)) {
            assert!((whole - sharded).abs() < 1e-5, "{shards} shards: {whole} {sharded}");
        }
    }
}

#[test]
fn fits_in_shards_are_reproducible_and_one_shard_is_none() {
    let (train, validation) = data();
    for rounds in 1..4 {
        testing::assert_reproducible(&in_shards(3), &train, &validation, rounds);
    }
    let history = |learner: Gradient| learner.fit(Job::new(&train, None, &context(None, &()))).unwrap().history;
    let mut without = in_shards(1);
    without.config.shards = None;
    assert_eq!(history(in_shards(1)), history(without));
    assert_ne!(history(in_shards(1)), history(in_shards(2)));
}

#[test]
fn any_number_of_processes_makes_the_fit_of_one_and_resumes_that_of_another() {
    let (train, validation) = data();
    let lbfgs = json!({"epochs": 4, "batch_queries": 40, "shards": 5, "optimizer": {"kind": "lbfgs"}});
    let lbfgs = learner(lbfgs, json!({"kind": "mlp", "hidden": [4], "activation": "tanh"}), "approx_ndcg");
    for learner in [in_shards(5), lbfgs] {
        testing::assert_same_in_processes(&learner, &train, &validation, 2);
    }
}

#[test]
fn more_shards_than_queries_are_refused() {
    let (train, _) = data();
    let message = in_shards(41).fit(Job::new(&train, None, &context(None, &()))).unwrap_err().to_string();
    assert_eq!(message, "learner.shards = 41: expected at most 40, the number of training queries");
}

#[test]
fn patience_ends_the_fit_and_the_best_epoch_is_kept() {
    let (train, validation) = data();
    let config = json!({"epochs": 200, "batch_queries": 40, "learning_rate": 0.1, "patience": 4});
    let context = context(None, &());
    let fitted = learner(config, json!({"kind": "linear"}), "list_net")
        .fit(Job::new(&train, Some(&validation), &context))
        .unwrap();
    assert_eq!(fitted.stop, StopReason::EarlyStopped);
    assert_eq!(fitted.history.len(), fitted.best_round + 4);
    let best = fitted.history.iter().map(|round| round.validation.unwrap()).fold(0.0, f64::max);
    assert_eq!(fitted.history[fitted.best_round - 1].validation, Some(best));
    let scores = fitted.model.predict(&validation, &context.device);
    assert_eq!(measure(&context, &validation, &scores), best);
}

#[test]
fn a_diverging_fit_says_where_and_what_to_change() {
    let (train, _) = data();
    let config = json!({"epochs": 50, "batch_queries": 10, "learning_rate": 1e30, "optimizer": {"kind": "sgd"}});
    let scorer = json!({"kind": "mlp", "hidden": [4], "activation": "identity"});
    let error = learner(config, scorer, "mse_gain").fit(Job::new(&train, None, &context(None, &()))).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("gradient: "), "{message}");
    for part in ["epoch ", "learner.learning_rate (1e30)", "learner.clip", "`mse_gain`"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn annealing_sets_the_parameter_of_each_epoch() {
    let (train, _) = data();
    let config = json!({"epochs": 3, "anneal": {"kind": "geometric", "from": 1.0, "to": 100.0}});
    let learner = learner(config, json!({"kind": "linear"}), "approx_ndcg");
    let fitted = learner.fit(Job::new(&train, None, &context(None, &()))).unwrap();
    let alphas: Vec<f64> = fitted.history.iter().map(|round| round.figures[1].1).collect();
    assert_eq!(fitted.history[0].figures[1].0, "alpha");
    assert!(alphas.iter().zip([1.0, 10.0, 100.0]).all(|(a, e)| (a - e).abs() < 1e-9), "{alphas:?}");
    let wrong: GradientConfig =
        crate::json::from_value(json!({"anneal": {"kind": "linear", "from": 1.0, "to": 2.0}})).unwrap();
    let error = built(wrong, ScorerConfig::default(), LossSpec::new("list_net")).unwrap_err();
    assert!(error.to_string().contains("`list_net`, which has no temperature"), "{error}");
}

/// Collects the number of optimizer steps of every epoch.
#[derive(Default)]
struct Steps(Mutex<Vec<usize>>);

impl Progress for Steps {
    fn trained(&self, steps: usize) {
        self.0.lock().unwrap().push(steps);
    }
}

#[test]
fn one_query_per_step_is_algorithm_1() {
    let config = GradientConfig::one_query_per_step();
    assert_eq!((config.epochs, config.learning_rate), (200, 0.01));
    let (train, validation) = data();
    let config = GradientConfig { epochs: 2, ..config };
    let learner = built(config, ScorerConfig::default(), LossSpec::new("approx_ndcg")).unwrap();
    let steps = Steps::default();
    learner.fit(Job::new(&train, Some(&validation), &context(None, &steps))).unwrap();
    assert_eq!(steps.0.into_inner().unwrap(), [train.queries(); 2]);
}

#[cfg(feature = "columnar")]
#[test]
fn streamed_data_in_one_window_give_the_fit_of_data_in_memory() {
    for kind in [
        NormalizerKind::None,
        NormalizerKind::QueryMinMax,
        NormalizerKind::ZScore,
        NormalizerKind::Quantile,
        NormalizerKind::Gauss,
    ] {
        let (mut train, mut validation) = parted(&generated());
        let (_one, mut train_in_file) = streamed(&train, "1 KiB", "512 KiB");
        let (_two, mut validation_in_file) = streamed(&validation, "1 KiB", "512 KiB");
        let normalizer = Normalizer::fit(&train, kind);
        assert_eq!(Normalizer::fit(&train_in_file, kind), normalizer);
        for data in [&mut train, &mut validation, &mut train_in_file, &mut validation_in_file] {
            normalizer.apply(data).unwrap();
        }
        let context = context(None, &());
        let memory = stateful().fit(Job::new(&train, Some(&validation), &context)).unwrap();
        let file = stateful().fit(Job::new(&train_in_file, Some(&validation_in_file), &context)).unwrap();
        assert_eq!(file.history, memory.history, "{kind:?}");
        let scores = |fitted: &Fitted, data| fitted.model.predict(data, &context.device);
        assert_eq!(scores(&file, &validation_in_file), scores(&memory, &validation), "{kind:?}");
        if kind != NormalizerKind::None {
            assert!(!train_in_file.features.is_copied() && !validation_in_file.features.is_copied(), "{kind:?}");
        }
    }
}

#[cfg(feature = "columnar")]
#[test]
fn streamed_fits_resume_and_know_no_memory() {
    let (train, validation) = parted(&generated());
    let with = |memory| {
        let (folder, mut train) = streamed(&train, memory, "2 KiB");
        Normalizer::fit(&train, NormalizerKind::ZScore).apply(&mut train).unwrap();
        (folder, train)
    };
    let ((_one, small), (_two, large)) = (with("4 KiB"), with("1 GiB"));
    testing::assert_reproducible(&stateful(), &small, &validation, 3);
    testing::assert_same_in_processes(&in_shards(5), &small, &validation, 2);
    let history = |data| stateful().fit(Job::new(data, Some(&validation), &context(None, &()))).unwrap().history;
    assert_eq!(history(&small), history(&large));
    let mut in_memory = train.clone();
    Normalizer::fit(&train, NormalizerKind::ZScore).apply(&mut in_memory).unwrap();
    assert_ne!(history(&small), history(&in_memory));
}

/// Over 24 seeds the first feature's share of the weights is .72, .91, .996 and .998. The steps between the first three
/// are .19 and .085, with deviations of .054 and .027; the last two have deviations of .013 and .007.
#[test]
fn labels_and_a_teacher_are_learned_together() {
    let (train, _) = data();
    // The teacher knows nothing but the first feature, and has not scored every document.
    let first: Vec<f32> = train.features.to_slice().chunks(6).map(|row| row[0]).collect();
    let some = first.iter().enumerate().map(|(d, &x)| if d % 5 == 0 { f32::NAN } else { x }).collect();
    let taught = train.clone().with_teacher(some).unwrap();
    let linear = ScorerConfig::Linear(Default::default());
    let fit = |loss: LossSpec, data: &RankingDataset| {
        let config = GradientConfig { epochs: 60, learning_rate: 0.1, ..GradientConfig::default() };
        let learner = built(config, linear.clone(), loss).unwrap();
        let fitted = learner.fit(Job::new(data, None, &context(None, &()))).unwrap();
        let (weights, _) = testing::linear_weights(&fitted.model);
        let length = weights.iter().map(|w| w * w).sum::<f32>().sqrt();
        (weights[0] / length, fitted)
    };
    let own = LossSpec::new("list_net");
    let both = |weight: f64| own.with("teacher", json!({"name": "teacher_kl", "weight": weight, "scale": "query"}));
    let (labels_alone, _) = fit(own.clone(), &train);
    let (a_little, _) = fit(both(0.5), &taught);
    let (mostly, _) = fit(both(20.0), &taught);
    let (teacher_alone, _) = fit(LossSpec::new("teacher_kl"), &taught);
    assert!(labels_alone < a_little && a_little < mostly, "{labels_alone} {a_little} {mostly}");
    assert!(teacher_alone > 0.95 && mostly > 0.9, "{teacher_alone} {mostly}");
}

#[test]
fn a_teacher_and_single_documents_are_learned_without_two_labels_in_a_query() {
    let linear = |loss: &str, data: &RankingDataset, validation: &RankingDataset| {
        let config = GradientConfig { epochs: 30, learning_rate: 0.1, ..GradientConfig::default() };
        let learner = built(config, ScorerConfig::Linear(Default::default()), LossSpec::new(loss)).unwrap();
        let fitted = learner.fit(Job::new(data, Some(validation), &context(None, &()))).unwrap();
        testing::linear_weights(&fitted.model).0
    };
    let (mut train, mut validation) = data();
    let first = |data: &RankingDataset| -> Vec<f32> { data.features.to_slice().chunks(6).map(|row| row[0]).collect() };
    validation.labels = first(&validation).iter().map(|&x| f32::from(u8::from(x > 0.0))).collect();
    train.labels.fill(0.0);
    let teacher = first(&train);
    let weights = linear("teacher_kl", &train.with_teacher(teacher).unwrap(), &validation);
    assert!(weights[1..].iter().all(|weight| weight.abs() < weights[0]), "{weights:?}");
    let one: &[(f32, &[f32])] = &[(1.0, &[1.0])];
    let zero: &[(f32, &[f32])] = &[(0.0, &[-1.0])];
    let [train, validation] = [testing::dataset(1, &[one, zero]), testing::dataset(1, &[&[one[0], zero[0]]])];
    assert!(linear("binary_cross_entropy", &train, &validation)[0] > 0.0);
}
