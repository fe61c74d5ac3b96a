//! The lock on a folder, held by one command at a time or by all parts of one cross-validation.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use super::LOCK;
use crate::experiment::error::OutputError;

/// Whether a command needs exclusive use of the folder or can share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    Alone,
    /// Several commands may hold the lock together if each of them requests shared use.
    Shared,
}

/// Locks a folder, then checks it with `judge`. Creates the folder and its lock file if needed. If `judge` rejects the
/// folder, no lock file is created in it. `judge` must reject a folder in which another file has the lock's name.
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

/// Checks a folder with `judge` while no other command writes into it. The check changes nothing. Returns `None` if the
/// folder does not exist.
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

/// Returns the path, or `.` if the path is empty.
pub(super) fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Returns whether the path leads to a lock file, which is empty.
pub(super) fn is_lock(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_file() && there.len() == 0)
}

/// Returns whether a folder exists. Returns an error if the path leads to anything else.
fn exists(path: &Path) -> Result<bool, OutputError> {
    let unwritable = |source| Err(OutputError::unwritable(path)(source));
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Ok(true),
        Ok(_) => unwritable(io::Error::new(io::ErrorKind::NotADirectory, "is a file, expected a folder")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => unwritable(error),
        // Another process may make the folder between the two looks, so only a link is an error.
        Err(_) if fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) => {
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
