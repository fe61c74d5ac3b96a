//! The guide, as in the book.

/// From a LETOR file to a ranker.
#[doc = include_str!("../docs/guide/tutorial.md")]
pub mod tutorial {}

/// From an empty project to a model of your own that is trained on NDCG.
#[doc = include_str!("../docs/guide/model.md")]
pub mod model {}

/// The same ranker on other hardware.
#[doc = include_str!("../docs/guide/hardware.md")]
pub mod hardware {}

/// Short answers to common tasks.
#[doc = include_str!("../docs/guide/cookbook.md")]
pub mod cookbook {}

/// The meaning of a measure's value.
#[doc = include_str!("../docs/guide/conventions.md")]
pub mod conventions {}

/// The folder of a run, and runs in scripts.
#[doc = include_str!("../docs/guide/runs.md")]
pub mod runs {}

/// Tests between systems on the same queries.
#[doc = include_str!("../docs/guide/compare.md")]
pub mod compare {}

/// What the papers claim, checked on data at hand.
#[doc = include_str!("../docs/guide/studies.md")]
pub mod studies {}

/// Learning from clicks without position bias.
#[doc = include_str!("../docs/guide/clicks.md")]
pub mod clicks {}

/// Text and tables.
#[doc = include_str!("../docs/guide/data.md")]
pub mod data {}

/// Fits of a scheduler, and one fit in several processes.
#[doc = include_str!("../docs/guide/machines.md")]
pub mod machines {}

/// A recommender over the whole catalogue.
#[doc = include_str!("../docs/guide/recommender.md")]
pub mod recommender {}
