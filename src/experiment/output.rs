//! The folder of a run: locked while the run lives, every file whole.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::atomic_file;

/// The resolved configuration.
pub const CONFIG: &str = "config.toml";
/// The trained ranker of `train`.
pub const RANKER: &str = "ranker.safetensors";
/// What a run found; written last.
pub const REPORT: &str = "report.json";
/// The fits of `cv`, a folder each.
pub const JOBS: &str = "jobs";

/// What `train` leaves that is worth keeping, finished or not.
const TRAINED: &[&str] = &[RANKER, "state.json"];
/// What else runs write.
const FURTHER: &[&str] = &["report.html", "run.json", "README.md", "metrics.jsonl"];

/// The command that a folder belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// `train`
    Train,
    /// `cv`
    CrossValidation,
}

/// What a run may do with what is in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Nothing may be lost.
    New,
    /// Continue it.
    Resume,
    /// Take its place.
    Overwrite,
}

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
            Ok(()) => {
                let folder = Self { path: path.to_path_buf(), _lock: lock };
                folder.sweep();
                Ok(folder)
            }
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

    /// Takes the folder for a run of `kind` with the resolved configuration, which is written into it.
    ///
    /// What is there stays where `claim` continues it, and where it is a finished run of this configuration, which
    /// will be written again; otherwise only [`Claim::Overwrite`] takes its place.
    ///
    /// # Errors
    /// [`OutputError::Occupied`] by another run, or by an unfinished one that `claim` does not continue;
    /// [`OutputError::Unwritable`].
    pub fn claim(&self, kind: RunKind, configuration: &str, claim: Claim) -> Result<(), OutputError> {
        let occupied =
            |reason: &str| Err(OutputError::Occupied { path: self.path.clone(), reason: reason.to_string() });
        let there = fs::read_to_string(self.file(CONFIG)).ok();
        let same = there.as_deref() == Some(configuration);
        let has = |names: &[&str]| names.iter().any(|name| self.file(name).exists());
        let [of_train, of_cv] = [has(TRAINED), has(&[JOBS])];
        let (own, other) = match kind {
            RunKind::Train => (of_train, of_cv),
            RunKind::CrossValidation => (of_cv, of_train),
        };
        match claim {
            Claim::Overwrite => self.clear()?,
            _ if other => return occupied("holds a run of another command; choose another folder with --out"),
            _ if !own => {}
            Claim::Resume if same || kind == RunKind::CrossValidation => {}
            Claim::Resume => {
                return occupied(
                    "--resume needs the configuration that the run was started with (config.toml differs)",
                );
            }
            Claim::New if !same => {
                return occupied(
                    "holds a run of another configuration; choose another folder with --out, or --overwrite it",
                );
            }
            Claim::New if !has(&[REPORT]) => {
                return occupied("holds an unfinished run: --resume continues it, --overwrite starts again");
            }
            Claim::New => {}
        }
        self.write(CONFIG, configuration.as_bytes())
    }

    /// Removes what runs leave, and nothing else.
    fn clear(&self) -> Result<(), OutputError> {
        let remove = |name: &str| {
            let path = self.file(name);
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match removed {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    Err(OutputError::Unwritable { path, source })
                }
                _ => Ok(()),
            }
        };
        // The report first: a folder without one is unfinished.
        [REPORT, JOBS, CONFIG].iter().chain(TRAINED).chain(FURTHER).try_for_each(|name| remove(name))
    }

    /// Removes the halves of files that a killed run left.
    fn sweep(&self) {
        let halves = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for half in halves.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "partial")) {
            // A leftover does no harm.
            let _ = fs::remove_file(half.path());
        }
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

    #[test]
    fn a_claim_loses_nothing_that_was_not_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let folder = OutputFolder::open(&folder.path().join("run")).unwrap();
        let claim =
            |kind, configuration, claim| folder.claim(kind, configuration, claim).map_err(|error| error.to_string());
        claim(RunKind::Train, "a", Claim::New).unwrap();
        // A run that failed before it had anything to keep.
        claim(RunKind::Train, "b", Claim::New).unwrap();
        folder.write("state.json", b"{}").unwrap();
        assert!(claim(RunKind::Train, "b", Claim::New).unwrap_err().contains("--resume continues it"));
        claim(RunKind::Train, "b", Claim::Resume).unwrap();
        assert!(claim(RunKind::Train, "a", Claim::Resume).unwrap_err().contains("config.toml differs"));
        assert!(claim(RunKind::CrossValidation, "b", Claim::Resume).unwrap_err().contains("another command"));
        folder.write(REPORT, b"{}").unwrap();
        claim(RunKind::Train, "b", Claim::New).unwrap();
        assert!(claim(RunKind::Train, "a", Claim::New).unwrap_err().contains("--overwrite"));
        claim(RunKind::Train, "a", Claim::Overwrite).unwrap();
        assert!(!folder.file("state.json").exists() && !folder.file(REPORT).exists());
    }
}
