//! TREC formats: judgements (`qrels`: `query iteration document relevance`) and runs (`query Q0 document rank score tag`).
//!
//! Fields are separated by blanks; blank lines and lines that begin with `#` are skipped; text behind the run's tag is
//! ignored, and so are the iteration, `Q0` and the rank: the order of a run is that of its scores. Files may be
//! gzip-compressed. Readers hold one block of text; [`RunReader::next_query`] one query, so that a run of any length
//! that is sorted by query takes little memory.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::error::quoted;
use super::letor::{ReadOptions, Source};
use super::{DataError, Dataset};

/// One judgement, borrowed from the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement<'a> {
    /// Query.
    pub query: &'a str,
    /// Document.
    pub document: &'a str,
    /// Relevance; negative values occur.
    pub relevance: i32,
}

/// One line of a run, borrowed from the reader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retrieved<'a> {
    /// Query.
    pub query: &'a str,
    /// Document.
    pub document: &'a str,
    /// Score, finite.
    pub score: f64,
    /// Name of the run.
    pub tag: &'a str,
}

/// The retrieved documents of one query, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct RunQuery {
    /// Query.
    pub query: String,
    /// Documents with their scores.
    pub documents: Vec<(String, f64)>,
}

/// All judgements of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Qrels {
    /// Queries in the order of the file.
    pub queries: Vec<String>,
    /// The documents of each query with their relevance, ascending by identifier (bytes).
    judgements: Vec<Vec<(String, i32)>>,
    places: HashMap<String, usize>,
}

impl Qrels {
    /// Reads a file of judgements.
    ///
    /// # Errors
    /// The first fault with path, line and column: a missing field, a relevance that is no integer, a document judged
    /// twice for a query, a file without judgements.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let mut lines = Lines::open(path)?;
        let mut qrels = Qrels::default();
        let mut seen: Vec<HashMap<String, usize>> = Vec::new();
        while let Some(line) = lines.next_line()? {
            let judgement = judgement(&line)?;
            let place = qrels.place(judgement.query);
            if place == seen.len() {
                seen.push(HashMap::new());
            }
            if let Some(first) = seen[place].insert(judgement.document.to_owned(), line.number) {
                return Err(line.repeated(judgement.query, judgement.document, first));
            }
            qrels.judgements[place].push((judgement.document.to_owned(), judgement.relevance));
        }
        for documents in &mut qrels.judgements {
            documents.sort_unstable();
        }
        if qrels.queries.is_empty() {
            return Err(DataError::Empty { path: path.to_path_buf() });
        }
        Ok(qrels)
    }

    /// The judged documents of a query with their relevance, ascending by identifier; none for an unknown query.
    pub fn judgements(&self, query: &str) -> &[(String, i32)] {
        self.places.get(query).map_or(&[], |&place| &self.judgements[place])
    }

    /// The relevance of a document, `None` if it is not judged.
    pub fn relevance(&self, query: &str, document: &str) -> Option<i32> {
        let documents = self.judgements(query);
        let place = documents.binary_search_by(|(id, _)| id.as_str().cmp(document)).ok()?;
        Some(documents[place].1)
    }

    fn place(&mut self, query: &str) -> usize {
        if let Some(&place) = self.places.get(query) {
            return place;
        }
        self.queries.push(query.to_owned());
        self.judgements.push(Vec::new());
        self.places.insert(query.to_owned(), self.queries.len() - 1);
        self.queries.len() - 1
    }
}

/// Reads judgements one by one.
pub struct QrelsReader(Lines);

impl QrelsReader {
    /// Opens a file of judgements.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        Lines::open(path).map(Self)
    }

    /// The next judgement; `None` at the end.
    ///
    /// # Errors
    /// [`DataError::Syntax`] with path, line and column.
    pub fn next_judgement(&mut self) -> Result<Option<Judgement<'_>>, DataError> {
        self.0.next_line()?.map(|line| judgement(&line)).transpose()
    }
}

/// Reads a run by lines or by queries.
pub struct RunReader {
    lines: Lines,
    /// The first line of the next query, once it has been read: query, document, score, line.
    ahead: Option<(String, String, f64, usize)>,
    /// Queries that have ended, with the line where each began.
    ended: HashMap<String, usize>,
}

