//! A guide in six pages.

/// From a LETOR file to a ranker.
#[doc = include_str!("../docs/guide/tutorial.md")]
pub mod tutorial {}

/// Short answers to common tasks.
#[doc = include_str!("../docs/guide/cookbook.md")]
pub mod cookbook {}

/// The meaning of a measure's value.
#[doc = include_str!("../docs/guide/conventions.md")]
pub mod conventions {}

/// What the papers claim, checked on data at hand.
#[doc = include_str!("../docs/guide/studies.md")]
pub mod studies {}

/// Learning from clicks without position bias.
#[doc = include_str!("../docs/guide/clicks.md")]
pub mod clicks {}

/// Text and tables.
#[doc = include_str!("../docs/guide/data.md")]
pub mod data {}
