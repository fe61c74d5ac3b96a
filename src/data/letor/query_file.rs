//! Reads group sizes from the file `FILE.query` next to a data file. Each line has the number of documents of one
//! query, as in LightGBM.

use std::path::Path;

use super::beside::Beside;
use crate::data::error::DataError;

/// `DATA.query`.
pub(super) const SIZES: Beside = Beside { ending: "query" };

/// Reads the group sizes of `data`, which must sum to `documents`.
pub(super) fn read(data: &Path, documents: usize) -> Result<Vec<usize>, DataError> {
    let path = SIZES.find(data).unwrap_or_else(|| SIZES.name(data));
    let expected = "the number of documents of a query (an integer of at least 1)";
    let (sizes, whole) = super::beside::numbers(&path, documents, expected, |field| {
        field.parse::<usize>().ok().filter(|&size| size > 0)
    })?;
    let sum = sizes.iter().fold(0u64, |sum, &size| sum.saturating_add(size as u64));
    if sum != documents as u64 || !whole {
        return Err(DataError::GroupSizes { path, sum, data: data.to_path_buf(), documents });
    }
    Ok(sizes)
}
