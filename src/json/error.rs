//! Errors for values that cannot be decoded, which serde reports with the words of a type.

use std::fmt::Display;

use serde::de::{Error, Expected, Unexpected};

use super::Value;
use crate::refusal::{Found, Refusal};
use crate::text::one_of;

impl Error for Refusal {
    fn custom<T: Display>(message: T) -> Self {
        Self::fault("", message)
    }

    fn invalid_type(found: Unexpected, expected: &dyn Expected) -> Self {
        let expected = in_words(&found, &expected.to_string());
        let found = match found {
            Unexpected::Bool(value) => Found::Value(value.to_string()),
            Unexpected::Unsigned(value) => Found::Value(value.to_string()),
            Unexpected::Signed(value) => Found::Value(value.to_string()),
            Unexpected::Float(value) => Found::Value(Value::from(value).to_string()),
            Unexpected::Str(text) => Found::Value(format!("{text:?}")),
            Unexpected::Unit | Unexpected::Option => Found::Described("nothing"),
            Unexpected::Seq => Found::Described("a list"),
            Unexpected::Map => Found::Described("a table"),
            Unexpected::UnitVariant => Found::Described("only a name"),
            other => Found::Value(other.to_string()),
        };
        Self { key: String::new(), found, expected }
    }

    fn invalid_value(found: Unexpected, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::new("", list_of(found), in_words(&Unexpected::Seq, &expected.to_string()))
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

/// Describes a value as serde does.
pub(super) fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(value), _) => Unexpected::Unsigned(value),
            (_, Some(value)) => Unexpected::Signed(value),
            _ => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

/// Describes a list of this length in words.
pub(super) fn list_of(length: impl Display) -> String {
    format!("a list of {length}")
}

/// Returns serde's description of a type in the words of a configuration file.
fn in_words(found: &Unexpected, expected: &str) -> String {
    match expected {
        "a boolean" => "true or false".to_string(),
        "f32" | "f64" => "a number".to_string(),
        "path string" => "a string".to_string(),
        "a sequence" => "a list".to_string(),
        "unit" => "only the name".to_string(),
        "newtype variant" | "tuple variant" | "struct variant" => "a table with one key".to_string(),
        _ => {
            let length = ["a tuple of size ", "an array of length "].iter().find_map(|of| expected.strip_prefix(of));
            length.map(list_of).or_else(|| whole_number(found, expected)).unwrap_or_else(|| expected.to_string())
        }
    }
}

/// Describes the numbers of an integer type, such as `u8`, with the bound that `found` exceeds.
fn whole_number(found: &Unexpected, integer: &str) -> Option<String> {
    let is_signed = integer.starts_with('i');
    let bits: u32 = match integer.strip_prefix(['i', 'u'])? {
        "size" => usize::BITS,
        bits => bits.parse().ok().filter(|bits| *bits <= 64)?,
    };
    let (least, most) = match is_signed {
        true => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    let found = match found {
        Unexpected::Unsigned(value) => i128::from(*value),
        Unexpected::Signed(value) => i128::from(*value),
        _ => 0,
    };
    Some(match is_signed {
        _ if found > most => format!("a whole number up to {most}"),
        true if found < least => format!("a whole number from {least}"),
        true => "a whole number".to_string(),
        false => "a whole number, 0 or above".to_string(),
    })
}
