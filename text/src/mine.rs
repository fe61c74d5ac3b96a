//! Hard negatives: documents that towers take for relevant and that are not known to be.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use burn_rank::refusal::Refusal;
use rayon::prelude::*;

use crate::data::{TextDocument, TextList};
use crate::error::TextError;
use crate::rerank::Reranker;
use crate::scorer::Towers;

/// Which documents are taken for negatives.
#[derive(Debug, Clone, PartialEq)]
pub struct MiningOptions {
    /// The ranks from which negatives are taken, from 0. The first ranks of a query may hold relevant documents that
    /// nobody has judged.
    pub window: Range<usize>,
    /// The share by which a negative's cosine is at least below the cosine of the query's best relevant document.
    pub relative_margin: f64,
    /// The most negatives of a query.
    pub negatives: usize,
}

impl MiningOptions {
    /// Checks the values.
    ///
    /// # Errors
    /// Returns a [`Refusal`] that names the option.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.window.is_empty() {
            let found = format!("{}:{}", self.window.start, self.window.end);
            return Err(Refusal::new("window", found, "FIRST:LAST, the first below the last"));
        }
        if !(0.0..1.0).contains(&self.relative_margin) {
            return Err(Refusal::new("relative_margin", self.relative_margin, "at least 0 and below 1"));
        }
        if self.negatives == 0 {
            return Err(Refusal::new("negatives", 0, "at least 1"));
        }
        Ok(())
    }
}

/// Queries with their relevant documents, and all documents.
#[derive(Debug)]
pub struct Corpus {
    /// The queries; their documents are those known to be relevant.
    pub queries: Vec<TextList>,
    /// Identifier and text of each document.
    pub documents: Vec<(String, String)>,
}

impl Corpus {
    /// Takes the documents of all lists together.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for an identifier with two texts, since a mined document is known by its identifier.
    pub fn from_lists(lists: Vec<TextList>) -> Result<Self, Refusal> {
        let (mut documents, mut seen) = (Vec::new(), HashMap::new());
        for document in lists.iter().flat_map(|list| &list.documents) {
            let text = *seen.entry(&document.id).or_insert_with(|| {
                documents.push((document.id.clone(), document.text.clone()));
                &document.text
            });
            if text != &document.text {
                let found = format!("document `{}` with two texts", document.id);
                return Err(Refusal::fault("", format!("found {found}, expected an identifier for each text")));
            }
        }
        let relevant = |mut list: TextList| {
            list.documents.retain(|document| document.relevance > 0.0);
            (!list.documents.is_empty()).then_some(list)
        };
        Ok(Self { queries: lists.into_iter().filter_map(relevant).collect(), documents })
    }

    /// Reads a folder of BEIR with the judgments of this name.
    ///
    /// # Errors
    /// Returns an error with file and line.
    pub fn from_beir(folder: &Path, qrels: &str) -> Result<Self, TextError> {
        let (queries, documents) = crate::data::read_corpus(folder, qrels)?;
        Ok(Self { queries, documents })
    }
}

/// Returns each query with its relevant documents and hard negatives, which have relevance 0. All have the cosine as
/// their score. Queries for which nothing is found are left out. `tell` hears how many texts are read.
///
/// # Errors
/// Returns a [`Refusal`] for a wrong option, or the error of the tokenizer.
pub fn mine(
    towers: &Reranker<Towers>,
    corpus: &Corpus,
    options: &MiningOptions,
    tell: impl Fn(usize),
) -> Result<Vec<TextList>, TextError> {
    options.check()?;
    let texts: Vec<&str> = corpus.documents.iter().map(|(_, text)| text.as_str()).collect();
    let documents = towers.vectors(&texts, &tell)?;
    let queries: Vec<&str> = corpus.queries.iter().map(|list| list.query.as_str()).collect();
    let queries = towers.vectors(&queries, |done| tell(texts.len() + done))?;
    let place: HashMap<&str, usize> = corpus.documents.iter().zip(0..).map(|((id, _), at)| (id.as_str(), at)).collect();
    let of_query = |(list, query): (&TextList, &Vec<f32>)| {
        let cosine = |at: usize| query.iter().zip(&documents[at]).map(|(a, b)| a * b).sum::<f32>();
        let cosines: Vec<f32> = (0..documents.len()).map(cosine).collect();
        mined(list, &cosines, &place, &corpus.documents, options)
    };
    Ok(corpus.queries.par_iter().zip(&queries).filter_map(of_query).collect())
}

/// The relevant documents of a query and its negatives, for the cosines of all documents.
fn mined(
    list: &TextList,
    cosines: &[f32],
    place: &HashMap<&str, usize>,
    documents: &[(String, String)],
    options: &MiningOptions,
) -> Option<TextList> {
    let relevant: HashSet<usize> =
        list.documents.iter().filter_map(|document| place.get(document.id.as_str())).copied().collect();
    let best = relevant.iter().map(|&at| cosines[at]).fold(f32::NEG_INFINITY, f32::max);
    let most = f64::from(best) - options.relative_margin * f64::from(best.abs());
    let mut order: Vec<usize> = (0..documents.len()).filter(|at| !relevant.contains(at)).collect();
    let most_needed = options.window.end.min(order.len());
    if most_needed == 0 {
        return None;
    }
    let by_cosine = |a: &usize, b: &usize| cosines[*b].total_cmp(&cosines[*a]).then(a.cmp(b));
    order.select_nth_unstable_by(most_needed - 1, by_cosine);
    order.truncate(most_needed);
    order.sort_by(by_cosine);
    let negatives = order.into_iter().skip(options.window.start).filter(|&at| f64::from(cosines[at]) <= most);
    let negatives: Vec<TextDocument> = negatives
        .take(options.negatives)
        .map(|at| TextDocument {
            id: documents[at].0.clone(),
            text: documents[at].1.clone(),
            relevance: 0.0,
            score: Some(cosines[at]),
        })
        .collect();
    if negatives.is_empty() {
        return None;
    }
    let known = list.documents.iter().filter_map(|document| {
        let score = Some(cosines[*place.get(document.id.as_str())?]);
        Some(TextDocument { score, ..document.clone() })
    });
    Some(TextList { documents: known.chain(negatives).collect(), ..list.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negatives_are_from_the_window_and_below_the_margin() {
        let documents: Vec<(String, String)> = (0..6).map(|at| (at.to_string(), format!("text {at}"))).collect();
        let place = documents.iter().zip(0..).map(|((id, _), at)| (id.as_str(), at)).collect();
        let relevant = TextDocument { id: "2".into(), text: "text 2".into(), relevance: 1.0, score: None };
        let list = TextList { id: "q".into(), query: "query".into(), documents: vec![relevant] };
        // In order: 0, 1, (2), 3, 4, 5.
        let cosines = [0.9, 0.79, 0.8, 0.7, 0.6, 0.5];
        let found = |window: Range<usize>, relative_margin, negatives| {
            let options = MiningOptions { window, relative_margin, negatives };
            let found = mined(&list, &cosines, &place, &documents, &options)?;
            Some(found.documents.iter().skip(1).map(|document| document.id.clone()).collect::<Vec<_>>())
        };
        assert_eq!(found(0..6, 0.0, 9).unwrap(), ["1", "3", "4", "5"]);
        assert_eq!(found(0..6, 0.05, 2).unwrap(), ["3", "4"]);
        assert_eq!(found(2..4, 0.0, 9).unwrap(), ["3", "4"]);
        assert_eq!(found(0..6, 0.5, 9), None);
        assert_eq!(found(5..9, 0.0, 9), None);
    }
}
