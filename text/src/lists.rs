//! Lists as tokens, and what a model reads of some of them.

use std::ops::Range;

use burn::tensor::{Device, Int, Tensor, TensorData};
use burn_rank::workbench::in_host_memory;
use rayon::prelude::*;

use crate::data::TextList;
use crate::error::TextError;
use crate::scorer::{Kind, Rows, TextScorer};
use crate::tokens::{Chunk, TextTokenizer, Tokens};

/// Documents that are scored together, where a list has no more.
pub(crate) const SCORED_TOGETHER: usize = 1024;

/// The tokens of lists.
#[derive(Debug, Clone)]
pub struct TokenLists {
    /// The queries; none for a cross-encoder, which reads them with each document.
    queries: Vec<Tokens>,
    documents: Vec<Vec<Tokens>>,
    pad: usize,
}

impl TokenLists {
    /// Cuts the texts of lists into tokens, as a scorer of this kind reads them; `pad` fills the end of shorter texts.
    ///
    /// # Errors
    /// Returns the error of the tokenizer.
    pub fn new(lists: &[TextList], tokenizer: &TextTokenizer, kind: Kind, pad: usize) -> Result<Self, TextError> {
        fn texts(list: &TextList) -> Vec<&str> {
            list.documents.iter().map(|document| document.text.as_str()).collect()
        }
        let (queries, documents) = match kind {
            Kind::Towers => {
                let queries: Vec<&str> = lists.iter().map(|list| list.query.as_str()).collect();
                let documents = lists.iter().map(|list| tokenizer.texts(&texts(list)));
                (tokenizer.texts(&queries)?, documents.collect::<Result<_, _>>()?)
            }
            Kind::CrossEncoder => {
                let pairs = lists.iter().map(|list| tokenizer.pairs(&list.query, &texts(list)));
                (Vec::new(), pairs.collect::<Result<_, _>>()?)
            }
        };
        Ok(Self { queries, documents, pad })
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns whether there is no list.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The number of documents of a list.
    pub fn documents(&self, list: usize) -> usize {
        self.documents[list].len()
    }

    /// The words of each document of a list, by their numbers.
    pub(crate) fn texts(&self, list: usize) -> impl Iterator<Item = &[u32]> {
        self.documents[list].iter().map(Tokens::ids)
    }

    /// The number of tokens of all lists, without padding.
    pub fn tokens(&self) -> usize {
        self.queries.iter().chain(self.documents.iter().flatten()).map(|text| text.ids().len()).sum()
    }

    /// Takes some lists together, in chunks of texts of similar length that have at most `chunk_tokens` tokens with
    /// their padding, or one text.
    pub fn step(&self, lists: &[usize], chunk_tokens: usize, device: &Device) -> Step {
        let queries = lists.iter().filter_map(|&list| self.queries.get(list));
        let texts: Vec<&Tokens> = queries.chain(lists.iter().flat_map(|&list| &self.documents[list])).collect();
        let (chunks, places) = chunks(&texts, chunk_tokens, self.pad, device);
        let query_of = lists.iter().enumerate().flat_map(|(at, &list)| vec![at as i32; self.documents[list].len()]);
        let queries = if self.queries.is_empty() { 0 } else { lists.len() };
        Step {
            chunks,
            places,
            rows: Rows { queries, query_of: int(query_of.collect(), device) },
            tokens: texts.iter().map(|text| text.ids().len()).sum(),
        }
    }
}

/// The texts of some lists, as a model reads them.
#[derive(Debug)]
pub struct Step {
    /// Texts by their length.
    pub chunks: Vec<Chunk>,
    /// Where each text, in its order, stands in the chunks.
    places: Tensor<1, Int>,
    /// The rows of queries and documents.
    pub rows: Rows,
    /// Tokens without padding.
    pub tokens: usize,
}

impl Step {
    /// Puts what was read of the chunks, `[texts * width]` or `[texts, width]`, in the order of the texts.
    pub fn in_order<const D: usize>(&self, read: Tensor<D>) -> Tensor<2> {
        let [count] = self.places.dims();
        read.reshape([count as i32, -1]).select(0, self.places.clone())
    }

