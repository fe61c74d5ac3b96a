//! What readers read: a file, or any reader with a name.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Text to be read: a file, or a reader with a name. Either may be gzip-compressed, which its first bytes show.
///
/// Nothing in this library reads standard input by itself; a program that wants it hands it over:
///
/// ```no_run
/// use burn_rank::data::{Input, letor};
///
/// let data = letor::read_from([Input::reader("standard input", std::io::stdin())], &letor::ReadOptions::default())?;
/// # Ok::<(), burn_rank::data::DataError>(())
/// ```
pub struct Input {
    name: PathBuf,
    reader: Option<Box<dyn Read + Send>>,
}

impl Input {
    /// The file at `path`, whatever it is called (`-` is a file of that name). It is opened when it is read.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { name: path.into(), reader: None }
    }

    /// What `reader` gives, called `name` in messages.
    pub fn reader(name: impl Into<PathBuf>, reader: impl Read + Send + 'static) -> Self {
        Self { name: name.into(), reader: Some(Box::new(reader)) }
    }

    /// The path of a file, the name of a reader.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Whether it is a file, so that others may stand beside it.
    pub(super) fn is_file(&self) -> bool {
        self.reader.is_none()
    }

    /// The name, and the reader unless it is a file.
    pub(super) fn into_parts(self) -> (PathBuf, Option<Box<dyn Read + Send>>) {
        (self.name, self.reader)
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let kind = if self.is_file() { "Input::file" } else { "Input::reader" };
        formatter.debug_tuple(kind).field(&self.name).finish()
    }
}
