//! BEIR's folders (Thakur et al., 2021): `corpus.jsonl`, `queries.jsonl` and `qrels/NAME.tsv`. A TREC run names the
//! candidates of each query.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use burn_rank::data::trec::read_run;
use serde::{Deserialize, Serialize};

use super::lines::{decoded, identifier};
use super::{Lists, TextDocument, TextList, each_line};
use crate::error::TextError;

/// A folder of BEIR with judgments and candidates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beir {
    /// The folder.
    pub beir: PathBuf,
    /// The name of the judgments, as `train` for `qrels/train.tsv`; without it, no document is relevant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qrels: Option<String>,
    /// The TREC run with the candidates.
    pub run: PathBuf,
}

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "_id", deserialize_with = "identifier")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// Texts with their identifiers.
type Texts = Vec<(String, String)>;

/// The relevance of documents by query and document.
type Judgments = HashMap<String, HashMap<String, f32>>;

impl Beir {
    /// Reads the candidates of the queries that have judgments, or of all queries of the run.
    pub(super) fn read(&self, lists: &mut Lists) -> Result<(), TextError> {
        let judgments = self.qrels.as_ref().map(|name| read_judgments(&self.beir, name)).transpose()?;
        let run = read_run(&self.run, |_, documents| {
            let owned = documents.iter().map(|&(id, score)| (id.to_string(), score));
            Ok::<_, TextError>(owned.collect::<Vec<_>>())
        })?;
        let relevant = judgments.iter().flatten().flat_map(|(_, of)| of.values()).filter(|relevance| **relevance > 0.0);
        let (relevant, mut reached) = (relevant.count(), 0);
        let is_judged = |query: &String| judgments.as_ref().is_none_or(|judgments| judgments.contains_key(query));
        let candidates: Vec<_> = run.queries.into_iter().filter(|(query, _)| is_judged(query)).collect();
        if candidates.is_empty() {
            return Err(TextError::model(&self.run, "found no query of the judgments, expected one or more"));
        }
        let asked: HashSet<&str> = candidates.iter().map(|(query, _)| query.as_str()).collect();
        let queries = texts(&self.beir.join("queries.jsonl"), |id| asked.contains(id))?;
        let asked: HashSet<&str> = candidates.iter().flat_map(|(_, of)| of.iter().map(|(id, _)| id.as_str())).collect();
        let corpus = texts(&self.beir.join("corpus.jsonl"), |id| asked.contains(id))?;
        let corpus: HashMap<&str, &str> = corpus.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        let queries: HashMap<&str, &str> = queries.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        for (query, mut documents) in candidates {
            let text = queries.get(query.as_str()).ok_or_else(|| self.absent("query", &query, "queries.jsonl"))?;
            let judged = judgments.as_ref().and_then(|judgments| judgments.get(&query));
            documents.sort_by(|a, b| b.1.total_cmp(&a.1));
            for (id, score) in documents {
                let of = corpus.get(id.as_str()).ok_or_else(|| self.absent("document", &id, "corpus.jsonl"))?;
                let relevance = judged.and_then(|judged| judged.get(&id)).copied().unwrap_or(0.0);
                reached += usize::from(relevance > 0.0);
                let document = TextDocument { id, text: of.to_string(), relevance, score: Some(score) };
                lists.add(&self.run, None, (&query, text), document)?;
            }
        }
        lists.relevant += relevant;
        lists.absent += relevant - reached;
        Ok(())
    }

    fn absent(&self, what: &str, id: &str, file: &str) -> TextError {
        let place = self.beir.join(file);
        TextError::model(&self.run, format!("found {what} `{id}`, expected one of {}", place.display()))
    }
}

/// The queries of a folder with their relevant documents, and the texts of all documents, by their order.
pub(crate) fn read_corpus(folder: &Path, qrels: &str) -> Result<(Vec<TextList>, Texts), TextError> {
    let corpus = texts(&folder.join("corpus.jsonl"), |_| true)?;
    let judgments = read_judgments(folder, qrels)?;
    let by_id: HashMap<&str, &str> = corpus.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let queries = texts(&folder.join("queries.jsonl"), |id| judgments.contains_key(id))?;
    let lists = queries.into_iter().filter_map(|(id, query)| {
        let mut judged: Vec<_> = judgments[&id].iter().filter(|(_, relevance)| **relevance > 0.0).collect();
        judged.sort_by(|a, b| a.0.cmp(b.0));
        let documents = judged.into_iter().filter_map(|(document, &relevance)| {
            let text = by_id.get(document.as_str())?.to_string();
            Some(TextDocument { id: document.clone(), text, relevance, score: None })
        });
        let documents: Vec<TextDocument> = documents.collect();
        (!documents.is_empty()).then_some(TextList { id, query, documents })
    });
    Ok((lists.collect(), corpus))
}

/// Reads the texts whose identifiers are `wanted`, from a file or the same compressed.
fn texts(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Texts, TextError> {
    let mut found = Vec::new();
    let path = &existing(path);
    each_line(path, |number, line| {
        let Record { id, title, text } = decoded(path, number, line)?;
        if wanted(&id) {
            let text = if title.is_empty() { text } else { format!("{title} {text}").trim().to_string() };
            found.push((id, text));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the file, or the one with `.gz` behind its name where only that is.
fn existing(path: &Path) -> PathBuf {
    let compressed = PathBuf::from(format!("{}.gz", path.display()));
    if !path.exists() && compressed.exists() { compressed } else { path.to_path_buf() }
}

fn read_judgments(folder: &Path, name: &str) -> Result<Judgments, TextError> {
    let path = &existing(&folder.join("qrels").join(format!("{name}.tsv")));
    let mut judgments = Judgments::new();
    each_line(path, |number, line| {
        let fields: Vec<&str> = line.trim_end().split('\t').collect();
        let [query, document, relevance] = fields[..] else {
            let message = format!(
                "found {} fields, expected `query-id`, `corpus-id` and `score` with tabs between",
                fields.len()
            );
            return Err(TextError::line(path, number, message));
        };
        match relevance.parse::<f32>() {
            Ok(relevance) if relevance.is_finite() => {
                // Some sets have -1 for spam.
                judgments.entry(query.to_string()).or_default().insert(document.to_string(), relevance.max(0.0));
                Ok(())
            }
            // The names of the columns.
            _ if number == 1 => Ok(()),
            _ => Err(TextError::line(path, number, format!("found `{relevance}`, expected a relevance"))),
        }
    })?;
    Ok(judgments)
}
