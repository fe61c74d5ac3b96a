//! `expected/rax.json`: the losses that rax and we have in common.

use std::collections::BTreeMap;

use burn_rank::loss::{LossSpec, Reduction};
use serde_json::{Value, json};

use crate::common::expected_json;
use crate::peer_lists::{PeerLists, assert_near, flat};

/// Returns the sum of a loss for each list, and the number by which rax's mean divides it.
fn sums(function: &str, lists: &PeerLists) -> Option<(Vec<f64>, Vec<f64>)> {
    let one = || lists.documents().iter().map(|n| f64::from(*n > 0.0)).collect();
    Some(match function {
        "softmax_loss" => (lists.losses("softmax_cross_entropy", json!({})), one()),
        "listmle_loss" => (lists.losses("list_mle", json!({})), one()),
        "pairwise_logistic_loss" => (lists.losses("rank_net", json!({})), lists.pairs()),
        "pairwise_hinge_loss" => (lists.losses("pairwise_hinge", json!({})), lists.pairs()),
        "pairwise_soft_zero_one_loss" => (lists.soft_zero_one(), lists.pairs()),
        "pointwise_mse_loss" => (lists.squared_errors(), lists.documents()),
        _ => return None,
    })
}

/// Returns why a case is left out.
fn skipped(case: &Value, lists: &PeerLists) -> Option<&'static str> {
    let function = case["function"].as_str().unwrap();
    if case["inputs"].get("weights").is_some() {
        return Some("weights of documents");
    }
    // With one label only, pairs and sums of labels are 0 in rax too.
    let agrees = !matches!(function, "listmle_loss" | "pointwise_mse_loss");
    (lists.has_degenerate() && !agrees && case["kind"] == "value").then_some("a query with one label only has loss 0")
}

fn reduced(case: &Value, function: &str, lists: &PeerLists) -> Vec<f64> {
    let (sums, counts) = sums(function, lists).unwrap();
    if case.get("one_value_per_list").is_some() {
        return sums;
    }
    let total: f64 = sums.iter().sum();
    let mean = case["params"]["reduce"] != "sum";
    vec![if mean { total / counts.iter().sum::<f64>().max(1.0) } else { total }]
}

#[test]
fn losses_agree() {
    let file: Value = expected_json("rax.json");
    let mut passed = BTreeMap::new();
    let mut left_out = BTreeMap::new();
    for case in file["cases"].as_array().unwrap() {
        let (function, name) = (case["function"].as_str().unwrap(), case["id"].as_str().unwrap());
        if !function.ends_with("_loss") {
            continue;
        }
        let lists = PeerLists::read(&case["inputs"]);
        if sums(function, &lists).is_none() {
            *left_out.entry("not offered").or_insert(0) += 1;
            continue;
        }
        if let Some(reason) = skipped(case, &lists) {
            *left_out.entry(reason).or_insert(0) += 1;
            continue;
        }
        let found = reduced(case, function, &lists);
        let expected = match case.get("expected_equals") {
            Some(other) => reduced(case, function, &PeerLists::read(&other["inputs"])),
            None => flat(&case["expected"]),
        };
        assert_near(&format!("{name} {function}"), &found, &expected, &case["tolerance"]);
        *passed.entry(function).or_insert(0) += 1;
    }
    eprintln!("rax.json, losses: passed {passed:?}, left out {left_out:?}");
    assert_eq!(passed.values().sum::<usize>(), 34);
    assert_eq!(
        left_out,
        [("not offered", 34), ("weights of documents", 2), ("a query with one label only has loss 0", 2)].into()
    );
}

/// The gradients and the transformed measure of rax's documentation.
#[test]
fn documented_gradients_and_the_approximate_ndcg_agree() {
    let file: Value = expected_json("rax.json");
    let case = |function: &str| file["cases"].as_array().unwrap().iter().find(|c| c["function"] == function).unwrap();
    let gradient = |name: &str, params: Value, inputs: &Value| {
        let loss = LossSpec { name: name.into(), params: params.as_object().unwrap().clone() }.build().unwrap();
        let (scores, labels, mask) = PeerLists::read(inputs).tensors();
        let scores = scores.require_grad();
        let gradients = loss.forward(scores.clone(), labels, mask, Reduction::Mean).backward();
        scores.grad(&gradients).unwrap().into_data().iter::<f64>().collect::<Vec<f64>>()
    };

    let softmax = case("grad(softmax_loss)");
    let found = gradient("softmax_cross_entropy", json!({}), &softmax["inputs"]);
    assert_near("softmax", &found, &flat(&softmax["expected"]), &softmax["tolerance"]);

    let ndcg = case("grad(ndcg_metric with rank_fn=approx_ranks)");
    let descent: Vec<f64> =
        gradient("approx_ndcg", json!({"alpha": 1.0}), &ndcg["inputs"]).iter().map(|g| -g).collect();
    assert_near("ndcg", &descent, &flat(&ndcg["expected"]), &ndcg["tolerance"]);

    let approx = case("approx_t12n(ndcg_metric)");
    let losses = PeerLists::read(&approx["inputs"]).losses("approx_ndcg", json!({"alpha": 1.0}));
    assert_near("approx_t12n", &[losses[0] - 1.0], &flat(&approx["expected"]), &approx["tolerance"]);
}
