//! Reads the files `FILE.query`, `FILE.query_weights`, `FILE.weight` and `FILE.position` next to a data file. Each file
//! has one entry per line: the number of documents of a query, the weight of a query, the weight of a document, or the
//! position of a document, as in LightGBM.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::data::error::{DataError, quoted};
use crate::data::options::ReadOptions;
use crate::data::source::{Input, Source};

/// A data file, and the options by which it is read.
type Place<'a> = (&'a Path, &'a ReadOptions);

/// The ending of `FILE.query`.
pub(super) const SIZES: &str = "query";

/// Returns the path where the companion file of `data` with this ending is expected.
pub(super) fn name(data: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(data);
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// Finds the companion file of `data`. For data in `DATA`, the name is `DATA.ENDING`; for `FILE.gz`, the names
/// `FILE.ENDING` and `FILE.ENDING.gz` are also tried.
pub(super) fn find(data: &Path, ending: &str) -> Option<PathBuf> {
    let mut candidates = vec![name(data, ending)];
    if data.extension().is_some_and(|extension| extension == "gz") {
        let plain = name(&data.with_extension(""), ending);
        candidates.push(plain.clone());
        candidates.push(plain.with_extension(format!("{ending}.gz")));
    }
    candidates.into_iter().find(|path| path.is_file())
}

/// Reads the companion file of `data` with this ending: one entry from each line that is not blank. Returns the path of
/// the file and the entries. Reading stops after more than `most` entries.
///
/// # Errors
/// Returns an error for the first line that does not hold the expected entry, or for a file that cannot be read.
fn entries<T>(
    (data, options): Place,
    ending: &str,
    most: usize,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<(PathBuf, Vec<T>), DataError> {
    let path = find(data, ending).unwrap_or_else(|| name(data, ending));
    let mut source = Source::open(Input::from_path(&path), options)?;
    let (mut block, mut lines, mut entries) = (Vec::new(), 0, Vec::new());
    while entries.len() <= most {
        source.next_block(&mut block)?;
        source.check_lines(&block)?;
        if block.is_empty() {
            break;
        }
        for line in block.split_inclusive(|&byte| byte == b'\n') {
            lines += 1;
            let field = line.trim_ascii();
            if field.is_empty() {
                continue;
            }
            let Some(entry) = std::str::from_utf8(field).ok().and_then(&parse) else {
                let column = line.len() - line.trim_ascii_start().len() + 1;
                return Err(DataError::syntax(&path, (lines, column), quoted(field), expected));
            };
            entries.push(entry);
        }
    }
    Ok((path, entries))
}

/// Reads the group sizes of `data`, which must sum to `documents`.
pub(super) fn group_sizes(data: Place, documents: usize) -> Result<Vec<usize>, DataError> {
    let expected = "the number of documents of a query (an integer of at least 1)";
    let size = |field: &str| field.parse::<usize>().ok().filter(|&size| size > 0);
    let (path, sizes) = entries(data, SIZES, documents, expected, size)?;
    let sum = sizes.iter().fold(0u64, |sum, &size| sum.saturating_add(size as u64));
    if sum != documents as u64 {
        return Err(DataError::GroupSizes { path, sum, data: data.0.to_path_buf(), documents });
    }
    Ok(sizes)
}

/// Reads exactly `count` entries from a companion file. For another number, `wrong_count` creates the error from
/// the path of the file, the number, and the path of the data.
fn exactly<T>(
    data: Place,
    ending: &str,
    count: usize,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
    wrong_count: impl FnOnce(PathBuf, usize, PathBuf) -> DataError,
) -> Result<Vec<T>, DataError> {
    let (path, found) = entries(data, ending, count, expected, parse)?;
    if found.len() == count { Ok(found) } else { Err(wrong_count(path, found.len(), data.0.to_path_buf())) }
}

fn weight(field: &str) -> Option<f32> {
    field.parse().ok().filter(|weight: &f32| *weight >= 0.0 && weight.is_finite())
}

/// Reads the weights of the queries of `data`. The file must hold exactly `queries` weights.
pub(super) fn weights_of_queries(data: Place, queries: usize) -> Result<Vec<f32>, DataError> {
    let expected = "the weight of a query (a finite number of at least 0)";
    let wrong_count = |path, weights, data| DataError::QueryWeights { path, weights, data, queries };
    exactly(data, "query_weights", queries, expected, weight, wrong_count)
}

/// Reads the weights of the documents of `data`. The file must hold exactly `documents` weights.
pub(super) fn weights_of_documents(data: Place, documents: usize) -> Result<Vec<f32>, DataError> {
    let expected = "the weight of a document (a finite number of at least 0)";
    let wrong_count = |path, weights, data| DataError::DocumentWeights { path, weights, data, documents };
    exactly(data, "weight", documents, expected, weight, wrong_count)
}

/// Reads the positions of the documents of `data`. The file must hold exactly `documents` positions, each of them text
/// without a line end.
pub(super) fn positions_of_documents(data: Place, documents: usize) -> Result<Vec<String>, DataError> {
    let text = |field: &str| Some(field.to_owned());
    let wrong_count = |path, positions, data| DataError::Positions { path, positions, data, documents };
    exactly(data, "position", documents, "a position (text)", text, wrong_count)
}
