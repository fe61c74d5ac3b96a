//! Reads the files `FILE.query`, `FILE.query_weights` and `FILE.weight` next to a data file. Each file has one number
//! per line.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::data::error::DataError;
use crate::data::error::quoted;
use crate::data::input::Input;
use crate::data::text::source::open;

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
