//! Scorers, which are burn modules that compute the scores of documents from their features.
//!
//! | kind | score of a document | file |
//! |---|---|---|
//! | `linear` | `w . x + b` | `linear.rs` |
//! | `mlp` | layers of neurons, each document alone | `mlp.rs` |
//! | `attention` | self-attention over the list: each document in the context of the others | `attention.rs` |
//! | `latent_cross` | a perceptron whose last neurons are scaled by self-attention | `latent_cross.rs` |
//!
//! Features of 16-bit precision are scored in 16-bit arithmetic. For this, the parameters of layers are cast to 16
//! bits. Norms and attention weights are computed in the type of the parameters.
//!
//! All scorers except the linear one can take the logarithm of their input and, in training, add noise to it
//! (`input.rs`).
//!
//! Every scorer is permutation-equivariant over the documents of a list. The features of a padded document never change
//! the score of another document.

mod attention;
mod dense;
mod input;
mod latent_cross;
mod layers;
mod linear;
// Learners and rankers use the estimates.
#[cfg_attr(not(feature = "learners"), allow(dead_code))]
mod memory;
mod mlp;

pub(crate) use attention::AttentionScorer;
pub use attention::AttentionScorerConfig;
#[cfg(feature = "export")]
pub(crate) use attention::Block;
pub use input::InputConfig;
pub(crate) use input::noise_seeds;
pub(crate) use latent_cross::LatentCrossScorer;
pub use latent_cross::LatentCrossScorerConfig;
pub use layers::{Activation, NormKind};
#[cfg(feature = "export")]
pub(crate) use layers::{EPSILON, LEAKY_SLOPE, Norm};
pub(crate) use linear::LinearScorer;
pub use linear::LinearScorerConfig;
pub(crate) use mlp::MlpScorer;
pub use mlp::MlpScorerConfig;

use burn::module::Module;
use burn::tensor::{Bool, Device, FloatDType, Tensor};
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::json::tagged;
use crate::refusal::Refusal;
use crate::seed::seed_for;
use layers::{Dropout, refusal};

/// The largest number of weights that a scorer may have. They take 1 GiB, and training holds several copies of them.
const MOST_PARAMETERS: usize = 1 << 28;

tagged! {
    "ScorerConfig"
    /// The configuration of any scorer. In a configuration, the key `kind` chooses the type of the scorer.
    #[serde(rename_all = "snake_case")]
    pub enum ScorerConfig {
        /// `s = w . x + b`
        Linear(LinearScorerConfig),
        /// Layers of neurons, which score each document separately.
        Mlp(MlpScorerConfig),
        /// Self-attention, which scores each document in the context of its list.
        Attention(AttentionScorerConfig),
        /// A perceptron whose last hidden layer is scaled by self-attention over the list.
        LatentCross(LatentCrossScorerConfig),
    }
}

impl Default for ScorerConfig {
    fn default() -> Self {
        Self::Linear(LinearScorerConfig::default())
    }
}

impl ScorerConfig {
    /// Checks every parameter of the configuration.
    ///
    /// # Errors
    /// Returns [`Refusal`] with the key of the first parameter that is out of range, such as `scorer.hidden[0]`.
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            Self::Linear(_) => Ok(()),
            Self::Mlp(config) => config.check(),
            Self::Attention(config) => config.check(),
            Self::LatentCross(config) => config.check(),
        }
    }

    /// Returns whether the scorer has layers of neurons between the features and the score.
    #[cfg(feature = "learners")]
    pub(crate) fn has_hidden_layers(&self) -> bool {
        match self {
            Self::Linear(_) => false,
            Self::Mlp(config) => !config.hidden.is_empty(),
            Self::Attention(_) | Self::LatentCross(_) => true,
        }
    }

    /// Returns the name and value of the first parameter, such as `dropout`, that makes training scores random or
    /// dependent on the batch. Returns `None` if a document gets the same score in training and in prediction.
    #[cfg(feature = "learners")]
    pub(crate) fn changes_in_training(&self) -> Option<(&'static str, String)> {
        let (norm, dropout) = match self {
            Self::Linear(_) => return None,
            Self::Mlp(config) => (config.norm, config.dropout),
            Self::Attention(config) => (NormKind::None, config.dropout),
            Self::LatentCross(config) => (config.norm, config.dropout),
        };
        let noise = self.input().noise;
        if norm == NormKind::Batch {
            Some(("norm", "\"batch\"".to_string()))
        } else if dropout > 0.0 {
            Some(("dropout", dropout.to_string()))
        } else {
            (noise > 0.0).then(|| ("input.noise", noise.to_string()))
        }
    }

    /// Returns how the features are transformed before the first layer.
    fn input(&self) -> InputConfig {
        match self {
            Self::Linear(_) => InputConfig::default(),
            Self::Mlp(config) => config.input,
            Self::Attention(config) => config.input,
            Self::LatentCross(config) => config.input,
        }
    }

    /// Returns the number of values, including running statistics, in a scorer for documents with `features` features.
    /// A number that would exceed `usize::MAX` is returned as `usize::MAX`.
    pub fn parameters(&self, features: usize) -> usize {
        let parameters = match self {
            Self::Linear(config) => features as f64 + f64::from(config.bias),
            Self::Mlp(config) => config.parameters(features),
            Self::Attention(config) => config.parameters(features, 1),
            Self::LatentCross(config) => config.parameters(features),
        };
        parameters as usize
    }

    /// Creates a scorer for documents with `features` features. The weights depend only on `seed`, so they are the same
    /// on every device and with any number of threads.
    ///
    /// # Errors
    /// Returns [`Refusal`] if a parameter is out of range, if `features` is 0, or if the scorer would have more than
    /// 2^28 weights.
    pub fn init(&self, features: usize, seed: u64, device: &Device) -> Result<Scorer, Refusal> {
        self.check()?;
        if features == 0 {
            return Err(refusal("features", features, "at least 1"));
        }
        let parameters = self.parameters(features);
        if parameters > MOST_PARAMETERS {
            return Err(refusal("parameters", parameters, format!("at most {MOST_PARAMETERS}")));
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed_for(seed, "scorer", 0));
        Ok(match self {
            Self::Linear(config) => Scorer::Linear(config.init(features, &mut rng, device)),
            Self::Mlp(config) => Scorer::Mlp(config.init(features, &mut rng, device)),
            Self::Attention(config) => Scorer::Attention(config.init(features, 1, &mut rng, device)),
            Self::LatentCross(config) => Scorer::LatentCross(config.init(features, &mut rng, device)),
        })
    }
}

