//! The folder of a run: marked as its own, locked while the run lives, every file whole.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::config::resolves_to;
use super::error::OutputError;
use super::mark::Mark;
use super::run_folder::{CONFIG, Contents, Entry, LOCK, RUN_FILES, RunKind, kept_entry, standing};
use crate::atomic_file::Pending;
use crate::text::hexadecimal;

/// What a run may do with what earlier runs left in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Nothing may be lost.
    New,
    /// Continue it.
    Resume,
    /// Take its place.
    Overwrite,
    /// Work in it beside the other parts of the same cross-validation, of which there are `of`; continue what this part
    /// left.
    Part {
        /// Number of parts.
        of: usize,
    },
    /// Put together what the parts of this cross-validation left.
    Merge,
}

/// What a command is about to do in its folder.
pub(crate) enum Purpose<'a> {
    /// A run with its resolved configuration.
    Run { kind: RunKind, configuration: &'a str, claim: Claim },
    /// These files, in the place of those that it wrote before.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "commands alone write such files"))]
    Files(&'a [Entry]),
}

/// The folder of a command, locked against a second one until dropped; parts of a cross-validation share the lock.
///
/// A command writes only into a folder that it made, found empty, or marked; in it, it replaces and removes only files
/// that are as a command wrote them.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    /// The files that are known by name.
    entries: Vec<Entry>,
    mark: Mutex<Mark>,
    _lock: File,
}

impl OutputFolder {
    /// Takes `path` for a run of `kind` with the resolved configuration, which is written into it; makes the folder if
    /// need be, marks it and locks it.
    ///
    /// What is there stays where `claim` continues it, and where it is a finished run of this configuration, which
    /// will be written again; otherwise only [`Claim::Overwrite`] takes its place.
    ///
    /// # Errors
    /// [`OutputError::Busy`] while another process holds the folder; [`OutputError::NotOurs`] where it holds what
    /// burn-rank did not write; [`OutputError::Occupied`] by another run, or by an unfinished one that `claim` does not
    /// continue. Nothing in the folder has changed then. [`OutputError::Unwritable`].
    pub fn open(path: &Path, kind: RunKind, configuration: &str, claim: Claim) -> Result<Self, OutputError> {
        Self::take(path, &Purpose::Run { kind, configuration, claim })
    }

