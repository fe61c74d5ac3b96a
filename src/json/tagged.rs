//! Tables in which the key `kind` chooses a variant.
//!
//! With serde's own attribute `tag = "kind"`, a table is copied before it is decoded, and errors no longer name the
//! key. [`tagged!`] instead removes `kind` from the table, and decodes the other fields as the variant that `kind`
//! names.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};

use super::value::{Map, Value};
use crate::refusal::Refusal;

/// The key whose value chooses the variant.
pub(super) const KIND: &str = "kind";

/// The type name that marks a request for a tagged table. The deserializer of [`Value`] recognizes this name, and
/// returns the kind first.
pub(super) const TAGGED: &str = "table with a kind";

/// An enum that is written as a table with a `kind`; see [`tagged!`].
pub trait Tagged: Sized {
    /// Decodes the enum in serde's derived form, which is the name of a variant with its content.
    fn from_variant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// Defines an enum that is written as a table with a `kind` and the fields of the variant. The macro implements
/// [`Serialize`](serde::Serialize) and [`Deserialize`]. The quoted name is the name of the enum. No field may be called
/// `kind`.
#[doc(hidden)]
#[macro_export]
macro_rules! __tagged {
    ($name:literal $(#[$attribute:meta])* pub enum $type:ident { $($variants:tt)* }) => {
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(tag = "kind")]
        $(#[$attribute])*
        pub enum $type { $($variants)* }

        const _: () = {
            #[derive(serde::Deserialize)]
            #[serde(remote = $name)]
            $(#[$attribute])*
            enum Variants { $($variants)* }

            impl $crate::workbench::json::Tagged for $type {
                fn from_variant<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    Variants::deserialize(deserializer)
                }
            }
        };

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::workbench::json::deserialize_tagged(deserializer)
            }
        }
    };
}
pub(crate) use __tagged as tagged;

/// Decodes a table with a `kind`.
pub fn deserialize_tagged<'de, T: Tagged, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_struct(TAGGED, &[KIND], Table(PhantomData))
}

struct Table<T>(PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for Table<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a table with a kind, as in { kind = \"...\" }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let expected = format!("a table with a kind, as in {{ kind = {text:?} }}");
        Err(E::invalid_type(Unexpected::Str(text), &expected.as_str()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<T, A::Error> {
        let mut before = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if key != KIND {
                before.insert(key, fields.next_value()?);
                continue;
            }
            let kind: String = fields.next_value()?;
            if before.is_empty() {
                return T::from_variant(Variant { kind, rest: MapAccessDeserializer::new(fields) });
            }
            // Another format than ours, in which the kind is not the first.
            while let Some((key, value)) = fields.next_entry()? {
                before.insert(key, value);
            }
            let decoded = T::from_variant(Variant { kind, rest: Value::Object(before) });
            return decoded.map_err(|refusal: Refusal| A::Error::custom(refusal.with_key()));
        }
        Err(A::Error::missing_field(KIND))
    }
}

/// A variant given by its name, with a table of its fields.
struct Variant<D> {
    kind: String,
    rest: D,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Variant<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, D: Deserializer<'de>> EnumAccess<'de> for Variant<D> {
    type Error = D::Error;
    type Variant = Rest<D>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Rest<D>), D::Error> {
        Ok((seed.deserialize(self.kind.into_deserializer())?, Rest(self.rest)))
    }
}

/// The content of a variant.
struct Rest<D>(D);

impl<'de, D: Deserializer<'de>> VariantAccess<'de> for Rest<D> {
    type Error = D::Error;

    fn unit_variant(self) -> Result<(), D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        Nothing::deserialize(self.0).map(|Nothing {}| ())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, D::Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, D::Error> {
        Err(D::Error::custom("a table with a kind holds fields by name"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use crate::json::{Value, from_value, json, to_value};

    super::tagged! {
        "Figure"
        /// One of each form.
        #[serde(rename_all = "snake_case", deny_unknown_fields)]
        pub enum Figure {
            /// A variant without content.
            Point,
            /// A variant with fields.
            Circle {
                /// Half of the circle's width.
                radius: f64,
                /// The colors of the circle.
                #[serde(default)]
                colors: Vec<String>,
            },
            /// A variant with a separate type.
            Line(Line),
        }
    }

    /// A line that starts at 0.
    #[derive(Debug, Clone, PartialEq, serde::Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Line {
        to: usize,
    }

    #[derive(Debug, Deserialize)]
    struct Drawing {
        figure: Figure,
    }

    fn refused(figure: Value) -> String {
        from_value::<Drawing>(json!({"figure": figure})).unwrap_err().with_key()
    }

    #[test]
    fn tables_come_back_wherever_the_kind_stands() {
        let figures =
            [Figure::Point, Figure::Circle { radius: 0.5, colors: vec!["red".into()] }, Figure::Line(Line { to: 3 })];
        for figure in figures {
            let value = to_value(&figure).unwrap();
            assert_eq!(value.as_object().unwrap().get_index(0).unwrap().0, "kind");
            assert_eq!(from_value::<Figure>(value.clone()).unwrap(), figure);
            let mut last = value;
            last.as_object_mut().unwrap().reverse();
            assert_eq!(serde_json::from_str::<Figure>(&last.to_string()).unwrap(), figure);
            assert_eq!(from_value::<Drawing>(json!({"figure": last})).unwrap().figure, figure);
        }
    }

    #[test]
    fn errors_have_the_key_in_the_table() {
        for (figure, expected) in [
            (json!({"radius": 1}), "figure: missing field `kind`"),
            (json!({"kind": 3}), "figure.kind: found 3, expected a string"),
            (
                json!({"kind": "cirle"}),
                "figure.kind: unknown variant `cirle`, expected one of `point`, `circle`, `line`; did you mean `circle`?",
            ),
            (json!({"kind": "circle"}), "figure: missing field `radius`"),
            (json!({"radius": "r", "kind": "circle"}), "figure.radius: found \"r\", expected a number"),
            (
                json!({"kind": "circle", "radius": 1, "colors": ["red", 2]}),
                "figure.colors[1]: found 2, expected a string",
            ),
            (json!({"kind": "point", "x": 1}), "figure.x: unknown field `x`, there are no fields"),
            (json!({"kind": "line", "too": 1}), "figure.too: unknown field `too`, expected `to`; did you mean `to`?"),
            (json!({"kind": "line", "to": -1}), "figure.to: found -1, expected a whole number, 0 or above"),
            (json!("point"), "figure: found \"point\", expected a table with a kind, as in { kind = \"point\" }"),
            (json!(3), "figure: found 3, expected a table with a kind, as in { kind = \"...\" }"),
        ] {
            assert_eq!(refused(figure), expected);
        }
        let elsewhere = serde_json::from_str::<Figure>(r#"{"radius": "r", "kind": "circle"}"#).unwrap_err().to_string();
        assert!(elsewhere.starts_with("radius: found \"r\", expected a number"), "{elsewhere}");
    }
}
