//! Reads runs query by query, with lines of the form `query Q0 document rank score tag`.
//!
//! A run is cut into queries by parsing only the first field of each line. A batch of whole queries is small enough for
//! memory, and large enough to keep all threads busy.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::line::{DataLines, Field, Line};
use crate::data::error::DataError;
use crate::data::letor::LARGEST;
use crate::data::options::ReadOptions;
use crate::data::source::{Input, Source};
use crate::execution::Execution;
use crate::file_kind::FileKind;
use crate::parallel;

const EXPECTED: &str = "`query Q0 document rank score tag`";

/// The number of bytes of text that each thread receives at a time.
const BYTES_PER_THREAD: usize = 1 << 20;

/// The result of reading a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Run<T> {
    /// The name of the run, which is the tag of its last line, as in trec_eval.
    pub tag: String,
    /// Each query with its result, in the order of the queries' first lines. A run that is read with judgments is
    /// sorted by the bytes of the queries' names instead, as in trec_eval.
    pub queries: Vec<(String, T)>,
    /// The judged queries for which the run has no documents.
    pub missing: Vec<String>,
    /// The number of queries in the run that have no judgments and are left out.
    pub unjudged: usize,
}

/// Passes every query of a run to `of_query`, as its identifier and its retrieved documents in the order of the file,
/// each with its score and only once. The queries are passed on all threads, with the
/// [`Execution`](crate::op::Execution) of the calling thread.
///
/// Memory holds the longest query and a few blocks of text. If the lines of a query are not consecutive, the run is
/// read again from its beginning, and its whole text is held in memory. `of_query` may then be called twice for the
/// same query. If the input is not a plain file, the whole text is always held, because the input cannot be read twice.
///
/// # Errors
/// Returns the first fault, in the order of lines. If the lines of a query are not consecutive, queries are checked one
/// after another. The first fault that this check finds is returned. A fault is a missing field, a score that is not a
/// finite `f32`, or a document retrieved twice for a query. An error that `of_query` returns, or a file without
/// documents, is also a fault.
pub fn read_run<T, E>(path: &Path, of_query: impl Fn(&str, &[(&str, f32)]) -> Result<T, E> + Sync) -> Result<Run<T>, E>
where
    T: Send,
    E: From<DataError> + Send,
{
    read_run_from(Input::from_path(path), of_query)
}

/// Passes every query of a run, from a file or a reader, to `of_query`, as [`read_run`] does. The whole text of a
/// reader is held in memory, because a reader cannot be read twice.
///
/// # Errors
/// Returns the same errors as [`read_run`].
pub fn read_run_from<T, E>(
    input: Input,
    of_query: impl Fn(&str, &[(&str, f32)]) -> Result<T, E> + Sync,
) -> Result<Run<T>, E>
where
    T: Send,
    E: From<DataError> + Send,
{
    let some_queries = Extent::Bytes(BYTES_PER_THREAD * rayon::current_num_threads());
    let path = input.name().to_path_buf();
    let is_plain = input.is_file() && path.is_file();
    let streamed = if is_plain { read(Input::from_path(&path), some_queries, &of_query)? } else { None };
    let run = match streamed {
        Some(run) => run,
        None => read(input, Extent::Everything, &of_query)?.expect("a run that is held whole is in any order"),
    };
    if run.queries.is_empty() {
        return Err(DataError::Empty { path, expected: EXPECTED }.into());
    }
    Ok(run)
}

/// Reads a run in batches, and fills one batch while another is parsed. Returns `None` if a query occurs again after a
/// different query.
fn read<T: Send, E: From<DataError> + Send>(
    input: Input,
    extent: Extent,
    of_query: &(impl Fn(&str, &[(&str, f32)]) -> Result<T, E> + Sync),
) -> Result<Option<Run<T>>, E> {
    let path = &input.name().to_path_buf();
    let of_run = input.or_kind(FileKind::TrecRun, format!("a TREC run, lines {EXPECTED}"));
    let mut cutter = Cutter::open(input)?;
    let (mut full, mut filling) = (Batch::default(), Batch::default());
    let mut run = Run { tag: String::new(), queries: Vec::new(), missing: Vec::new(), unjudged: 0 };
    let mut last_line = 0;
    let mut filled = cutter.fill(&mut full, extent).map_err(&of_run)?;
    // Taken here because another thread may parse the batch.
    let execution = Execution::current();
    while filled == Filled::Some {
        let one = |lines: &QueryLines| -> Result<((String, T), usize, String), E> {
            let Parsed { query, documents, last, tag } = parse(&full, path, lines).map_err(&of_run)?;
            Ok(((query.to_owned(), of_query(query, &documents)?), last, tag.to_owned()))
        };
        let parse_full = || execution.scope(|| parallel::map(&full.queries, one));
        let (next, queries) = rayon::join(|| cutter.fill(&mut filling, extent), parse_full);
        // Returns the first error in the order of queries, whichever thread met one first.
        for query in queries {
            let (value, last, tag) = query?;
            if last > last_line {
                (last_line, run.tag) = (last, tag);
            }
            run.queries.push(value);
        }
        filled = next.map_err(&of_run)?;
        std::mem::swap(&mut full, &mut filling);
    }
    Ok((filled != Filled::Interleaved).then_some(run))
}

