//! Lets serde read the parts of a JSON value: items, fields, keys and variants. If a part cannot be decoded, its
//! position or key is added to the path in the error.

use std::vec;

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::value::{Map, Value};
use crate::refusal::Refusal;

/// The items of a list. An error in an item names the item's position.
pub(super) struct Items {
    rest: vec::IntoIter<Value>,
    next: usize,
}

impl Items {
    pub(super) fn new(items: Vec<Value>) -> Self {
        Self { rest: items.into_iter(), next: 0 }
    }

    /// Rejects a list if some items have not been read.
    pub(super) fn end(&self) -> Result<(), Refusal> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(Refusal::new("", list_of(self.next + more), list_of(self.next))),
        }
    }
}

/// Describes a list of this length in words.
pub(super) fn list_of(length: usize) -> String {
    format!("a list of {length}")
}

impl<'de> SeqAccess<'de> for Items {
    type Error = Refusal;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refusal> {
        let Some(item) = self.rest.next() else { return Ok(None) };
        let at = self.next;
        self.next += 1;
        seed.deserialize(item).map(Some).map_err(|refusal| refusal.under(&format!("[{at}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The fields of a table. An error in a field names the field's key.
pub(super) struct Entries {
    rest: indexmap::map::IntoIter<String, Value>,
    /// The field whose key was read last and whose value is next.
    field: Option<(String, Value)>,
}

impl Entries {
    pub(super) fn new(fields: Map) -> Self {
        Self { rest: fields.into_iter(), field: None }
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Refusal;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refusal> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        let decoded = seed.deserialize(Key(&key)).map(Some).map_err(|refusal| refusal.under(&key));
        self.field = Some((key, value));
        decoded
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refusal> {
        let (key, value) = self.field.take().expect("the key is read before its value");
        seed.deserialize(value).map_err(|refusal| refusal.under(&key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The key of a field: text, or a whole number written as text.
struct Key<'a>(&'a str);

/// Defines a method for each type of whole number.
macro_rules! numbers_in_a_key {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
            match (self.0.parse(), self.0.parse()) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => Err(Refusal::new("", format!("{:?}", self.0), "a whole number")),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_str(self.0)
    }

    numbers_in_a_key! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_some(self)
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
        visitor.visit_enum(Variant { name: self.0.to_string(), content: None })
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// A variant of an enum, given by its name, or by its name with its content.
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) content: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Refusal;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Refusal> {
        let name: StringDeserializer<Refusal> = self.name.clone().into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl Variant {
    /// Decodes the content of the variant.
    fn content<T>(self, decode: impl FnOnce(Value) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let decoded = match self.content {
            Some(content) => decode(content),
            None => Err(Refusal::described("", "a name alone", "a table with one key")),
        };
        decoded.map_err(|refusal| refusal.under(&self.name))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = Refusal;

    fn unit_variant(self) -> Result<(), Refusal> {
        match &self.content {
            None | Some(Value::Null) => Ok(()),
            Some(content) => Err(content.refused("the name alone").under(&self.name)),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Refusal> {
        self.content(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Refusal> {
        self.content(|content| content.deserialize_tuple(length, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Refusal> {
        self.content(|content| content.deserialize_map(visitor))
    }
}
