//! Parses a block of whole lines into rows, labels and groups.

use std::sync::LazyLock;

use super::number::{byte, parse_f32};
use crate::data::error::{comma_in_words, quoted};
use crate::data::options::{Groups, MISSING_HINT, Missing, ReadOptions};
use crate::data::rows::Rows;

/// The words with which errors describe the first field of a line.
pub(in crate::data) const LABEL: &str = "a label (a number of at least 0)";

/// The end of the error message about a number beyond the range of 32-bit floats.
pub(in crate::data) const LARGEST: &str = "of at most 3.4028235e38 in size, the largest 32-bit float";

/// The rules for parsing a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub missing: Missing,
    /// The number that stands for a missing value; NaN if none does.
    pub missing_number: f32,
    /// The value of a feature that is absent from a line.
    pub absent: f32,
    pub groups: Groups,
    /// The largest allowed feature index; errors about a larger index end with the words in `limit`.
    pub largest_index: usize,
    pub limit: &'static str,
    /// The largest number of cells (documents x features) in the block.
    pub most_cells: usize,
}

impl Rules {
    /// Returns the rules of `options` for a block of at most `most_cells` cells. `features_from` says in error messages
    /// where the number of features comes from.
    pub fn new(options: &ReadOptions, most_cells: usize, features_from: &'static str) -> Self {
        Self {
            missing: options.missing,
            missing_number: options.missing_number(),
            absent: options.absent_value(),
            groups: options.groups,
            largest_index: options.features.unwrap_or(options.max_feature_index),
            limit: if options.features.is_some() { features_from } else { " (option `max_feature_index`)" },
            most_cells,
        }
    }
}

/// Consecutive documents of one query.
#[derive(Debug)]
pub(super) struct Group {
    pub query: String,
    pub documents: usize,
    /// The line (from 0 in the block) and the column (from 1) of the query's first identifier.
    pub line: usize,
    pub column: usize,
}

/// The reason why a block could not be parsed.
#[derive(Debug)]
pub(super) enum Fault {
    /// A syntax error: its line (from 0 in the block), its column (from 1), the text found, and what was expected.
    Syntax { line: usize, column: usize, found: String, expected: String },
    /// The block has more cells than allowed.
    Cells,
}

/// The contents of a parsed block.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub rows: Rows,
    pub labels: Vec<f32>,
    pub groups: Vec<Group>,
    /// The identifier of each document; empty if no document has one.
    pub document_ids: Vec<String>,
    /// Whether the block has a missing value. Missing values are NaN until all documents of their query are read; then
    /// they may be replaced.
    pub missing: bool,
    /// Whether documents have query identifiers (`qid:`), and the line (from 0) of the first document; `None` without
    /// documents.
    pub has_queries: Option<(bool, usize)>,
    /// The number of lines.
    pub lines: usize,
    /// The first fault in the block; the lines before it were parsed.
    pub fault: Option<Fault>,
}

/// The prefixes `"1:"`, `"2:"`, ... of features. If a line lists every feature, the parser only compares its bytes with
/// the next prefix, which is faster than reading a number.
static PREFIXES: LazyLock<Vec<([u8; 4], usize)>> = LazyLock::new(|| {
    let prefix = |index: usize| {
        let text = format!("{index}:");
        let mut bytes = [0; 4];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        (bytes, text.len())
    };
    (0..=999).map(prefix).collect()
});

/// Parses a block of whole lines that ends with a line end. `columns` is the expected number of features.
pub(super) fn parse(text: &[u8], rules: &Rules, columns: usize, parsed: &mut Parsed) {
    parsed.rows.reset(columns, rules.absent);
    parsed.labels.clear();
    parsed.groups.clear();
    parsed.document_ids.clear();
    parsed.missing = false;
    parsed.has_queries = None;
    parsed.lines = 0;
    let mut parser = Parser { text, rules, prefixes: PREFIXES.as_slice(), columns, line_start: 0, parsed };
    let fault = parser.lines().err();
    parsed.fault = fault;
}

struct Parser<'a> {
    text: &'a [u8],
    rules: &'a Rules,
    prefixes: &'a [([u8; 4], usize)],
    columns: usize,
    line_start: usize,
    parsed: &'a mut Parsed,
}

