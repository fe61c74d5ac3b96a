//! Scorers: burn modules from documents to scores.

mod linear;

pub use linear::{LinearScorer, LinearScorerConfig};

use burn::module::Module;
use burn::tensor::{Bool, Tensor};

/// Any scorer of this crate.
#[derive(Module, Debug)]
pub enum Scorer {
    /// `s = w . x + b`
    Linear(LinearScorer),
}

impl Scorer {
    /// Scores of a batch.
    ///
    /// # Shapes
    /// - `features`: `[batch, documents, features]`
    /// - `mask`: `[batch, documents]`, true for a document
    /// - output: `[batch, documents]`; padded places hold a finite value of no meaning
    pub fn forward(&self, features: Tensor<3>, mask: Tensor<2, Bool>) -> Tensor<2> {
        let _ = mask;
        match self {
            Scorer::Linear(scorer) => scorer.forward(features),
        }
    }
}
