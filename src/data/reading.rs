//! Reads files of any format: text, or tables in Arrow and Parquet files, told apart by their first bytes.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;

use super::assembly::{Assembly, OPTION, assemble};
use super::dataset::RankingDataset;
use super::error::DataError;
use super::input::Input;
use super::letor::read_text;
use super::text::options::ReadOptions;
#[cfg(feature = "experiment")]
use super::widths::FileWidth;
use crate::file_kind::FileKind;

/// Reads files as one dataset, in the order given: LETOR text ([`letor`](super::letor)), or Arrow and Parquet files
/// with the feature `columnar` (`data::columnar`), recognized by their first bytes.
///
/// # Errors
/// The first fault in file order, with its place; see [`DataError`].
pub fn read(paths: &[PathBuf], options: &ReadOptions) -> Result<RankingDataset, DataError> {
    read_from(paths.iter().map(Input::from_path), options)
}

/// Reads files and readers as one dataset, in the order given. A reader of text has no `FILE.query` beside it: its
/// lines need `qid:`. A reader of a table is read to its end before the first row is used.
///
/// # Errors
/// As [`read()`].
pub fn read_from(inputs: impl IntoIterator<Item = Input>, options: &ReadOptions) -> Result<RankingDataset, DataError> {
    assemble(inputs, options, OPTION, read_input).map(|(data, _)| data)
}

/// As [`read()`], with the number of the last feature of each file. Refusals of more features than the options allow
/// end with `features_from`, which says where their number is from.
#[cfg(feature = "experiment")]
pub(crate) fn read_like(
    paths: &[PathBuf],
    options: &ReadOptions,
    features_from: Option<&'static str>,
) -> Result<(RankingDataset, Vec<FileWidth>), DataError> {
    assemble(paths.iter().map(Input::from_path), options, features_from.unwrap_or(OPTION), read_input)
}

fn read_input(assembly: &mut Assembly, input: Input) -> Result<(), DataError> {
    let (input, beginning) = beginning(input)?;
    // Text of another kind is not data; a table is read as what it is.
    let is_table =
        cfg!(feature = "columnar") && matches!(FileKind::of(&beginning), FileKind::Arrow | FileKind::Parquet);
    let file = (input.is_file() && !is_table).then(|| input.name().to_path_buf());
    read_one(assembly, input, &beginning).map_err(|error| match &file {
        Some(file) => error.or_kind(file, FileKind::Letor, EXPECTED),
        None => error,
    })
}

/// What is read.
const EXPECTED: &str = "LETOR text, an Arrow file (the IPC file format) or a Parquet file";

#[cfg(feature = "columnar")]
fn read_one(assembly: &mut Assembly, input: Input, beginning: &[u8]) -> Result<(), DataError> {
    use super::columnar::{self, Format};

    if beginning == b"ARROW1" {
        columnar::read(assembly, input, Format::Arrow)
    } else if beginning.starts_with(b"PAR1") {
        columnar::read(assembly, input, Format::Parquet)
    } else {
        not_a_table(&input, beginning)?;
        read_text(assembly, input)
    }
}

#[cfg(not(feature = "columnar"))]
fn read_one(assembly: &mut Assembly, input: Input, beginning: &[u8]) -> Result<(), DataError> {
    if beginning == b"ARROW1" || beginning.starts_with(b"PAR1") {
        let expected = "text: tables need the feature `columnar`".to_owned();
        let found = "an Arrow or Parquet file".to_owned();
        return Err(DataError::Table { path: input.name().to_path_buf(), found, expected });
    }
    not_a_table(&input, beginning)?;
    read_text(assembly, input)
}

/// Refuses formats of tables that are near to ours.
fn not_a_table(input: &Input, beginning: &[u8]) -> Result<(), DataError> {
    let found = match FileKind::of(beginning) {
        kind @ (FileKind::ArrowStream | FileKind::Feather1 | FileKind::EncryptedParquet) => kind.in_words(),
        _ => return Ok(()),
    };
    Err(DataError::Table { path: input.name().to_path_buf(), found: found.to_owned(), expected: EXPECTED.to_owned() })
}

/// Returns the first six bytes of a regular file or a reader, which is then read from its start. A pipe has none, since
/// they could not be read again.
fn beginning(input: Input) -> Result<(Input, Vec<u8>), DataError> {
    let mut bytes = Vec::new();
    if input.is_file() {
        let path = input.name();
        if path.is_file() {
            File::open(path).and_then(|file| file.take(6).read_to_end(&mut bytes)).map_err(DataError::io(path))?;
        }
        return Ok((input, bytes));
    }
    let (name, reader) = input.into_parts();
    let Some(mut reader) = reader else { return Ok((Input::from_path(name), bytes)) };
    reader.by_ref().take(6).read_to_end(&mut bytes).map_err(DataError::io(&name))?;
    Ok((Input::from_reader(name, Cursor::new(bytes.clone()).chain(reader)), bytes))
}
