//! New orders of lists by a text model.

use burn::tensor::Device;

use crate::data::{TextDocument, TextList};
use crate::error::TextError;
use crate::folder::ModelFolder;
use crate::lists::{SCORED_TOGETHER, TokenLists, groups, score_lists};
use crate::scorer::{TextScorer, Towers};

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
        let mut scores = Vec::with_capacity(lists.len());
        for group in groups(lists.iter().map(|list| list.documents.len()), SCORED_TOGETHER) {
            let some = &lists[group.clone()];
            let tokens = TokenLists::new(some, &self.tokenizer, S::KIND, self.pad)?;
            let all: Vec<usize> = (0..some.len()).collect();
            let found = score_lists(&self.model, &tokens, &all, self.chunk_tokens, &self.device, |_| {});
            let mut found = found.into_iter();
            scores.extend(some.iter().map(|list| found.by_ref().take(list.documents.len()).collect()));
            tell(group.end);
        }
        Ok(scores)
    }
}

impl Reranker<Towers> {
    /// The vectors of texts, `[texts][width]`, by their order.
    ///
    /// # Errors
    /// Returns the error of the tokenizer.
    pub fn vectors<T: AsRef<str> + Sync>(&self, texts: &[T], tell: impl Fn(usize)) -> Result<Vec<Vec<f32>>, TextError> {
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

/// Leaves the first `top` documents of each list, and returns how many others each list had.
pub fn truncate(lists: &mut [TextList], top: usize) -> Vec<usize> {
    let others = lists.iter().map(|list| list.documents.len().saturating_sub(top)).collect();
    lists.iter_mut().for_each(|list| list.documents.truncate(top));
    others
}

/// Scores for what lies below the reranked documents: below all of them, in the order that it had.
pub fn below(scores: &[f32], count: usize) -> impl Iterator<Item = f32> {
    let lowest = scores.iter().copied().fold(f32::INFINITY, f32::min);
    let lowest = if lowest.is_finite() { lowest.floor() } else { 0.0 };
    (1..=count).map(move |at| lowest - at as f32)
}
