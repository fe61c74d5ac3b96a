//! Group sizes beside a data file, as LightGBM keeps them: `FILE.query`, one number of documents per line.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::open;
use crate::data::error::quoted;
use crate::data::{DataError, Input};

/// Returns the path at which the group sizes of `data` are expected.
pub(super) fn name(data: &Path) -> PathBuf {
    let mut name = OsString::from(data);
    name.push(".query");
    PathBuf::from(name)
}

/// Finds the file of group sizes of `data`. It is `DATA.query`; for `FILE.gz`, `FILE.query` and `FILE.query.gz` are
/// looked for too.
pub(super) fn find(data: &Path) -> Option<PathBuf> {
    let mut candidates = vec![name(data)];
    if data.extension().is_some_and(|extension| extension == "gz") {
        let plain = name(&data.with_extension(""));
        candidates.push(plain.clone());
        candidates.push(plain.with_extension("query.gz"));
    }
    candidates.into_iter().find(|path| path.is_file())
}

/// Reads the group sizes of `data`, which must sum to `documents`.
pub(super) fn read(data: &Path, documents: usize) -> Result<Vec<usize>, DataError> {
    let path = find(data).unwrap_or_else(|| name(data));
    // A valid file has at most one group per document, and few bytes per group.
    let most = 64 * (documents as u64 + 1);
    let mut text = Vec::new();
    open(Input::from_path(&path))?.0.take(most + 1).read_to_end(&mut text).map_err(DataError::io(&path))?;
    let mut sizes = Vec::new();
    let mut sum = 0u64;
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let field = line.trim_ascii();
        if field.is_empty() {
            continue;
        }
        let size =
            std::str::from_utf8(field).ok().and_then(|field| field.parse::<usize>().ok()).filter(|&size| size > 0);
        let Some(size) = size else {
            let column = line.len() - line.trim_ascii_start().len() + 1;
            let expected = "the number of documents of a query (an integer of at least 1)".to_owned();
            return Err(DataError::Syntax { path, line: index + 1, column, found: quoted(field), expected });
        };
        sum = sum.saturating_add(size as u64);
        sizes.push(size);
    }
    if sum != documents as u64 || text.len() as u64 > most {
        return Err(DataError::GroupSizes { path, sum, data: data.to_path_buf(), documents });
    }
    Ok(sizes)
}
