//! Cuts a run into queries by parsing only the first field of each line. A batch of whole queries is small enough for
//! memory, and large enough to keep all threads busy.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::line::{DataLines, Line};
use crate::data::error::DataError;
use crate::data::options::ReadOptions;
use crate::data::source::{Input, Source};

/// A range of consecutive lines that belong to the same query.
#[derive(Clone)]
struct Segment {
    bytes: Range<usize>,
    /// The number of lines in the file before this range.
    before: usize,
}

/// The lines of a query, in the order of the file.
#[derive(Default)]
pub(super) struct QueryLines(Vec<Segment>);

impl QueryLines {
    fn extend_to(&mut self, end: usize) {
        if let Some(segment) = self.0.last_mut() {
            segment.bytes.end = end;
        }
    }
}

/// Text that holds whole queries, with the positions of each query's lines.
#[derive(Default)]
pub(super) struct Batch {
    text: Vec<u8>,
    pub(super) queries: Vec<QueryLines>,
}

impl Batch {
    /// Iterates over the lines of a query, in the order of the file.
    pub(super) fn lines<'a>(&'a self, path: &'a Path, query: &'a QueryLines) -> impl Iterator<Item = Line<'a>> {
        let text = |segment: &Segment| &self.text[segment.bytes.clone()];
        query.0.iter().flat_map(move |segment| DataLines::new(path, text(segment), segment.before))
    }
}

/// How much of a run is read into a batch.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Extent {
    /// Whole queries whose lines are consecutive, with at least this many bytes of text unless the run ends first.
    Bytes(usize),
    /// The whole run, with lines in any order.
    Everything,
}

/// The result of filling a batch.
#[derive(Debug, PartialEq)]
pub(super) enum Filled {
    /// The batch has queries, and more may follow.
    Some,
    /// The batch is empty because the run has ended.
    Nothing,
    /// A query occurred again after a different query, so its lines are not consecutive.
    Interleaved,
}

/// Cuts a run into queries.
pub(super) struct Cutter {
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
    pub(super) fn open(input: Input) -> Result<Self, DataError> {
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
    pub(super) fn fill(&mut self, batch: &mut Batch, extent: Extent) -> Result<Filled, DataError> {
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
                    Some(place) if name == line.first_field() => batch.queries[place].extend_to(end),
                    _ => {
                        name.clear();
                        name.extend_from_slice(line.first_field());
                        let known = self.places.get(&name).copied();
                        if known.is_some() && extent != Extent::Everything {
                            return Ok(Filled::Interleaved);
                        }
                        let query = known.unwrap_or_else(|| {
                            self.places.insert(name.clone(), batch.queries.len());
                            batch.queries.push(QueryLines::default());
                            batch.queries.len() - 1
                        });
                        batch.queries[query].0.push(Segment { bytes: start.bytes.start..end, ..start });
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
        let Some(segment) = batch.queries.pop().and_then(|mut query| query.0.pop()) else { return };
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
                    let lines = |query| batch.lines(&path, query).map(shown).collect();
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
