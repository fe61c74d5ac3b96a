//! A trained ranker as one saved artefact.

mod tree_ensemble;

pub use tree_ensemble::{LEAF, Node, TreeArrays, TreeEnsemble, TreeError};

use crate::scorer::Scorer;

/// A fitted model: what turns normalised features into scores.
#[derive(Debug, Clone)]
pub enum Model {
    /// A burn module.
    Scorer(Scorer),
    /// A sum of regression trees.
    Trees(TreeEnsemble),
}
