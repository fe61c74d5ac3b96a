//! Two ways to score the documents of a query with one encoder.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Int, Tensor};
use serde::{Deserialize, Serialize};

use crate::bert::{Bert, BertConfig, linear};
use crate::tokens::Chunk;

/// The kind of a scorer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Kind {
    /// A vector for each query and each document; the score is their product.
    Towers,
    /// Query and document in one text; the score is a layer on the state of its first token.
    CrossEncoder,
}

/// The factor of the cosine of two towers.
pub const SCALE: f64 = 20.0;

/// Which rows of a step are queries and documents.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The number of queries. Their rows come first where a model reads queries apart from documents.
    pub queries: usize,
    /// The query of each document, `[documents]`.
    pub query_of: Tensor<1, Int>,
}

/// A model that scores texts.
pub trait TextScorer: Module {
    /// The kind of the scorer.
    const KIND: Kind;

    /// The encoder.
    fn bert(&self) -> &Bert;

    /// Reads texts: `[texts, width]`, a vector of a text or the score of a pair.
    fn read(&self, chunk: &Chunk) -> Tensor<2>;

    /// The scores of documents, `[documents]`, from what was read of their texts.
    fn scores(&self, read: Tensor<2>, rows: &Rows) -> Tensor<1>;

    /// The factor of a product of vectors; 1 for a model without vectors.
    fn scale(&self) -> f64 {
        1.0
    }
}

/// Two towers with one encoder: the mean of a text's states, normalized. The score is the dot product times a scale.
#[derive(Module, Debug)]
pub struct Towers {
    pub(crate) bert: Bert,
    pub(crate) scale: f64,
}

impl Towers {
    /// Makes towers of an encoder. A common scale is [`SCALE`].
    pub fn new(bert: Bert, scale: f64) -> Self {
        Self { bert, scale }
    }
}

impl TextScorer for Towers {
    const KIND: Kind = Kind::Towers;

    fn bert(&self) -> &Bert {
        &self.bert
    }

    fn read(&self, chunk: &Chunk) -> Tensor<2> {
        let states = self.bert.forward(chunk.ids.clone(), chunk.types.clone(), chunk.padding.clone());
        let present = chunk.padding.clone().bool_not().float();
        let counts = present.clone().sum_dim(1);
        let sum = (states * present.unsqueeze_dim::<3>(2)).sum_dim(1).squeeze_dim::<2>(1);
        let mean = sum / counts;
        let length = mean.clone().powi_scalar(2).sum_dim(1).clamp_min(1e-24).sqrt();
        mean / length
    }

    fn scores(&self, read: Tensor<2>, rows: &Rows) -> Tensor<1> {
        let [count, _] = read.dims();
        let queries = read.clone().narrow(0, 0, rows.queries).select(0, rows.query_of.clone());
        let documents = read.narrow(0, rows.queries, count - rows.queries);
        (queries * documents).sum_dim(1).squeeze_dim::<1>(1) * self.scale
    }

    fn scale(&self) -> f64 {
        self.scale
    }
}

/// A cross-encoder: one layer on BERT's pooler, which reads the state of the first token of a pair.
#[derive(Module, Debug)]
pub struct CrossEncoder {
    pub(crate) bert: Bert,
    pub(crate) classifier: Linear,
}

impl CrossEncoder {
    /// Makes a cross-encoder with random weights.
    pub fn new(config: &BertConfig, device: &Device) -> Self {
        Self { bert: Bert::new(config, true, device), classifier: linear(config.hidden_size, 1, device) }
    }
}

impl TextScorer for CrossEncoder {
    const KIND: Kind = Kind::CrossEncoder;

    fn bert(&self) -> &Bert {
        &self.bert
    }

    fn read(&self, chunk: &Chunk) -> Tensor<2> {
        let states = self.bert.forward(chunk.ids.clone(), chunk.types.clone(), chunk.padding.clone());
        let first = states.narrow(1, 0, 1).squeeze_dim::<2>(1);
        let pooled = match &self.bert.pooler {
            Some(pooler) => pooler.forward(first).tanh(),
            None => first,
        };
        self.classifier.forward(self.bert.dropout.forward(pooled))
    }

    fn scores(&self, read: Tensor<2>, _: &Rows) -> Tensor<1> {
        read.squeeze_dim::<1>(1)
    }
}
