//! The settings of a training.

use burn_rank::learner::gradient::ClipConfig;
use burn_rank::refusal::Refusal;
use serde::{Deserialize, Serialize};

use crate::scorer::Kind;

/// Adapters of low rank for the projections of queries and values (Hu et al., 2021).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoraConfig {
    /// The rank.
    pub rank: usize,
    /// The factor of what the adapters add is `alpha / rank`.
    pub alpha: f64,
}

/// How a text model is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct LearnerConfig {
    /// How often each list is used.
    pub epochs: usize,
    /// The rate of AdamW at the end of the warm-up. It then falls linearly to 0.
    pub learning_rate: f64,
    /// The documents of a step: as many lists as have no more together, one at least.
    pub batch_documents: usize,
    /// The most tokens, with padding, whose activations are in memory at a time.
    pub chunk_tokens: usize,
    /// The share of steps in which the rate rises.
    pub warmup: f64,
    /// The weight decay of matrices; biases and norms have none.
    pub weight_decay: f64,
    /// A bound on the gradient of each weight tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<ClipConfig>,
    /// Trains adapters in place of the encoder's weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lora: Option<LoraConfig>,
    /// Lets towers rank all documents of a step for each query. The first relevant document of its list is relevant;
    /// the others of the list, and copies in other lists, are left out.
    pub in_batch: bool,
    /// Beginnings of names of weights that stay as they are, such as `embeddings` or `encoder.layer.0`.
    pub freeze: Vec<String>,
}

impl Default for LearnerConfig {
    fn default() -> Self {
        Self {
            epochs: 1,
            learning_rate: 5e-5,
            batch_documents: 64,
            chunk_tokens: 1536,
            warmup: 0.1,
            weight_decay: 0.01,
            clip: None,
            lora: None,
            in_batch: false,
            freeze: Vec::new(),
        }
    }
}

impl LearnerConfig {
    /// Checks the values, for a scorer of this kind.
    ///
    /// # Errors
    /// Returns a [`Refusal`] that names the key.
    pub fn check(&self, kind: Kind) -> Result<(), Refusal> {
        let counts =
            [("epochs", self.epochs), ("batch_documents", self.batch_documents), ("chunk_tokens", self.chunk_tokens)];
        if let Some((key, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(Refusal::new(key, 0, "at least 1"));
        }
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return Err(Refusal::new("learning_rate", self.learning_rate, "above 0"));
        }
        if !(0.0..1.0).contains(&self.warmup) {
            return Err(Refusal::new("warmup", self.warmup, "a share of the steps, at least 0 and below 1"));
        }
        if !(self.weight_decay.is_finite() && self.weight_decay >= 0.0) {
            return Err(Refusal::new("weight_decay", self.weight_decay, "at least 0"));
        }
        let bound = self.clip.map(|clip| match clip {
            ClipConfig::Value(bound) => ("clip.value", bound),
            ClipConfig::Norm(bound) => ("clip.norm", bound),
        });
        if let Some((key, bound)) = bound.filter(|(_, bound)| !(bound.is_finite() && *bound > 0.0)) {
            return Err(Refusal::new(key, bound, "above 0"));
        }
        match &self.lora {
            Some(lora) if lora.rank == 0 => return Err(Refusal::new("lora.rank", 0, "at least 1")),
            Some(lora) if !(lora.alpha.is_finite() && lora.alpha > 0.0) => {
                return Err(Refusal::new("lora.alpha", lora.alpha, "above 0"));
            }
            Some(_) if !self.freeze.is_empty() => {
                return Err(Refusal::fault("freeze", "expected none with lora, which trains no weight of the encoder"));
            }
            _ => {}
        }
        if self.in_batch && kind == Kind::CrossEncoder {
            return Err(Refusal::new("in_batch", true, "false for a cross-encoder, which reads pairs only"));
        }
        Ok(())
    }
}
