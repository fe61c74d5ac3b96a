//! Value and gradient of every surrogate and baseline against the float64 reference, and Table 1 of the approximation
//! framework.

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::loss::{Lists, LossSpec, Orientation, RankingLoss, explain, registry};
use burn_rank::op::Step;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::common::shared;

/// One case of the reference: `grad` is the derivative of `value`, not of the loss.
#[derive(Deserialize)]
struct Case {
    loss: String,
    params: Map<String, Value>,
    scores: Vec<f64>,
    labels: Vec<f64>,
    value: f64,
    grad: Vec<f64>,
}

fn cases() -> Vec<Case> {
    let Some(path) = shared("golden/surrogates.json") else { return Vec::new() };
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// The loss of a case without approximation: SoftRank by default fits its discount to about 1e-8.
fn exact(case: &Case) -> Box<dyn RankingLoss> {
    let mut params = case.params.clone();
    if (registry::find(&case.loss).unwrap().defaults)().contains_key("evaluation") {
        params.insert("evaluation".into(), "recursion".into());
    }
    registry::build(&case.loss, &params).unwrap()
}

#[test]
fn every_case_agrees_in_value_and_gradient() {
    let cases = cases();
    let mut failures = Vec::new();
    for case in &cases {
        let loss = |params: &Map<String, Value>| registry::build(&case.loss, params).unwrap();
        let sign = if loss(&case.params).orientation() == Orientation::Loss { 1.0 } else { -1.0 };
        // The floor is for gradients that vanish: a difference of values near 1 in the type.
        for (dtype, tolerance, floor) in [(DType::F32, 1e-4, 1e-7), (DType::F64, 1e-9, 1e-15)] {
            let loss = if dtype == DType::F64 { exact(case) } else { loss(&case.params) };
            let found = explain(&*loss, &case.scores, &case.labels, dtype).unwrap();
            let name = format!("{} {:?}, {} documents, {dtype:?}", case.loss, case.params, case.scores.len());
            let error = (found.value - case.value).abs() / case.value.abs();
            if error.is_nan() || error > tolerance {
                failures.push(format!("{name}: value {} instead of {}", found.value, case.value));
            }
            let differences: Vec<f64> = found.grad.iter().zip(&case.grad).map(|(f, e)| f * sign - e).collect();
            let error = largest(&differences);
            if error.is_nan() || error > tolerance * largest(&case.grad) + floor {
                failures.push(format!("{name}: gradient off by {error:e}, largest {:e}", largest(&case.grad)));
            }
            assert_eq!(found.grad.len(), case.grad.len());
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    assert!(cases.is_empty() || cases.len() == 142, "{} cases", cases.len());
}

#[test]
fn every_evaluation_of_soft_ndcg_agrees() {
    for case in cases().into_iter().filter(|case| case.loss == "soft_ndcg") {
        for evaluation in ["auto", "cutoff", "exponentials"] {
            let spec = LossSpec { name: case.loss.clone(), params: case.params.clone() }.with("evaluation", evaluation);
            let found = explain(&*spec.build().unwrap(), &case.scores, &case.labels, DType::F64).unwrap();
            let differences: Vec<f64> = found.grad.iter().zip(&case.grad).map(|(f, e)| f + e).collect();
            let error = largest(&differences).max((found.value - case.value).abs());
            assert!(error < 1e-7, "{evaluation} {:?}, {} documents: off by {error:e}", case.params, case.scores.len());
        }
    }
}

/// Table 1: approximate positions at alpha = 100 are printed with five decimals.
#[test]
fn approximate_positions_of_table_1() {
    let device = Device::flex();
    let scores = vec![4.20074f64, 3.12378, 4.40918, 1.55258, 4.13330];
    let scores = Tensor::<2>::from_data(TensorData::new(scores, [1, 5]), (&device, DType::F64));
    let lists = Lists::new(scores.clone(), scores.zeros_like(), Tensor::<2>::ones([1, 5], &device).greater_elem(0.0));
    let positions: Vec<f64> = lists.approximate_positions(100.0, Step::Logistic).into_data().iter::<f64>().collect();
    for (found, printed) in positions.iter().zip([2.00118, 4.00000, 1.00000, 5.00000, 2.99882]) {
        assert!((found - printed).abs() <= 5e-6, "{positions:?}");
    }
}
