//! Decodes values by serde. The deserializer compares each value with the requested type and tracks the path, so an
//! error is a structured [`Refusal`].

use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Number;

use super::access::{Entries, Items, Variant, list_of};
use super::tagged::{KIND, TAGGED};
use super::value::Value;
use crate::refusal::Refusal;

/// Decodes a JSON value as a type.
///
/// # Errors
/// Returns an error that names the key, the value found there, and the expected values.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    T::deserialize(value)
}

/// Returns the keys of a struct in the order of its fields, as listed by its derived implementation of `Deserialize`.
#[cfg(feature = "learners")]
pub(crate) fn fields<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    // Only the list of keys is wanted, and no value is made.
    let _ = T::deserialize(Fields(&mut fields));
    fields
}

/// Records the keys of the requested struct.
#[cfg(feature = "learners")]
struct Fields<'a>(&'a mut &'static [&'static str]);

#[cfg(feature = "learners")]
impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refusal> {
        Err(Refusal::fault("", "holds no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl Value {
    /// Decodes a whole number that must lie between `least` and `most`, the bounds of an integer type.
    fn whole<'de, V: Visitor<'de>>(self, least: i128, most: i128, visitor: V) -> Result<V::Value, Refusal> {
        let Value::Number(number) = &self else { return Err(self.refused(whole_numbers(least))) };
        match number.as_u64().map(i128::from).or(number.as_i64().map(i128::from)) {
            Some(whole) if (least..=most).contains(&whole) => visit_number(number, visitor),
            Some(whole) if whole > most => Err(self.refused(format!("a whole number up to {most}"))),
            Some(_) if least < 0 => Err(self.refused(format!("a whole number from {least}"))),
            _ => Err(self.refused(whole_numbers(least))),
        }
    }
}

fn whole_numbers(least: i128) -> &'static str {
    if least < 0 { "a whole number" } else { "a whole number, 0 or above" }
}

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Refusal> {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(value), ..) => visitor.visit_u64(value),
        (_, Some(value), _) => visitor.visit_i64(value),
        (.., value) => visitor.visit_f64(value.unwrap_or(f64::NAN)),
    }
}

