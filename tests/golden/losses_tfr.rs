//! `expected/tfr_losses.json`: the losses that TensorFlow Ranking and we have in common.

use std::collections::BTreeMap;

use burn_rank::op::Step;
use serde_json::{Value, json};

use crate::common::expected_json;
use crate::peer_lists::{PeerLists, assert_near, flat, rows};

/// One loss of TensorFlow Ranking: sums by list, and the number of terms of each sum.
struct Sums {
    values: Vec<f64>,
    counts: Vec<f64>,
}

fn sums(target: &str, temperature: f64, lists: &PeerLists) -> Option<Sums> {
    let label_sums = || lists.present().map(|labels| labels.iter().sum::<f64>());
    let any_relevant = || label_sums().map(|sum| f64::from(sum > 0.0)).collect();
    let lists_counted = || vec![1.0; lists.scores.len()];
    let (values, counts) = match target {
        "PairwiseLogisticLoss" => (lists.losses("rank_net", json!({})), lists.pairs()),
        "PairwiseHingeLoss" => (lists.losses("pairwise_hinge", json!({})), lists.pairs()),
        "PairwiseSoftZeroOneLoss" => (lists.soft_zero_one(), lists.pairs()),
        "MeanSquaredLoss" => (lists.squared_errors(), lists.documents()),
        "ListMLELoss" => (lists.losses("list_mle", json!({})), lists_counted()),
        "SoftmaxLoss" => (lists.losses("softmax_cross_entropy", json!({})), any_relevant()),
        "ApproxNDCGLoss" => {
            let losses = lists.losses("approx_ndcg", json!({"alpha": 1.0 / temperature}));
            let learnable: Vec<f64> = any_relevant();
            (losses.iter().zip(&learnable).map(|(loss, learnable)| (loss - 1.0) * learnable).collect(), learnable)
        }
        _ => return None,
    };
    Some(Sums { values, counts })
}

/// Returns the weight of each list: its own, or the mean weight of its documents weighted by their labels; `None` for
/// weights of pairs.
fn list_weights(target: &str, inputs: &Value, lists: &PeerLists) -> Option<Vec<f64>> {
    let Some(weights) = inputs.get("weights").map(rows) else { return Some(vec![1.0; lists.scores.len()]) };
    if weights.iter().all(|row| row.len() == 1) {
        return Some(weights.concat());
    }
    (target == "ApproxNDCGLoss" || target == "SoftmaxLoss").then(|| {
        let mean = |(q, weights): (usize, &Vec<f64>)| {
            let present = |d: &usize| lists.mask[q][*d];
            let sum: f64 = (0..weights.len()).filter(present).map(|d| weights[d] * lists.labels[q][d]).sum();
            let total: f64 = (0..weights.len()).filter(present).map(|d| lists.labels[q][d]).sum();
            if total > 0.0 { sum / total } else { 0.0 }
        };
        weights.iter().enumerate().map(mean).collect()
    })
}

fn reduced(sums: &Sums, weights: &[f64], reduction: &str) -> f64 {
    let total: f64 = sums.values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    let of_weights = |f: fn(f64) -> f64| -> f64 { sums.counts.iter().zip(weights).map(|(n, w)| n * f(*w)).sum() };
    match reduction {
        "SUM" => total,
        "MEAN" => total / of_weights(|w| w),
        "SUM_BY_NONZERO_WEIGHTS" => total / of_weights(|w| f64::from(w != 0.0)),
        other => panic!("unknown reduction {other}"),
    }
}

#[test]
fn losses_agree() {
    let file: Value = expected_json("tfr_losses.json");
    let mut passed = BTreeMap::new();
    let mut left_out = BTreeMap::new();
    for case in file["cases"].as_array().unwrap() {
        let text = |key: &str| case[key].as_str().unwrap();
        let (target, method, name) = (text("target"), text("method"), text("id"));
        let mut leave = |reason: &'static str| *left_out.entry(reason).or_insert(0) += 1;
        let known = matches!(
            target,
            "PairwiseLogisticLoss"
                | "PairwiseHingeLoss"
                | "PairwiseSoftZeroOneLoss"
                | "MeanSquaredLoss"
                | "ListMLELoss"
                | "SoftmaxLoss"
                | "ApproxNDCGLoss"
        );
        if !known {
            leave("not offered");
            continue;
        }
        let tags = case["tags"].as_array().cloned().unwrap_or_default();
        if tags.iter().any(|tag| tag.as_str().is_some_and(|tag| tag.ends_with("tensorflow_rng"))) {
            leave("ties broken at random");
            continue;
        }
        let output = case["post"][0]["output"].as_u64();
        if method == "normalize_weights" || output == Some(1) {
            leave("weights alone");
            continue;
        }
        let inputs = &case["inputs"];
        let lists = PeerLists::read(inputs);
        if lists.present().flatten().any(|label| label > 30.0) {
            leave("labels above 30 are refused");
            continue;
        }
        if target == "MeanSquaredLoss" && lists.has_degenerate() {
            leave("a query with one label only has loss 0");
            continue;
        }
        if !case["expected"].is_array() && !case["expected"].is_number() {
            leave("an equivalence of degenerate lists");
            continue;
        }
        let Some(weights) = list_weights(target, inputs, &lists) else {
            leave("weights of documents");
            continue;
        };
        let temperature = match (target, method) {
            ("ApproxNDCGLoss", "compute") => case["params"]["temperature"].as_f64().unwrap_or(0.1),
            _ => 1.0,
        };
        let sums = sums(target, temperature, &lists).unwrap();
        let (found, expected) = match method {
            "compute" => {
                (vec![reduced(&sums, &weights, inputs["reduction"].as_str().unwrap())], flat(&case["expected"]))
            }
            // The expected values are matrices of pairs or rows of documents, which are summed for each list.
            "compute_unreduced_loss" => {
                let lists = case["expected"].as_array().unwrap().iter();
                (sums.values, lists.map(|list| flat(list).iter().sum()).collect())
            }
            "compute_per_list" => {
                let normalized = lists.losses("softmax_cross_entropy", json!({"normalize": true}));
                (if target == "SoftmaxLoss" { normalized } else { sums.values }, flat(&case["expected"]))
            }
            other => panic!("{name}: unknown method {other}"),
        };
        assert_near(name, &found, &expected, &case["tolerance"]);
        *passed.entry(target.to_string()).or_insert(0) += 1;
    }
    eprintln!("tfr_losses.json: passed {passed:?}, left out {left_out:?}");
    assert_eq!(passed.values().sum::<usize>() + left_out.values().sum::<usize>(), 93);
    assert_eq!(passed.values().sum::<usize>(), 18);
}

#[test]
fn approximate_ranks_agree() {
    let file: Value = expected_json("tfr_losses.json");
    let case = file["cases"].as_array().unwrap().iter().find(|case| case["target"] == "approx_ranks").unwrap();
    let inputs = json!({"scores": case["inputs"]["scores"], "labels": case["inputs"]["scores"]});
    let (scores, labels, mask) = PeerLists::read(&inputs).tensors();
    let lists = burn_rank::loss::Lists::padded(scores, labels, mask);
    let found: Vec<f64> = lists.approximate_positions(1.0, Step::Logistic).into_data().iter::<f64>().collect();
    assert_near("approx_ranks", &found, &flat(&case["expected"]), &case["tolerance"]);
}
