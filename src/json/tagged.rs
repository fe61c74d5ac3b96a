//! Tables in which the key `kind` chooses a variant.
//!
//! With serde's own attribute `tag = "kind"`, a table is copied before it is decoded, and errors no longer name the
//! key. [`tagged!`] instead removes `kind` from the table, and decodes the other fields as the variant that `kind`
//! names.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{EnumAccessDeserializer, MapAccessDeserializer};
use serde::de::{Deserialize, Deserializer, EnumAccess, Error, MapAccess, Unexpected, Visitor};

use super::{Decoder, KIND, Map, TAGGED};

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

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<T, A::Error> {
        T::from_variant(EnumAccessDeserializer::new(variant))
    }

    /// Reads a table from another deserializer, in which the kind may be anywhere.
    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        let fields = Map::deserialize(MapAccessDeserializer::new(fields))?;
        deserialize_tagged(Decoder(fields.into())).map_err(|refusal| A::Error::custom(refusal.with_key()))
    }
}
