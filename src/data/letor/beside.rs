//! Reads the files `FILE.query`, `FILE.query_weights`, `FILE.weight` and `FILE.position` next to a data file. Each file
//! has one entry per line: the number of documents of a query, the weight of a query, the weight of a document, or the
//! position of a document, as in LightGBM.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::data::error::DataError;
use crate::data::error::quoted;
use crate::data::source::Input;
use crate::data::source::open;

/// A kind of companion file, such as `FILE.query` for the data file `FILE`.
pub(super) struct Beside {
    pub(super) ending: &'static str,
}

impl Beside {
    /// Returns the path where the companion file of `data` is expected.
    pub(super) fn name(&self, data: &Path) -> PathBuf {
        let mut name = OsString::from(data);
        name.push(".");
        name.push(self.ending);
        PathBuf::from(name)
    }

    /// Finds the companion file of `data`. For data in `DATA`, the name is `DATA.ENDING`; for `FILE.gz`, the names
    /// `FILE.ENDING` and `FILE.ENDING.gz` are also tried.
    pub(super) fn find(&self, data: &Path) -> Option<PathBuf> {
        let mut candidates = vec![self.name(data)];
        if data.extension().is_some_and(|extension| extension == "gz") {
            let plain = self.name(&data.with_extension(""));
            candidates.push(plain.clone());
            candidates.push(plain.with_extension(format!("{}.gz", self.ending)));
        }
        candidates.into_iter().find(|path| path.is_file())
    }
}

/// Reads one number from each line that is not blank. If a file is much longer than `most` lines can be, reading stops
/// early, and the second result is false.
///
/// # Errors
/// Returns an error for the first line that does not hold the expected number, or for a file that cannot be read.
pub(super) fn numbers<T>(
    path: &Path,
    most: usize,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<(Vec<T>, bool), DataError> {
    // A line has few bytes.
    let most = 64 * (most as u64 + 1);
    let mut text = Vec::new();
    open(Input::from_path(path))?.0.take(most + 1).read_to_end(&mut text).map_err(DataError::io(path))?;
    let mut numbers = Vec::new();
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let field = line.trim_ascii();
        if field.is_empty() {
            continue;
        }
        let Some(number) = std::str::from_utf8(field).ok().and_then(&parse) else {
            let (path, column) = (path.to_path_buf(), line.len() - line.trim_ascii_start().len() + 1);
            let (found, expected) = (quoted(field), expected.to_owned());
            return Err(DataError::Syntax { path, line: index + 1, column, found, expected });
        };
        numbers.push(number);
    }
    Ok((numbers, text.len() as u64 <= most))
}

/// `DATA.query`.
pub(super) const SIZES: Beside = Beside { ending: "query" };

/// Reads the group sizes of `data`, which must sum to `documents`.
pub(super) fn group_sizes(data: &Path, documents: usize) -> Result<Vec<usize>, DataError> {
    let path = SIZES.find(data).unwrap_or_else(|| SIZES.name(data));
    let expected = "the number of documents of a query (an integer of at least 1)";
    let (sizes, whole) =
        numbers(&path, documents, expected, |field| field.parse::<usize>().ok().filter(|&size| size > 0))?;
    let sum = sizes.iter().fold(0u64, |sum, &size| sum.saturating_add(size as u64));
    if sum != documents as u64 || !whole {
        return Err(DataError::GroupSizes { path, sum, data: data.to_path_buf(), documents });
    }
    Ok(sizes)
}

const OF_QUERIES: Beside = Beside { ending: "query_weights" };
const OF_DOCUMENTS: Beside = Beside { ending: "weight" };

/// Reads the weights of the queries of `data`. The file must hold exactly `queries` weights.
pub(super) fn weights_of_queries(data: &Path, queries: usize) -> Result<Vec<f32>, DataError> {
    let expected = "the weight of a query (a finite number of at least 0)";
    weights(&OF_QUERIES, data, queries, expected, |path, weights| {
        let data = data.to_path_buf();
        DataError::QueryWeights { path, weights, data, queries }
    })
}

/// Reads the weights of the documents of `data`. The file must hold exactly `documents` weights.
pub(super) fn weights_of_documents(data: &Path, documents: usize) -> Result<Vec<f32>, DataError> {
    let expected = "the weight of a document (a finite number of at least 0)";
    weights(&OF_DOCUMENTS, data, documents, expected, |path, weights| {
        let data = data.to_path_buf();
        DataError::DocumentWeights { path, weights, data, documents }
    })
}

const POSITIONS: Beside = Beside { ending: "position" };

/// Reads the positions of the documents of `data`. The file must hold exactly `documents` positions, each of them text
/// without a line end.
pub(super) fn positions_of_documents(data: &Path, documents: usize) -> Result<Vec<String>, DataError> {
    let path = POSITIONS.find(data).unwrap_or_else(|| POSITIONS.name(data));
    let (positions, whole) = numbers(&path, documents, "a position (text)", |field| Some(field.to_owned()))?;
    if positions.len() == documents && whole {
        return Ok(positions);
    }
    let data = data.to_path_buf();
    Err(DataError::Positions { path, positions: positions.len(), data, documents })
}

fn weights(
    beside: &Beside,
    data: &Path,
    count: usize,
    expected: &str,
    wrong_count: impl FnOnce(PathBuf, usize) -> DataError,
) -> Result<Vec<f32>, DataError> {
    let path = beside.find(data).unwrap_or_else(|| beside.name(data));
    let (weights, whole) = numbers(&path, count, expected, |field| {
        field.parse::<f32>().ok().filter(|weight| *weight >= 0.0 && weight.is_finite())
    })?;
    if weights.len() == count && whole { Ok(weights) } else { Err(wrong_count(path, weights.len())) }
}
