//! The lists of documents in the golden files of other packages, whatever their form.

use std::collections::BTreeMap;

use burn_rank::measure::{Convention, Measure, Ranking};
use serde_json::Value;

/// Scores and labels of one query.
pub type List = (Vec<f32>, Vec<f32>);

/// Reads a number, or the name of one that JSON cannot write.
pub fn number(value: &Value) -> f64 {
    match value.as_str() {
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        Some(text) => panic!("`{text}` is not a number"),
        None => value.as_f64().unwrap(),
    }
}

pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// Reads a flat array as one row and an array of arrays as many rows; `{"ragged": ..}` is read as its content.
fn rows<T>(value: &Value, of_row: impl Fn(&Value) -> T) -> Vec<T> {
    let value = value.get("ragged").unwrap_or(value);
    let values = value.as_array().unwrap();
    if values.first().is_some_and(Value::is_array) { values.iter().map(of_row).collect() } else { vec![of_row(value)] }
}

/// Returns the lists of `inputs`, one per row or one per segment of a row. Documents whose `where` or `mask` is false
/// are left out.
pub fn lists(inputs: &Value) -> Vec<List> {
    let scores = rows(&inputs["scores"], numbers);
    let labels = rows(&inputs["labels"], numbers);
    let present = inputs.get("where").or_else(|| inputs.get("mask"));
    let present = present.map(|mask| rows(mask, |row| row.as_array().unwrap().clone()));
    let segments = inputs.get("segments").map(|segments| rows(segments, numbers));
    let mut lists = Vec::new();
    for row in 0..scores.len() {
        let mut of_row = BTreeMap::<u64, List>::new();
        if segments.is_none() {
            of_row.insert(0, List::default());
        }
        for at in 0..scores[row].len() {
            let segment = segments.as_ref().map_or(0, |segments| segments[row][at] as u64);
            let list = of_row.entry(segment).or_default();
            if present.as_ref().is_none_or(|mask| mask[row][at].as_bool().unwrap()) {
                list.0.push(scores[row][at] as f32);
                list.1.push(labels[row][at] as f32);
            }
        }
        lists.extend(of_row.into_values());
    }
    lists
}

/// Computes the measure of a list that the convention does not exclude.
pub fn value(measure: Measure, convention: &Convention, (scores, labels): &List) -> f64 {
    let ranking = Ranking { scores, labels, ids: None };
    measure.query(&ranking, convention).unwrap().expect("the convention excludes no query")
}

#[track_caller]
pub fn assert_close(found: f64, expected: f64, relative: f64, absolute: f64, what: &str) {
    let tolerance = absolute + relative * expected.abs();
    assert!((found - expected).abs() <= tolerance, "{what}: found {found}, expected {expected} within {tolerance}");
}

/// Counts what was compared and, by reason, what was not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub compared: usize,
    pub skipped: BTreeMap<String, usize>,
}

impl Tally {
    pub fn skip(&mut self, reason: &str) {
        *self.skipped.entry(reason.to_string()).or_default() += 1;
    }

    #[track_caller]
    pub fn assert(&self, compared: usize, skipped: &[(&str, usize)]) {
        let skipped = skipped.iter().map(|(reason, count)| (reason.to_string(), *count)).collect();
        assert_eq!(*self, Tally { compared, skipped });
    }
}
