//! Writes files atomically. Even after a crash, a file holds either its old contents or all of its new contents.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The beginning and the end of the ending that a file has until it is completely written. A random number of 16 digits
/// stands between them, so nobody else's file has such a name.
const PARTIAL: [&str; 2] = [".burn-rank-", ".partial"];

/// Lets `fill` write a temporary file in the folder of `path`, syncs the file, and renames it to `path`.
///
/// If `path` is a link, the file that it points to is replaced or created. If `path` names something other than a
/// regular file (a device, a pipe, `/dev/stdout`), `fill` writes to it directly. A rename would put a regular file in
/// its place. On Unix, the new file gets the permissions of the one that it replaces.
///
/// # Errors
/// Returns any error from `fill` or from the file system; an existing file is then unchanged.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    prepare(path, fill)?.map_or(Ok(()), Pending::commit)
}

/// Writes a file as [`write_with`] does, but leaves the last step, the rename to `path`, to [`commit_together`].
/// Returns `None` if `path` is not a regular file, because the contents were then written to it directly.
///
/// # Errors
/// Returns the same errors as [`write_with`].
pub fn prepare(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Option<Pending>> {
    // A link to a file that does not exist yet has no canonical path.
    let linked = || fs::read_link(path).map(|target| path.with_file_name("").join(target));
    let path = &fs::canonicalize(path).or_else(|_| linked()).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder")),
        Ok(there) if !there.is_file() => {
            let mut file = BufWriter::new(File::options().write(true).open(path)?);
            fill(&mut file)?;
            file.flush()?;
            Ok(None)
        }
        _ => {
            let mut pending = Pending::create(path)?;
            fill(&mut pending)?;
            Ok(Some(pending))
        }
    }
}

/// Renames several complete files to their final names. If the process is killed between two renames, only some of the
/// files are renamed.
///
/// # Errors
/// If a file cannot be synced or renamed, returns its path and the error. Files that existed before keep their old
/// contents after an error.
pub fn commit_together(mut files: Vec<Pending>) -> Result<(), (PathBuf, io::Error)> {
    for file in &mut files {
        file.sync().map_err(|error| (file.path.clone(), error))?;
    }
    let (count, mut replaced) = (files.len(), Vec::new());
    for (number, file) in (1..).zip(files) {
        let path = file.path.clone();
        // After the last file, nothing can fail.
        let kept = if number < count { Former::keep(&path).map(|former| replaced.push(former)) } else { Ok(()) };
        if let Err(error) = kept.and_then(|()| file.rename()) {
            replaced.iter_mut().for_each(Former::restore);
            return Err((path, error));
        }
    }
    Ok(())
}

/// A file as it was before [`commit_together`] replaced it. Dropping this value deletes the link or copy that keeps the
/// old contents.
struct Former {
    path: PathBuf,
    /// A hard link to the old file, or a copy of it; `None` if there was no old file.
    kept: Option<PathBuf>,
}

impl Former {
    fn keep(path: &Path) -> io::Result<Self> {
        let kept = temporary_name(path)?;
        // Not every file system has links.
        let kept = match fs::hard_link(path, &kept).or_else(|_| fs::copy(path, &kept).map(drop)) {
            Ok(()) => Some(kept),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                let _ = fs::remove_file(&kept);
                return Err(error);
            }
        };
        Ok(Self { path: path.to_path_buf(), kept })
    }

    fn restore(&mut self) {
        // The error that led here is the one to report.
        let _ = match self.kept.take() {
            Some(kept) => fs::rename(kept, &self.path),
            None => fs::remove_file(&self.path),
        };
    }
}

impl Drop for Former {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take() {
            // A leftover does no harm.
            let _ = fs::remove_file(kept);
        }
    }
}

/// Writes `bytes` to `path` as [`write_with`] does.
///
/// # Errors
/// Returns any error from the file system.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

/// Writes `bytes` to `path` as [`write_with`] does. If `path` is a link, the link itself is replaced, so no file
/// outside the folder changes.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(bytes))
}

/// Replaces `path` as [`replace`] does, with the contents that `fill` writes.
pub fn replace_with(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut pending = Pending::create(path)?;
    fill(&mut pending)?;
    pending.commit()
}

/// A file that is written under a temporary name until it is renamed to its final name. A pending file that was not
/// committed is removed when dropped.
pub struct Pending {
    path: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
}

