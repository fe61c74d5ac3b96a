//! AdaRank as published on LETOR 2.0 OHSUMED: MAP, 100 rounds, the best of them on validation data.

use burn::tensor::Device;
use burn_rank::data::folds;
use burn_rank::data::letor::{ReadOptions, read};
use burn_rank::learner::{FitContext, Job, Parts, Selection, build};
use burn_rank::measure::{Convention, Measure};
use serde_json::json;

use super::shared;

/// Computes the test MAP of each fold in the `letor` convention.
fn test_map(config: serde_json::Value) -> Vec<f64> {
    let folds = folds::discover(&shared("data/letor2-ohsumed").unwrap()).unwrap();
    let convention = Convention::preset("letor").unwrap();
    let learner = build(config.as_object().unwrap(), &Parts::default()).unwrap();
    let of_fold = |fold: &burn_rank::data::folds::Fold| {
        let [train, validation, test] =
            [&fold.train, &fold.validation, &fold.test].map(|paths| read(paths, &ReadOptions::default()).unwrap());
        let context = FitContext::new(
            Device::flex(),
            1,
            Selection { convention: convention.clone(), ..Selection::best(Measure::Ap(None)) },
        );
        let fitted = learner.fit(Job::new(&train, Some(&validation), &context)).unwrap();
        let scores = fitted.model.predict(&test, &context.device);
        Measure::Ap(None).mean(&test.rankings(&scores), &convention).unwrap()
    };
    folds.iter().map(of_fold).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub fn map_by_fold_on_letor_2_ohsumed() {
    let found = test_map(json!({"kind": "ada_rank"}));
    for (found, expected) in found.iter().zip([0.34127, 0.44916, 0.46040, 0.50557, 0.45733]) {
        assert!((found - expected).abs() < 6e-6, "{found} {expected}");
    }
    assert!((mean(&found) - 0.44274).abs() < 1e-5, "{}", mean(&found));
}

pub fn each_feature_once_gives_the_same_mean_to_four_digits() {
    let found = test_map(json!({"kind": "ada_rank", "reuse": false}));
    assert!((mean(&found) - 0.44274).abs() < 1e-4, "{}", mean(&found));
}
