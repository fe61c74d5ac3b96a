//! Splits text into lines with data and their fields, and reports faults with their positions.

use std::path::Path;

use crate::data::error::{DataError, quoted};

/// A line that is neither blank nor a comment.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) path: &'a Path,
    pub(super) bytes: &'a [u8],
    /// The number of the line in the file, from 1.
    pub(super) number: usize,
}

/// A field, given by its start and end in the line.
pub(super) type Field = (usize, usize);

/// Iterates over the lines with data in a text of whole lines, skipping blank lines and comments.
pub(super) struct DataLines<'a> {
    path: &'a Path,
    text: &'a [u8],
    at: usize,
    /// The number of lines in the file before the position `at`.
    number: usize,
}

impl<'a> DataLines<'a> {
    /// Iterates over the lines of `text`, which begins after `before` lines of the file.
    pub(super) fn new(path: &'a Path, text: &'a [u8], before: usize) -> Self {
        Self { path, text, at: 0, number: before }
    }

    /// Returns the number of lines of the file read so far, with or without data.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Returns the position in the text after the last line returned.
    pub(super) fn at(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for DataLines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            self.at = (self.at + length + 1).min(self.text.len());
            self.number += 1;
            if !matches!(rest[..length].trim_ascii_start().first(), None | Some(b'#')) {
                return Some(Line { path: self.path, bytes: &rest[..length], number: self.number });
            }
        }
        None
    }
}

impl<'a> Line<'a> {
    /// Returns the first field without examining the rest of the line.
    pub(super) fn first_field(&self) -> &'a [u8] {
        let text = self.bytes.trim_ascii_start();
        &text[..text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len())]
    }

    /// Returns the first `N` fields; `expected` is the required form of the line.
    pub(super) fn fields<const N: usize>(&self, expected: &str) -> Result<[Field; N], DataError> {
        let mut fields = [(0, 0); N];
        let (mut last, end) = ((0, 0), self.bytes.len());
        for field in &mut fields {
            last = self.after(last).ok_or_else(|| self.fault((end, end), expected))?;
            *field = last;
        }
        Ok(fields)
    }

    /// Returns the field that follows the given field, if there is one.
    pub(super) fn after(&self, (_, end): Field) -> Option<Field> {
        let start = end + self.bytes[end..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        let length = self.bytes[start..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        Some((start, start + length))
    }

    pub(super) fn text(&self, field: Field) -> Result<&'a str, DataError> {
        std::str::from_utf8(&self.bytes[field.0..field.1]).map_err(|_| self.fault(field, "text in UTF-8"))
    }

    pub(super) fn fault(&self, (start, end): Field, expected: &str) -> DataError {
        let found = if start == end { "the end of the line".to_owned() } else { quoted(&self.bytes[start..end]) };
        DataError::syntax(self.path, (self.number, start + 1), found, expected)
    }

    /// Returns the error for a document that occurs twice in a query; `first` is the line on which the document first
    /// occurs.
    pub(super) fn repeated(&self, query: &str, document: &str, first: usize) -> DataError {
        let column = self.fields::<3>("").map_or(1, |fields| fields[2].0 + 1);
        let found = format!("document {} of query {} again", quoted(document.as_bytes()), quoted(query.as_bytes()));
        let expected = format!("each document once (it was first on line {first})");
        DataError::syntax(self.path, (self.number, column), found, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_comments_are_skipped_but_counted() {
        let text = b"# a\n\n 1 x\r\n \t\n2 # no comment\n";
        let path = Path::new("f");
        let found: Vec<(usize, &[u8])> =
            DataLines::new(path, text, 10).map(|line| (line.number, line.first_field())).collect();
        assert_eq!(found, [(13, &b"1"[..]), (15, b"2")]);
        let mut lines = DataLines::new(path, b"no end", 0);
        assert_eq!(lines.next().unwrap().first_field(), b"no");
        assert!(lines.next().is_none());
        assert_eq!((lines.at(), lines.number()), (6, 1));
    }
}
