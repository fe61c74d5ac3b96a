//! Decodes JSON values, which keep the order of their keys.
//!
//! The files and tables of this crate keep their keys in the order of the fields. The crate serde_json keeps the order
//! only with its feature `preserve_order`. This feature would change the maps of every crate in the build. The decoder
//! keeps track of the key. Its structured error ([`Refusal`](crate::refusal::Refusal)) has the key, the value found and
//! the value expected.

mod access;
mod decode;
mod error;
mod notation;
pub(crate) mod tagged;
mod value;

#[cfg(feature = "learners")]
pub(crate) use decode::fields;
pub use decode::from_value;
#[cfg_attr(not(any(feature = "ranker", test)), allow(unused_imports))]
pub(crate) use notation::json;
pub(crate) use tagged::tagged;
pub use value::{Map, Value, to_value};
