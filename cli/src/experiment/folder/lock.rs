//! The lock of a folder, held by one command at a time or by all parts of one cross-validation.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use super::LOCK;
use crate::experiment::error::OutputError;

/// The way in which a command holds the lock of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    Alone,
    /// A lock shared with other commands that hold it in the same way.
    Shared,
}

/// Runs `judge` on a locked folder; creates the folder and its lock if needed. Nothing is created in a folder that
/// `judge` refuses. `judge` must refuse a folder in which something else has the name of the lock.
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

/// Runs `judge` on a folder while nobody else writes into it, and changes nothing. Returns `None` if the folder does
/// not exist.
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

/// Returns the path, or the path of the current folder if it is empty.
pub(super) fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Returns whether a path is a lock, which is an empty file.
pub(super) fn is_lock(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_file() && there.len() == 0)
}

/// Returns whether a folder exists, or an error if the path is something else.
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

/// Locks an existing lock file. Returns `None` if there is no such file, or if something else has its name.
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
