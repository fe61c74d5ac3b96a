//! The lock of a folder: one command at a time, or the parts of one cross-validation.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use super::LOCK;
use crate::experiment::error::OutputError;

/// How a command holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    Alone,
    /// Beside others that hold it so.
    Shared,
}

/// Judges a folder under its lock; both are made if need be. Nothing is made in a folder that `judge` refuses.
pub(super) fn locked<T>(
    path: &Path,
    holding: Holding,
    judge: impl Fn() -> Result<T, OutputError>,
) -> Result<(T, File), OutputError> {
    let unwritable = |source| OutputError::Unwritable { path: path.to_path_buf(), source };
    if !exists(path)? {
        fs::create_dir_all(path).map_err(unwritable)?;
    }
    loop {
        if let Some(lock) = existing_lock(path, holding)? {
            return Ok((judge()?, lock));
        }
        judge()?;
        let lock = match File::options().read(true).write(true).create_new(true).open(path.join(LOCK)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made.map_err(unwritable)?,
        };
        if !hold(path, &lock, holding)? {
            continue;
        }
        // Another process may have been here between the look and the lock.
        match judge() {
            Ok(judged) => return Ok((judged, lock)),
            Err(error) => {
                // Still locked: whoever has opened it finds that it is gone. Other parts may hold a shared one.
                if holding == Holding::Alone {
                    let _ = fs::remove_file(path.join(LOCK));
                }
                return Err(error);
            }
        }
    }
}

/// Judges a folder while nobody else writes into it, and changes nothing; `None` if there is no folder.
pub(super) fn looked<T>(
    path: &Path,
    holding: Holding,
    judge: impl Fn() -> Result<T, OutputError>,
) -> Result<Option<T>, OutputError> {
    if !exists(path)? {
        return Ok(None);
    }
    let _lock = existing_lock(path, holding)?;
    judge().map(Some)
}

/// The folder that is meant: an empty path is the current one.
pub(super) fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Whether there is a folder; what is there instead is an error.
fn exists(path: &Path) -> Result<bool, OutputError> {
    let unwritable = |source| Err(OutputError::Unwritable { path: path.to_path_buf(), source });
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Ok(true),
        Ok(_) => unwritable(io::Error::new(io::ErrorKind::NotADirectory, "is a file, expected a folder")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => unwritable(error),
        Err(_) if fs::symlink_metadata(path).is_ok() => {
            let found = "is a link to a folder that does not exist; make it, or choose another with --out";
            Err(OutputError::NotOurs { path: path.to_path_buf(), found: found.to_string() })
        }
        Err(_) => Ok(false),
    }
}

/// Locks the lock file that is there; `None` if there is none, or something else of its name.
fn existing_lock(path: &Path, holding: Holding) -> Result<Option<File>, OutputError> {
    let unwritable = |source| OutputError::Unwritable { path: path.to_path_buf(), source };
    loop {
        match fs::symlink_metadata(path.join(LOCK)) {
            Ok(there) if there.is_file() && there.len() == 0 => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritable(error)),
            _ => return Ok(None),
        }
        let lock = match File::options().read(true).write(true).open(path.join(LOCK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(unwritable)?,
        };
        if hold(path, &lock, holding)? {
            return Ok(Some(lock));
        }
    }
}

/// Locks an open lock file; false if it has been removed meanwhile.
fn hold(path: &Path, lock: &File, holding: Holding) -> Result<bool, OutputError> {
    let held = match holding {
        Holding::Alone => lock.try_lock(),
        Holding::Shared => lock.try_lock_shared(),
    };
    match held {
        Ok(()) => Ok(is_still_there(&path.join(LOCK), lock)),
        Err(TryLockError::WouldBlock) => Err(OutputError::Busy { path: path.to_path_buf() }),
        Err(TryLockError::Error(source)) => Err(OutputError::Unwritable { path: path.to_path_buf(), source }),
    }
}

/// Whether the open file is the one at `path`.
fn is_still_there(path: &Path, file: &File) -> bool {
    match (fs::symlink_metadata(path), file.metadata()) {
        #[cfg(unix)]
        (Ok(there), Ok(open)) => {
            use std::os::unix::fs::MetadataExt;
            (there.dev(), there.ino()) == (open.dev(), open.ino())
        }
        #[cfg(not(unix))]
        (Ok(_), Ok(_)) => true,
        _ => false,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_was_removed_is_not_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        let lock = File::create(&path).unwrap();
        assert!(hold(folder.path(), &lock, Holding::Alone).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!hold(folder.path(), &lock, Holding::Alone).unwrap());
        File::create(&path).unwrap();
        assert!(!hold(folder.path(), &lock, Holding::Alone).unwrap(), "another lock took its place");
    }
}