impl RunReader {
    /// Opens a run.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        Ok(Self { lines: Lines::open(path)?, ahead: None, ended: HashMap::new() })
    }

    /// The next line; `None` at the end. Not to be mixed with [`RunReader::next_query`].
    ///
    /// # Errors
    /// [`DataError::Syntax`] with path, line and column.
    pub fn next_line(&mut self) -> Result<Option<Retrieved<'_>>, DataError> {
        self.lines.next_line()?.map(|line| retrieved(&line)).transpose()
    }

    /// The documents of the next query; `None` at the end. The lines of a query must be consecutive ([`read_run`] takes
    /// them in any order).
    ///
    /// # Errors
    /// A fault of a line, a document retrieved twice for a query, a query that comes back.
    pub fn next_query(&mut self) -> Result<Option<RunQuery>, DataError> {
        let mut current = self.ahead.take();
        let mut documents: Vec<(String, f64)> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        if let Some((_, document, score, number)) = &current {
            documents.push((document.clone(), *score));
            seen.insert(document.clone(), *number);
        }
        while let Some(line) = self.lines.next_line()? {
            let next = retrieved(&line)?;
            let owned = || (next.query.to_owned(), next.document.to_owned(), next.score, line.number);
            match &current {
                Some((query, ..)) if query != next.query => {
                    if let Some(&first_line) = self.ended.get(next.query) {
                        return Err(line.interleaved(next.query, first_line));
                    }
                    self.ahead = Some(owned());
                    break;
                }
                Some(_) => {}
                None => current = Some(owned()),
            }
            if let Some(first) = seen.insert(next.document.to_owned(), line.number) {
                return Err(line.repeated(next.query, next.document, first));
            }
            documents.push((next.document.to_owned(), next.score));
        }
        Ok(current.map(|(query, _, _, first_line)| {
            self.ended.insert(query.clone(), first_line);
            RunQuery { query, documents }
        }))
    }
}

/// Reads a whole run; the lines of a query may stand anywhere. Queries are in the order of their first lines.
///
/// # Errors
/// A fault of a line, a document retrieved twice for a query, a file without documents.
pub fn read_run(path: &Path) -> Result<Vec<RunQuery>, DataError> {
    let mut lines = Lines::open(path)?;
    let mut run: Vec<(RunQuery, HashMap<String, usize>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    while let Some(line) = lines.next_line()? {
        let next = retrieved(&line)?;
        let place = match places.get(next.query) {
            Some(&place) => place,
            None => {
                places.insert(next.query.to_owned(), run.len());
                run.push((RunQuery { query: next.query.to_owned(), documents: Vec::new() }, HashMap::new()));
                run.len() - 1
            }
        };
        let (query, seen) = &mut run[place];
        if let Some(first) = seen.insert(next.document.to_owned(), line.number) {
            return Err(line.repeated(next.query, next.document, first));
        }
        query.documents.push((next.document.to_owned(), next.score));
    }
    if run.is_empty() {
        return Err(DataError::Empty { path: path.to_path_buf() });
    }
    Ok(run.into_iter().map(|(query, _)| query).collect())
}

/// Writes scores of a dataset as a run: the documents of each query by descending score, equal scores in the order of
/// the dataset. A document without an identifier is named by its number in the query, from 1.
///
/// # Errors
/// [`DataError::Inconsistent`] if the scores are not one a document, or a name has blanks; [`DataError::Io`], with an
/// empty path, for a failed write.
pub fn write_run(output: &mut impl Write, dataset: &Dataset, scores: &[f32], tag: &str) -> Result<(), DataError> {
    let failed = |source| DataError::Io { path: PathBuf::new(), source };
    if scores.len() != dataset.documents() {
        return Err(DataError::Inconsistent {
            what: "number of scores".to_owned(),
            found: scores.len().to_string(),
            expected: format!("{}, the documents", dataset.documents()),
        });
    }
    check_name("run identifier", tag)?;
    for q in 0..dataset.queries() {
        let range = dataset.range(q);
        check_name("query identifier", &dataset.query_ids[q])?;
        let mut order: Vec<usize> = range.clone().collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        for (rank, d) in (1..).zip(order) {
            let name = match dataset.document_ids.get(d) {
                Some(id) if !id.is_empty() => id.clone(),
                _ => (d - range.start + 1).to_string(),
            };
            check_name("document identifier", &name)?;
            writeln!(output, "{} Q0 {name} {rank} {} {tag}", dataset.query_ids[q], scores[d]).map_err(failed)?;
        }
    }
    output.flush().map_err(failed)
}

fn check_name(what: &str, name: &str) -> Result<(), DataError> {
    if !name.is_empty() && !name.contains(char::is_whitespace) {
        return Ok(());
    }
    Err(DataError::Inconsistent {
        what: what.to_owned(),
        found: format!("{name:?}"),
        expected: "a name without blanks".to_owned(),
    })
}

fn judgement<'a>(line: &Line<'a>) -> Result<Judgement<'a>, DataError> {
    let expected = "`query iteration document relevance`";
    let [query, _, document, relevance] = line.fields(expected)?;
    match line.text(relevance)?.parse() {
        Ok(relevance) => Ok(Judgement { query: line.text(query)?, document: line.text(document)?, relevance }),
        Err(_) => Err(line.fault(relevance, "an integer relevance")),
    }
}

