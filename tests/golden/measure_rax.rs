//! `expected/rax.json`: google/rax's own tests of its metrics, under the convention `rax`.

use burn_rank::measure::{Convention, Measure};
use serde_json::Value;

use crate::common::expected_json;
use crate::measure_lists::{List, Tally, assert_close, lists, number, numbers, value};

fn measure(case: &Value) -> Option<Measure> {
    let k = case["params"]["topn"].as_u64().map(|k| k as usize);
    Some(match case["function"].as_str()? {
        "precision_metric" => Measure::Precision(k),
        "dcg_metric" => Measure::Dcg(k),
        "ndcg_metric" => Measure::Ndcg(k),
        "mrr_metric" => Measure::ReciprocalRank(k),
        "recall_metric" => Measure::Recall(k),
        "ap_metric" => Measure::Ap(k),
        "opa_metric" => Measure::PairAccuracy,
        _ => return None,
    })
}

/// Computes the value of each list. A list without documents is left out of the mean, and the mean of no lists is 0.
fn values(case: &Value) -> Vec<f64> {
    let (measure, convention) = (measure(case).unwrap(), Convention::preset("rax").unwrap());
    let kept = |list: &List| !list.0.is_empty();
    lists(&case["inputs"]).iter().filter(|list| kept(list)).map(|list| value(measure, &convention, list)).collect()
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

#[test]
fn every_metric_agrees() {
    let golden: Value = expected_json("rax.json");
    let mut tally = Tally::default();
    for case in golden["cases"].as_array().unwrap() {
        let function = case["function"].as_str().unwrap();
        if measure(case).is_none() {
            tally.skip(if function.contains("loss") { "a loss" } else { "a building block or transformation" });
            continue;
        }
        if case["inputs"].get("weights").is_some() {
            tally.skip("weights of documents");
            continue;
        }
        let id = format!("{} {function}", case["id"]);
        let (relative, absolute) = (number(&case["tolerance"]["rtol"]), number(&case["tolerance"]["atol"]));
        let found = values(case);
        if let Some(other) = case.get("expected_equals") {
            assert_close(mean(&found), mean(&values(other)), relative, absolute, &id);
        } else if case.get("one_value_per_list").is_some() {
            for (found, expected) in found.iter().zip(numbers(&case["expected"])) {
                // Rax computes in float32.
                assert_close(*found, expected, relative, absolute, &id);
            }
        } else {
            assert_close(mean(&found), number(&case["expected"]), relative.max(1e-6), absolute, &id);
        }
        tally.compared += 1;
    }
    tally.assert(51, &[("a building block or transformation", 29), ("a loss", 73), ("weights of documents", 1)]);
}
