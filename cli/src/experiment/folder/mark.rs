//! The mark of a folder, a small JSON file that says which run the folder holds, and the lock on it, which one command
//! holds at a time, or all parts of one cross-validation.
//!
//! The mark is written before any other file, and is always replaced atomically. So a command that is killed leaves
//! either an empty folder or a marked one.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use burn_rank::json::Value;
use burn_rank::workbench::atomic_file::{self, unfinished};
use burn_rank::workbench::text::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{LOCK, RunKind, json_bytes};
use crate::experiment::error::OutputError;

/// The file name of the mark.
pub(super) const MARK: &str = ".burn-rank";

/// The version of the mark's format.
const FORMAT: u64 = 2;

/// The identity of a run: its command, configuration and data. Two runs are the same if all three are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The command that makes the run.
    #[serde(rename = "command")]
    pub(super) kind: RunKind,
    /// A hash of the configuration.
    configuration: String,
    /// A hash of the data; empty before the data are read.
    data: String,
}

impl Identity {
    /// Returns the identity of a run with the given configuration, before its data are known. A `description` in the
    /// configuration does not count.
    pub fn new(kind: RunKind, configuration: &str) -> Self {
        let described: Option<toml::Table> = configuration.parse().ok();
        let counts = described.map(|mut table| {
            table.remove("description");
            table.to_string()
        });
        let configuration = hash([counts.as_deref().unwrap_or(configuration)]);
        Self { kind, configuration, data: String::new() }
    }

    /// Adds the data, given as hashes or as other text that differs for other data.
    #[must_use]
    pub fn on<T: AsRef<[u8]>>(self, data: impl IntoIterator<Item = T>) -> Self {
        Self { data: hash(data), ..self }
    }

    /// Returns the identity of the run that trains the best setting of this cross-validation on all queries.
    #[must_use]
    pub(crate) fn refit(&self) -> Self {
        let configuration = hash(["refit", &self.configuration]);
        Self { kind: RunKind::Train, configuration, data: self.data.clone() }
    }

    /// Describes what distinguishes this run from the one with the mark. Returns `None` if they are the same, as far as
    /// is known.
    pub(super) fn apart_from(&self, mark: &Mark) -> Option<String> {
        let (Mark { made_by, run, .. }, is_run) = (mark, self.kind != RunKind::Files);
        Some(match run.kind {
            RunKind::Files if is_run => "files of another command".to_string(),
            kind if kind != self.kind => format!("a run of another command ({})", kind.name()),
            _ if *made_by != self::made_by() && is_run => format!("a run of another version ({made_by})"),
            _ if run.configuration != self.configuration => "a run of another configuration".to_string(),
            _ if !self.data.is_empty() && self.data != run.data => "a run on other data".to_string(),
            _ => return None,
        })
    }

    /// Returns whether both this run and the run with the mark are cross-validations, with different configurations.
    pub(super) fn may_reuse_fits_of(&self, mark: &Mark) -> bool {
        let Identity { kind, configuration, .. } = &mark.run;
        self.kind == RunKind::CrossValidation && *kind == self.kind && *configuration != self.configuration
    }
}

/// Returns the hash of several texts. Their boundaries count.
fn hash<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.as_ref().len() as u64).to_le_bytes());
        hash.update(text);
    }
    hexadecimal(&hash.finalize())
}

fn made_by() -> String {
    format!("burn-rank {}", env!("CARGO_PKG_VERSION"))
}

/// The place that a run takes when it is complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Succession {
    /// The folder whose name the run takes.
    pub(super) of: PathBuf,
    /// The folder in which the run grows.
    pub(super) new: PathBuf,
}

/// The contents of a folder's mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    about: String,
    made_by: String,
    format: u64,
    #[serde(flatten)]
    pub(super) run: Identity,
    /// Whether the run is complete.
    pub(super) finished: bool,
    /// The number of parts, while the parts of a cross-validation share the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parts: Option<usize>,
    /// The place that the run takes when it is complete, until it has taken it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) takes: Option<Succession>,
}

impl Mark {
    /// Returns the mark of a run that begins, which may take the place of another one at its end.
    pub(super) fn new(run: &Identity, takes: Option<Succession>) -> Self {
        Self {
            about: "This folder holds one run of burn-rank. --overwrite replaces the folder as a whole.".into(),
            made_by: made_by(),
            format: FORMAT,
            run: run.clone(),
            finished: false,
            parts: None,
            takes,
        }
    }

