//! Files that are either the old one or the new one, whole, whatever happens in between.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes `path` through `fill` under a temporary name in the same folder, syncs it, and renames it into place.
///
/// A link is followed: the file that it names is replaced. What is no file (a device, a pipe, `/dev/stdout`) is written
/// to, since a rename would put a file in its place.
///
/// # Errors
/// Any error of `fill` or of the file system; the file that was there before is then untouched.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder")),
        Ok(there) if !there.is_file() => {
            let mut file = io::BufWriter::new(File::options().write(true).open(path)?);
            fill(&mut file)?;
            file.flush()
        }
        _ => replace(path, fill),
    }
}

fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let mut temporary = name.to_os_string();
    temporary.push(format!(".{}.partial", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let written = (|| {
        let mut file = io::BufWriter::new(File::create(&temporary)?);
        fill(&mut file)?;
        file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
        fs::rename(&temporary, path)?;
        sync_folder(path);
        Ok(())
    })();
    if written.is_err() {
        // The first error is the one to report; a leftover temporary file does no harm.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Makes the new name last through a loss of power, where the system can.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = File::open(folder) {
        // The file is whole in any case.
        let _ = folder.sync_all();
    }
}

/// Writes `bytes` to `path` as [`write_with`] does.
///
/// # Errors
/// Any error of the file system.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"old").unwrap();
        let error = write_with(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert_eq!(error.unwrap_err().to_string(), "disk full");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&path, b"old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write(folder.path(), b"new").unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
