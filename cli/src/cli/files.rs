//! Writes the files that commands produce. A file is replaced as a whole or not at all, and files that belong together
//! are replaced together.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn_rank::workbench::atomic_file::{self, Pending};

use super::{Failure, Result, during, input};
pub(super) use crate::experiment::to_io;

/// Returns the last component of each path, or the whole path where two have the same.
pub(super) fn names<P: AsRef<Path>>(paths: &[P]) -> Vec<String> {
    let last = |path: &P| path.as_ref().file_name().map(|name| name.to_string_lossy().into_owned());
    let lasts: Vec<Option<String>> = paths.iter().map(last).collect();
    let is_unique = |name: &String| lasts.iter().flatten().filter(|other| *other == name).count() == 1;
    let whole = |path: &P| path.as_ref().display().to_string();
    lasts.iter().zip(paths).map(|(last, path)| last.clone().filter(is_unique).unwrap_or_else(|| whole(path))).collect()
}

/// Returns the last component of a path. A path such as `.` gives the name of the folder for which it stands.
pub(super) fn last_name(path: &Path) -> String {
    let whole = if path.file_name().is_none() { path.canonicalize().ok() } else { None };
    whole.as_deref().unwrap_or(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The files of a command: none that it writes may be one that it reads, or another that it writes.
pub(super) struct Outputs {
    read: Vec<PathBuf>,
    written: Vec<(&'static str, PathBuf)>,
}

impl Outputs {
    /// Takes the files that the command reads, where a folder of a `train` run stands for its ranker.
    ///
    /// # Errors
    /// Returns an error if standard input is read twice.
    pub fn of_reading<P: AsRef<Path>>(read: impl IntoIterator<Item = P>) -> Result<Self> {
        let read: Vec<PathBuf> = read.into_iter().map(|path| input::ranker_file(path.as_ref())).collect();
        input::once(&read)?;
        Ok(Self { read, written: Vec::new() })
    }

    /// Adds a file that the command writes, which `option` names.
    ///
    /// # Errors
    /// Returns an error if it is another file of the command.
    pub fn add(&mut self, option: &'static str, path: &Path) -> Result {
        input::not_over(option, path, &self.read, "is read")?;
        let whole = |path: &Path| std::path::absolute(path).ok();
        for (other, written) in &self.written {
            if whole(written) == whole(path) {
                let expected = format!("expected a different file from {other}");
                return Err(Failure::input(format!("{option} {}: {expected}", path.display())));
            }
            input::not_over(option, path, &[written], &format!("is also given as {other}"))?;
        }
        self.written.push((option, path.to_path_buf()));
        Ok(())
    }
}

/// Writes a file.
///
/// # Errors
/// Returns an error if `fill` fails or the file cannot be written.
pub(super) fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result {
    let written = during(&format!("writing {}", path.display()), || atomic_file::write_with(path, fill));
    written.map_err(|error| unwritable(path, error))
}

/// Writes a file under a temporary name; [`commit`] then renames it to `path`. Returns `None` if the path is not a
/// regular file.
///
/// # Errors
/// Returns the same errors as [`write`].
pub(super) fn prepare(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Option<Pending>> {
    let prepared = during(&format!("writing {}", path.display()), || atomic_file::prepare(path, fill));
    prepared.map_err(|error| unwritable(path, error))
}

/// Renames files that belong together to their final names, either all or none.
///
/// # Errors
/// Returns an error if a file cannot be renamed.
pub(super) fn commit(files: impl IntoIterator<Item = Option<Pending>>) -> Result {
    let files = files.into_iter().flatten().collect();
    atomic_file::commit_together(files).map_err(|(path, error)| unwritable(&path, error))
}

fn unwritable(path: &Path, error: io::Error) -> Failure {
    match error.kind() {
        // The content is at fault, not the file.
        io::ErrorKind::InvalidData => Failure::Input(error.into()),
        _ => Failure::unwritable(error).context(format!("{}: cannot write", path.display())),
    }
}