    /// Reads the mark of a folder. Returns `None` if there is no such file.
    ///
    /// # Errors
    /// Returns [`OutputError::Occupied`] for a file of this name that is not a mark of this format.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, OutputError> {
        let refuse = |reason: &str| {
            let found = format!("`{MARK}` {reason}; choose another folder with --out");
            Err(OutputError::occupied(folder, found))
        };
        let path = folder.join(MARK);
        match fs::symlink_metadata(&path) {
            Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
                return Ok(None);
            }
            Ok(there) if there.is_file() => {}
            _ => return refuse("is not a file of burn-rank"),
        }
        let bytes = fs::read(&path).map_err(OutputError::unwritable(folder))?;
        let mark: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let is_ours = mark["made_by"].as_str().is_some_and(|made_by| made_by.starts_with("burn-rank "));
        // The format first: the rest may look different in another one.
        match mark["format"].as_u64().filter(|_| is_ours) {
            None => refuse("is not a file of burn-rank"),
            Some(format) if format > FORMAT => refuse("was written by a newer version of burn-rank"),
            Some(format) if format < FORMAT => refuse("was written by an older version of burn-rank"),
            Some(_) => serde_json::from_value(mark).map(Some).or_else(|_| refuse("is damaged")),
        }
    }

    /// Returns whether the folder with this mark holds a complete run.
    pub(super) fn is_complete(&self, folder: &Path) -> bool {
        self.finished && self.run.kind.results().iter().all(|name| folder.join(name).is_file())
    }

    /// Writes the mark into its folder.
    pub(super) fn write(&self, folder: &Path) -> Result<(), OutputError> {
        let written = json_bytes(self).and_then(|bytes| atomic_file::replace(&folder.join(MARK), &bytes));
        written.map_err(OutputError::unwritable(folder))
    }
}

/// Returns whether a folder holds a run of `train` or `cv`, finished or not.
pub(crate) fn is_run(folder: &Path) -> bool {
    let kind = Mark::read(folder).ok().flatten().map(|mark| mark.run.kind);
    matches!(kind, Some(RunKind::Train | RunKind::CrossValidation))
}

/// Reads the mark of a folder. Returns `None` if the folder is empty or does not exist.
///
/// # Errors
/// Returns [`OutputError::Occupied`] if the folder is the user's, and [`OutputError::Unwritable`] if the path leads to
/// something else.
pub(super) fn mark_of(folder: &Path) -> Result<Option<Mark>, OutputError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let is_file = fs::metadata(folder).is_ok_and(|there| !there.is_dir());
            let of_file = || io::Error::new(io::ErrorKind::NotADirectory, "is a file, expected a folder");
            return Err(OutputError::unwritable(folder)(if is_file { of_file() } else { error }));
        }
        // Another process may make the folder between the two looks, so only a link is an error.
        Err(_) if folder.is_symlink() => {
            let found = "is a link to a folder that does not exist; make it, or choose another with --out";
            return Err(OutputError::occupied(folder, found));
        }
        Err(_) => return Ok(None),
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<String>>>().map_err(OutputError::unwritable(folder))?;
    // The mark after the names: another command writes its mark before any other file.
    if let Some(mark) = Mark::read(folder)? {
        return Ok(Some(mark));
    }
    // A new disk has a `lost+found`. A command that was killed before it wrote its mark leaves the others.
    let is_left = |name: &String| name == LOCK && is_lock(&folder.join(LOCK)) || unfinished(name) == Some(MARK);
    names.retain(|name| name != "lost+found" && !is_left(name));
    names.sort();
    let more = match names.len() {
        0 => return Ok(None),
        1 => String::new(),
        2 => " and 1 more entry".to_string(),
        count => format!(" and {} more entries", count - 1),
    };
    let advice = "which burn-rank did not write there; choose a new or empty folder with --out";
    Err(OutputError::occupied(folder, format!("holds `{}`{more}, {advice}", names[0])))
}

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
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !is_lock(&path.join(LOCK)) {
                    let found = format!("`{LOCK}` is not a lock of burn-rank; move it elsewhere");
                    return Err(OutputError::occupied(path, found));
                }
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
            Err(TryLockError::WouldBlock) => return Err(OutputError::Busy(path.to_path_buf())),
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
