//! Errors that occur while data are read or used.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::file_kind::FileKind;
use crate::refusal::Refusal;
use crate::text::{counted, did_you_mean, harmless, nearest, shown};

/// The reason why data cannot be read or used. Lines and columns are numbered from 1; columns count the bytes of a
/// line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file or folder cannot be opened, read or written.
    #[error("{}", io_in_words(path, source))]
    Io {
        /// The file or folder; empty for a stream, which has no name.
        path: PathBuf,
        /// The error from the operating system or the decompressor.
        source: std::io::Error,
    },
    /// A text does not have the expected format.
    #[error("{}:{line}:{column}: found {found}, expected {expected}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The position in the line, in bytes from 1.
        column: usize,
        /// The text found there.
        found: String,
        /// The text expected there.
        expected: String,
    },
    /// The documents of a query are not on consecutive lines of one file.
    #[error(
        "{}:{line}:{column}: found query `{}` again, expected its documents on consecutive lines (it began at {}:{first_line}{})",
        path.display(),
        shown(query),
        first_path.display(),
        match path == first_path {
            true if line <= first_line => "; the file is given twice",
            true => "; option `sort` = true puts them together",
            false => "; another query needs another name",
        }
    )]
    InterleavedQuery {
        /// The file where the query occurs again.
        path: PathBuf,
        /// The line where the query occurs again, from 1.
        line: usize,
        /// The position of the query in the line, in bytes from 1.
        column: usize,
        /// The query.
        query: String,
        /// The file in which the query first occurred.
        first_path: PathBuf,
        /// The line where the query first occurred, from 1.
        first_line: usize,
    },
    /// Another program wrote files of a fold while they were in use.
    #[error("fold {fold}: found other data than at the start, expected files that do not change while `cv` runs")]
    Changed {
        /// The number of the fold, from 1.
        fold: usize,
    },
    /// A file has no documents.
    #[error("{}: found no document, expected lines {expected}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// The form that a line with a document should have.
        expected: &'static str,
    },
    /// A value in a table cannot be used.
    #[error("{}: row {row}, column `{}`: found {found}, expected {expected}", path.display(), shown(column))]
    Cell {
        /// The file.
        path: PathBuf,
        /// The row, from 1.
        row: usize,
        /// The name of the column.
        column: String,
        /// The value found there.
        found: String,
        /// The value expected there.
        expected: String,
    },
    /// A row of a table cannot be read.
    #[error("{}: row {row}: found {found}, expected {expected}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The row, from 1, not counting the names of the columns.
        row: usize,
        /// The text found there.
        found: String,
        /// The text expected there.
        expected: String,
    },
    /// A table has the wrong columns, or the file is of another kind.
    #[error("{}: found {found}, expected {expected}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The columns of the table, or the kind of the file.
        found: String,
        /// The columns or the kinds of files that are expected.
        expected: String,
    },
    /// An Arrow or Parquet file is damaged or truncated.
    #[error("{}: not a complete {format} file: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The file format according to the first bytes of the file.
        format: &'static str,
        /// A description of the damage.
        reason: String,
    },
    /// A file would need more memory than the options allow.
    #[error("{}: found {found}, expected at most {limit} (option `{option}`)", path.display())]
    Limit {
        /// The file.
        path: PathBuf,
        /// The size that exceeds the limit.
        found: String,
        /// The limit, with its unit.
        limit: String,
        /// The option that sets the limit.
        option: &'static str,
    },
    /// The group sizes do not add up to the number of documents.
    #[error("{}: the group sizes sum to {sum} documents, {} has {documents}", path.display(), data.display())]
    GroupSizes {
        /// The file of group sizes.
        path: PathBuf,
        /// The sum of the group sizes.
        sum: u64,
        /// The file of documents.
        data: PathBuf,
        /// The number of documents in the data file.
        documents: usize,
    },
    /// The numbers of query weights and queries differ.
    #[error("{}: {}, {} has {}", path.display(), counted(*weights, "query weight"), data.display(), counted(*queries, "query"))]
    QueryWeights {
        /// The file of weights.
        path: PathBuf,
        /// The number of weights that were read.
        weights: usize,
        /// The file of documents.
        data: PathBuf,
        /// The number of queries in the data file.
        queries: usize,
    },
    /// The numbers of document weights and documents differ.
    #[error("{}: {}, {} has {}", path.display(), counted(*weights, "document weight"), data.display(), counted(*documents, "document"))]
    DocumentWeights {
        /// The file of weights.
        path: PathBuf,
        /// The number of weights that were read.
        weights: usize,
        /// The file of documents.
        data: PathBuf,
        /// The number of documents in the data file.
        documents: usize,
    },
    /// The numbers of positions and documents differ.
    #[error("{}: {}, {} has {}", path.display(), counted(*positions, "position"), data.display(), counted(*documents, "document"))]
    Positions {
        /// The file of positions.
        path: PathBuf,
        /// The number of positions that were read.
        positions: usize,
        /// The file of documents.
        data: PathBuf,
        /// The number of documents in the data file.
        documents: usize,
    },
    /// A label is outside the domain of a measure or loss.
    #[error("query `{}`, document {document}: label {found}, expected {expected}", shown(query))]
    Label {
        /// The identifier of the query.
        query: String,
        /// The number of the document in the query, from 1.
        document: usize,
        /// The label.
        found: f32,
        /// The labels that are allowed.
        expected: String,
    },
    /// Parts of a dataset contradict each other.
    #[error("dataset: {what} is {found}, expected {expected}")]
    Inconsistent {
        /// The part of the dataset that contradicts another part.
        what: String,
        /// The value found.
        found: String,
        /// The values that fit.
        expected: String,
    },
    /// The data and the fitted normalizer or model differ in their number of features.
    #[error("found {}, expected {expected}", counted(*found, "feature"))]
    FeatureCount {
        /// The number of features of the data.
        found: usize,
        /// The number of features of the normalizer or model.
        expected: usize,
    },
    /// An option is out of its range.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The data that a configuration key names cannot be read or used.
    #[error("{key}: {source}")]
    Key {
        /// The dotted key.
        key: &'static str,
        /// The error.
        source: Box<DataError>,
    },
    /// A folder does not hold a set of folds.
    #[error("{}: found {found}, expected {expected}", path.display())]
    Folds {
        /// The folder.
        path: PathBuf,
        /// A description of the folder's contents.
        found: String,
        /// A description of the expected contents.
        expected: String,
    },
}

