//! `Value` is any JSON value, and `Map` holds the fields of an object in order.

use std::fmt;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::io;
use std::ops::{Deref, DerefMut, Index, IndexMut};

use indexmap::IndexMap;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Error, Number};

/// The fields of an object in order. Two maps with the same fields are equal, regardless of the order of the fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map(Fields);

type Fields = IndexMap<String, Value, BuildHasherDefault<DefaultHasher>>;

/// Any JSON value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// An object.
    Object(Map),
}

static NULL: Value = Value::Null;

impl Map {
    /// Creates an object without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether the object has no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Deref for Map {
    type Target = IndexMap<String, Value, BuildHasherDefault<DefaultHasher>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Map {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl FromIterator<(String, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(fields: I) -> Self {
        Self(fields.into_iter().collect())
    }
}

impl Extend<(String, Value)> for Map {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, fields: I) {
        self.0.extend(fields);
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = indexmap::map::IntoIter<String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a String, &'a Value);
    type IntoIter = indexmap::map::Iter<'a, String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyFields;
        impl<'de> Visitor<'de> for AnyFields {
            type Value = Map;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map, A::Error> {
                let mut fields = Map::new();
                while let Some((key, value)) = entries.next_entry()? {
                    fields.insert(key, value);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(AnyFields)
    }
}

impl Value {
    /// Returns whether the value is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns whether the value is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Value::Object(_))
    }

    /// Returns the value if it is a Boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the value if it is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    /// Returns the value if it is a non-negative whole number.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Value::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// Returns the text if the value is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items if the value is a list.
    pub fn as_array(&self) -> Option<&Vec<Value>> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the mutable items if the value is a list.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the fields if the value is an object.
    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Value::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// Returns the mutable fields if the value is an object.
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        match self {
            Value::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// Returns a field if the value is an object that has this field.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// Returns a mutable field if the value is an object that has this field.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.as_object_mut()?.get_mut(key)
    }
}

/// Converts a value to JSON.
///
/// # Errors
/// Returns an error if JSON cannot hold the value, such as a map whose keys are not text.
pub fn to_value(value: impl Serialize) -> Result<Value, Error> {
    /// Writes an `f32` as the `f64` of the same value.
    struct Widened;
    impl Formatter for Widened {
        fn write_f32<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
            CompactFormatter.write_f64(writer, f64::from(value))
        }
    }
    let mut text = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, Widened))?;
    serde_json::from_slice(&text)
}

/// Prints compact JSON, or indented JSON with `{:#}`.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let text = if formatter.alternate() { serde_json::to_string_pretty(self) } else { serde_json::to_string(self) };
        formatter.write_str(&text.map_err(|_| fmt::Error)?)
    }
}

/// Returns a field, or null if there is none.
impl Index<&str> for Value {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&NULL)
    }
}

/// Returns a mutable field. A missing field is first added as null.
///
/// # Panics
/// Panics if the value is neither an object nor null.
impl IndexMut<&str> for Value {
    fn index_mut(&mut self, key: &str) -> &mut Value {
        if self.is_null() {
            *self = Value::Object(Map::new());
        }
        let fields = self.as_object_mut().expect("only objects have fields");
        fields.entry(key.to_string()).or_default()
    }
}

/// Returns an item of a list, or null if there is none.
impl Index<usize> for Value {
    type Output = Value;

    fn index(&self, index: usize) -> &Value {
        self.as_array().and_then(|items| items.get(index)).unwrap_or(&NULL)
    }
}

/// Returns a mutable item of a list.
///
/// # Panics
/// Panics if the list has no such item.
impl IndexMut<usize> for Value {
    fn index_mut(&mut self, index: usize) -> &mut Value {
        &mut self.as_array_mut().expect("only lists have items")[index]
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => number.serialize(serializer),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(items) => serializer.collect_seq(items),
            Value::Object(fields) => serializer.collect_map(fields),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

/// Accepts any value that a format can hold.
struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((key, value)) = entries.next_entry()? {
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

macro_rules! from_whole_numbers {
    ($($number:ty),+) => {
        $(impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Value::Number(number.into())
            }
        })+
    };
}

from_whole_numbers!(i32, i64, u8, u16, u32, u64, usize);

/// Converts a number to JSON; a number that is not finite becomes null.
impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Number::from_f64(number).map_or(Value::Null, Value::Number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_string())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}

impl From<Map> for Value {
    fn from(fields: Map) -> Self {
        Value::Object(fields)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}

/// Fields keep serde_json's order, which is alphabetical unless another crate in the build enables its feature
/// `preserve_order`.
impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(value),
            serde_json::Value::Number(number) => Value::Number(number),
            serde_json::Value::String(text) => Value::String(text),
            serde_json::Value::Array(items) => items.into(),
            serde_json::Value::Object(fields) => {
                Value::Object(fields.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::json::{from_value, json};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    struct Everything {
        zeta: f32,
        alpha: Option<u64>,
        shape: Shape,
        list: Vec<Shape>,
        pair: (i64, String),
        tagged: Tagged,
        map: BTreeMap<u32, bool>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Point,
        Circle(f64),
        Box { width: f64, height: f64 },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", tag = "kind")]
    enum Tagged {
        Some { b: u8, a: u8 },
    }

    fn everything() -> Everything {
        Everything {
            zeta: 0.1,
            alpha: None,
            shape: Shape::Box { width: 1.0, height: 0.1 + 0.2 },
            list: vec![Shape::Point, Shape::Circle(-0.0)],
            pair: (i64::MIN, "\"\u{1}".into()),
            tagged: Tagged::Some { b: 1, a: 2 },
            map: BTreeMap::from([(7, true)]),
        }
    }

    #[test]
    fn fields_keep_their_order_and_values_come_back() {
        let value = to_value(everything()).unwrap();
        let text = value.to_string();
        assert_eq!(
            text,
            "{\"zeta\":0.10000000149011612,\"alpha\":null,\"shape\":{\"box\":{\"width\":1.0,\
             \"height\":0.30000000000000004}},\"list\":[\"point\",{\"circle\":-0.0}],\
             \"pair\":[-9223372036854775808,\"\\\"\\u0001\"],\"tagged\":{\"kind\":\"some\",\"b\":1,\"a\":2},\
             \"map\":{\"7\":true}}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(from_value::<Everything>(value).unwrap(), everything());
    }

    #[test]
    fn values_are_those_of_serde_json() {
        let ours = to_value(everything()).unwrap();
        assert_eq!(ours, Value::from(serde_json::to_value(everything()).unwrap()));
        let not_finite = to_value([f64::NAN, f64::INFINITY]).unwrap();
        assert_eq!(not_finite, json!([null, null]));
        assert!(to_value(BTreeMap::from([(vec![1], 1)])).is_err());
    }
}
