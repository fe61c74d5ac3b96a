//! `expected/small_peers.json`: losses of allRank and pytorchltr.

use serde_json::{Value, json};

use crate::common::expected_json;
use crate::peer_lists::{PeerLists, assert_near, flat};

/// Computes our figure for a case; `None` for functions that are measures or that we do not offer.
fn ours(function: &str, inputs: &Value) -> Option<Vec<f64>> {
    let mut lists = match function {
        "approx_ndcg_loss" | "lambda_loss" | "listmle_loss" | "ranknet_loss_mean_over_pairs" | "LambdaNDCGLoss1" => {
            PeerLists::read(inputs)
        }
        _ => return None,
    };
    if let Some(lengths) = inputs.get("n") {
        for (mask, n) in lists.mask.iter_mut().zip(flat(lengths)) {
            mask.iter_mut().enumerate().for_each(|(d, there)| *there = (d as f64) < n);
        }
    }
    Some(match function {
        "approx_ndcg_loss" => {
            let losses = lists.losses("approx_ndcg", json!({"alpha": inputs["alpha"]}));
            losses.iter().map(|loss| loss - 1.0).collect()
        }
        "lambda_loss" => lists.losses("lambda_loss", json!({"weights": "ndcg_loss2_pp"})),
        "listmle_loss" => lists.losses("list_mle", json!({})),
        "ranknet_loss_mean_over_pairs" => lists.losses("rank_net", json!({"mean_over_pairs": true})),
        _ => lists.losses("lambda_loss", json!({"weights": "ndcg_loss1"})),
    })
}

#[test]
fn losses_agree() {
    let file: Value = expected_json("small_peers.json");
    let mut passed = Vec::new();
    for case in file["cases"].as_array().unwrap() {
        let function = case["function"].as_str().unwrap();
        let Some(found) = ours(function, &case["inputs"]) else { continue };
        assert_near(function, &found, &flat(&case["expected"]), &json!({"atol": case["atol"]}));
        passed.push(function);
    }
    assert_eq!(passed.len(), 5, "{passed:?}");
}