    /// Whether [`open`](Self::open) would be refused for what is in the folder: before the work, not after it. Makes and
    /// changes nothing.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn check(path: &Path, kind: RunKind, configuration: &str, claim: Claim) -> Result<(), OutputError> {
        Self::look(path, &Purpose::Run { kind, configuration, claim })
    }

    /// [`check`](Self::check) for any purpose.
    pub(crate) fn look(path: &Path, purpose: &Purpose) -> Result<(), OutputError> {
        let path = here(path);
        if !exists(path)? {
            return purpose.may_make(path);
        }
        let _lock = existing_lock(path, purpose.holding())?;
        purpose.judge(path).map(drop)
    }

    /// [`open`](Self::open) for any purpose.
    pub(crate) fn take(path: &Path, purpose: &Purpose) -> Result<Self, OutputError> {
        let path = here(path);
        let unwritable = |source| OutputError::Unwritable { path: path.to_path_buf(), source };
        let holding = purpose.holding();
        let (contents, lock) = loop {
            if !exists(path)? {
                purpose.may_make(path)?;
                fs::create_dir_all(path).map_err(unwritable)?;
            }
            if let Some(lock) = existing_lock(path, holding)? {
                break (purpose.judge(path)?, lock);
            }
            // Nothing is made in a folder that is not ours, a lock neither.
            purpose.judge(path)?;
            let lock = match File::options().read(true).write(true).create_new(true).open(path.join(LOCK)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made.map_err(unwritable)?,
            };
            if !hold(path, &lock, holding)? {
                continue;
            }
            // Another process may have been here between the look and the lock.
            match purpose.judge(path) {
                Ok(contents) => break (contents, lock),
                Err(error) => {
                    // Still locked: whoever has opened it finds that it is gone. Other parts may hold a shared one.
                    if holding == Holding::Alone {
                        let _ = fs::remove_file(path.join(LOCK));
                    }
                    return Err(error);
                }
            }
        };
        let mut entries = RUN_FILES.to_vec();
        if let Purpose::Files(files) = purpose {
            entries.extend_from_slice(files);
        }
        let marked = contents.mark.is_some();
        let mut mark = contents.mark.clone().unwrap_or_default();
        let recorded = entries.iter().filter(|entry| entry.recorded).map(|entry| &*entry.name);
        let recorded: Vec<&str> = recorded.filter(|name| contents.has(name)).collect();
        let adopted = mark.adopt(path, recorded.into_iter()).map_err(unwritable)?;
        if purpose.count_parts(&mut mark) || adopted || !marked {
            mark.write(path).map_err(unwritable)?;
        }
        // Those of other parts are not leftovers.
        for half in contents.unfinished.iter().filter(|_| holding == Holding::Alone) {
            // A leftover does no harm.
            let _ = fs::remove_file(half);
        }
        let folder = Self { path: path.to_path_buf(), entries, mark: Mutex::new(mark), _lock: lock };
        if let Purpose::Run { configuration, claim, .. } = purpose {
            let cleared = match claim {
                Claim::Overwrite => contents.clear(path),
                Claim::Part { .. } => Ok(()),
                // What another configuration found and kept is not of this run.
                _ if !resolves_to(&path.join(CONFIG), configuration) => contents.clear_outcome(path),
                _ => Ok(()),
            };
            cleared.map_err(|(path, source)| OutputError::Unwritable { path, source })?;
            folder.write(CONFIG, configuration.as_bytes())?;
        }
        Ok(folder)
    }

    /// Removes what runs before have kept of selected fits.
    ///
    /// # Errors
    /// [`OutputError::Unwritable`].
    pub(crate) fn clear_kept(&self) -> Result<(), OutputError> {
        let unwritable = |(path, source)| OutputError::Unwritable { path, source };
        let contents = Contents::read(&self.path, &[]).map_err(|source| unwritable((self.path.clone(), source)))?;
        contents.clear_kept(&self.path).map_err(unwritable)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of parts that have shared the folder; none where no part has been here since the last whole run.
    pub(crate) fn parts(&self) -> Option<usize> {
        self.mark.lock().unwrap_or_else(PoisonError::into_inner).parts
    }

    /// Path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file whole.
    ///
    /// # Errors
    /// [`OutputError::NotOurs`] where the file has become the user's since the folder was opened;
    /// [`OutputError::Unwritable`].
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        self.write_with(name, |file| file.write_all(bytes))
    }

    /// Writes a value as indented JSON.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), OutputError> {
        let mut bytes = serde_json::to_vec_pretty(value)
            .map_err(|error| OutputError::Unwritable { path: self.file(name), source: io::Error::other(error) })?;
        bytes.push(b'\n');
        self.write(name, &bytes)
    }

    /// Writes a file whole, through `fill`.
    ///
    /// # Errors
    /// As [`write`](Self::write), with any error of `fill`.
    pub(crate) fn write_with(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let path = self.file(name);
        let entry = self.entries.iter().find(|entry| entry.name == name).cloned().or_else(|| kept_entry(name));
        if let Some(entry) = &entry {
            let mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(Err(reason)) = standing(entry, &self.path, Some(&mark)) {
                let found = format!("`{name}` {}; move it elsewhere", reason.words());
                return Err(OutputError::NotOurs { path: self.path.clone(), found });
            }
        }
        let written = (|| {
            let mut file = Hashed { file: Pending::create(&path)?, hash: Sha256::new() };
            fill(&mut file)?;
            let Hashed { file, hash } = file;
            file.commit(|| match &entry {
                Some(entry) if entry.recorded => self.record(name, hexadecimal(&hash.finalize())),
                _ => Ok(()),
            })
        })();
        written.map_err(|source| OutputError::Unwritable { path, source })
    }

    /// Tells the mark of a file that is about to get its name.
    fn record(&self, name: &str, digest: String) -> io::Result<()> {
        let mut mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = mark.clone();
        if next.expect(&self.path, name, digest) {
            next.write(&self.path)?;
            *mark = next;
        }
        Ok(())
    }
}

/// How a command holds the lock of its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holding {
    Alone,
    /// Beside others that hold it so.
    Shared,
}