impl Pending {
    /// Creates the temporary file that will later be renamed to `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let temporary = temporary_name(path)?;
        let file = File::options().write(true).create_new(true).open(&temporary)?;
        // On Windows, a file that may only be read can be neither replaced nor removed.
        if let Some(there) = fs::symlink_metadata(path).ok().filter(|there| cfg!(unix) && there.is_file()) {
            // Not every file system has permissions.
            let _ = file.set_permissions(there.permissions());
        }
        Ok(Self { path: path.to_path_buf(), temporary, file: BufWriter::new(file) })
    }

    /// Writes the buffered bytes to the disk.
    fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }

    /// Syncs the file and renames it to its final name.
    fn commit(mut self) -> io::Result<()> {
        self.sync()?;
        self.rename()
    }

    fn rename(self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.path)?;
        sync_folder(&self.path);
        Ok(())
    }
}

/// Returns a path in the same folder as `path` at which no file exists.
fn temporary_name(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let mut temporary = name.to_os_string();
    // Processes of several machines may write at once into one folder, where numbers of processes are not unique.
    let [begin, end] = PARTIAL;
    temporary.push(format!("{begin}{:016x}{end}", RandomState::new().build_hasher().finish()));
    Ok(path.with_file_name(temporary))
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // After the rename there is no such file. The first error is the one to report; a leftover file does no harm.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Returns the final name of the file whose temporary name is `name`; `None` if `name` is not a temporary name.
pub fn unfinished(name: &str) -> Option<&str> {
    let [begin, end] = PARTIAL;
    let (file, number) = name.strip_suffix(end)?.rsplit_once(begin)?;
    let is_number = number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    (!file.is_empty() && is_number).then_some(file)
}

/// Syncs the folder that holds `path`, if the system supports it, so that a new file name survives a power failure.
pub fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = File::open(folder) {
        // An error is ignored: the file is whole in any case.
        let _ = folder.sync_all();
    }
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

    #[test]
    fn files_that_belong_together_are_replaced_together() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let prepared =
            |path: &Path, text: &str| prepare(path, |file| file.write_all(text.as_bytes())).unwrap().unwrap();
        let found = || [&first, &second].map(|path| fs::read_to_string(path).ok());
        let pair = vec![prepared(&first, "old"), prepared(&second, "old")];
        assert_eq!(found(), [None, None]);
        commit_together(pair).unwrap();
        assert_eq!(found(), [Some("old".into()), Some("old".into())]);
        // A folder in the place of the second file: it cannot be renamed.
        let pair = vec![prepared(&first, "new"), prepared(&second, "new")];
        fs::remove_file(&second).unwrap();
        fs::create_dir(&second).unwrap();
        let (path, _) = commit_together(pair).unwrap_err();
        assert_eq!((path, found()), (second.clone(), [Some("old".into()), None]));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // A file that did not exist before does not exist afterwards.
        fs::remove_file(&first).unwrap();
        fs::remove_dir(&second).unwrap();
        let pair = vec![prepared(&first, "new"), prepared(&second, "new")];
        fs::create_dir(&second).unwrap();
        assert!(commit_together(pair).is_err());
        assert_eq!((found(), fs::read_dir(folder.path()).unwrap().count()), ([None, None], 1));
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

    #[cfg(all(unix, feature = "learners"))]
    #[test]
    fn a_file_keeps_the_permissions_of_the_one_that_it_replaces() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let [path, link, new] = ["file", "link", "new"].map(|name| folder.path().join(name));
        write(&path, b"old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
        for bits in [0o600, 0o640, 0o666, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
            write(&path, b"new").unwrap();
            assert_eq!(mode(&path), bits);
            write(&link, b"newer").unwrap();
            assert_eq!(mode(&path), bits);
        }
        // A link has no permissions of its own, so a file that replaces one gets those of a new file.
        write(&new, b"new").unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(mode(&link), mode(&new));
    }

    #[cfg(all(unix, feature = "learners"))]
    #[test]
    fn replacing_a_link_leaves_its_target_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&path, b"old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read(&link).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn unfinished_files_are_recognized_by_their_names() {
        let number = "burn-rank-0123456789abcdef";
        assert_eq!(unfinished(&format!("report.json.{number}.partial")), Some("report.json"));
        let others = ["report.json.partial", "report.json.12.partial", "report.json.burn-rank-12.partial"];
        for other in
            others.map(String::from).into_iter().chain([format!(".{number}.partial"), format!("a.{number}.gz")])
        {
            assert_eq!(unfinished(&other), None, "{other}");
        }
    }

    #[test]
    fn writing_to_a_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write(folder.path(), b"new").unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
