//! BERT, as Devlin et al. describe it (2019): embeddings of words, positions and types, and an encoder that normalizes
//! after each part.

use burn::module::{Module, Param};
use burn::nn::activation::ActivationConfig;
use burn::nn::transformer::{TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput};
use burn::nn::{Dropout, DropoutConfig, Embedding, EmbeddingConfig, Initializer, LayerNorm, LayerNormConfig, Linear};
use burn::tensor::{Bool, Device, Int, Tensor};
use burn_rank::json::{Map, from_value};
use burn_rank::refusal::Refusal;
use serde::Deserialize;

/// The standard deviation of weights that no file has.
const INITIAL_DEVIATION: f64 = 0.02;

/// The sizes of a model, as `config.json` names them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct BertConfig {
    /// The architecture; only `bert` is supported.
    pub model_type: String,
    /// The number of words.
    pub vocab_size: usize,
    /// The width of a token's state.
    pub hidden_size: usize,
    /// The number of layers.
    pub num_hidden_layers: usize,
    /// The number of attention heads, which divides `hidden_size`.
    pub num_attention_heads: usize,
    /// The width of the feed-forward part.
    pub intermediate_size: usize,
    /// The activation of the feed-forward part; only `gelu` is supported.
    pub hidden_act: String,
    /// The longest text in tokens.
    pub max_position_embeddings: usize,
    /// The number of types: the first text of a pair, and the second.
    pub type_vocab_size: usize,
    /// What layer norm adds to the variance.
    #[serde(default = "norm_epsilon")]
    pub layer_norm_eps: f64,
    /// The share of states that are dropped in training.
    #[serde(default = "dropout")]
    pub hidden_dropout_prob: f64,
    /// The share of attention weights that are dropped in training.
    #[serde(default = "dropout")]
    pub attention_probs_dropout_prob: f64,
    /// How places are encoded; only `absolute` is supported.
    #[serde(default = "absolute")]
    pub position_embedding_type: String,
    /// The word that fills the end of shorter texts.
    #[serde(default)]
    pub pad_token_id: usize,
}

fn norm_epsilon() -> f64 {
    1e-12
}

fn dropout() -> f64 {
    0.1
}

fn absolute() -> String {
    "absolute".to_string()
}

impl BertConfig {
    /// Decodes the fields of `config.json` and checks them.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for another architecture or activation, and for sizes that fit no model.
    pub fn from_fields(fields: &Map) -> Result<Self, Refusal> {
        for (key, only) in [("model_type", "bert"), ("hidden_act", "gelu"), ("position_embedding_type", "absolute")] {
            match fields.get(key).and_then(|found| found.as_str()) {
                Some(found) if found != only => {
                    return Err(Refusal::new(
                        key,
                        format!("{found:?}"),
                        format!("{only:?}, which is all that is supported"),
                    ));
                }
                _ => {}
            }
        }
        let config: Self = from_value(fields.clone().into())?;
        let sizes = [
            ("vocab_size", config.vocab_size),
            ("hidden_size", config.hidden_size),
            ("num_hidden_layers", config.num_hidden_layers),
            ("num_attention_heads", config.num_attention_heads),
            ("intermediate_size", config.intermediate_size),
            ("max_position_embeddings", config.max_position_embeddings),
        ];
        if let Some((key, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(Refusal::new(key, 0, "at least 1"));
        }
        if config.type_vocab_size < 2 {
            return Err(Refusal::new("type_vocab_size", config.type_vocab_size, "at least 2, for pairs of texts"));
        }
        if !config.hidden_size.is_multiple_of(config.num_attention_heads) {
            let expected = format!("a divisor of hidden_size, which is {}", config.hidden_size);
            return Err(Refusal::new("num_attention_heads", config.num_attention_heads, expected));
        }
        if config.pad_token_id >= config.vocab_size {
            return Err(Refusal::new("pad_token_id", config.pad_token_id, "less than vocab_size"));
        }
        let shares = [
            ("hidden_dropout_prob", config.hidden_dropout_prob),
            ("attention_probs_dropout_prob", config.attention_probs_dropout_prob),
        ];
        match shares.into_iter().find(|(_, share)| !(0.0..1.0).contains(share)) {
            Some((key, share)) => Err(Refusal::new(key, share, "at least 0 and below 1")),
            None => Ok(config),
        }
    }
}

/// BERT's encoder. The pooler is a layer on the state of the first token, which a model for pairs of texts uses.
#[derive(Module, Debug)]
pub struct Bert {
    pub(crate) words: Embedding,
    pub(crate) positions: Embedding,
    pub(crate) types: Embedding,
    pub(crate) norm: LayerNorm,
    pub(crate) dropout: Dropout,
    pub(crate) encoder: TransformerEncoder,
    pub(crate) pooler: Option<Linear>,
}

impl Bert {
    /// Makes a model with random weights. Weights are drawn at their first use.
    pub fn new(config: &BertConfig, with_pooler: bool, device: &Device) -> Self {
        let d = config.hidden_size;
        let initial = Initializer::Normal { mean: 0.0, std: INITIAL_DEVIATION };
        let embedding = |rows: usize| EmbeddingConfig::new(rows, d).with_initializer(initial.clone()).init(device);
        let mut encoder = TransformerEncoderConfig::new(
            d,
            config.intermediate_size,
            config.num_attention_heads,
            config.num_hidden_layers,
        )
        .with_dropout(config.hidden_dropout_prob)
        .with_activation(ActivationConfig::Gelu)
        .with_layer_norm_eps(config.layer_norm_eps)
        .with_initializer(initial.clone())
        .init(device);
        for layer in &mut encoder.layers {
            // BERT drops no state inside the feed-forward part.
            layer.pwff.dropout.prob = 0.0;
            layer.mha.dropout.prob = config.attention_probs_dropout_prob;
        }
        Self {
            words: embedding(config.vocab_size),
            positions: embedding(config.max_position_embeddings),
            types: embedding(config.type_vocab_size),
            norm: LayerNormConfig::new(d).with_epsilon(config.layer_norm_eps).init(device),
            dropout: DropoutConfig::new(config.hidden_dropout_prob).init(),
            encoder,
            pooler: with_pooler.then(|| linear(d, d, device)),
        }
    }

    /// The states of tokens, `[texts, tokens, width]`.
    ///
    /// # Shapes
    /// - `ids`, `types`: `[texts, tokens]`, words and types
    /// - `padding`: `[texts, tokens]`, true behind the end of a text
    pub fn forward(&self, ids: Tensor<2, Int>, types: Tensor<2, Int>, padding: Tensor<2, Bool>) -> Tensor<3> {
        let [_, width] = ids.dims();
        let places = Tensor::<1, Int>::arange(0..width as i64, &ids.device()).unsqueeze::<2>();
        let embedded = self.words.forward(ids) + self.positions.forward(places) + self.types.forward(types);
        let states = self.dropout.forward(self.norm.forward(embedded));
        self.encoder.forward(TransformerEncoderInput::new(states).mask_pad(padding))
    }
}

/// A layer as BERT begins it: small weights and no bias.
pub(crate) fn linear(from: usize, to: usize, device: &Device) -> Linear {
    let weight: Param<Tensor<2>> = Initializer::Normal { mean: 0.0, std: INITIAL_DEVIATION }.init([from, to], device);
    Linear { weight, bias: Some(Initializer::Zeros.init([to], device)) }
}