/// A query of a run, with the number of its last line and the tag on that line.
struct Parsed<'a> {
    query: &'a str,
    documents: Vec<(&'a str, f32)>,
    last: usize,
    tag: &'a str,
}

fn parse<'a>(batch: &'a Batch, path: &'a Path, lines: &'a QueryLines) -> Result<Parsed<'a>, DataError> {
    let mut parsed = Parsed { query: "", documents: Vec::new(), last: 0, tag: "" };
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for line in batch.lines(path, lines) {
        let [name, _, document, _, score, tag] = line.fields(EXPECTED)?;
        let id = line.text(document)?;
        (parsed.query, parsed.last, parsed.tag) = (line.text(name)?, line.number, line.text(tag)?);
        if let Some(first) = seen.insert(id, line.number) {
            return Err(line.repeated(parsed.query, id, first));
        }
        parsed.documents.push((id, parse_score(&line, score)?));
    }
    Ok(parsed)
}

fn parse_score(line: &Line, field: Field) -> Result<f32, DataError> {
    // As C reads a score: to double precision, then rounded.
    match line.text(field)?.parse::<f64>() {
        Ok(score) if (score as f32).is_finite() => Ok(score as f32),
        Ok(score) if score.is_finite() => Err(line.fault(field, &format!("a finite score {LARGEST}"))),
        _ => Err(line.fault(field, "a finite score")),
    }
}

/// A range of consecutive lines that belong to the same query.
#[derive(Clone)]
struct Segment {
    bytes: Range<usize>,
    /// The number of lines in the file before this range.
    before: usize,
}

/// The lines of a query, in the order of the file.
type QueryLines = Vec<Segment>;

/// Text that holds whole queries, with the positions of each query's lines.
#[derive(Default)]
struct Batch {
    text: Vec<u8>,
    queries: Vec<QueryLines>,
}

impl Batch {
    /// Iterates over the lines of a query, in the order of the file.
    fn lines<'a>(&'a self, path: &'a Path, query: &'a [Segment]) -> impl Iterator<Item = Line<'a>> {
        let text = |segment: &Segment| &self.text[segment.bytes.clone()];
        query.iter().flat_map(move |segment| DataLines::new(path, text(segment), segment.before))
    }
}

/// How much of a run is read into a batch.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// Whole queries whose lines are consecutive, with at least this many bytes of text unless the run ends first.
    Bytes(usize),
    /// The whole run, with lines in any order.
    Everything,
}

/// The result of filling a batch.
#[derive(Debug, PartialEq)]
enum Filled {
    /// The batch has queries, and more may follow.
    Some,
    /// The batch is empty because the run has ended.
    Nothing,
    /// A query occurred again after a different query, so its lines are not consecutive.
    Interleaved,
}

/// Cuts a run into queries.
struct Cutter {
    path: PathBuf,
    source: Source,
    block: Vec<u8>,
    /// The text of the last query, of which more lines may follow.
    open: Vec<u8>,
    /// The number of lines in the file before the text in `open`.
    before: usize,
    /// Every query read so far, with its index in its batch.
    places: HashMap<Vec<u8>, usize>,
}

impl Cutter {
    fn open(input: Input) -> Result<Self, DataError> {
        Ok(Self {
            path: input.name().to_path_buf(),
            source: Source::open(input, &ReadOptions::default())?,
            block: Vec::new(),
            open: Vec::new(),
            before: 0,
            places: HashMap::new(),
        })
    }

