//! Lists of texts: queries with their documents, from JSON lines or from a folder of BEIR.

mod beir;
mod lines;

pub use beir::Beir;
pub(crate) use beir::read_corpus;
pub use lines::{read_lines, write_lines};

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use burn_rank::data::{Input, RankingDataset};
use burn_rank::json::{Value, from_value};
use burn_rank::workbench::text::hexadecimal;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

use crate::error::TextError;

/// A document of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct TextDocument {
    /// The identifier.
    pub id: String,
    /// The text.
    pub text: String,
    /// The relevance, 0 or above.
    pub relevance: f32,
    /// The score of a teacher or of a first stage.
    pub score: Option<f32>,
}

/// A query with its documents.
#[derive(Debug, Clone, PartialEq)]
pub struct TextList {
    /// The identifier of the query.
    pub id: String,
    /// The text of the query.
    pub query: String,
    /// The documents, one or more.
    pub documents: Vec<TextDocument>,
}

/// Where lists come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Source {
    /// A file with a document a line.
    Lines(PathBuf),
    /// A folder of BEIR.
    Beir(Beir),
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(path) => Ok(Self::Lines(path.into())),
            table @ Value::Object(_) => from_value(table).map(Self::Beir).map_err(D::Error::custom),
            _ => Err(D::Error::custom("expected the name of a file, or a table with `beir`, `qrels` and `run`")),
        }
    }
}

impl Source {
    /// The paths of the source.
    pub fn paths_mut(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Lines(path) => vec![path],
            Self::Beir(beir) => vec![&mut beir.beir, &mut beir.run],
        }
    }
}

/// Reads lists. The documents of a query are together or not, in one file or in several.
///
/// # Errors
/// Returns an error with file and line.
pub fn read(sources: &[Source]) -> Result<Vec<TextList>, TextError> {
    Ok(read_all(sources)?.found)
}

/// Reads lists as [`read`] does, and counts what BEIR's folders judge relevant.
pub(crate) fn read_all(sources: &[Source]) -> Result<Lists, TextError> {
    let mut lists = Lists::default();
    for source in sources {
        match source {
            Source::Lines(path) => read_lines(path, &mut lists)?,
            Source::Beir(beir) => beir.read(&mut lists)?,
        }
    }
    Ok(lists)
}

/// Lists that are read.
#[derive(Debug, Default)]
pub struct Lists {
    pub(crate) found: Vec<TextList>,
    /// The documents that the judgments of BEIR's folders call relevant.
    pub(crate) relevant: usize,
    /// Those of them that are not among the candidates.
    pub(crate) absent: usize,
    places: HashMap<String, usize>,
    documents: HashMap<(usize, String), (PathBuf, Option<usize>)>,
}

impl Lists {
    /// Adds a document of a file, and of one of its lines where that is known.
    fn add(
        &mut self,
        path: &Path,
        line: Option<usize>,
        query: (&str, &str),
        document: TextDocument,
    ) -> Result<(), TextError> {
        let (id, text) = query;
        let fault = |message: String| match line {
            Some(line) => TextError::line(path, line, message),
            None => TextError::model(path, message),
        };
        let place = match self.places.get(id) {
            Some(&place) => place,
            None => {
                self.places.insert(id.to_string(), self.found.len());
                self.found.push(TextList { id: id.to_string(), query: text.to_string(), documents: Vec::new() });
                self.found.len() - 1
            }
        };
        if self.found[place].query != text {
            return Err(fault(format!("found another text for query `{id}`, expected that of its first document")));
        }
        let before = self.documents.insert((place, document.id.clone()), (path.to_path_buf(), line));
        if let Some((first, at)) = before {
            let first = at.map_or_else(|| first.display().to_string(), |at| format!("{}:{at}", first.display()));
            let found = format!("found document `{}` of query `{id}` again", document.id);
            return Err(fault(format!("{found}, expected each once (it is first in {first})")));
        }
        self.found[place].documents.push(document);
        Ok(())
    }
}

/// Calls `each` with the number and the text of each line that is not blank.
fn each_line(path: &Path, mut each: impl FnMut(usize, &str) -> Result<(), TextError>) -> Result<(), TextError> {
    let reader = BufReader::with_capacity(1 << 16, burn_rank::workbench::open(Input::from_path(path))?);
    for (number, line) in (1..).zip(reader.lines()) {
        let line = line.map_err(|error| TextError::line(path, number, error))?;
        let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { &line };
        if !line.trim().is_empty() {
            each(number, line)?;
        }
    }
    Ok(())
}

/// The labels of lists as a dataset without features, by which measures are computed and runs are written.
///
/// # Errors
/// Returns an error if there is no list, or if an identifier cannot be used.
pub fn to_dataset(lists: &[TextList]) -> Result<RankingDataset, TextError> {
    let documents = || lists.iter().flat_map(|list| &list.documents);
    let sizes: Vec<usize> = lists.iter().map(|list| list.documents.len()).collect();
    let dataset = RankingDataset::builder()
        .features(Vec::new(), 0)
        .labels(documents().map(|document| document.relevance).collect())
        .query_sizes(&sizes)
        .query_ids(lists.iter().map(|list| &list.id))
        .document_ids(documents().map(|document| &document.id))
        .build()?;
    Ok(dataset)
}

/// The hash of everything in the lists.
pub fn hash(lists: &[TextList]) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    for list in lists {
        add(&list.id);
        add(&list.query);
        for document in &list.documents {
            add(&document.id);
            add(&document.text);
            add(&format!("{:?} {:?}", document.relevance, document.score));
        }
    }
    hexadecimal(&hash.finalize())
}
