//! Reads files of any format: text, or tables in Arrow, Parquet and CSV files. The format of a file is recognized by
//! its first bytes.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::assembly::{Assembled, Assembly, assemble};
use super::dataset::RankingDataset;
use super::error::{DataError, unfit};
use super::letor::read_text;
use super::options::{Like, ReadOptions};
use super::source::Input;
use crate::file_kind::{BINARY, FileKind};

/// Reads files as one dataset, in the order given. Files contain LETOR text ([`letor`](super::letor)) or, with the
/// feature `columnar` (`data::columnar`), Arrow, Parquet, CSV or TSV tables. The format is recognized by the first
/// bytes.
///
/// # Errors
/// Returns the first error in the order of the files, with its position; see [`DataError`].
pub fn read(paths: &[PathBuf], options: &ReadOptions) -> Result<RankingDataset, DataError> {
    read_from(paths.iter().map(Input::from_path), options)
}

/// Reads files and readers as one dataset, in the order given. Text from a reader has no accompanying `FILE.query`
/// file, so its lines need `qid:`. A table from a reader is read completely before its first row is used.
///
/// # Errors
/// Returns the same errors as [`read()`].
pub fn read_from(inputs: impl IntoIterator<Item = Input>, options: &ReadOptions) -> Result<RankingDataset, DataError> {
    read_like(inputs, options, &Like::default()).map(|read| read.data)
}

/// Reads data as [`read_from`] does, and checks that every file meets the requirements in `like`.
pub fn read_like(
    inputs: impl IntoIterator<Item = Input>,
    options: &ReadOptions,
    like: &Like,
) -> Result<Assembled, DataError> {
    assemble(inputs, options, like, read_input)
}

fn read_input(assembly: &mut Assembly, input: Input) -> Result<(), DataError> {
    let (input, beginning) = beginning(input)?;
    let (kind, separator) = (FileKind::of(&beginning), separator(input.name(), &beginning));
    if let FileKind::UnreadTable(found) = kind {
        // The format, such as an encrypted Parquet file, resembles one that can be read.
        return Err(unfit(input.name(), found, EXPECTED));
    }
    if matches!(kind, FileKind::Columnar(_)) || separator.is_some() {
        return read_table(assembly, input, &beginning, separator);
    }
    // Text of another kind is not data.
    let or_kind = input.or_kind(FileKind::Letor, EXPECTED.to_owned());
    read_text(assembly, input).map_err(or_kind)
}

/// The formats that can be read.
const EXPECTED: &str = "LETOR text, an Arrow file (the IPC file format), a Parquet file, or CSV or TSV with a header";

/// Returns the column separator if a file with these first bytes is CSV or TSV. If the first bytes do not decide, the
/// file name does.
fn separator(name: &Path, beginning: &[u8]) -> Option<u8> {
    let mut text = beginning.to_vec();
    if FileKind::of(beginning) == FileKind::Gzip {
        text.clear();
        // The beginning ends within the compressed text.
        let _ = GzDecoder::new(beginning).take(BEGINNING as u64).read_to_end(&mut text);
    }
    match FileKind::of(&text) {
        FileKind::Separated { by_tabs } => Some(if by_tabs { b'\t' } else { b',' }),
        FileKind::Text | FileKind::Empty | FileKind::Numbers | FileKind::Configuration => separator_of_name(name),
        kind => separator_of_name(name).filter(|_| kind == BINARY),
    }
}

/// Returns the column separator for a file name that ends in `.csv` or `.tsv`, with or without `.gz`.
pub fn separator_of_name(name: &Path) -> Option<u8> {
    let name = name.file_name()?.to_str()?.to_ascii_lowercase();
    match name.trim_end_matches(".gz").rsplit_once('.')?.1 {
        "csv" => Some(b','),
        "tsv" => Some(b'\t'),
        _ => None,
    }
}

#[cfg(feature = "columnar")]
fn read_table(assembly: &mut Assembly, input: Input, beginning: &[u8], separator: Option<u8>) -> Result<(), DataError> {
    use super::columnar::{self, Format};
    use super::options::Groups;
    use crate::refusal::Refusal;

    if assembly.options.groups == Groups::QueryFile {
        let expected = format!("`auto` or `qid`: {} has a column of queries", input.name().display());
        return Err(Refusal::new("groups", "query-file", expected).into());
    }
    match separator {
        Some(separator) => columnar::read_csv(assembly, input, separator),
        None if beginning.starts_with(b"PAR1") => columnar::read(assembly, input, Format::Parquet),
        None => columnar::read(assembly, input, Format::Arrow),
    }
}

#[cfg(not(feature = "columnar"))]
fn read_table(_: &mut Assembly, input: Input, _: &[u8], _: Option<u8>) -> Result<(), DataError> {
    let expected = "LETOR text: tables need the feature `columnar`";
    Err(unfit(input.name(), "a table in Arrow, Parquet or CSV", expected))
}

/// The number of bytes at the beginning of a file from which its format is recognized.
const BEGINNING: usize = 1 << 16;

/// Returns the first bytes of an input, together with an input that can still be read from its start. A pipe is
/// returned as a reader, because its first bytes cannot be read twice.
fn beginning(input: Input) -> Result<(Input, Vec<u8>), DataError> {
    let mut bytes = Vec::new();
    let Input { name, reader } = input;
    let is_pipe = || name.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir());
    let mut reader = match reader {
        Some(reader) => reader,
        None if is_pipe() => Box::new(File::open(&name).map_err(DataError::io(&name))?),
        None => {
            if name.is_file() {
                File::open(&name)
                    .and_then(|file| file.take(BEGINNING as u64).read_to_end(&mut bytes))
                    .map_err(DataError::io(&name))?;
            }
            return Ok((Input::from_path(name), bytes));
        }
    };
    reader.by_ref().take(BEGINNING as u64).read_to_end(&mut bytes).map_err(DataError::io(&name))?;
    Ok((Input::from_reader(name, Cursor::new(bytes.clone()).chain(reader)), bytes))
}

/// Returns a warning that data have fewer features than their ranker or than other files. `data` names the data, and
/// `others` names what they are compared with. Each of these texts ends with a verb, as in `the data have`. Fewer
/// features are not an error, because LETOR text leaves out features that are 0.
pub fn fewer_features(data: &str, found: usize, others: &str, expected: usize, taken_as: &str) -> String {
    let found = match found {
        0 => "no features".to_owned(),
        1 => "only feature 1".to_owned(),
        last => format!("features 1 to {last}"),
    };
    format!("{data} {found}, but {others} {expected}: the missing ones count as {taken_as}")
}

#[cfg(test)]
mod tests {
    use super::fewer_features;

    #[test]
    fn what_is_there_and_what_is_not_is_said() {
        let of = |found| fewer_features("a.txt has", found, "the training data have", 8, "0");
        assert_eq!(of(5), "a.txt has features 1 to 5, but the training data have 8: the missing ones count as 0");
        assert_eq!(of(1), "a.txt has only feature 1, but the training data have 8: the missing ones count as 0");
        assert_eq!(of(0), "a.txt has no features, but the training data have 8: the missing ones count as 0");
    }
}
