//! Defines `RankingModel`, which combines a scorer with its loss.

use std::sync::Arc;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{FloatDType, Tensor};

use crate::data::RankingBatch;
use crate::loss::{Lists, RankingLoss};
use crate::scorer::{Scorer, noise_seeds};

/// A scorer and the loss that trains it.
#[derive(Module, Debug)]
pub(super) struct RankingModel {
    /// The scorer that is trained.
    pub(super) scorer: Scorer,
    #[module(skip)]
    loss: Arc<dyn RankingLoss>,
    /// The number type in which the layers of the scorer compute during training, or `None` for the type of the
    /// features.
    #[module(skip)]
    layers: Option<FloatDType>,
}

impl RankingModel {
    /// Combines a scorer with the loss that trains it.
    pub(super) fn new(scorer: Scorer, loss: Arc<dyn RankingLoss>) -> Self {
        Self { scorer, loss, layers: None }
    }

    /// Returns the same model with layers that compute in the given type in training.
    pub(super) fn with_layers_in(self, layers: Option<FloatDType>) -> Self {
        Self { layers, ..self }
    }

    /// Returns the same scorer with another loss, for example one with a different temperature.
    pub(super) fn with_loss(self, loss: Arc<dyn RankingLoss>) -> Self {
        Self { loss, ..self }
    }

    pub(super) fn loss(&self) -> &dyn RankingLoss {
        &*self.loss
    }

    /// Returns the weighted sum of the losses in one part of a step, `[1]`, detached from the autodiff graph. Also
    /// returns the gradients of this sum, multiplied by `scale / queries`, where `queries` counts all queries of the
    /// step. Dropout masks are drawn from `seed`, and the noise on the features from `noise`. The noise of a query does
    /// not depend on the other queries of its batch.
    pub(super) fn part(
        &self,
        batch: RankingBatch,
        [seed, noise]: [u64; 2],
        queries: usize,
        scale: f64,
    ) -> (Tensor<1>, GradientsParams) {
        let RankingBatch { features, labels, mask, document_weights, query_weights, queries: numbers, .. } = batch;
        let noise = noise_seeds(noise, numbers);
        let scores = self.scorer.forward_training_clean(features, mask.clone(), seed, &noise, self.layers);
        let mut lists = Lists::padded(scores, labels, mask);
        if let Some(weights) = document_weights {
            lists = lists.with_document_weights(weights);
        }
        let mut losses = lists.losses(&*self.loss);
        if let Some(weights) = query_weights {
            let weights = weights.cast(losses.dtype());
            losses = losses * weights;
        }
        let sum = losses.sum();
        let grads = GradientsParams::from_grads((sum.clone() / queries as f64 * scale).backward(), self);
        (sum.without_autodiff(), grads)
    }
}
