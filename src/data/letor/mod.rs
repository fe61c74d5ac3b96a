//! Reads LETOR / SVMlight text, `label qid:ID index:value ... # comment`, with one document per line.
//!
//! * Indices of features start at 1, ascend, and may have gaps. An absent feature is 0, or missing (option `absent`).
//! * `NULL` and `nan` are missing values, which may be refused, replaced or kept ([`Missing`]).
//! * Several files are read as one set. A gzip-compressed file is recognized by its first bytes. Lines end with LF or
//!   CRLF. Blank lines and comment lines are skipped.
//! * The documents of a query are on consecutive lines of one file or, with the option `sort`, on any of its lines.
//!   Without `qid:`, the file `FILE.query` next to `FILE` holds the size of each query, one number per line, as in
//!   LightGBM.
//! * With [`Weights::File`], `FILE.query_weights` next to `FILE` holds the weight of each query in training.
//!   `FILE.weight` holds the weight of each document, as in LightGBM. Files of weights have one number per line.
//! * The comment `#docid = NAME ...` gives a document the identifier NAME. Any other comment is the document's
//!   identifier as a whole.
//! * Labels are finite numbers of at least 0, not necessarily integers ([`RankingDataset::check_integer_labels`]).
//!   Values are finite or missing.
//!
//! The text is read in blocks of whole lines. Rayon threads parse blocks of text while the next blocks are read. Blocks
//! do not depend on the number of threads, so the result and the first error do not depend on it either. Reading takes
//! time linear in the size of the text, and memory for the dataset and a few blocks.

mod beside;
mod number;
mod parse;
mod read;
mod write;

pub use super::options::{Missing, ReadOptions, Weights};
pub(crate) use number::from_millionths;
#[cfg(feature = "columnar")]
pub(crate) use number::parse_f32;
pub(super) use read::read_text;

use std::path::PathBuf;

use super::assembly::assemble;
use super::dataset::RankingDataset;
use super::error::DataError;
use super::options::Like;
use super::source::Input;
#[cfg(feature = "columnar")]
pub(in crate::data) use parse::LABEL;
pub(in crate::data) use parse::LARGEST;

/// Reads files as one dataset, in the order given.
///
/// # Errors
/// Returns the first fault in the order of files, with its path, line and column; see [`DataError`].
pub fn read(paths: &[PathBuf], options: &ReadOptions) -> Result<RankingDataset, DataError> {
    read_from(paths.iter().map(Input::from_path), options)
}

/// Reads files and readers as one dataset, in the order given. A reader has no file `FILE.query` next to it, so its
/// lines need `qid:`.
///
/// # Errors
/// Returns the same errors as [`read()`].
pub fn read_from(inputs: impl IntoIterator<Item = Input>, options: &ReadOptions) -> Result<RankingDataset, DataError> {
    assemble(inputs, options, &Like::default(), read_text).map(|read| read.data)
}

#[cfg(test)]
mod tests;
