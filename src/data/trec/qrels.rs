//! Reads relevance judgments, with lines of the form `query iteration document relevance`.

use std::collections::HashMap;
use std::path::Path;

use super::line::{DataLines, Line};
use crate::data::error::DataError;
use crate::data::options::ReadOptions;
use crate::data::source::{Input, Source};
use crate::file_kind::FileKind;

const EXPECTED: &str = "`query iteration document relevance`";

/// All relevance judgments of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Qrels {
    /// The queries in the order of the file.
    pub queries: Vec<String>,
    /// For each query, its judged documents with their relevance, sorted by the bytes of the identifiers.
    judgments: Vec<Vec<(String, i32)>>,
    places: HashMap<String, usize>,
}

/// The documents read so far for one query, each with its relevance and its line number.
type Seen = HashMap<String, (i32, usize)>;

impl Qrels {
    /// Reads the relevance judgments of a file.
    ///
    /// # Errors
    /// Returns the first fault, with path, line and column. A fault is a missing field, a relevance that is not an
    /// integer, a document judged twice for a query, or a file without judgments.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        Self::read_from(Input::from_path(path))
    }

    /// Reads relevance judgments from a file or a reader.
    ///
    /// # Errors
    /// Returns the same errors as [`Qrels::read`].
    pub fn read_from(input: Input) -> Result<Self, DataError> {
        let or_kind = input.or_kind(FileKind::Qrels, format!("TREC qrels, lines {EXPECTED}"));
        Self::read_any(input).map_err(or_kind)
    }

    fn read_any(input: Input) -> Result<Self, DataError> {
        let path = &input.name().to_path_buf();
        let mut source = Source::open(input, &ReadOptions::default())?;
        let mut qrels = Qrels::default();
        let mut seen: Vec<Seen> = Vec::new();
        let (mut block, mut before) = (Vec::new(), 0);
        loop {
            source.next_block(&mut block)?;
            if block.is_empty() {
                break;
            }
            let mut lines = DataLines::new(path, &block, before);
            for line in lines.by_ref() {
                let (query, document, relevance) = judgment(&line)?;
                let place = qrels.place_or_new(query, &mut seen);
                if let Some((_, first)) = seen[place].insert(document.to_owned(), (relevance, line.number)) {
                    return Err(line.repeated(query, document, first));
                }
            }
            before = lines.number();
        }
        if qrels.queries.is_empty() {
            return Err(DataError::Empty { path: path.clone(), expected: EXPECTED });
        }
        let sorted = |documents: Seen| {
            let mut documents: Vec<_> = documents.into_iter().map(|(id, (relevance, _))| (id, relevance)).collect();
            documents.sort_unstable();
            documents
        };
        qrels.judgments = seen.into_iter().map(sorted).collect();
        Ok(qrels)
    }

    /// Returns the judged documents of a query with their relevance, in ascending order of their identifiers; empty for
    /// an unknown query.
    pub fn judgments(&self, query: &str) -> Vec<(&str, i32)> {
        let documents = self.place(query).map_or(&[][..], |place| &self.judgments[place]);
        documents.iter().map(|(id, relevance)| (id.as_str(), *relevance)).collect()
    }

    /// Returns the relevance of a document; `None` if the document is not judged.
    pub fn relevance(&self, query: &str, document: &str) -> Option<i32> {
        let documents = &self.judgments[self.place(query)?];
        let place = documents.binary_search_by(|(id, _)| id.as_str().cmp(document)).ok()?;
        Some(documents[place].1)
    }

    /// Returns the index of a query in [`Qrels::queries`].
    pub(super) fn place(&self, query: &str) -> Option<usize> {
        self.places.get(query).copied()
    }

    fn place_or_new(&mut self, query: &str, seen: &mut Vec<Seen>) -> usize {
        if let Some(place) = self.place(query) {
            return place;
        }
        self.queries.push(query.to_owned());
        self.places.insert(query.to_owned(), seen.len());
        seen.push(Seen::new());
        seen.len() - 1
    }
}

/// Parses the query, the document and its relevance on a line.
fn judgment<'a>(line: &Line<'a>) -> Result<(&'a str, &'a str, i32), DataError> {
    let [query, _, document, relevance] = line.fields(EXPECTED)?;
    // A run has more fields, of which the fourth is a number too.
    if let Some(more) = line.after(relevance) {
        return Err(line.fault(more, "the end of the line after `query iteration document relevance`"));
    }
    match line.text(relevance)?.parse() {
        Ok(relevance) => Ok((line.text(query)?, line.text(document)?, relevance)),
        Err(_) => Err(line.fault(relevance, "an integer relevance")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Qrels, DataError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("qrels");
        std::fs::write(&path, text).unwrap();
        Qrels::read(&path)
    }

    #[test]
    fn judgments_are_found_by_name() {
        let qrels = read("# comment\n301 0 B 1\n\n302\t0\tA\t-2\r\n301 0 A 0\n").unwrap();
        assert_eq!(qrels.queries, ["301", "302"]);
        assert_eq!(qrels.judgments("301"), [("A", 0), ("B", 1)]);
        assert!(qrels.judgments("303").is_empty());
        assert_eq!(qrels.relevance("302", "A"), Some(-2));
        assert_eq!((qrels.relevance("302", "B"), qrels.relevance("303", "A")), (None, None));
    }

    #[test]
    fn faults_are_reported_with_their_place() {
        for (text, expected) in [
            ("1 0 a x", ":1:7: found `x`, expected an integer relevance"),
            (
                "1 0 a 1\n# b\n1 0 a 1",
                ":3:5: found document `a` of query `1` again, expected each document once (it was first on line 1)",
            ),
            ("1 0 a\n", ":1:6: found the end of the line, expected `query iteration document relevance`"),
            ("1 Q0 a 1 2.5 t", ": found a TREC run, expected TREC qrels, lines `query iteration document relevance`"),
            ("1 Q0 a 1 b", ":1:10: found `b`, expected the end of the line after `query iteration document relevance`"),
            ("\n", "found no document, expected lines `query iteration document relevance`"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