    /// Replaces `batch` with the next queries of the run.
    fn fill(&mut self, batch: &mut Batch, extent: Extent) -> Result<Filled, DataError> {
        batch.text.clear();
        batch.text.append(&mut self.open);
        batch.queries.clear();
        // The query of the last line, and its place in the batch.
        let (mut name, mut place): (Vec<u8>, Option<usize>) = (Vec::new(), None);
        let (mut cut, mut number) = (0, self.before);
        let mut at_end = false;
        loop {
            let mut lines = DataLines::new(&self.path, &batch.text[cut..], number);
            let mut start = Segment { bytes: cut..cut, before: number };
            while let Some(line) = lines.next() {
                let end = cut + lines.at();
                match place {
                    Some(place) if name == line.first_field() => {
                        if let Some(last) = batch.queries[place].last_mut() {
                            last.bytes.end = end;
                        }
                    }
                    _ => {
                        name.clear();
                        name.extend_from_slice(line.first_field());
                        let known = self.places.get(&name).copied();
                        if known.is_some() && extent != Extent::Everything {
                            return Ok(Filled::Interleaved);
                        }
                        let query = known.unwrap_or_else(|| {
                            self.places.insert(name.clone(), batch.queries.len());
                            batch.queries.push(QueryLines::new());
                            batch.queries.len() - 1
                        });
                        batch.queries[query].push(Segment { bytes: start.bytes.start..end, ..start });
                        place = Some(query);
                    }
                }
                start = Segment { bytes: end..end, before: lines.number() };
            }
            number = lines.number();
            cut = batch.text.len();
            let enough = |bytes: usize| cut >= bytes && batch.queries.len() > 1;
            if at_end || matches!(extent, Extent::Bytes(bytes) if enough(bytes)) {
                break;
            }
            self.source.next_block(&mut self.block)?;
            at_end = self.block.is_empty();
            batch.text.extend_from_slice(&self.block);
        }
        if !at_end {
            self.keep_open(batch);
        }
        Ok(if batch.queries.is_empty() { Filled::Nothing } else { Filled::Some })
    }

