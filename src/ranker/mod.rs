//! A trained ranker as one saved artefact.

use crate::scorer::Scorer;

/// A fitted model: what turns normalised features into scores.
#[derive(Debug, Clone)]
pub enum Model {
    /// A burn module.
    Scorer(Scorer),
}