fn retrieved<'a>(line: &Line<'a>) -> Result<Retrieved<'a>, DataError> {
    let expected = "`query Q0 document rank score tag`";
    let [query, _, document, _, score, tag] = line.fields(expected)?;
    let (query, document, tag) = (line.text(query)?, line.text(document)?, line.text(tag)?);
    match line.text(score)?.parse::<f64>().ok().filter(|value| value.is_finite()) {
        Some(score) => Ok(Retrieved { query, document, score, tag }),
        None => Err(line.fault(score, "a finite score")),
    }
}

/// Lines with data, one at a time.
struct Lines {
    path: PathBuf,
    source: Source,
    block: Vec<u8>,
    at: usize,
    number: usize,
}

/// A line with data.
struct Line<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    number: usize,
}

/// A field: where it starts and ends in its line.
type Field = (usize, usize);

impl Lines {
    fn open(path: &Path) -> Result<Self, DataError> {
        let source = Source::open(path, &ReadOptions::default())?;
        Ok(Self { path: path.to_path_buf(), source, block: Vec::new(), at: 0, number: 0 })
    }

    fn next_line(&mut self) -> Result<Option<Line<'_>>, DataError> {
        loop {
            if self.at == self.block.len() {
                self.source.next_block(&mut self.block)?;
                self.at = 0;
                if self.block.is_empty() {
                    return Ok(None);
                }
            }
            let start = self.at;
            let length = memchr::memchr(b'\n', &self.block[start..]).unwrap_or(self.block.len() - start - 1);
            self.at = start + length + 1;
            self.number += 1;
            let is_data = !matches!(self.block[start..start + length].trim_ascii_start().first(), None | Some(b'#'));
            if is_data {
                let bytes = &self.block[start..start + length];
                return Ok(Some(Line { path: &self.path, bytes, number: self.number }));
            }
        }
    }
}

impl<'a> Line<'a> {
    fn fields<const N: usize>(&self, expected: &str) -> Result<[Field; N], DataError> {
        let mut fields = [(0, 0); N];
        let mut at = 0;
        for field in &mut fields {
            at += self.bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let end = at + self.bytes[at..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
            if at == end {
                return Err(self.fault((at, end), expected));
            }
            *field = (at, end);
            at = end;
        }
        Ok(fields)
    }

    fn text(&self, field: Field) -> Result<&'a str, DataError> {
        std::str::from_utf8(&self.bytes[field.0..field.1]).map_err(|_| self.fault(field, "text in UTF-8"))
    }

    fn fault(&self, (start, end): Field, expected: &str) -> DataError {
        let found = if start == end { "the end of the line".to_owned() } else { quoted(&self.bytes[start..end]) };
        let expected = expected.to_owned();
        DataError::Syntax { path: self.path.to_path_buf(), line: self.number, column: start + 1, found, expected }
    }

    fn repeated(&self, query: &str, document: &str, first: usize) -> DataError {
        let column = self.fields::<3>("").map_or(1, |fields| fields[2].0 + 1);
        DataError::Syntax {
            path: self.path.to_path_buf(),
            line: self.number,
            column,
            found: format!("document {} of query {} again", quoted(document.as_bytes()), quoted(query.as_bytes())),
            expected: format!("each document once (it is on line {first})"),
        }
    }

