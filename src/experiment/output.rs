//! The folder of a run: locked while the run lives, every file whole.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::atomic_file;

/// Why a run cannot use its folder.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A folder or file that cannot be made, locked or written.
    #[error("{path}: cannot write: {source}")]
    Unwritable {
        /// The folder or file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Another run holds the lock of the folder.
    #[error("{path}: another run is writing into this folder; choose another with --out")]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds the run of another configuration.
    #[error("{path}: {reason}")]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// What it holds, and what to change.
        reason: String,
    },
}

/// A run's folder, locked against a second run until dropped.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    _lock: File,
}

impl OutputFolder {
    /// Makes `path` if need be and locks it.
    ///
    /// # Errors
    /// [`OutputError::Unwritable`], or [`OutputError::Busy`] while another process holds it.
    pub fn open(path: &Path) -> Result<Self, OutputError> {
        let unwritable = |source| OutputError::Unwritable { path: path.to_path_buf(), source };
        fs::create_dir_all(path).map_err(unwritable)?;
        let lock = File::create(path.join(".lock")).map_err(unwritable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_path_buf(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(OutputError::Busy { path: path.to_path_buf() }),
            Err(TryLockError::Error(source)) => Err(unwritable(source)),
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file whole.
    ///
    /// # Errors
    /// [`OutputError::Unwritable`].
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        let path = self.file(name);
        atomic_file::write(&path, bytes).map_err(|source| OutputError::Unwritable { path, source })
    }

    /// Writes a value as indented JSON.
    ///
    /// # Errors
    /// [`OutputError::Unwritable`].
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), OutputError> {
        let mut bytes = serde_json::to_vec_pretty(value)
            .map_err(|error| OutputError::Unwritable { path: self.file(name), source: io::Error::other(error) })?;
        bytes.push(b'\n');
        self.write(name, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_refused_while_the_first_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let first = OutputFolder::open(&path).unwrap();
        assert!(matches!(OutputFolder::open(&path), Err(OutputError::Busy { .. })));
        drop(first);
        OutputFolder::open(&path).unwrap().write("file", b"x").unwrap();
    }

    #[test]
    fn a_folder_below_a_file_cannot_be_made() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), b"").unwrap();
        assert!(matches!(OutputFolder::open(&folder.path().join("file/run")), Err(OutputError::Unwritable { .. })));
    }
}
