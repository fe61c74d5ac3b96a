//! A trained ranker as one saved artefact.
//!
//! [`Model`] turns normalised features into scores; its [`Parts`] are what is saved of it.

mod file;
mod model;
mod parts;
mod tree_ensemble;

pub use file::{FORMAT, FileError};
pub use model::Model;
pub use parts::{Array, Parts, PartsError, Values};
pub use tree_ensemble::{LEAF, Node, TreeArrays, TreeEnsemble, TreeError};