impl Purpose<'_> {
    fn holding(&self) -> Holding {
        match self {
            Purpose::Run { claim: Claim::Part { .. }, .. } => Holding::Shared,
            _ => Holding::Alone,
        }
    }

    /// Whether the folder may be made where it does not exist.
    fn may_make(&self, path: &Path) -> Result<(), OutputError> {
        match self {
            Purpose::Run { claim: Claim::Merge, .. } => Err(no_parts(path)),
            _ => Ok(()),
        }
    }

    /// Has the mark say how many parts share the folder; true where that is news.
    fn count_parts(&self, mark: &mut Mark) -> bool {
        let parts = match self {
            Purpose::Run { claim: Claim::Part { of }, .. } => Some(*of),
            Purpose::Run { claim: Claim::Merge, .. } | Purpose::Files(_) => mark.parts,
            Purpose::Run { .. } => None,
        };
        std::mem::replace(&mut mark.parts, parts) != parts
    }

    /// What is in the folder, if it may be used.
    fn judge(&self, path: &Path) -> Result<Contents, OutputError> {
        let further: &[Entry] = match self {
            Purpose::Run { .. } => &[],
            Purpose::Files(files) => files,
        };
        let contents = Contents::read(path, further)
            .map_err(|source| OutputError::Unwritable { path: path.to_path_buf(), source })?;
        let checked = match self {
            Purpose::Run { kind, .. } => contents.check_for(*kind),
            Purpose::Files(files) => contents.check(|name| files.iter().any(|entry| entry.name == name)),
        };
        checked.map_err(|found| OutputError::NotOurs { path: path.to_path_buf(), found })?;
        match self {
            Purpose::Run { kind, configuration, claim } => may_take(path, &contents, *kind, configuration, *claim)?,
            Purpose::Files(_) => {}
        }
        Ok(contents)
    }
}

/// Whether a run may take a folder of ours with these contents.
fn may_take(
    path: &Path,
    contents: &Contents,
    kind: RunKind,
    configuration: &str,
    claim: Claim,
) -> Result<(), OutputError> {
    let occupied = |reason: &str| Err(OutputError::Occupied { path: path.to_path_buf(), reason: reason.to_string() });
    let same = resolves_to(&path.join(CONFIG), configuration);
    let [of_train, of_cv] = [RunKind::Train, RunKind::CrossValidation].map(|kind| contents.keeps(kind));
    let (own, other) = match kind {
        RunKind::Train => (of_train, of_cv),
        RunKind::CrossValidation => (of_cv, of_train),
    };
    match claim {
        Claim::Overwrite => Ok(()),
        _ if other => occupied("holds a run of another command; choose another folder with --out"),
        Claim::Merge if !own => Err(no_parts(path)),
        _ if !own => Ok(()),
        Claim::Part { .. } | Claim::Merge if same => Ok(()),
        Claim::Part { .. } => {
            occupied("holds fits of another configuration (config.toml differs); choose another folder with --out")
        }
        Claim::Merge => occupied("--merge needs the configuration of the parts (config.toml differs)"),
        Claim::Resume if same || kind == RunKind::CrossValidation => Ok(()),
        Claim::Resume => {
            occupied("--resume needs the configuration that the run was started with (config.toml differs)")
        }
        Claim::New if !same => {
            occupied("holds a run of another configuration; choose another folder with --out, or --overwrite it")
        }
        Claim::New if !contents.is_finished() => {
            occupied("holds an unfinished run: --resume continues it, --overwrite starts again")
        }
        Claim::New => Ok(()),
    }
}

fn no_parts(path: &Path) -> OutputError {
    let reason = "holds no part of a cross-validation to merge; cv --part I/N makes them".to_string();
    OutputError::Occupied { path: path.to_path_buf(), reason }
}

