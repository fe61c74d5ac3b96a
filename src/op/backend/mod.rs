//! The primitives on burn's backends: what each is asked for ([`Pairwise`]), and how each does it.

mod autodiff;
#[cfg(feature = "_cube")]
mod cube;
// Unit tests run on Flex, whatever the features.
#[cfg(any(feature = "flex", test))]
mod flex;
#[cfg(feature = "_cube")]
mod fusion;
mod listed;
mod pair_weight;
mod pairwise;
#[cfg(test)]
mod tests;

#[cfg(feature = "flex")]
pub(crate) use flex::{Stored, tensor};
pub use listed::{Unlisted, averages_exact_noise, is_listed, unlisted};
pub use pairwise::Pairwise;
