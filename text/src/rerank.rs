//! New orders of lists by a text model.

use burn::tensor::Device;

use crate::data::{TextDocument, TextList};
use crate::error::TextError;
use crate::folder::ModelFolder;
use crate::lists::{TokenLists, score_lists};
use crate::scorer::{Kind, TextScorer};

/// A model with what is needed to score texts.
#[derive(Debug)]
pub struct Reranker<S> {
    model: S,
    tokenizer: crate::tokens::TextTokenizer,
    pad: usize,
    chunk_tokens: usize,
    device: Device,
}

impl<S: TextScorer> Reranker<S> {
    /// Joins a model with the tokenizer of its folder. `chunk_tokens` bounds the tokens that a thread
    /// reads at a time.
    ///
    /// # Errors
    /// As [`ModelFolder::tokenizer`].
    pub fn new(
        folder: &ModelFolder,
        model: S,
        max_tokens: Option<usize>,
        chunk_tokens: usize,
        device: Device,
    ) -> Result<Self, TextError> {
        let (tokenizer, pad) = (folder.tokenizer(max_tokens)?, folder.config().pad_token_id);
        Ok(Self { model, tokenizer, pad, chunk_tokens, device })
    }

    /// Scores the documents of lists, `[documents]` of each. `tell` hears how many lists are done.
    ///
    /// # Errors
    /// Returns the error of the tokenizer.
    pub fn scores(&self, lists: &[TextList], tell: impl Fn(usize)) -> Result<Vec<Vec<f32>>, TextError> {
        let tokens = TokenLists::new(lists, &self.tokenizer, S::KIND, self.pad)?;
        let all: Vec<usize> = (0..lists.len()).collect();
        let scores = score_lists(&self.model, &tokens, &all, self.chunk_tokens, &self.device, tell);
        let mut rest = scores.into_iter();
        Ok(lists.iter().map(|list| rest.by_ref().take(list.documents.len()).collect()).collect())
    }

    /// The vectors of texts, `[texts][width]`, by their order, if the model is two towers.
    ///
    /// # Errors
    /// Returns the error of the tokenizer.
    pub fn vectors<T: AsRef<str> + Sync>(&self, texts: &[T], tell: impl Fn(usize)) -> Result<Vec<Vec<f32>>, TextError> {
        debug_assert_eq!(S::KIND, Kind::Towers);
        let mut vectors = Vec::with_capacity(texts.len());
        for some in texts.chunks(AT_ONCE) {
            let tokens = self.tokenizer.texts(some)?;
            let tokens: Vec<_> = tokens.iter().collect();
            let (chunks, places) = crate::lists::chunks(&tokens, self.chunk_tokens, self.pad, &self.device);
            let read = crate::lists::read_all(&self.model, &chunks).select(0, places);
            let [_, width] = read.dims();
            let values: Vec<f32> = read.into_data().iter::<f32>().collect();
            vectors.extend(values.chunks(width).map(<[f32]>::to_vec));
            tell(vectors.len());
        }
        Ok(vectors)
    }
}

/// Texts whose tokens and vectors are made at a time.
const AT_ONCE: usize = 1024;

/// Orders the documents of each list by the score of the first stage; documents without one keep their order behind.
pub fn in_first_order(lists: &mut [TextList]) {
    let key = |document: &TextDocument| document.score.unwrap_or(f32::NEG_INFINITY);
    lists.iter_mut().for_each(|list| list.documents.sort_by(|a, b| key(b).total_cmp(&key(a))));
}

/// The first `top` documents of each list, and the others.
pub fn split_at(lists: &[TextList], top: usize) -> (Vec<TextList>, Vec<usize>) {
    let first =
        |list: &TextList| TextList { documents: list.documents.iter().take(top).cloned().collect(), ..list.clone() };
    (lists.iter().map(first).collect(), lists.iter().map(|list| list.documents.len().saturating_sub(top)).collect())
}

/// Scores for what lies below the reranked documents: below all of them, in the order that it had.
pub fn below(scores: &[f32], count: usize) -> impl Iterator<Item = f32> {
    let lowest = scores.iter().copied().fold(f32::INFINITY, f32::min);
    let lowest = if lowest.is_finite() { lowest.floor() } else { 0.0 };
    (1..=count).map(move |at| lowest - at as f32)
}
