//! Tests of mixed precision.

use super::*;
use crate::learner::Job;

const HALVES: [&str; 2] = ["f16", "bf16"];

fn with_precision(precision: &str, mut config: crate::json::Value) -> crate::json::Value {
    config["precision"] = json!(precision);
    config
}

#[test]
fn fits_in_16_bits_are_resumed_with_their_scale() {
    let (train, validation) = data();
    let config = json!({"epochs": 5, "batch_queries": 12, "batch_cells": 200, "average": 0.9});
    for (precision, scorer) in [
        ("f16", json!({"kind": "linear", "bias": true})),
        ("f16", json!({"kind": "mlp", "hidden": [8], "dropout": 0.2, "norm": "batch"})),
        ("bf16", json!({"kind": "attention", "width": 4, "blocks": 1, "feed_forward": 4, "dropout": 0.1})),
    ] {
        // Gradients of this loss overflow at first, so that the scale moves.
        let learner = learner(with_precision(precision, config.clone()), scorer, "mse_gain");
        for rounds in [1, 3] {
            testing::assert_reproducible(&learner, &train, &validation, rounds);
        }
    }
}

#[test]
fn a_step_with_gradients_beyond_f16_is_not_taken_and_halves_the_scale() {
    let (train, _) = data();
    let context = context(None, &());
    let config = json!({"epochs": 20, "batch_queries": 40, "average": 0.9});
    let learner = learner(with_precision("f16", config), json!({"kind": "linear"}), "mse_gain");
    let mut session = Session::start(&learner, Job::new(&train, None, &context)).unwrap();
    let weights = |session: &Session| {
        let Scorer::Linear(scorer) = session.model.scorer.valid() else { panic!("a linear scorer") };
        scorer.weights()
    };
    let initial = weights(&session);
    let mut scale = 65536.0;
    let mut refused = 0;
    let mut objectives = Vec::new();
    for epoch in 1..=20 {
        let before = weights(&session);
        let made = session.epoch(epoch).unwrap();
        let (name, now) = made.figures.last().unwrap();
        assert_eq!(name, "loss_scale");
        // One step per epoch.
        let moved = weights(&session) != before;
        assert_eq!(*now, if moved { scale } else { scale / 2.0 }, "epoch {epoch}");
        (scale, refused) = (*now, refused + usize::from(!moved));
        objectives.push(made.objective);
    }
    assert!(refused > 0 && refused < 10, "{refused} steps refused");
    assert_eq!(objectives[..=refused], vec![objectives[0]; refused + 1], "the first steps are those that overflow");
    assert!(objectives[19] < objectives[refused] && weights(&session) != initial, "{objectives:?}");
}

#[test]
fn what_f16_cannot_hold_ends_the_fit_with_advice() {
    let mut all = generated();
    all.features.to_mut().iter_mut().for_each(|feature| *feature *= 1e6);
    let (train, _) = parted(&all);
    let config = json!({"epochs": 30, "batch_queries": 40});
    let fit = |precision: &str| {
        let learner = learner(with_precision(precision, config.clone()), json!({"kind": "linear"}), "list_net");
        learner.fit(Job::new(&train, None, &context(None, &()))).map(|fitted| fitted.stop)
    };
    let message = fit("f16").unwrap_err().to_string();
    for part in ["gradient: epoch 1", "learner.precision = \"f32\"", "normalize the features"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(fit("bf16").unwrap(), StopReason::Completed);
}

/// Checks that the mean difference of NDCG@10 on 300 test queries is at most two standard errors.
#[test]
fn the_measure_is_that_of_32_bits_within_two_paired_standard_errors() {
    let config = SynthConfig {
        queries: 400,
        features: 10,
        seed: 11,
        median_length: 12.0,
        max_length: 40,
        ..SynthConfig::default()
    };
    let mut all = config.generate().unwrap();
    Normalizer::fit(&all, NormalizerKind::ZScore).apply(&mut all).unwrap();
    let (train, test) = (all.select(&(0..100).collect::<Vec<_>>()), all.select(&(100..400).collect::<Vec<_>>()));
    let context = context(None, &());
    for (scorer, loss) in [
        (json!({"kind": "linear"}), "approx_ndcg"),
        (json!({"kind": "mlp", "hidden": [16, 8]}), "lambda_ndcg"),
        (json!({"kind": "attention", "width": 8, "blocks": 1, "feed_forward": 8}), "list_net"),
    ] {
        let values = |precision: &str| {
            let config = with_precision(precision, json!({"epochs": 15, "batch_queries": 20}));
            let fitted = learner(config, scorer.clone(), loss).fit(Job::new(&train, None, &context)).unwrap();
            let scores: Vec<f64> = fitted.model.predict(&test, &context.device).into_iter().map(f64::from).collect();
            Judge::new(&context.selection).unwrap().values(&test, &scores).unwrap()
        };
        let full = values("f32");
        for precision in HALVES {
            let half = values(precision);
            let both = half.iter().zip(&full).filter_map(|(half, full)| half.zip(*full));
            let differences: Vec<f64> = both.map(|(half, full)| half - full).collect();
            let count = differences.len() as f64;
            let mean = differences.iter().sum::<f64>() / count;
            let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
            let error = (squares / (count - 1.0) / count).sqrt();
            assert!(mean.abs() <= 2.0 * error, "{precision} {scorer:?} {loss}: {mean} +- {error}");
            assert!(error > 0.0, "nothing was rounded");
        }
    }
}