/// A file that is hashed on its way.
struct Hashed {
    file: Pending,
    hash: Sha256,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The folder that is meant: an empty path is the current one.
fn here(path: &Path) -> &Path {
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

/// Locks the lock file that is there; none where there is none, or something else of its name.
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

/// Locks an open lock file; false where it has been removed meanwhile.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::run_folder::{REPORT, STATE};

    fn open(path: &Path, kind: RunKind, configuration: &str, claim: Claim) -> Result<OutputFolder, String> {
        OutputFolder::open(path, kind, configuration, claim).map_err(|error| error.to_string())
    }

    /// The beginning of a state, which is all that is looked at.
    fn state() -> String {
        format!(r#"{{"fit":"{}","best_round":1}}"#, "0".repeat(64))
    }

    fn report(command: &str) -> String {
        format!(
            r#"{{"command": "{command}", "name": "n", "config": {{}}, "versions": {{"burn_rank": "0.1.0", "burn": "0.22.1", "format": 1}}}}"#
        )
    }

    #[test]
    fn a_second_run_is_refused_while_the_first_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let first = open(&path, RunKind::Train, "a", Claim::New).unwrap();
        for claim in [Claim::New, Claim::Resume, Claim::Overwrite] {
            let second = OutputFolder::open(&path, RunKind::Train, "a", claim);
            assert!(matches!(second, Err(OutputError::Busy { .. })));
            let looked = OutputFolder::check(&path, RunKind::Train, "a", claim);
            assert!(matches!(looked, Err(OutputError::Busy { .. })));
        }
        drop(first);
        open(&path, RunKind::Train, "a", Claim::New).unwrap().write("file", b"x").unwrap();
    }

    #[test]
    fn a_folder_below_a_file_cannot_be_made() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), b"").unwrap();
        for path in ["file/run", "file"] {
            let opened = OutputFolder::open(&folder.path().join(path), RunKind::Train, "a", Claim::New);
            assert!(matches!(opened, Err(OutputError::Unwritable { .. })), "{opened:?}");
        }
    }

    #[test]
    fn a_claim_loses_nothing_that_was_not_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let claim = |kind, configuration, claim| open(&path, kind, configuration, claim);
        claim(RunKind::Train, "a", Claim::New).unwrap();
        // A run that failed before it had anything to keep.
        let run = claim(RunKind::Train, "b", Claim::New).unwrap();
        run.write(STATE, state().as_bytes()).unwrap();
        drop(run);
        assert!(claim(RunKind::Train, "b", Claim::New).unwrap_err().contains("--resume continues it"));
        drop(claim(RunKind::Train, "b", Claim::Resume).unwrap());
        assert!(claim(RunKind::Train, "a", Claim::Resume).unwrap_err().contains("config.toml differs"));
        assert!(claim(RunKind::CrossValidation, "b", Claim::Resume).unwrap_err().contains("another command"));
        claim(RunKind::Train, "b", Claim::Resume).unwrap().write(REPORT, report("train").as_bytes()).unwrap();
        drop(claim(RunKind::Train, "b", Claim::New).unwrap());
        // A run that was stopped has a report, and goes on all the same.
        let stopped = report("train").replacen('{', "{\"stop\": \"interrupted\", ", 1);
        claim(RunKind::Train, "b", Claim::Resume).unwrap().write(REPORT, stopped.as_bytes()).unwrap();
        assert!(claim(RunKind::Train, "b", Claim::New).unwrap_err().contains("--resume continues it"));
        assert!(claim(RunKind::Train, "a", Claim::New).unwrap_err().contains("--overwrite"));
        let over = claim(RunKind::Train, "a", Claim::Overwrite).unwrap();
        assert!(!over.file(STATE).exists() && !over.file(REPORT).exists());
    }

    #[test]
    fn the_report_of_another_configuration_does_not_stay_beside_the_one_that_begins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let claim = |configuration, claim| open(&path, RunKind::CrossValidation, configuration, claim).unwrap();
        claim("a", Claim::New).write(REPORT, report("cv").as_bytes()).unwrap();
        assert!(claim("a", Claim::Resume).file(REPORT).exists());
        assert!(!claim("b", Claim::Resume).file(REPORT).exists());
    }

    /// The report is a result as well, when the jobs or the state that led to it have been removed to save room.
    #[test]
    fn a_report_alone_is_worth_keeping() {
        for (kind, command, other) in
            [(RunKind::Train, "train", RunKind::CrossValidation), (RunKind::CrossValidation, "cv", RunKind::Train)]
        {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run");
            open(&path, kind, "a", Claim::New).unwrap().write(REPORT, report(command).as_bytes()).unwrap();
            assert!(open(&path, kind, "b", Claim::New).unwrap_err().contains("another configuration"));
            assert!(open(&path, other, "a", Claim::New).unwrap_err().contains("another command"));
            open(&path, kind, "a", Claim::New).unwrap();
        }
    }

    #[test]
    fn a_file_that_became_the_users_during_the_run_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let run = open(folder.path(), RunKind::Train, "a", Claim::New).unwrap();
        fs::write(run.file("README.md"), "mine").unwrap();
        let refused = run.write("README.md", b"card").unwrap_err().to_string();
        assert!(refused.ends_with("`README.md` is not as burn-rank wrote it; move it elsewhere"), "{refused}");
        assert_eq!(fs::read(run.file("README.md")).unwrap(), b"mine");
        run.write(CONFIG, b"b").unwrap();
        run.write(CONFIG, b"c").unwrap();
        fs::write(run.file(CONFIG), "mine").unwrap();
        assert!(run.write(CONFIG, b"d").is_err());
    }

    /// Between the mark and the file that it tells of, a kill leaves the old file.
    #[test]
    fn a_file_that_is_being_replaced_is_known_before_and_after() {
        let folder = tempfile::tempdir().unwrap();
        let run = open(folder.path(), RunKind::Train, "a", Claim::New).unwrap();
        let failed = run.write_with(CONFIG, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("disk full"));
        run.record(CONFIG, hexadecimal(&Sha256::digest("b"))).unwrap();
        drop(run);
        let run = open(folder.path(), RunKind::Train, "b", Claim::New).unwrap();
        assert_eq!(fs::read(run.file(CONFIG)).unwrap(), b"b");
        drop(run);
        open(folder.path(), RunKind::Train, "c", Claim::New).unwrap();
    }

    #[cfg(unix)]
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
