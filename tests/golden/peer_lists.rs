//! Lists as stated in the cases of other libraries, and our losses for them.

use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use burn_rank::loss::LossSpec;
use serde_json::{Value, json};

/// Lists padded to one length, with a mask of the documents that are there.
#[derive(Debug, Clone)]
pub struct PeerLists {
    pub scores: Vec<Vec<f64>>,
    pub labels: Vec<Vec<f64>>,
    pub mask: Vec<Vec<bool>>,
}

impl PeerLists {
    /// Reads `scores`, `labels` and `where` or `mask` (one list, or lists at any depth; `{"ragged": ..}`), grouped by
    /// `segments` where there are any. A negative label marks an absent document.
    pub fn read(inputs: &Value) -> Self {
        let scores = rows(&inputs["scores"]);
        let labels = rows(&inputs["labels"]);
        let given = inputs.get("where").or_else(|| inputs.get("mask")).map(rows);
        let mut lists = Self { mask: Vec::new(), scores, labels };
        for (q, labels) in lists.labels.iter().enumerate() {
            let there = |d: usize| given.as_ref().is_none_or(|mask| mask[q][d] != 0.0);
            lists.mask.push(labels.iter().enumerate().map(|(d, label)| *label >= 0.0 && there(d)).collect());
        }
        match inputs.get("segments") {
            Some(segments) => lists.grouped(&rows(segments)[0]),
            None => lists,
        }
    }

    fn grouped(self, segments: &[f64]) -> Self {
        let mut groups: Vec<f64> = segments.to_vec();
        groups.dedup();
        groups.sort_by(f64::total_cmp);
        groups.dedup();
        let members = |group: f64| (0..segments.len()).filter(move |d| segments[*d] == group);
        let pick = |row: &[f64]| groups.iter().map(|g| members(*g).map(|d| row[d]).collect()).collect();
        let mask = groups.iter().map(|g| members(*g).map(|d| self.mask[0][d]).collect()).collect();
        Self { scores: pick(&self.scores[0]), labels: pick(&self.labels[0]), mask }
    }

    /// Makes `[lists, longest]` tensors in f64 for autodiff.
    pub fn tensors(&self) -> (Tensor<2>, Tensor<2>, Tensor<2, Bool>) {
        let device = Device::flex().autodiff();
        let width = self.scores.iter().map(Vec::len).max().unwrap_or(0);
        let matrix = |rows: Vec<Vec<f64>>| {
            let padded: Vec<f64> =
                rows.iter().flat_map(|row| row.iter().copied().chain(std::iter::repeat(0.0)).take(width)).collect();
            Tensor::<2>::from_data(TensorData::new(padded, [rows.len(), width]), (&device, DType::F64))
        };
        let mask = self.mask.iter().map(|row| row.iter().map(|there| f64::from(*there)).collect()).collect();
        (matrix(self.scores.clone()), matrix(self.labels.clone()), matrix(mask).greater_elem(0.5))
    }

    /// Computes our loss for each list.
    pub fn losses(&self, name: &str, params: Value) -> Vec<f64> {
        let loss =
            LossSpec { name: name.into(), params: params.as_object().expect("an object").clone() }.build().unwrap();
        let (scores, labels, mask) = self.tensors();
        loss.forward_no_reduction(scores, labels, mask).into_data().iter::<f64>().collect()
    }

    /// Returns the labels of the documents that are there, by list.
    pub fn present(&self) -> impl Iterator<Item = Vec<f64>> + '_ {
        self.labels.iter().zip(&self.mask).map(|(labels, mask)| {
            labels.iter().zip(mask).filter(|(_, there)| **there).map(|(label, _)| *label).collect()
        })
    }

    /// Returns the number of documents of each list.
    pub fn documents(&self) -> Vec<f64> {
        self.present().map(|labels| labels.len() as f64).collect()
    }

    /// Returns the number of pairs with different labels in each list.
    pub fn pairs(&self) -> Vec<f64> {
        let count = |labels: Vec<f64>| labels.iter().map(|a| labels.iter().filter(|b| a > *b).count()).sum::<usize>();
        self.present().map(|labels| count(labels) as f64).collect()
    }

    /// Computes `sum sigmoid(s_j - s_i)` over the pairs with `y_i > y_j`, from Kendall's tau at alpha = 1.
    pub fn soft_zero_one(&self) -> Vec<f64> {
        let losses = self.losses("approx_kendall_tau", json!({"alpha": 1.0}));
        losses.iter().zip(self.pairs()).map(|(loss, pairs)| (1.0 + loss) / 2.0 * pairs).collect()
    }

    /// Computes `sum (s_i - y_i)^2`.
    pub fn squared_errors(&self) -> Vec<f64> {
        let means = self.losses("mse_gain", json!({"gain": "linear"}));
        means.iter().zip(self.documents()).map(|(mean, n)| mean * n).collect()
    }

    /// Returns true if some list has one label only: the loss is then 0 here, but perhaps not in other libraries.
    pub fn has_degenerate(&self) -> bool {
        self.pairs().contains(&0.0)
    }
}

/// Returns the innermost lists of numbers (or truth values) of a nested list.
pub fn rows(value: &Value) -> Vec<Vec<f64>> {
    let value = value.get("ragged").unwrap_or(value);
    let items = value.as_array().expect("a list");
    if items.first().is_some_and(|item| !item.is_array()) {
        return vec![items.iter().map(number).collect()];
    }
    items.iter().flat_map(rows).collect()
}

/// Returns all numbers of a nested list, or the one number.
pub fn flat(value: &Value) -> Vec<f64> {
    if value.is_array() || value.is_object() { rows(value).concat() } else { vec![number(value)] }
}

fn number(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_bool().map(f64::from)).unwrap_or_else(|| panic!("not a number: {value}"))
}

/// Asserts that each number is within `atol + rtol |expected|`.
pub fn assert_near(name: &str, found: &[f64], expected: &[f64], tolerance: &Value) {
    let part = |key: &str| tolerance.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    // Their figures are float32, however small the stated tolerance.
    let (relative, absolute) = (part("rtol").max(1e-6), part("atol"));
    assert_eq!(found.len(), expected.len(), "{name}");
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= absolute + relative * e.abs() + 1e-9, "{name}: {found:?} instead of {expected:?}");
    }
}
