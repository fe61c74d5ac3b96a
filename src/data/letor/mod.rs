//! LETOR / SVMlight text: `label qid:ID index:value ... # comment`, one document per line.
//!
//! * Indices count from 1, ascend, and may be sparse: an absent feature is 0, or missing ([`Absent`]).
//! * `NULL` and `nan` are missing values, which are rejected, replaced or kept ([`Missing`]).
//! * Several files are read as one set; a file may be gzip-compressed (recognized by its first bytes); lines end with
//!   LF or CRLF; blank lines and comment lines are skipped.
//! * All documents of a query are on consecutive lines of one file, or, with the option `sort`, on any lines of it.
//!   Without `qid:`, the file `FILE.query` next to `FILE` holds the size of each query, one number per line (LightGBM's
//!   convention).
//! * With [`Weights::File`], `FILE.query_weights` next to `FILE` holds the weight of each query in training, or
//!   `FILE.weight` the weight of each document (LightGBM's convention), one number per line.
//! * `#docid = NAME ...` names a document; any other comment is kept whole as its identifier.
//! * Labels are finite and at least 0, not necessarily integers ([`RankingDataset::check_integer_labels`]); values are
//!   finite or missing.
//!
//! The text is read in blocks of whole lines, which rayon's threads parse while the next ones are read. Blocks do not
//! depend on the number of threads, so the result and the first error do not either. Time is linear in the size of the
//! text; memory holds the dataset and a few blocks.

mod beside;
mod number;
mod parse;
mod query_file;
mod read;
mod weight_file;
mod write;

pub use super::text::options::{Absent, Groups, Missing, ReadOptions, Weights};
pub(crate) use number::from_millionths;
pub(super) use read::read_text;

use std::path::PathBuf;

use super::assembly::assemble;
use super::columns::Like;
use super::dataset::RankingDataset;
use super::error::DataError;
use super::input::Input;
#[cfg(feature = "columnar")]
pub(in crate::data) use parse::LABEL;
pub(in crate::data) use parse::LARGEST;

/// Reads files as one dataset, in the order given.
///
/// # Errors
/// The first fault in file order, with path, line and column; see [`DataError`].
pub fn read(paths: &[PathBuf], options: &ReadOptions) -> Result<RankingDataset, DataError> {
    read_from(paths.iter().map(Input::from_path), options)
}

/// Reads files and readers as one dataset, in the order given. A reader has no `FILE.query` next to it: its lines need
/// `qid:`.
///
/// # Errors
/// As [`read()`].
pub fn read_from(inputs: impl IntoIterator<Item = Input>, options: &ReadOptions) -> Result<RankingDataset, DataError> {
    assemble(inputs, options, &Like::default(), read_text).map(|read| read.data)
}

#[cfg(test)]
mod tests;
