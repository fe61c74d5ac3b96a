//! Input for readers: a file, or any reader with a name.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Text to be read from a file, or from a reader with a name. The text may be gzip-compressed, which is recognized by
/// its first bytes.
///
/// This library never opens standard input itself. A program can pass standard input explicitly, as in this example.
///
/// ```no_run
/// use burn_rank::data::{Input, letor};
///
/// let data = letor::read_from([Input::from_reader("standard input", std::io::stdin())], &letor::ReadOptions::default())?;
/// # Ok::<(), burn_rank::data::DataError>(())
/// ```
pub struct Input {
    name: PathBuf,
    reader: Option<Box<dyn Read + Send>>,
}

impl Input {
    /// Returns an input for the file at `path`, which may have any name, even `-`. The file is opened when it is read.
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        Self { name: path.into(), reader: None }
    }

    /// Returns an input that reads the text of `reader`. Messages refer to the input as `name`.
    pub fn from_reader(name: impl Into<PathBuf>, reader: impl Read + Send + 'static) -> Self {
        Self { name: name.into(), reader: Some(Box::new(reader)) }
    }

    /// Returns the path of a file or the name of a reader.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns whether the input is a file on disk, so companion files may be in the same folder.
    pub(crate) fn is_file(&self) -> bool {
        self.reader.is_none()
    }

    /// Splits the input into its name and, unless it is a file, its reader.
    pub(super) fn into_parts(self) -> (PathBuf, Option<Box<dyn Read + Send>>) {
        (self.name, self.reader)
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let kind = if self.is_file() { "Input::from_path" } else { "Input::from_reader" };
        formatter.debug_tuple(kind).field(&self.name).finish()
    }
}