/// Returns an I/O error in words, after the path if there is one.
fn io_in_words(path: &Path, error: &std::io::Error) -> String {
    let words = match error.kind() {
        ErrorKind::IsADirectory => "found a folder, expected a file".to_owned(),
        ErrorKind::NotFound => format!("{error}{}", did_you_mean(&near_file(path))),
        _ => error.to_string(),
    };
    if path.as_os_str().is_empty() { words } else { format!("{}: {words}", path.display()) }
}

/// Returns the path with the most similar name in the folder of `path`, which does not exist.
fn near_file(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let near = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

impl DataError {
    /// Returns a function that adds the path to an error from the operating system.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> DataError {
        let path = path.to_path_buf();
        move |source| DataError::Io { path, source }
    }

    /// Returns the error of a failed write to an output, which has no name.
    pub(in crate::data) fn of_output(source: std::io::Error) -> Self {
        Self::Io { path: PathBuf::new(), source }
    }

    /// Returns the error for a text with `found` at a line and a column, both from 1.
    pub(in crate::data) fn syntax(
        path: &Path,
        (line, column): (usize, usize),
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Syntax { path: path.to_path_buf(), line, column, found: found.into(), expected: expected.into() }
    }

    /// Returns the error for a file in which `found` exceeds `limit`. The option `option` sets the limit.
    pub(in crate::data) fn limit(path: &Path, found: String, limit: String, option: &'static str) -> Self {
        Self::Limit { path: path.to_path_buf(), found, limit, option }
    }

    /// Returns the error for a folder without a set of folds.
    pub(in crate::data) fn folds(path: &Path, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Folds { path: path.to_path_buf(), found: found.into(), expected: expected.into() }
    }

    /// Replaces an error about a file's text with an error that names the kind of the file. The error stays as it is if
    /// the file is of the kind `fits`, or if naming its kind would not help.
    pub(crate) fn or_kind(self, file: &Path, fits: FileKind, expected: &str) -> DataError {
        let is_about_text = matches!(self, Self::Syntax { .. } | Self::Limit { .. } | Self::Empty { .. });
        match FileKind::of_file(file) {
            Some(kind) if is_about_text && !kind.is_plain() && kind != fits => unfit(file, kind.in_words(), expected),
            _ => self,
        }
    }
}

