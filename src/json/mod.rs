//! Decodes JSON values as types. An error is a [`Refusal`] with the key, the value found and the value expected, in the
//! words of a configuration file.

pub(crate) mod tagged;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::{iter, vec};

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::refusal::{Found, Refusal};
use crate::text::one_of;

#[cfg_attr(not(any(feature = "ranker", test)), allow(unused_imports))]
pub(crate) use serde_json::json;
pub use serde_json::{Value, to_value};
pub(crate) use tagged::tagged;

/// The fields of a JSON object, in the order in which they were written.
pub type Map = serde_json::Map<String, Value>;

/// The key whose value chooses the variant.
const KIND: &str = "kind";

/// The type name that marks a request for a tagged table. The deserializer of this crate recognizes this name, and
/// returns the variant that the kind names.
const TAGGED: &str = "table with a kind";

/// Decodes a JSON value as a type.
///
/// # Errors
/// Returns an error that names the key, the value found there, and the expected values.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    T::deserialize(Decoder(value))
}

/// Lets serde read a value. Where the value does not fit the type, serde describes both, and an error in a part of the
/// value names the part.
struct Decoder(Value);

impl Decoder {
    fn refused(&self, expected: impl Expected) -> Refusal {
        Refusal::invalid_type(unexpected(&self.0), &expected)
    }
}

impl<'de> Deserializer<'de> for Decoder {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), ..) => visitor.visit_u64(value),
                (_, Some(value), _) => visitor.visit_i64(value),
                (.., value) => visitor.visit_f64(value.unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => {
                let length = items.len();
                let mut items = Items { rest: items.into_iter(), next: 0 };
                let value = visitor.visit_seq(&mut items)?;
                match items.next == length {
                    true => Ok(value),
                    false => Err(Refusal::new("", list_of(length), list_of(items.next))),
                }
            }
            Value::Object(fields) => visitor.visit_map(Fields { rest: fields.into_iter(), field: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    /// Accepts nothing, or a table without fields, as the content of a variant.
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0.as_object().map(|fields| fields.keys().next()) {
            Some(Some(name)) => Err(Refusal::unknown_field(name, &[]).under(name)),
            Some(None) => visitor.visit_unit(),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Object(fields) => visitor.visit_map(Fields { rest: fields.into_iter(), field: None }),
            _ => Err(self.refused("a table")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Object(fields) if name == TAGGED => of_kind(fields, visitor),
            _ if name == TAGGED => self.deserialize_any(visitor),
            _ => self.deserialize_map(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::String(name) => {
                let decoded = visitor.visit_enum(name.as_str().into_deserializer());
                decoded.map_err(|refusal: Refusal| match refusal.unknown_name() {
                    Some(_) => refusal,
                    None => refusal.under(&name),
                })
            }
            Value::Object(fields) if fields.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(Fields { rest: fields.into_iter(), field: None }))
            }
            Value::Object(_) => Err(Refusal::described("", "a table with no or several keys", "one key")),
            _ => Err(self.refused("a name, or a table with one key")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit_struct seq tuple
        tuple_struct identifier ignored_any
    }
}

/// Decodes a table in which the field `kind` chooses the variant; see [`tagged!`].
fn of_kind<'de, V: Visitor<'de>>(mut fields: Map, visitor: V) -> Result<V::Value, Refusal> {
    let kind = fields.shift_remove(KIND).ok_or_else(|| Refusal::missing_field(KIND))?;
    let kind = String::deserialize(Decoder(kind)).map_err(|refusal| refusal.under(KIND))?;
    let variant = MapDeserializer::new(iter::once((kind, Decoder(Value::Object(fields)))));
    visitor.visit_enum(MapAccessDeserializer::new(variant)).map_err(|refusal| match refusal.unknown_name() {
        Some(_) if refusal.key.is_empty() => refusal.under(KIND),
        _ => refusal,
    })
}

impl IntoDeserializer<'_, Refusal> for Decoder {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The items of a list. An error in an item names the item's position.
struct Items {
    rest: vec::IntoIter<Value>,
    next: usize,
}

impl<'de> SeqAccess<'de> for Items {
    type Error = Refusal;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refusal> {
        let Some(item) = self.rest.next() else { return Ok(None) };
        let at = self.next;
        self.next += 1;
        seed.deserialize(Decoder(item)).map(Some).map_err(|refusal| refusal.under(&format!("[{at}]")))
    }
}

/// The fields of a table. An error in a field names the field's key.
struct Fields {
    rest: serde_json::map::IntoIter,
    /// The field whose key was read last and whose value is next.
    field: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Refusal;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refusal> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        let decoded = seed.deserialize(key.as_str().into_deserializer()).map(Some);
        let decoded = decoded.map_err(|refusal: Refusal| match refusal.unknown_name_of() {
            // The table is an enum, and the name is no key of it.
            Some(unknown) if unknown.what == "variant" => refusal,
            _ => refusal.under(&key),
        });
        self.field = Some((key, value));
        decoded
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refusal> {
        let (key, value) = self.field.take().expect("the key is read before its value");
        seed.deserialize(Decoder(value)).map_err(|refusal| refusal.under(&key))
    }
}

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
fn unexpected(value: &Value) -> Unexpected<'_> {
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
fn list_of(length: impl Display) -> String {
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

/// Returns the keys of a struct in the order of its fields, as listed by its derived implementation of `Deserialize`.
#[cfg(feature = "learners")]
pub fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    // Only the list of keys is wanted, and no value is made.
    let _ = T::deserialize(Keys(&mut keys));
    keys
}

/// Records the keys of the requested struct.
#[cfg(feature = "learners")]
struct Keys<'a>(&'a mut &'static [&'static str]);

#[cfg(feature = "learners")]
impl<'de> Deserializer<'de> for Keys<'_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refusal> {
        Err(Refusal::fault("", "holds no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        *self.0 = keys;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
