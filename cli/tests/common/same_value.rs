//! Compares values that a page gives with values of the sources.

use serde_json::Value;

/// Returns whether a value of a page equals a value of the sources. Tables of a page hold only the keys that
/// distinguish them.
pub fn same_value(said: &Value, value: &Value) -> bool {
    match (said, value) {
        (Value::Number(said), Value::Number(value)) => said.as_f64() == value.as_f64(),
        (Value::Array(said), Value::Array(value)) => {
            said.len() == value.len() && said.iter().zip(value).all(|(said, value)| same_value(said, value))
        }
        (Value::Object(said), Value::Object(value)) => {
            said.iter().all(|(key, said)| value.get(key).is_some_and(|value| same_value(said, value)))
        }
        _ => said == value,
    }
}