/// Returns the error for a table with the wrong columns, or for a file of another kind.
pub(in crate::data) fn unfit(path: &Path, found: impl Into<String>, expected: impl Into<String>) -> DataError {
    DataError::Table { path: path.to_path_buf(), found: found.into(), expected: expected.into() }
}

/// Returns the error for a part of a dataset that contradicts another part.
pub(super) fn inconsistent(what: impl Into<String>, found: impl ToString, expected: impl ToString) -> DataError {
    DataError::Inconsistent { what: what.into(), found: found.to_string(), expected: expected.to_string() }
}

/// Checks that a part of a dataset has one `what` for each of `count` documents, queries or features (`of`).
pub(super) fn check_count(key: &str, (found, what): (usize, &str), (count, of): (usize, &str)) -> Result<(), Refusal> {
    if found == count {
        return Ok(());
    }
    Err(Refusal::new(key, counted(found, what), format!("{count}, one per {of}")))
}

/// Says why a text with a comma is not read as a number, in words that follow `numbers`; empty for other texts.
pub(crate) fn comma_in_words(text: &str) -> &'static str {
    let parts: Vec<&str> = text.trim().trim_start_matches(['-', '+']).split(',').collect();
    let (whole, fraction) = parts[parts.len() - 1].split_once('.').unwrap_or((parts[parts.len() - 1], ""));
    let before = &parts[..parts.len() - 1];
    let are_digits = before.iter().chain([&whole]).all(|part| !part.is_empty() && is_of_digits(part));
    if before.is_empty() || !are_digits || !is_of_digits(fraction) {
        return "";
    }
    let in_thousands = before[1..].iter().chain([&whole]).all(|part| part.len() == 3) && before[0].len() <= 3;
    match (in_thousands, before.len() > 1 || text.contains('.')) {
        (true, true) => " (commas between thousands are not read)",
        (true, false) => " (a comma is not read, neither between thousands nor as a decimal point)",
        (false, false) => " (a decimal comma is not read: write a point)",
        (false, true) => "",
    }
}

fn is_of_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Prepares a piece of text for a message. The result is quoted, shortened and safe to print on a terminal.
pub fn quoted(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * LONGEST)]);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}...`", harmless(&text[..end])),
        None => format!("`{}`", harmless(&text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_exist_has_a_neighbor_of_a_similar_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("train.txt"), "").unwrap();
        let message = |name: &str| {
            let path = folder.path().join(name);
            DataError::io(&path)(ErrorKind::NotFound.into()).to_string()
        };
        assert!(message("trian.txt").ends_with("train.txt`?"), "{}", message("trian.txt"));
        assert!(!message("elsewhere").contains("did you mean"), "{}", message("elsewhere"));
    }

    #[test]
    fn a_comma_in_a_number_is_said_to_be_one() {
        for (text, expected) in [
            ("12,5", "a decimal comma"),
            ("-0,25", "a decimal comma"),
            ("1,299.00", "commas between thousands"),
            ("1,000,000", "commas between thousands"),
            ("1,299", "neither between thousands nor as a decimal point"),
        ] {
            assert!(comma_in_words(text).contains(expected), "{text}: {}", comma_in_words(text));
        }
        for text in ["", ",", "12,", "red, blue", "1,2,3.5.6", "3.5", "1,5e3"] {
            assert_eq!(comma_in_words(text), "", "{text}");
        }
    }
}
