//! Tests of the factors of positions.

use super::*;
use crate::data::Positions;
use crate::loss::explain;
use burn::tensor::DType;

const L2: f64 = 0.4;

/// Gives every document one of four positions.
fn placed(data: RankingDataset) -> RankingDataset {
    let names = (0..data.documents()).map(|document| (document * document % 7 % 4).to_string());
    data.with_positions(Positions::new(names)).unwrap()
}

/// A linear scorer of tiny features gives every document the same score, so that only factors move.
#[test]
fn factors_take_steps_of_gradient_descent() {
    let (mut data, _) = data();
    data.features.to_mut_slice().iter_mut().for_each(|value| *value *= 1e-20);
    let data = placed(data);
    let (names, of) = (data.positions.names(), data.positions.of_documents());
    let loss = LossSpec::new("softmax_cross_entropy").build().unwrap();
    let objective = |factors: &[f64]| -> f64 {
        let of_query = |query: usize| {
            let scores: Vec<f64> = data.range(query).map(|document| factors[of[document] as usize]).collect();
            let labels: Vec<f64> = data.query_labels(query).iter().copied().map(f64::from).collect();
            explain(&*loss, &scores, &labels, DType::F64).unwrap().value
                + L2 / 2.0 * scores.iter().map(|factor| factor * factor).sum::<f64>()
        };
        (0..data.queries()).map(of_query).sum::<f64>() / data.queries() as f64
    };
    let mut factors = vec![0.0; names.len()];
    for epochs in 1..4 {
        let slope = |place: usize| {
            let at = |change: f64| {
                let mut moved = factors.clone();
                moved[place] += change;
                objective(&moved)
            };
            (at(1e-5) - at(-1e-5)) / 2e-5
        };
        let slopes: Vec<f64> = (0..names.len()).map(slope).collect();
        factors.iter_mut().zip(slopes).for_each(|(factor, slope)| *factor -= 0.1 * slope);
        let config = json!({
            "epochs": epochs, "batch_queries": 40, "learning_rate": 0.1, "optimizer": {"kind": "sgd"},
            "position": {"kind": "additive", "l2": L2},
        });
        let mut context = context(None, &());
        context.selection.round = Some(epochs);
        let learner = learner(config, json!({"kind": "linear"}), "softmax_cross_entropy");
        let found = learner.fit(Job::new(&data, None, &context)).unwrap().positions;
        assert_eq!(found.iter().map(|found| found.position.as_str()).collect::<Vec<_>>(), ["0", "1", "2"]);
        for found in found {
            let place = names.iter().position(|name| *name == found.position).unwrap();
            assert!((found.factor - factors[place]).abs() < 1e-5, "{epochs}: {found:?} {}", factors[place]);
            assert!(found.factor.abs() > 1e-3);
        }
    }
}

#[test]
fn factors_are_resumed_with_every_optimizer() {
    let (train, validation) = data();
    let train = placed(train);
    let position = json!({"kind": "additive", "l2": 0.01});
    let mlp = json!({"kind": "mlp", "hidden": [8, 4], "activation": "tanh"});
    let averaged = json!({
        "epochs": 6, "batch_queries": 12, "batch_cells": 200, "shards": 3, "average": 0.5, "position": position,
    });
    let muon = json!({"epochs": 5, "batch_queries": 12, "optimizer": {"kind": "muon"}, "position": position});
    let lbfgs = json!({"epochs": 5, "batch_queries": 40, "optimizer": {"kind": "lbfgs"}, "position": position});
    for config in [averaged, muon, lbfgs] {
        let learner = learner(config, mlp.clone(), "approx_ndcg");
        for rounds in [1, 3] {
            testing::assert_reproducible(&learner, &train, &validation, rounds);
        }
    }
}

/// The loss sees scores with factors, and measures see scores without.
#[test]
fn no_surrogate_stands_beside_a_measure_of_other_scores() {
    let data = placed(data().0);
    for (position, expected) in [(false, true), (true, false)] {
        let mut config = json!({"epochs": 1});
        if position {
            config["position"] = json!({"kind": "additive", "l2": L2});
        }
        let learner = learner(config, json!({"kind": "linear"}), "approx_ndcg");
        let fitted = learner.fit(Job::new(&data, None, &context(None, &()))).unwrap();
        for name in ["surrogate", "exact_learnable"] {
            let is_there = fitted.history[0].figures.iter().any(|(figure, _)| figure == name);
            assert_eq!(is_there, expected, "{name}: {:?}", fitted.history[0].figures);
        }
    }
}

#[test]
fn processes_share_the_factors() {
    let (train, validation) = data();
    let config = json!({"epochs": 4, "batch_queries": 12, "shards": 5, "position": {"kind": "additive"}});
    let learner = learner(config, json!({"kind": "mlp", "hidden": [4]}), "lambda_ndcg");
    testing::assert_same_in_processes(&learner, &placed(train), &validation, 2);
}
