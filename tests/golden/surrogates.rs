//! `expected/surrogates.json`: value and gradient of every surrogate and baseline in float64, from a transcription of
//! the formulas.

use std::collections::BTreeMap;

use burn::tensor::DType;
use burn_rank::json::Map;
use burn_rank::loss::{LossSpec, Orientation, explain};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    loss: String,
    params: Map,
    scores: Vec<f64>,
    labels: Vec<f64>,
    value: f64,
    grad: Vec<f64>,
}

fn cases() -> Vec<Case> {
    crate::common::expected_json("surrogates.json")
}

/// `expected/teachers.json`: losses of rerankers on 60 lists with ties, where the labels stand for a teacher's scores.
#[test]
fn losses_of_rerankers_agree_in_value_and_gradient() {
    let cases: Vec<Case> = crate::common::expected_json("teachers.json");
    for case in &cases {
        let off = deviation(case, &LossSpec { name: case.loss.clone(), params: case.params.clone() });
        assert!(off < 1e-10, "{} {:?}, n = {}: off by {off:e}", case.loss, case.params, case.scores.len());
    }
    assert_eq!(cases.len(), 60);
}

/// Returns the largest deviation of value and gradient from the case, relative where the expected value exceeds 1.
fn deviation(case: &Case, spec: &LossSpec) -> f64 {
    let loss = spec.build().unwrap();
    let found = explain(loss.as_ref(), &case.scores, &case.labels, DType::F64).unwrap();
    let sign = if loss.about().orientation == Orientation::Loss { 1.0 } else { -1.0 };
    let off = |found: f64, expected: f64| (found - expected).abs() / expected.abs().max(1.0);
    let gradient = found.grad.iter().zip(&case.grad).map(|(found, expected)| off(sign * found, *expected));
    gradient.fold(off(found.value, case.value), f64::max)
}

#[test]
fn every_case_agrees_in_value_and_gradient() {
    let mut passed = BTreeMap::<String, usize>::new();
    for case in cases() {
        let spec = LossSpec { name: case.loss.clone(), params: case.params.clone() };
        // Exponentials are fitted to 1e-8 in float64; the recursion is exact.
        let spec = if case.loss == "soft_ndcg" { spec.with("evaluation", "recursion") } else { spec };
        let off = deviation(&case, &spec);
        assert!(off < 1e-10, "{} {:?}, n = {}: off by {off:e}", case.loss, case.params, case.scores.len());
        *passed.entry(case.loss).or_default() += 1;
    }
    assert_eq!(passed.values().sum::<usize>(), 142, "{passed:?}");
}

#[test]
fn every_evaluation_of_soft_ndcg_agrees() {
    for case in cases().into_iter().filter(|case| case.loss == "soft_ndcg") {
        let cut = case.params.get("k").is_some_and(|k| !k.is_null());
        // A discount with a cut-off is not a sum of exponentials.
        for evaluation in ["auto", "cutoff", "exponentials"].into_iter().take(if cut { 2 } else { 3 }) {
            let spec = LossSpec { name: case.loss.clone(), params: case.params.clone() }.with("evaluation", evaluation);
            let off = deviation(&case, &spec);
            assert!(off < 1e-7, "{evaluation} {:?}, n = {}: off by {off:e}", case.params, case.scores.len());
        }
    }
}
