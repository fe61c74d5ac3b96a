//! The lock of a folder: one command at a time, or the parts of one cross-validation.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use super::LOCK;
use crate::experiment::error::OutputError;

/// The kind of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    Alone,
    /// Shared with others that hold it in the same way.
    Shared,
}

/// Judges a folder under its lock; both are made if need be. Nothing is created in a folder that `judge` refuses. It
/// must refuse a folder in which something else has the name of the lock.
pub(super) fn locked<T>(
    path: &Path,
    holding: Holding,
    judge: impl Fn() -> Result<T, OutputError>,
) -> Result<(T, File), OutputError> {
    if !exists(path)? {
        fs::create_dir_all(path).map_err(OutputError::unwritable(path))?;
    }
    loop {
        if let Some(lock) = existing_lock(path, holding)? {
            return Ok((judge()?, lock));
        }
        judge()?;
        match File::options().write(true).create_new(true).open(path.join(LOCK)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => drop(made.map_err(OutputError::unwritable(path))?),
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

/// Whether something is a lock: an empty file.
pub(super) fn is_lock(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_file() && there.len() == 0)
}

/// Whether there is a folder. It is an error if something else is there.
fn exists(path: &Path) -> Result<bool, OutputError> {
    let unwritable = |source| Err(OutputError::unwritable(path)(source));
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Ok(true),
        Ok(_) => unwritable(io::Error::new(io::ErrorKind::NotADirectory, "is a file, expected a folder")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => unwritable(error),
        Err(_) if fs::symlink_metadata(path).is_ok() => {
            let found = "is a link to a folder that does not exist; make it, or choose another with --out";
            Err(OutputError::not_ours(path, found))
        }
        Err(_) => Ok(false),
    }
}

/// Locks the lock file that is there; `None` if there is none, or something else of its name.
fn existing_lock(path: &Path, holding: Holding) -> Result<Option<File>, OutputError> {
    let file = path.join(LOCK);
    if !is_lock(&file) {
        return Ok(None);
    }
    let lock = File::options().read(true).write(true).open(file).map_err(OutputError::unwritable(path))?;
    let held = match holding {
        Holding::Alone => lock.try_lock(),
        Holding::Shared => lock.try_lock_shared(),
    };
    match held {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Err(OutputError::Busy { path: path.to_path_buf() }),
        Err(TryLockError::Error(source)) => Err(OutputError::unwritable(path)(source)),
    }
}
