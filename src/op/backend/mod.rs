//! The interface of a backend ([`Primitives`]) and its implementations on burn's backends.

mod autodiff;
#[cfg(feature = "_cube")]
mod cube;
// Unit tests run on Flex with any features.
#[cfg(any(feature = "flex", test))]
mod flex;
mod listed;
mod primitives;
#[cfg(test)]
mod tests;

#[cfg(feature = "flex")]
pub(crate) use flex::{Stored, tensor};
pub use listed::{Unlisted, is_listed, unlisted};
pub use primitives::forward;