    /// Removes the last query from the batch, because more of its lines may follow.
    fn keep_open(&mut self, batch: &mut Batch) {
        let Some(segment) = batch.queries.pop().and_then(|mut query| query.pop()) else { return };
        self.open.extend_from_slice(&batch.text[segment.bytes.start..]);
        self.before = segment.before;
        if let Some(line) = DataLines::new(&self.path, &self.open, 0).next() {
            self.places.remove(line.first_field());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Documents = Vec<(String, f32)>;

    fn read(text: &str) -> Result<Run<Documents>, DataError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        std::fs::write(&path, text).unwrap();
        read_run(&path, |_, documents| Ok(documents.iter().map(|&(id, score)| (id.to_owned(), score)).collect()))
    }

    fn query(query: &str, documents: &[(&str, f32)]) -> (String, Documents) {
        (query.to_owned(), documents.iter().map(|(id, score)| (id.to_string(), *score)).collect())
    }

    #[test]
    fn a_run_is_read_query_by_query() {
        let run = read("1 Q0 a 1 2.5 first and more\n1 Q0 b 2 -1e3 tag\n 2 Q0 a 1 0 last").unwrap();
        assert_eq!(run.queries, [query("1", &[("a", 2.5), ("b", -1000.0)]), query("2", &[("a", 0.0)])]);
        assert_eq!(run.tag, "last");
    }

    #[test]
    fn lines_may_be_in_any_order() {
        let run = read("1 Q0 a 1 3 t\n2 Q0 a 1 3 u\n1 Q0 b 2 1 v\n2 Q0 b 2 1 w\n1 Q0 c 3 0 x\n").unwrap();
        let expected = [query("1", &[("a", 3.0), ("b", 1.0), ("c", 0.0)]), query("2", &[("a", 3.0), ("b", 1.0)])];
        assert_eq!(run.queries, expected);
        assert_eq!(run.tag, "x");
    }

    #[test]
    fn a_run_is_the_same_on_any_number_of_threads() {
        let text: String =
            (0..60_000).map(|line| format!("{} Q0 document-{line} 1 {} t\n", line / 100, line * 7919 % 997)).collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| read(&text).unwrap())
        };
        let run = on(1);
        assert_eq!(run.queries.len(), 600);
        assert_eq!(on(3), run);
    }

    #[test]
    fn faults_are_reported_with_their_place() {
        for (text, expected) in [
            ("1 Q0 a 1 3 t\n1 Q0 a", ":2:7: found the end of the line, expected `query Q0 document rank score tag`"),
            ("1 Q0 a 1 nan t", ":1:10: found `nan`, expected a finite score"),
            ("1 Q0 a 1 1e39 t", ":1:10: found `1e39`, expected a finite score of at most 3.4028235e38 in size"),
            ("1 Q0 a 1 high t", ":1:10: found `high`, expected a finite score"),
            ("1 Q0 a 1 3 t\n1 Q0 a 2 3 t", ":2:6: found document `a` of query `1` again"),
            ("1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 a 2 3 t", ":3:6: found document `a` of query `1` again"),
            ("# nothing\n", "found no document, expected lines `query Q0 document rank score tag`"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        std::fs::write(&path, b"1 Q0 a 1 3 t\n1 Q0 \xff 1 2 t\n").unwrap();
        let message = read_run(&path, |_, _| Ok::<_, DataError>(())).unwrap_err().to_string();
        assert!(message.contains(":2:6: ") && message.contains("UTF-8"), "{message}");
    }

    #[test]
    fn an_error_in_a_query_ends_the_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        std::fs::write(&path, "1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n3 Q0 a 1 3 t\n").unwrap();
        let refuse = |query: &str, _: &[(&str, f32)]| match query {
            "1" => Ok(()),
            query => Err(DataError::FeatureCount { found: query.parse().unwrap(), expected: 0 }),
        };
        assert!(read_run(&path, refuse).unwrap_err().to_string().contains("found 2 features"));
    }

    mod of_queries {
        use super::super::*;

        fn cut(text: &str, extent: Extent) -> (Vec<Vec<(usize, String)>>, Filled) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run");
            std::fs::write(&path, text).unwrap();
            let mut cutter = Cutter::open(Input::from_path(&path)).unwrap();
            let (mut batch, mut queries) = (Batch::default(), Vec::new());
            loop {
                match cutter.fill(&mut batch, extent).unwrap() {
                    Filled::Some => {
                        let shown = |line: Line| (line.number, String::from_utf8_lossy(line.bytes).into_owned());
                        let lines = |query: &QueryLines| batch.lines(&path, query).map(shown).collect();
                        queries.extend(batch.queries.iter().map(lines));
                    }
                    end => return (queries, end),
                }
            }
        }

        fn lines(of: &[(usize, &str)]) -> Vec<(usize, String)> {
            of.iter().map(|(number, line)| (*number, line.to_string())).collect()
        }

        #[test]
        fn consecutive_lines_are_one_query() {
            let text = "# head\n\n1 a\n1 b\n\n# between\n10 a\n 1a b";
            let expected = [lines(&[(3, "1 a"), (4, "1 b")]), lines(&[(7, "10 a")]), lines(&[(8, " 1a b")])];
            for extent in [Extent::Bytes(0), Extent::Bytes(1 << 20), Extent::Everything] {
                assert_eq!(cut(text, extent), (expected.to_vec(), Filled::Nothing));
            }
        }

        #[test]
        fn queries_may_span_several_blocks_of_text() {
            // About 7 MB, so that blocks end within lines, and the second query is longer than two blocks.
            let mut text = String::new();
            for (query, documents) in [("1", 100), ("2", 400_000), ("3", 50_000), ("4", 1)] {
                for document in 0..documents {
                    text += &format!("{query} document-{document}\n");
                }
            }
            let (queries, end) = cut(&text, Extent::Bytes(1));
            assert_eq!(end, Filled::Nothing);
            assert_eq!(queries.iter().map(Vec::len).collect::<Vec<_>>(), [100, 400_000, 50_000, 1]);
            let all: Vec<(usize, String)> = queries.concat();
            assert!(all.iter().zip(1..).all(|((number, _), expected)| *number == expected));
            assert!(all.iter().map(|(_, line)| line.as_str()).eq(text.lines()));
        }

        #[test]
        fn lines_of_a_query_may_be_in_many_places() {
            let text = "1 a\n2 a\n1 b\n2 b\n";
            assert_eq!(cut(text, Extent::Bytes(1)).1, Filled::Interleaved);
            let expected = [lines(&[(1, "1 a"), (3, "1 b")]), lines(&[(2, "2 a"), (4, "2 b")])];
            assert_eq!(cut(text, Extent::Everything), (expected.to_vec(), Filled::Nothing));
        }
    }
}