/// Defines a method for each type of whole number.
macro_rules! whole_numbers {
    ($($method:ident: $number:ty),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
            self.whole(i128::from(<$number>::MIN), i128::from(<$number>::MAX), visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Value {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => visit_number(&number, visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => {
                let mut items = Items::new(items);
                let value = visitor.visit_seq(&mut items)?;
                items.end().map(|()| value)
            }
            Value::Object(fields) => visitor.visit_map(Entries::new(fields)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Value::Bool(value) => visitor.visit_bool(value),
            other => Err(other.refused("true or false")),
        }
    }

    whole_numbers! {
        deserialize_i8: i8, deserialize_i16: i16, deserialize_i32: i32, deserialize_i64: i64,
        deserialize_u8: u8, deserialize_u16: u16, deserialize_u32: u32, deserialize_u64: u64,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Value::Number(number) => visit_number(&number, visitor),
            other => Err(other.refused("a number")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Value::String(text) => visitor.visit_string(text),
            other => Err(other.refused("a string")),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Value::Array(_) => self.deserialize_any(visitor),
            other => Err(other.refused("a list")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Refusal> {
        match &self {
            Value::Array(items) if items.len() == length => self.deserialize_any(visitor),
            Value::Array(items) => Err(Refusal::new("", list_of(items.len()), list_of(length))),
            other => Err(other.refused(list_of(length))),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Value::Object(fields) => visitor.visit_map(Entries::new(fields)),
            other => Err(other.refused("a table")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        if name != TAGGED {
            return self.deserialize_map(visitor);
        }
        match self {
            Value::Object(mut fields) => {
                if let Some(at) = fields.get_index_of(KIND) {
                    fields.move_index(at, 0);
                }
                let decoded = visitor.visit_map(Entries::new(fields));
                // A variant is looked up after its name was read.
                decoded.map_err(|refusal| match refusal.unknown_name() {
                    Some(_) if refusal.key.is_empty() => refusal.under(KIND),
                    _ => refusal,
                })
            }
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Value::Null => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self {
            Value::String(name) => visitor.visit_enum(Variant { name, content: None }),
            Value::Object(fields) if fields.len() == 1 => {
                let (name, content) = fields.into_iter().next().expect("there is one");
                visitor.visit_enum(Variant { name, content: Some(content) })
            }
            Value::Object(_) => Err(Refusal::described("", "a table with no or several keys", "one key")),
            other => Err(other.refused("a name, or a table with one key")),
        }
    }

    forward_to_deserialize_any! { i128 u128 char bytes byte_buf unit unit_struct identifier ignored_any }
}

impl IntoDeserializer<'_, Refusal> for Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::json::json;

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Everything {
        real: f64,
        count: Option<u64>,
        byte: u8,
        signed: i8,
        flag: bool,
        text: String,
        shape: Option<Shape>,
        list: Vec<Shape>,
        pair: (i64, String),
        map: BTreeMap<u32, bool>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only what cannot be decoded is looked at")]
    enum Shape {
        Point,
        Circle(f64),
        Box { width: f64 },
        Of(Side),
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Side {
        Left,
    }

    #[test]
    fn errors_have_the_key_what_was_found_and_what_was_expected() {
        for (value, expected) in [
            (json!([]), "found a list, expected a table"),
            (json!({"real": "x"}), "real: found \"x\", expected a number"),
            (json!({"count": -1}), "count: found -1, expected a whole number, 0 or above"),
            (json!({"count": 1.5}), "count: found 1.5, expected a whole number, 0 or above"),
            (json!({"count": "3"}), "count: found \"3\", expected a whole number, 0 or above"),
            (json!({"count": {}}), "count: found a table, expected a whole number, 0 or above"),
            (json!({"byte": 256}), "byte: found 256, expected a whole number up to 255"),
            (json!({"signed": -129}), "signed: found -129, expected a whole number from -128"),
            (json!({"signed": null}), "signed: found nothing, expected a whole number"),
            (json!({"flag": 1}), "flag: found 1, expected true or false"),
            (json!({"text": true}), "text: found true, expected a string"),
            (json!({"shape": 3}), "shape: found 3, expected a name, or a table with one key"),
            (json!({"shape": {}}), "shape: found a table with no or several keys, expected one key"),
            (json!({"shape": "circle"}), "shape.circle: found a name alone, expected a table with one key"),
            (json!({"shape": {"point": 1}}), "shape.point: found 1, expected the name alone"),
            (json!({"shape": {"box": {"width": []}}}), "shape.box.width: found a list, expected a number"),
            (json!({"shape": {"box": {}}}), "shape.box: missing field `width`"),
            (json!({"list": null}), "list: found nothing, expected a list"),
            (json!({"list": ["point", {"circle": "r"}]}), "list[1].circle: found \"r\", expected a number"),
            (json!({"shape": {"of": "lft"}}), "shape.of: unknown variant `lft`, expected `left`; did you mean `left`?"),
            (json!({"pair": [1]}), "pair: found a list of 1, expected a list of 2"),
            (json!({"map": {"x": true}}), "map.x: found \"x\", expected a whole number"),
            (json!({"map": {"7": 1}}), "map.7: found 1, expected true or false"),
        ] {
            let refusal = from_value::<Everything>(value).unwrap_err();
            assert_eq!(refusal.with_key(), expected);
        }
    }

    #[test]
    fn valid_names_are_data() {
        let refusal = from_value::<Everything>(json!({"shape": "circel"})).unwrap_err();
        let unknown = refusal.unknown_name().unwrap();
        assert_eq!((unknown.what, unknown.name.as_str()), ("variant", "circel"));
        assert_eq!(unknown.known, ["point", "circle", "box", "of"]);
        assert_eq!(unknown.nearest().as_deref(), Some("circle"));
        let refusal = from_value::<Everything>(json!({"flga": true})).unwrap_err();
        assert_eq!((refusal.key.as_str(), refusal.unknown_name().unwrap().known.len()), ("flga", 10));
    }
}
