//! `Lists`: the clean form of a batch, in which no padded value can be seen.

use burn::tensor::{Bool, Tensor};

/// Scores, labels and mask of a batch with every padded score and label replaced by 0.
#[derive(Debug, Clone)]
pub struct Lists {
    /// `[B, N]`, 0 at padded places; carries the gradient.
    pub scores: Tensor<2>,
    /// `[B, N]`, 0 at padded places; carries no gradient.
    pub labels: Tensor<2>,
    /// `[B, N]`, 1 for a document and 0 for padding, in the type of the scores.
    pub mask: Tensor<2>,
    /// `[B, N]`, true at padded places.
    pub padded: Tensor<2, Bool>,
}

impl Lists {
    /// Cleans a batch.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    pub fn new(scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>) -> Self {
        let padded = mask.clone().bool_not();
        let dtype = scores.dtype();
        Self {
            scores: scores.mask_fill(padded.clone(), 0.0),
            labels: labels.detach().cast(dtype).mask_fill(padded.clone(), 0.0),
            mask: mask.float().cast(dtype),
            padded,
        }
    }

    /// True for the queries with two documents of different labels: `[B]`.
    pub fn has_two_labels(&self) -> Tensor<1, Bool> {
        let highest = self.labels.clone().mask_fill(self.padded.clone(), f32::MIN).max_dim(1);
        let lowest = self.labels.clone().mask_fill(self.padded.clone(), f32::MAX).min_dim(1);
        highest.greater(lowest).squeeze_dim(1)
    }
}
