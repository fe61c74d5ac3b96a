//! Texts as tokens, and chunks of texts as tensors.

use std::path::Path;

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use burn_rank::refusal::Refusal;
use rayon::prelude::*;
use tokenizers::tokenizer::{EncodeInput, Encoding};
use tokenizers::{Tokenizer, TruncationDirection, TruncationParams, TruncationStrategy};

use crate::bert::BertConfig;
use crate::error::TextError;

/// Cuts texts into words, as `tokenizer.json` says, and leaves out what exceeds a number of tokens.
pub struct TextTokenizer {
    tokenizer: Tokenizer,
    max_tokens: usize,
}

impl std::fmt::Debug for TextTokenizer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.debug_struct("TextTokenizer").field("max_tokens", &self.max_tokens).finish_non_exhaustive()
    }
}

/// The fewest tokens of a text: a pair needs three marks and a word of each text.
const FEWEST: usize = 5;

impl TextTokenizer {
    /// Reads `tokenizer.json`. The truncation and the padding that it has are switched off. Texts and pairs are cut to
    /// `max_tokens`, a pair where it is longest; by default to the positions of the model.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, if a word has no row in the model, or if `max_tokens` is out of
    /// range.
    pub fn from_file(path: &Path, config: &BertConfig, max_tokens: Option<usize>) -> Result<Self, TextError> {
        let positions = config.max_position_embeddings;
        let max_tokens = max_tokens.unwrap_or(positions);
        if !(FEWEST..=positions).contains(&max_tokens) {
            let expected = format!("from {FEWEST} to {positions}, the positions of the model");
            return Err(Refusal::new("max_tokens", max_tokens, expected).into());
        }
        let bytes = std::fs::read(path).map_err(|error| TextError::model(path, error))?;
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| TextError::model(path, error))?;
        let rows = config.vocab_size;
        if let Some(id) = tokenizer.get_vocab(true).into_values().max().filter(|id| *id as usize >= rows) {
            let message =
                format!("found a word with the number {id}, expected less than {rows}, the vocab_size of config.json");
            return Err(TextError::model(path, message));
        }
        tokenizer.with_padding(None);
        let truncation = TruncationParams {
            direction: TruncationDirection::Right,
            max_length: max_tokens,
            strategy: TruncationStrategy::LongestFirst,
            stride: 0,
        };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| TextError::model(path, error))?;
        Ok(Self { tokenizer, max_tokens })
    }

    /// The largest number of tokens of a text or a pair.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The tokens of texts.
    ///
    /// # Errors
    /// Returns the error of the tokenizer, for a word that it cannot encode.
    pub fn texts<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vec<Tokens>, TextError> {
        texts.par_iter().map(|text| self.encode(text.as_ref().into())).collect()
    }

    /// The tokens of pairs: a query with each of some documents.
    ///
    /// # Errors
    /// As [`texts`](Self::texts).
    pub fn pairs<T: AsRef<str> + Sync>(&self, query: &str, documents: &[T]) -> Result<Vec<Tokens>, TextError> {
        documents.par_iter().map(|document| self.encode((query, document.as_ref()).into())).collect()
    }

    fn encode(&self, text: EncodeInput) -> Result<Tokens, TextError> {
        let encoding = self.tokenizer.encode_fast(text, true);
        encoding.map(Tokens::from).map_err(|error| TextError::model(Path::new("tokenizer.json"), error))
    }
}

/// The tokens of a text or of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    ids: Box<[u32]>,
    /// The number of tokens of the first text; those behind have type 1.
    first: u32,
}

impl From<Encoding> for Tokens {
    fn from(encoding: Encoding) -> Self {
        let types = encoding.get_type_ids();
        let first = types.iter().position(|&of| of != 0).unwrap_or(types.len());
        Self { ids: encoding.get_ids().into(), first: first as u32 }
    }
}

impl Tokens {
    /// The words, by their numbers.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The type of each token: 0 in the first text, 1 in the second.
    pub fn types(&self) -> impl Iterator<Item = u32> {
        (0..self.ids.len() as u32).map(|at| u32::from(at >= self.first))
    }
}

/// Texts that a model reads at once, padded to the longest.
#[derive(Debug, Clone)]
pub struct Chunk {
    pub(crate) ids: Tensor<2, Int>,
    pub(crate) types: Tensor<2, Int>,
    pub(crate) padding: Tensor<2, Bool>,
}

impl Chunk {
    /// The device of the tensors.
    pub(crate) fn device(&self) -> Device {
        self.ids.device()
    }

    /// The number of tokens, with padding.
    pub(crate) fn tokens(&self) -> usize {
        self.ids.dims().iter().product()
    }

    /// Makes the tensors of texts, one or more; `pad` is the word that fills the end.
    pub fn new(texts: &[&Tokens], pad: usize, device: &Device) -> Self {
        let width = texts.iter().map(|text| text.ids.len()).max().unwrap_or(1).max(1);
        let shape = [texts.len(), width];
        let (mut ids, mut types, mut padding) = (Vec::new(), Vec::new(), Vec::new());
        for text in texts {
            let behind = width - text.ids.len();
            ids.extend(text.ids.iter().map(|&id| id as i32).chain(std::iter::repeat_n(pad as i32, behind)));
            types.extend(text.types().map(|of| of as i32).chain(std::iter::repeat_n(0, behind)));
            padding.extend((0..width).map(|at| at >= text.ids.len()));
        }
        Self {
            ids: Tensor::from_data(TensorData::new(ids, shape), device),
            types: Tensor::from_data(TensorData::new(types, shape), device),
            padding: Tensor::from_data(TensorData::new(padding, shape), device),
        }
    }
}