impl Parser<'_> {
    fn lines(&mut self) -> Result<(), Fault> {
        let mut at = 0;
        while at < self.text.len() {
            self.line_start = at;
            at = self.skip_blanks(at);
            if !self.ends_data(at) {
                at = self.document(at)?;
            }
            // At a line end or a comment.
            at = match byte(self.text, at) {
                b'\n' => at,
                _ => at + memchr::memchr(b'\n', &self.text[at..]).unwrap_or(self.text.len() - at),
            };
            at += 1;
            self.parsed.lines += 1;
        }
        Ok(())
    }

    /// Reads a document up to its comment or line end.
    fn document(&mut self, start: usize) -> Result<usize, Fault> {
        let (label, at) = self.label(start)?;
        let at = self.query(self.skip_blanks(at))?;
        // Before the row takes memory.
        self.check_cells(self.parsed.rows.rows + 1, self.parsed.rows.count.max(self.columns))?;
        let row = self.parsed.rows.add_row();
        let at = self.features(row, at)?;
        self.parsed.labels.push(label);
        self.comment(at);
        Ok(at)
    }

    fn label(&self, start: usize) -> Result<(f32, usize), Fault> {
        let Some((label, at)) = parse_f32(self.text, start).filter(|&(_, at)| self.ends_token(at)) else {
            return Err(self.fault(start, LABEL));
        };
        if label == f32::INFINITY {
            return Err(self.fault(start, &format!("{LABEL} {LARGEST}")));
        }
        if !(label >= 0.0 && label.is_finite()) {
            return Err(self.fault(start, LABEL));
        }
        Ok((label + 0.0, at))
    }

    /// Reads `qid:ID`, if present, and begins a group if the query is new.
    fn query(&mut self, start: usize) -> Result<usize, Fault> {
        let has_query = self.text[start..].starts_with(b"qid:");
        let line = self.parsed.lines;
        let (expects_query, _) = *self.parsed.has_queries.get_or_insert((has_query, line));
        if self.rules.groups == Groups::QueryFile {
            return Ok(if has_query { self.token_end(start) } else { start });
        }
        match (expects_query, has_query) {
            (true, false) => return Err(self.fault(start, "`qid:ID`, as on the lines before")),
            (false, true) => return Err(self.fault(start, "no `qid:ID`, as on the lines before")),
            (false, false) => return Ok(start),
            (true, true) => {}
        }
        let identifier = start + 4;
        let end = self.token_end(identifier);
        let query = &self.text[identifier..end];
        match self.parsed.groups.last_mut() {
            Some(group) if group.query.as_bytes() == query => group.documents += 1,
            _ => {
                let column = start - self.line_start + 1;
                let query = match std::str::from_utf8(query) {
                    Ok(query) if !query.is_empty() => query.to_owned(),
                    _ => return Err(self.fault(start, "`qid:ID` with an identifier in UTF-8")),
                };
                self.parsed.groups.push(Group { query, documents: 1, line, column });
            }
        }
        Ok(self.skip_blanks(end))
    }

    #[inline]
    fn features(&mut self, row: usize, mut at: usize) -> Result<usize, Fault> {
        let mut row = row;
        let mut last = 0;
        at = self.skip_blanks(at);
        while !self.ends_data(at) {
            let start = at;
            let index;
            (index, at) = self.index(start, last)?;
            let value;
            (value, at) = self.value(at, index)?;
            if index > self.parsed.rows.stride {
                // Only reached on the first lines of a file and, in sparse files, on the widest lines.
                self.check_cells(self.parsed.rows.rows, index)?;
                self.parsed.rows.widen(index);
                row = self.parsed.rows.values.len() - self.parsed.rows.stride;
            }
            self.parsed.rows.values[row + index - 1] = value;
            last = index;
            at = self.skip_blanks(at);
        }
        self.parsed.rows.count = self.parsed.rows.count.max(last);
        Ok(at)
    }

    /// Reads `index:`, where the index must be larger than `last`.
    #[inline]
    fn index(&self, start: usize, last: usize) -> Result<(usize, usize), Fault> {
        if let (Some((prefix, length)), Some(next)) = (self.prefixes.get(last + 1), self.text.get(start..start + 4)) {
            let mask = u32::MAX >> (32 - 8 * *length as u32);
            let next = u32::from_le_bytes([next[0], next[1], next[2], next[3]]) & mask;
            if next == u32::from_le_bytes(*prefix) && last < self.rules.largest_index {
                return Ok((last + 1, start + length));
            }
        }
        self.any_index(start, last)
    }

    fn any_index(&self, start: usize, last: usize) -> Result<(usize, usize), Fault> {
        let mut at = start;
        let mut index = 0usize;
        while byte(self.text, at).is_ascii_digit() {
            index = index.saturating_mul(10).saturating_add(usize::from(byte(self.text, at) - b'0'));
            at += 1;
        }
        if at == start || byte(self.text, at) != b':' {
            return Err(self.fault(start, "`index:value`"));
        }
        if index == 0 {
            return Err(self.fault(start, "a feature index from 1"));
        }
        if index <= last {
            return Err(self.fault(start, &format!("a feature index above {last}, the previous one")));
        }
        if index > self.rules.largest_index {
            let Rules { largest_index, limit, .. } = self.rules;
            return Err(self.fault(start, &format!("a feature index of at most {largest_index}{limit}")));
        }
        Ok((index, at + 1))
    }

    #[inline]
    fn value(&mut self, start: usize, index: usize) -> Result<(f32, usize), Fault> {
        match parse_f32(self.text, start) {
            Some((value, at)) if value.is_finite() && value != self.rules.missing_number && self.ends_token(at) => {
                Ok((value, at))
            }
            Some((value, at)) if self.ends_token(at) && value != self.rules.missing_number => {
                Err(self.fault(start, &format!("a finite value of feature {index} {LARGEST}")))
            }
            _ => self.no_value(start, index),
        }
    }

    /// Reads `NULL`, `nan` or the number for missing values, if the options allow missing values.
    #[cold]
    fn no_value(&mut self, start: usize, index: usize) -> Result<(f32, usize), Fault> {
        let end = self.token_end(start);
        let token = &self.text[start..end];
        let is_number = || parse_f32(self.text, start) == Some((self.rules.missing_number, end));
        let is_missing = token.eq_ignore_ascii_case(b"NULL") || token.eq_ignore_ascii_case(b"nan") || is_number();
        match self.rules.missing {
            _ if !is_missing => Err(self.fault(start, &format!("a finite value of feature {index}"))),
            Missing::Zero => Ok((0.0, end)),
            Missing::QueryMin | Missing::Keep | Missing::Indicator => {
                self.parsed.missing = true;
                Ok((f32::NAN, end))
            }
            Missing::Error => Err(self.fault(start, &format!("a finite value of feature {index} ({MISSING_HINT})"))),
        }
    }

    /// Keeps the comment at `at` as the identifier of the document just read.
    fn comment(&mut self, at: usize) {
        let ids = &mut self.parsed.document_ids;
        let documents = self.parsed.labels.len();
        if byte(self.text, at) == b'#' {
            let end = memchr::memchr(b'\n', &self.text[at..]).map_or(self.text.len(), |length| at + length);
            let id = document_id(&self.text[at + 1..end]);
            if !id.is_empty() {
                ids.resize(documents - 1, String::new());
                ids.push(String::from_utf8_lossy(id).into_owned());
                return;
            }
        }
        if !ids.is_empty() {
            ids.push(String::new());
        }
    }

    #[inline]
    fn check_cells(&self, rows: usize, columns: usize) -> Result<(), Fault> {
        if rows.saturating_mul(columns) > self.rules.most_cells { Err(Fault::Cells) } else { Ok(()) }
    }

    #[inline]
    fn skip_blanks(&self, mut at: usize) -> usize {
        while matches!(byte(self.text, at), b' ' | b'\t') {
            at += 1;
        }
        at
    }

    /// Returns whether a comment or a line end begins at `at`.
    #[inline]
    fn ends_data(&self, at: usize) -> bool {
        match byte(self.text, at) {
            b'\n' | b'#' => true,
            b'\r' => byte(self.text, at + 1) == b'\n',
            _ => false,
        }
    }

    #[inline]
    fn ends_token(&self, at: usize) -> bool {
        matches!(byte(self.text, at), b' ' | b'\t') || self.ends_data(at)
    }

    fn token_end(&self, mut at: usize) -> usize {
        while !self.ends_token(at) {
            at += 1;
        }
        at
    }

    #[cold]
    fn fault(&self, start: usize, expected: &str) -> Fault {
        let token = &self.text[start..self.token_end(start)];
        let found = match token {
            [] => "the end of the line".to_owned(),
            token => quoted(token),
        };
        let value = std::str::from_utf8(token).unwrap_or_default();
        let comma = comma_in_words(value.rsplit(':').next().unwrap_or_default());
        let column = start - self.line_start + 1;
        Fault::Syntax { line: self.parsed.lines, column, found, expected: format!("{expected}{comma}") }
    }
}

/// Returns the identifier in a comment: the name in `docid = NAME ...` (LETOR), otherwise the whole comment.
pub(super) fn document_id(comment: &[u8]) -> &[u8] {
    let comment = comment.trim_ascii();
    let name = || {
        let (key, rest) = comment.split_at_checked(5)?;
        let value = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
        let name = value.split(u8::is_ascii_whitespace).next()?;
        (key.eq_ignore_ascii_case(b"docid") && !name.is_empty()).then_some(name)
    };
    name().unwrap_or(comment)
}
