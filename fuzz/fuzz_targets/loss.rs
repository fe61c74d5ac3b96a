//! The JSON lines of `burn-rank loss`: an error, or a value and gradient of as many numbers as scores, finite where the
//! scores and labels are moderate.
#![no_main]

use burn::tensor::DType;
use burn_rank::json::{Map, Value};
use burn_rank::loss::{LossSpec, explain};
use burn_rank::workbench::registry::LOSSES;
use burn_rank_fuzz::choice;
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    params: Map,
    scores: Vec<f64>,
    labels: Vec<f64>,
}

/// Some losses are cubic in the length of a list by their definition.
const LONGEST: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    let (which, text) = choice(bytes);
    let Ok(list) = serde_json::from_slice::<List>(text) else { return };
    if list.scores.len() > LONGEST {
        return;
    }
    let entry = &LOSSES[which % LOSSES.len()];
    let Ok(loss) = LossSpec { name: entry.name.into(), params: list.params.clone() }.build() else { return };
    let Ok(explained) = explain(loss.as_ref(), &list.scores, &list.labels, DType::F32) else { return };
    assert_eq!(explained.grad.len(), list.scores.len());
    let moderate = |values: &[f64]| values.iter().all(|value| value.abs() <= 1e4);
    if list.params.is_empty() && moderate(&list.scores) && moderate(&list.labels) {
        assert!(explained.loss.is_finite() && explained.grad.iter().all(|slope| slope.is_finite()), "{}", entry.name);
    }
});
