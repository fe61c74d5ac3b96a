//! The lock on a folder, held by one command at a time or by all parts of one cross-validation.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use super::LOCK;
use crate::experiment::error::OutputError;

/// Locks a folder, then checks it with `judge`. Creates the folder and its lock file if needed. If `judge` rejects the
/// folder, nothing is created.
pub(super) fn locked<T>(
    path: &Path,
    is_shared: bool,
    judge: impl Fn() -> Result<T, OutputError>,
) -> Result<(T, File), OutputError> {
    loop {
        if let Some(lock) = existing_lock(path, is_shared)? {
            return Ok((judge()?, lock));
        }
        judge()?;
        fs::create_dir_all(path).map_err(OutputError::unwritable(path))?;
        match File::options().write(true).create_new(true).open(path.join(LOCK)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_lock(&path.join(LOCK)) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let found = format!("`{LOCK}` is not a lock of burn-rank; move it elsewhere");
                return Err(OutputError::not_ours(path, found));
            }
            made => drop(made.map_err(OutputError::unwritable(path))?),
        }
    }
}

/// Returns whether the path leads to a lock file, which is empty.
pub(super) fn is_lock(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_file() && there.len() == 0)
}

/// Locks an existing lock file. Commands that share the lock can hold it together. Returns `None` if there is no such
/// file, or if something else has its name.
pub(super) fn existing_lock(path: &Path, is_shared: bool) -> Result<Option<File>, OutputError> {
    let file = path.join(LOCK);
    while is_lock(&file) {
        let lock = match File::options().read(true).write(true).open(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(OutputError::unwritable(path))?,
        };
        match if is_shared { lock.try_lock_shared() } else { lock.try_lock() } {
            // Another folder may have taken this place since the file was opened.
            Ok(()) if is_same(&lock, &file) => return Ok(Some(lock)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OutputError::Busy { path: path.to_path_buf() }),
            Err(TryLockError::Error(source)) => return Err(OutputError::unwritable(path)(source)),
        }
    }
    Ok(None)
}

#[cfg(unix)]
fn is_same(open: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |there: io::Result<fs::Metadata>| there.ok().map(|there| (there.dev(), there.ino()));
    number(open.metadata()) == number(fs::symlink_metadata(path))
}

#[cfg(not(unix))]
fn is_same(_: &File, _: &Path) -> bool {
    true
}