/// Any scorer of this crate.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Scorer {
    /// A linear scorer, `s = w . x + b`.
    Linear(LinearScorer),
    /// A perceptron, which scores each document separately.
    Mlp(MlpScorer),
    /// Self-attention, which scores each document in the context of its list.
    Attention(AttentionScorer),
    /// A perceptron whose last hidden layer is scaled by self-attention over the list.
    LatentCross(LatentCrossScorer),
}

impl Scorer {
    /// Creates a linear scorer from weights, one per feature, and a bias.
    pub fn linear(weights: &[f32], bias: f32, device: &Device) -> Self {
        Self::Linear(LinearScorer::from_weights(weights, bias, device))
    }

    /// Scores a batch for prediction: without dropout or noise, and with stored batch statistics.
    ///
    /// # Shapes
    /// - `features`: `[batch, documents, features]`; padded documents may hold anything
    /// - `mask`: `[batch, documents]`, true for a document
    /// - output: `[batch, documents]`; padded positions hold a meaningless finite value
    pub fn forward(&self, features: Tensor<3>, mask: Tensor<2, Bool>) -> Tensor<2> {
        self.score(clean(features, &mask), mask, &mut Dropout::off(), None, None)
    }

    /// Scores a batch in training: with dropout and noise drawn from `seed`, and with the statistics of this batch.
    ///
    /// The seed is explicit because all threads of the process share the device's own seed.
    ///
    /// # Shapes
    /// The shapes are the same as for [`forward`](Self::forward).
    pub fn forward_training(&self, features: Tensor<3>, mask: Tensor<2, Bool>, seed: u64) -> Tensor<2> {
        let noise = noise_seeds(seed, 0..features.dims()[0]);
        self.score(clean(features, &mask), mask, &mut Dropout::on(seed), Some(&noise), None)
    }

    /// Scores a batch as [`forward`](Self::forward) does, but assumes that padded features are 0, as in a
    /// [`RankingBatch`](crate::data::RankingBatch). This saves the pass over the features that would set padding to 0.
    #[cfg(feature = "ranker")]
    pub(crate) fn forward_clean(&self, features: Tensor<3>, mask: Tensor<2, Bool>) -> Tensor<2> {
        self.score(features, mask, &mut Dropout::off(), None, None)
    }

    /// Scores a batch as [`forward_training`](Self::forward_training) does, but assumes that padded features are 0.
    /// `noise` holds a seed for each query. `layers` is the floating-point type in which layers and scores are
    /// computed; `None` stands for the type of the features.
    #[cfg(feature = "learners")]
    pub(crate) fn forward_training_clean(
        &self,
        features: Tensor<3>,
        mask: Tensor<2, Bool>,
        seed: u64,
        noise: &[u64],
        layers: Option<FloatDType>,
    ) -> Tensor<2> {
        self.score(features, mask, &mut Dropout::on(seed), Some(noise), layers)
    }

    fn score(
        &self,
        features: Tensor<3>,
        mask: Tensor<2, Bool>,
        dropout: &mut Dropout,
        noise: Option<&[u64]>,
        layers: Option<FloatDType>,
    ) -> Tensor<2> {
        let features = self.config().input().apply(features, noise);
        let features = match layers {
            Some(dtype) => features.cast(dtype),
            None => features,
        };
        match self {
            Scorer::Linear(scorer) => scorer.forward(features),
            Scorer::Mlp(scorer) => scorer.forward(features, mask, dropout),
            Scorer::Attention(scorer) => scorer.forward(features, mask, dropout),
            Scorer::LatentCross(scorer) => scorer.forward(features, mask, dropout),
        }
    }

    /// Returns the configuration that the scorer was built from.
    pub fn config(&self) -> ScorerConfig {
        match self {
            Scorer::Linear(scorer) => ScorerConfig::Linear(scorer.config()),
            Scorer::Mlp(scorer) => ScorerConfig::Mlp(scorer.config().clone()),
            Scorer::Attention(scorer) => ScorerConfig::Attention(scorer.config().clone()),
            Scorer::LatentCross(scorer) => ScorerConfig::LatentCross(scorer.config().clone()),
        }
    }

    /// Returns the number of features of a document.
    pub fn features(&self) -> usize {
        match self {
            Scorer::Linear(scorer) => scorer.features(),
            Scorer::Mlp(scorer) => scorer.features(),
            Scorer::Attention(scorer) => scorer.features(),
            Scorer::LatentCross(scorer) => scorer.features(),
        }
    }
}

/// Sets the features of every padded document to 0.
fn clean(features: Tensor<3>, mask: &Tensor<2, Bool>) -> Tensor<3> {
    let padded = mask.clone().bool_not().unsqueeze_dim::<3>(2).expand(features.shape());
    features.mask_fill(padded, 0.0)
}

#[cfg(test)]
mod tests;
