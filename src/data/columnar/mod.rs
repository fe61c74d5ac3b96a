//! Reads tables with one row per document from Arrow, Parquet, CSV and TSV files.
//!
//! | column | contents |
//! |---|---|
//! | `label` | the label: a finite number of at least 0 |
//! | `query` or `qid` | the identifier of the query: text or a whole number; its rows are in one file |
//! | `document` or `docid` | optional: the identifier of the document, text or an integer; null for none |
//! | `weight` | optional: the weight of the document in training, with [`Weights::File`](super::letor::Weights::File) |
//! | `query_weight` | optional: the weight of the query, the same in each of its rows, with [`Weights::File`](super::letor::Weights::File) |
//! | `features` | the features: a list of numbers, of the same length in each row |
//!
//! [`Columns`](super::Columns) names the columns that do not have their usual names, and the columns to ignore. If no
//! column `features` holds lists, every other column is a feature and must hold numbers. If a column `features` holds
//! lists, other columns without a role are not read. If each feature has a column, all files of a set must have the
//! same feature names, in any order. Rows of the same query need not be consecutive: they are moved together, and
//! [`read_order`](crate::data::RankingDataset::read_order) holds their original places. A number is an integer, a
//! boolean, or a float of 16, 32 or 64 bits, and is converted to the nearest `f32`. A null or NaN is a missing value
//! ([`Missing`](super::letor::Missing)). An infinite value is an error, and so is a value that is infinite as `f32`.
//! The same data give the same rows and the same [`data_hash`](crate::data::RankingDataset::data_hash), whether they
//! are read from a table or from text.
//!
//! An Arrow file must be in the IPC file format, also called Feather. Buffers of an Arrow file may be compressed with
//! LZ4 or Zstandard. Arrow files are mapped into memory. While an Arrow file is read, another program may replace it,
//! but must not change it in place. Parquet files are decoded part by part.
//!
//! A CSV file has a header and columns separated by commas. Fields that contain commas or line breaks are enclosed in
//! double quotes (`"`). The columns of a TSV file are separated by tabs. CSV and TSV files may be compressed with gzip.
//! An empty field, `nan`, `null`, `none`, `NA` or `N/A` is a missing value; `true` is 1, and `false` is 0. A query
//! `1.0` is the query `1`, and no other decimal number is the identifier of a query.
//!
//! Features stay in the file ([`Features`](super::Features)) if the file is an uncompressed Arrow file and the only
//! file of the set. To stay in the file, features must be lists of 32-bit floats without nulls, with consecutive rows
//! for each query. Values that stay in the file are checked at their first use
//! ([`check_values`](crate::data::RankingDataset::check_values)); all other values are checked during reading.
//!
//! Sizes stated in a file are checked against the contents of the file before memory is allocated. Tables have the same
//! limits ([`ReadOptions`]) as compressed text.

mod append;
mod arrow;
mod csv;
mod map;
mod parquet;
mod schema;
mod stored;
mod values;
mod write;

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_schema::ArrowError;
use bytes::Bytes;

use super::assembly::Assembly;
use super::error::{DataError, unfit};
use super::options::ReadOptions;
use super::source::{COUNTED_RATIO, Input, most_decompressed};
use append::Appender;
use arrow::Table;
pub(super) use csv::read_csv;
use schema::Layout;
pub(crate) use schema::has_role;
pub(super) use write::TableWriter;
pub use write::{ScoreRow, write_scores_as};

/// A file format for tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Arrow's IPC file format.
    Arrow,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// Returns the format that a file name implies, which is Arrow for `.arrow`, `.feather` and `.ipc`, and Parquet for
    /// `.parquet`.
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "arrow" | "feather" | "ipc" => Some(Self::Arrow),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Arrow => "Arrow",
            Self::Parquet => "Parquet",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Reads a file or reader in the given format, and appends it to the dataset.
pub(super) fn read(assembly: &mut Assembly, input: Input, format: Format) -> Result<(), DataError> {
    let path = &input.name().to_path_buf();
    let options = assembly.options;
    assembly.begin_file(path, true);
    let (bytes, map) = map::bytes_of(input, options.max_decompressed_bytes)?;
    let size = bytes.len() as u64;
    let Table { schema, rows, decompressed, decode } = open(bytes, format, path, assembly)?;
    let is_in_place = format == Format::Arrow && decompressed == 0;
    // The size that is assumed for the file in limits that grow with the size of the input.
    let bytes_that_count = if is_in_place { size } else { size.saturating_mul(COUNTED_RATIO) };
    let layout = Layout::of(&schema, path, assembly)?;
    if rows == 0 {
        return Err(unfit(path, "no document", "at least one row"));
    }
    let most = options.most_cells(assembly.bytes + bytes_that_count);
    let mut appender = Appender::new(assembly, path, layout, most);
    if is_in_place {
        appender.leave_in_place(map, &schema);
    }
    appender.expect(rows)?;
    let columns = appender.layout.project();
    let mut batches = guarded(path, format, || decode(columns))?;
    while let Some(batch) = guarded(path, format, || batches.next().transpose())? {
        appender.append(&batch)?;
    }
    appender.finish(Some(rows))?;
    assembly.bytes += bytes_that_count;
    Ok(())
}

/// Opens a table, unless its decompressed buffers would exceed the limits for compressed text.
fn open(bytes: Bytes, format: Format, path: &Path, assembly: &Assembly) -> Result<Table, DataError> {
    let size = bytes.len() as u64;
    let table = match format {
        Format::Arrow => guarded(path, format, || arrow::open(bytes)),
        Format::Parquet => guarded(path, format, || parquet::open(bytes.clone(), false)).map_err(|error| {
            // A whole file, whose types of Arrow are not known, names the column by its type of Parquet.
            let whole = guarded(path, format, || parquet::open(bytes, true)).ok();
            whole.and_then(|file| Layout::of(&file.schema, path, assembly).err()).unwrap_or(error)
        }),
    }?;
    let ReadOptions { max_compression_ratio, max_decompressed_bytes, .. } = *assembly.options;
    let (limit, option) = most_decompressed(size, max_compression_ratio, max_decompressed_bytes);
    if table.decompressed > limit {
        let found = format!("{} bytes of decompressed columns", table.decompressed);
        return Err(DataError::limit(path, found, format!("{limit} bytes"), option));
    }
    Ok(table)
}

/// The kinds of tables that can be read.
const READ: &str =
    "numbers and text, uncompressed or compressed by LZ4 or Zstandard, in a Parquet file by Snappy or gzip too";

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a panic of this thread becomes an error about a damaged file, so that a panic hook need not report
/// it.
pub(crate) fn is_guarded() -> bool {
    IS_GUARDED.get()
}

/// Runs a decoder on a file that may be damaged. If damage makes the decoder panic, the panic becomes an error, too.
fn guarded<T>(path: &Path, format: Format, decode: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, DataError> {
    // A reason may quote any bytes of the file.
    let harmless =
        |reason: &str| -> String { reason.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect() };
    let damaged =
        |reason: &str| DataError::Damaged { path: path.to_path_buf(), format: format.name(), reason: harmless(reason) };
    let failed = |error: ArrowError| match &error {
        ArrowError::NotYetImplemented(found) => unfit(path, harmless(found), READ),
        error => damaged(&error.to_string()),
    };
    IS_GUARDED.set(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    IS_GUARDED.set(false);
    match decoded {
        Ok(decoded) => decoded.map_err(failed),
        Err(_) => Err(damaged("its parts contradict each other")),
    }
}

#[cfg(test)]
mod tests;