    fn interleaved(&self, query: &str, first_line: usize) -> DataError {
        DataError::InterleavedQuery {
            path: self.path.to_path_buf(),
            line: self.number,
            column: 1,
            query: query.to_owned(),
            first_path: self.path.to_path_buf(),
            first_line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn judgements_are_found_by_name() {
        let (_folder, path) = file("# comment\n301 0 B 1\n\n302\t0\tA\t-2\r\n301 0 A 0\n");
        let qrels = Qrels::read(&path).unwrap();
        assert_eq!(qrels.queries, ["301", "302"]);
        assert_eq!(qrels.judgements("301"), [("A".to_owned(), 0), ("B".to_owned(), 1)]);
        assert_eq!(qrels.relevance("302", "A"), Some(-2));
        assert_eq!((qrels.relevance("302", "B"), qrels.relevance("303", "A")), (None, None));
        let mut reader = QrelsReader::open(&path).unwrap();
        let first = reader.next_judgement().unwrap().unwrap();
        assert_eq!(first, Judgement { query: "301", document: "B", relevance: 1 });
    }

    #[test]
    fn runs_by_line_by_query_and_whole() {
        let (_folder, path) = file("1 Q0 a 1 2.5 tag and more\n1 Q0 b 2 -1e3 tag\n 2 Q0 a 1 0 tag");
        let query = |query: &str, documents: &[(&str, f64)]| RunQuery {
            query: query.to_owned(),
            documents: documents.iter().map(|&(document, score)| (document.to_owned(), score)).collect(),
        };
        let expected = [query("1", &[("a", 2.5), ("b", -1000.0)]), query("2", &[("a", 0.0)])];
        assert_eq!(read_run(&path).unwrap(), expected);
        let mut reader = RunReader::open(&path).unwrap();
        assert_eq!(reader.next_query().unwrap().as_ref(), Some(&expected[0]));
        assert_eq!(reader.next_query().unwrap().as_ref(), Some(&expected[1]));
        assert_eq!(reader.next_query().unwrap(), None);
        let mut reader = RunReader::open(&path).unwrap();
        assert_eq!(reader.next_line().unwrap().unwrap().tag, "tag");
    }

    #[test]
    fn an_interleaved_run_is_read_whole_but_not_by_query() {
        let (_folder, path) = file("1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 b 2 1 t\n");
        assert_eq!(read_run(&path).unwrap()[0].documents.len(), 2);
        let mut reader = RunReader::open(&path).unwrap();
        assert_eq!(reader.next_query().unwrap().unwrap().query, "1");
        let message = reader.next_query().unwrap_err().to_string();
        assert!(message.contains(":3:1: found query `1` again"), "{message}");
    }

    #[test]
    fn faults_are_placed() {
        let run = |text: &str| read_run(&file(text).1).unwrap_err().to_string();
        let qrels = |text: &str| Qrels::read(&file(text).1).unwrap_err().to_string();
        for (message, expected) in [
            (
                run("1 Q0 a 1 3 t\n1 Q0 a"),
                ":2:7: found the end of the line, expected `query Q0 document rank score tag`",
            ),
            (run("1 Q0 a 1 nan t"), ":1:10: found `nan`, expected a finite score"),
            (run("1 Q0 a 1 3 t\n1 Q0 a 2 3 t"), ":2:6: found document `a` of query `1` again"),
            (run("# nothing\n"), "found no document"),
            (qrels("1 0 a x"), ":1:7: found `x`, expected an integer relevance"),
            (qrels("1 0 a 1\n1 0 a 1"), ":2:5: found document `a` of query `1` again"),
        ] {
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_written_run_is_read_back() {
        let mut data = Dataset::from_groups(vec![0.0; 3], 1, vec![0.0; 3], &[2, 1]).unwrap();
        let mut text = Vec::new();
        write_run(&mut text, &data, &[0.5, 2.0, -1.0], "ours").unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "1 Q0 2 1 2 ours\n1 Q0 1 2 0.5 ours\n2 Q0 1 1 -1 ours\n");
        assert!(write_run(&mut Vec::new(), &data, &[0.0; 2], "ours").is_err());
        assert!(write_run(&mut Vec::new(), &data, &[0.0; 3], "my run").is_err());
        data.document_ids = vec!["x".into(), "a b".into(), "y".into()];
        assert!(write_run(&mut Vec::new(), &data, &[0.0; 3], "ours").is_err());
    }
}
