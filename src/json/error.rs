//! Errors for values that cannot be decoded, reported by the deserializer or, through serde, by the decoded types.

use std::fmt::Display;

use serde::de::{Error, Expected, Unexpected};

use super::value::Value;
use crate::refusal::{Found, Refusal};
use crate::text::one_of;

impl Value {
    fn found(&self) -> Found {
        match self {
            Value::Null => Found::Described("nothing"),
            Value::Bool(_) | Value::Number(_) => Found::Value(self.to_string()),
            Value::String(text) => Found::Value(format!("{text:?}")),
            Value::Array(_) => Found::Described("a list"),
            Value::Object(_) => Found::Described("a table"),
        }
    }

    /// Returns an error that rejects this value; `expected` describes the allowed values.
    pub(super) fn refused(&self, expected: impl Into<String>) -> Refusal {
        Refusal { key: String::new(), found: self.found(), expected: expected.into() }
    }
}

/// The errors that types report through serde while they are decoded.
impl Error for Refusal {
    fn custom<T: Display>(message: T) -> Self {
        Self::fault("", message)
    }

    fn invalid_type(found: Unexpected, expected: &dyn Expected) -> Self {
        Self { key: String::new(), found: found_by_serde(found), expected: expected.to_string() }
    }

    fn invalid_value(found: Unexpected, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self::unknown("", "field", name, known.iter().copied(), one_of(known))
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        Self::unknown("", "variant", name, known.iter().copied(), one_of(known))
    }

    fn missing_field(name: &'static str) -> Self {
        Self { key: String::new(), found: Found::Missing(name.to_string()), expected: String::new() }
    }
}

fn found_by_serde(found: Unexpected) -> Found {
    match found {
        Unexpected::Bool(value) => Found::Value(value.to_string()),
        Unexpected::Unsigned(value) => Found::Value(value.to_string()),
        Unexpected::Signed(value) => Found::Value(value.to_string()),
        Unexpected::Float(value) => Found::Value(value.to_string()),
        Unexpected::Str(text) => Found::Value(format!("{text:?}")),
        Unexpected::Unit | Unexpected::Option => Found::Described("nothing"),
        Unexpected::Seq => Found::Described("a list"),
        Unexpected::Map => Found::Described("a table"),
        other => Found::Value(other.to_string()),
    }
}