    /// The scores of all documents, `[documents]`. Call it on a model without gradients.
    pub fn scores<S: TextScorer>(&self, model: &S) -> Tensor<1> {
        model.scores(self.in_order(read_all(model, &self.chunks)), &self.rows)
    }
}

/// The length, as a share of the longest text of a chunk, below which a text begins a new chunk.
const SHORTER: f64 = 0.75;
/// The fewest tokens, with padding, of a chunk that ends for this reason. Smaller products of matrices are slow.
const ENOUGH: usize = 256;

/// Cuts texts into chunks of similar length, the longest first. Also returns where each text is.
pub(crate) fn chunks(
    texts: &[&Tokens],
    chunk_tokens: usize,
    pad: usize,
    device: &Device,
) -> (Vec<Chunk>, Tensor<1, Int>) {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&text| std::cmp::Reverse(texts[text].ids().len()));
    let mut places = vec![0; texts.len()];
    order.iter().zip(0..).for_each(|(&text, place)| places[text] = place);
    let cut = |range: Range<usize>| {
        let of_chunk: Vec<&Tokens> = order[range].iter().map(|&text| texts[text]).collect();
        Chunk::new(&of_chunk, pad, device)
    };
    let (mut chunks, mut start) = (Vec::new(), 0);
    while start < order.len() {
        let width = texts[order[start]].ids().len().max(1);
        let fits = (start + (chunk_tokens / width).max(1)).min(order.len());
        let enough = (start + ENOUGH.div_ceil(width)).min(fits);
        let is_shorter = |text: &usize| (texts[*text].ids().len() as f64) < SHORTER * width as f64;
        let end = order[enough..fits].iter().position(is_shorter).map_or(fits, |at| enough + at);
        chunks.push(cut(start..end));
        start = end;
    }
    (chunks, int(places, device))
}

/// Reads chunks with a model without gradients, and joins the results in the order of the chunks. On a processor, each
/// thread reads a chunk at a time.
pub(crate) fn read_all<S: TextScorer>(model: &S, chunks: &[Chunk]) -> Tensor<2> {
    let read = match chunks.first().is_some_and(|chunk| in_host_memory(&chunk.device())) {
        true => chunks.par_iter().map_with(model.clone(), |model, chunk| model.read(chunk)).collect(),
        false => chunks.iter().map(|chunk| model.read(chunk)).collect(),
    };
    Tensor::cat(read, 0)
}

fn int(values: Vec<i32>, device: &Device) -> Tensor<1, Int> {
    let shape = [values.len()];
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// The scores of all documents, list after list. `tell` hears how many lists are scored.
pub fn score_lists<S: TextScorer>(
    model: &S,
    lists: &TokenLists,
    chosen: &[usize],
    chunk_tokens: usize,
    device: &Device,
    tell: impl Fn(usize),
) -> Vec<f32> {
    let mut scores = Vec::new();
    for group in groups(chosen.iter().map(|&list| lists.documents(list)), SCORED_TOGETHER) {
        let step = lists.step(&chosen[group.clone()], chunk_tokens, device);
        scores.extend(step.scores(model).into_data().iter::<f32>());
        tell(group.end);
    }
    scores
}

/// Cuts lists into groups that have at most `most` documents together, or are one list; `documents` has the number of
/// each list.
pub(crate) fn groups(documents: impl Iterator<Item = usize>, most: usize) -> Vec<Range<usize>> {
    let (mut groups, mut together) = (Vec::<Range<usize>>::new(), 0);
    for (list, own) in documents.enumerate() {
        match groups.last_mut() {
            Some(group) if together + own <= most => {
                group.end += 1;
                together += own;
            }
            _ => {
                groups.push(list..list + 1);
                together = own;
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_no_more_documents_or_are_one_list() {
        assert_eq!(groups([3, 4, 9, 1, 6, 1].into_iter(), 7), [0..2, 2..3, 3..5, 5..6]);
        assert!(groups(std::iter::empty(), 7).is_empty());
    }
}
