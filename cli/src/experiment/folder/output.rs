//! The folder into which a command writes, which carries burn-rank's mark and is locked while the command runs. Every
//! file is written atomically.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn_rank::workbench::atomic_file::{Pending, commit_together, replace, replace_with};
use serde::Serialize;

use super::exchange::{self, successor};
use super::mark::{Identity, MARK, Mark, existing_lock, locked, mark_of};
use super::survey::Survey;
use super::{CONFIG, Claim, PAGE, Place, RESULT, RUNS, RunKind, json_bytes};
use crate::experiment::error::{ExperimentError, OutputError};

/// A folder for the files of a command, locked against other commands until it is dropped. Parts of a cross-validation
/// share the lock.
#[derive(Debug)]
pub struct OutputFolder {
    /// The folder that the user asked for.
    home: PathBuf,
    /// The folder into which the run is written: `home`, or the folder in which a run grows that will replace `home`.
    path: PathBuf,
    plan: Plan,
    /// Whether this command made the folder `home`.
    made: bool,
    mark: Mark,
    _locks: Vec<File>,
}

/// The way in which a command uses a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Plan {
    /// Begins a run in the folder.
    Begin,
    /// Begins a run next to the folder, which will replace the run in it.
    Replace,
    /// Continues the unfinished run of the same configuration and data in this folder.
    Continue(PathBuf),
    /// Uses the finished run of the same configuration and data in the folder.
    Finished,
}

impl OutputFolder {
    /// Opens a folder for a run, marks it and locks it, and writes the resolved `configuration` into it unless that is
    /// empty. Creates the folder if needed.
    ///
    /// # Errors
    /// Returns [`OutputError::Busy`] while another process uses the folder, [`OutputError::Occupied`] if it is the
    /// user's or holds another run, [`OutputError::Unfinished`] if it holds this run and `claim` does not continue it,
    /// and [`OutputError::NothingToResume`]. A folder that is rejected for one of these reasons stays unchanged.
    /// Returns [`OutputError::Unwritable`] if the folder cannot be written.
    pub fn open(place: &Place, run: &Identity, configuration: &str, claim: Claim) -> Result<Self, OutputError> {
        let name = match place {
            Place::Folder(path) => return Self::open_at(path, run, configuration, claim),
            Place::Runs(name) => Path::new(RUNS).join(name),
        };
        let mut path = name.clone();
        for number in 2.. {
            let is_other =
                || Mark::read(&path).is_ok_and(|mark| mark.is_none_or(|mark| run.apart_from(&mark).is_some()));
            match Self::open_at(&path, run, configuration, claim) {
                Err(OutputError::Occupied { .. }) => {}
                Err(OutputError::Busy(_)) if is_other() => {}
                Err(OutputError::NothingToResume(_)) => break,
                opened => return opened,
            }
            path = PathBuf::from(format!("{}-{number}", name.display()));
        }
        Err(OutputError::NothingToResume(name))
    }

    fn open_at(path: &Path, run: &Identity, configuration: &str, claim: Claim) -> Result<Self, OutputError> {
        let home = here(path);
        exchange::settle(home)?;
        let (made, is_part) = (!home.exists(), matches!(claim, Claim::Part { .. }));
        let (plan, lock) = locked(home, is_part, || decide(home, run, claim))?;
        let mut locks = vec![lock];
        let (path, takes) = match &plan {
            Plan::Begin | Plan::Finished => (home.to_path_buf(), None),
            Plan::Continue(path) => (path.clone(), None),
            Plan::Replace => {
                let takes = exchange::begin(home)?;
                (takes.new.clone(), Some(takes))
            }
        };
        if path != home {
            locks.push(locked(&path, is_part, || Ok(()))?.1);
        }
        let there = Mark::read(&path)?;
        if there.is_some() {
            let found = Survey::of(&path).map_err(OutputError::unwritable(&path))?;
            found.check(&path, run.kind)?;
            if !is_part {
                // Unfinished files of other parts are not leftovers.
                found.remove_halves(&path);
            }
        }
        let mut mark = there.clone().unwrap_or_else(|| Mark::new(run, takes));
        if plan != Plan::Finished {
            mark.finished = false;
            mark.parts = match claim {
                Claim::Part { of } => Some(of),
                Claim::Merge => mark.parts,
                _ => None,
            };
            if there.as_ref() != Some(&mark) {
                mark.write(&path)?;
            }
        }
        let folder = Self { home: home.to_path_buf(), path, plan, made, mark, _locks: locks };
        // Parts leave a configuration whose description differs.
        let is_written = is_part && folder.file(CONFIG).exists();
        if !(folder.is_finished() || is_written || configuration.is_empty()) {
            folder.write(CONFIG, configuration.as_bytes())?;
        }
        if folder.plan == Plan::Replace
            && let Ok(Some(mark)) = Mark::read(home)
            && run.may_reuse_fits_of(&mark)
        {
            exchange::link_fits(home, &folder.path).map_err(OutputError::unwritable(&folder.path))?;
        }
        Ok(folder)
    }

    /// Checks whether [`open`](Self::open) would reject the folder, before any work is done and before the data are
    /// known. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn check(place: &Place, run: &Identity, claim: Claim) -> Result<(), OutputError> {
        let Place::Folder(path) = place else { return Ok(()) };
        let home = here(path);
        exchange::settle(home)?;
        let _lock = existing_lock(home, matches!(claim, Claim::Part { .. }))?;
        decide(home, run, claim).map(drop)
    }

    /// Opens a folder for the files of `command`, which replace its earlier files of the same names.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub(crate) fn of_files(path: &Path, command: &str) -> Result<Self, OutputError> {
        Self::open_at(path, &Identity::new(RunKind::Files, command), "", Claim::New)
    }

    /// Returns whether the folder holds a finished run of the same configuration and data.
    pub fn is_finished(&self) -> bool {
        self.plan == Plan::Finished
    }

    /// Marks the run as finished. If it replaces another run, the two folders exchange their names.
    ///
    /// # Errors
    /// Returns [`OutputError::Unwritable`] if writing fails. A run that cannot take its place stays next to it, and
    /// `--resume` tries again.
    pub fn finish(&mut self) -> Result<(), OutputError> {
        (self.mark.finished, self.mark.parts) = (true, None);
        if self.mark.takes.is_none() {
            return self.mark.write(&self.path);
        }
        exchange::take_place(&self.mark)?;
        self.mark.takes = None;
        self.path.clone_from(&self.home);
        Ok(())
    }

    /// If a failed run in a folder has no result and cannot be resumed, removes its files, so that the corrected
    /// command can start. Returns the same error.
    pub(crate) fn give_up(folder: Option<&Self>, error: ExperimentError) -> ExperimentError {
        if let Some(folder) = folder.filter(|_| !error.can_go_on()) {
            folder.abandon();
        }
        error
    }

    /// Removes the files of a run that this command began, unless a fit of it is done.
    pub fn abandon(&self) {
        let (true, Ok(found)) = (matches!(self.plan, Plan::Begin | Plan::Replace), Survey::of(&self.path)) else {
            return;
        };
        // Fits that are reused are in the folder of the older run.
        let is_reused = |name: &String| self.path != self.home && self.home.join(name).exists();
        let is_result = |name: &String| (name.ends_with(RESULT) || name.starts_with("trial-")) && !is_reused(name);
        if !found.files.iter().any(is_result) {
            // The error of the run is the one to report; a leftover does no harm.
            let _ = found.remove(&self.path);
            if self.made || self.plan == Plan::Replace {
                let _ = fs::remove_dir(&self.path);
            }
        }
    }

    /// Returns the folder into which the run is written. After [`finish`](Self::finish), this is the folder that the
    /// user asked for.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder that the user asked for.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns how many parts have shared the folder since the last complete run; `None` if the run has no parts.
    pub(crate) fn parts(&self) -> Option<usize> {
        self.mark.parts
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file atomically.
    ///
    /// # Errors
    /// Returns [`OutputError::Unwritable`] if writing fails.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        self.write_with(name, |file| file.write_all(bytes))
    }

    /// Writes a value as indented JSON.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), OutputError> {
        self.write(name, &json_bytes(value).map_err(OutputError::unwritable(&self.file(name)))?)
    }

    /// Writes a file atomically, with the bytes that `fill` writes.
    ///
    /// # Errors
    /// Returns the same errors as [`write`](Self::write), and the errors of `fill`.
    pub(crate) fn write_with(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let path = self.file(name);
        replace_with(&path, fill).map_err(OutputError::unwritable(&path))
    }

    /// Writes several files, either all of them or none. `fill` writes the file with the given index.
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with).
    pub(crate) fn write_together<N: AsRef<str>>(
        &self,
        names: &[N],
        mut fill: impl FnMut(usize, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let written = |(number, name): (usize, &N)| {
            let path = self.file(name.as_ref());
            let file = Pending::create(&path).and_then(|mut file| fill(number, &mut file).map(|()| file));
            file.map_err(OutputError::unwritable(&path))
        };
        let files = names.iter().enumerate().map(written).collect::<Result<_, _>>()?;
        commit_together(files).map_err(|(path, source)| OutputError::unwritable(&path)(source))
    }
}

/// Writes the page of a run into its folder. In a folder without a mark, a user's file of this name is not overwritten.
///
/// # Errors
/// Returns [`OutputError::Occupied`] if the file is the user's, or [`OutputError::Unwritable`] if writing fails.
pub(crate) fn write_page(folder: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let path = folder.join(PAGE);
    if !folder.join(MARK).is_file() && path.symlink_metadata().is_ok() {
        let found =
            format!("`{PAGE}` may be your own file, since the folder has no mark; name another file with --out");
        return Err(OutputError::occupied(folder, found));
    }
    replace(&path, bytes).map_err(OutputError::unwritable(&path))
}

/// Returns the path, or `.` if the path is empty.
fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Decides what a command may do in a folder, from the marks of the folder and of the run that grows next to it.
fn decide(home: &Path, run: &Identity, claim: Claim) -> Result<Plan, OutputError> {
    let grows = successor(home).filter(|(_, mark)| run.apart_from(mark).is_none()).map(|(path, _)| path);
    let continues = !matches!(claim, Claim::New | Claim::Overwrite);
    match (mark_of(home)?.map(|mark| (run.apart_from(&mark), mark)), grows) {
        (Some(_), _) if claim == Claim::Overwrite => exchange::check(home).map(|()| Plan::Replace),
        (_, Some(path)) if continues => Ok(Plan::Continue(path)),
        (None, _) => match claim {
            Claim::Resume => Err(OutputError::NothingToResume(home.to_path_buf())),
            Claim::Merge => {
                let reason = "holds no part of a cross-validation to merge; cv --part I/N makes them";
                Err(OutputError::occupied(home, reason))
            }
            // Parts that begin at once must not remove each other's files.
            Claim::Part { .. } => Ok(Plan::Continue(home.to_path_buf())),
            _ => Ok(Plan::Begin),
        },
        (Some((None, mark)), _) if mark.is_complete(home) => Ok(Plan::Finished),
        (Some((None, _)), _) if continues || run.kind == RunKind::Files => Ok(Plan::Continue(home.to_path_buf())),
        (Some((None, _)), _) => Err(OutputError::Unfinished(home.to_path_buf())),
        (Some((Some(_), _)), Some(path)) => Err(OutputError::Unfinished(path)),
        (Some((Some(found), _)), None) => {
            let reason = format!("holds {found}; choose another folder with --out, or --overwrite it");
            Err(OutputError::occupied(home, reason))
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{RANKER, REPORT, STATE};
    use super::*;

    /// A run of `train`, known by its configuration and its data.
    fn run([configuration, data]: [&str; 2]) -> Identity {
        Identity::new(RunKind::Train, configuration).on([data])
    }

    pub(in super::super) fn open(path: &Path, of: [&str; 2], claim: Claim) -> Result<OutputFolder, String> {
        let place = Place::Folder(path.to_path_buf());
        OutputFolder::open(&place, &run(of), of[0], claim).map_err(|error| error.to_string())
    }

    /// Makes a run that only has to be finished, all files of which have the text of its configuration.
    pub(in super::super) fn made(path: &Path, of: [&str; 2], claim: Claim) -> OutputFolder {
        let folder = open(path, of, claim).unwrap();
        [RANKER, REPORT].into_iter().for_each(|name| folder.write(name, of[0].as_bytes()).unwrap());
        folder
    }

    pub(in super::super) fn finished(path: &Path, of: [&str; 2]) {
        made(path, of, Claim::New).finish().unwrap();
    }

    const A: [&str; 2] = ["a", "1"];
    const B: [&str; 2] = ["b", "1"];

    /// Every state of a folder meets every claim: new, `--resume`, `--overwrite`, a part, and a merge.
    #[test]
    fn a_folder_holds_one_run() {
        let claims = [Claim::New, Claim::Resume, Claim::Overwrite, Claim::Part { of: 2 }, Claim::Merge];
        let starts = ["begins", "nothing to resume", "begins", "continues", "holds no part of a cross-validation"];
        let goes_on = |new| [new, "continues", "replaces", "continues", "continues"];
        let other = |found| [found, found, "replaces", found, found];
        let states: [(_, _, fn(&Path)); 11] = [
            ("new", starts, |_| {}),
            ("empty", starts, |path| fs::create_dir(path).unwrap()),
            ("of the user", ["holds `notes`, which burn-rank did not write there"; 5], |path| {
                fs::create_dir(path).unwrap();
                fs::write(path.join("notes"), "mine").unwrap();
            }),
            ("busy", ["another run is writing into this folder"; 5], |_| {}),
            ("unfinished", goes_on("holds an unfinished run"), |path| drop(open(path, A, Claim::New).unwrap())),
            ("finished", ["finished", "finished", "replaces", "finished", "finished"], |path| finished(path, A)),
            ("of another configuration", other("a run of another configuration"), |path| finished(path, B)),
            ("on other data", other("a run on other data"), |path| finished(path, ["a", "2"])),
            ("of another command", other("a run of another command (`cv`)"), |path| {
                let (place, run) = (Place::Folder(path.to_path_buf()), Identity::new(RunKind::CrossValidation, "a"));
                drop(OutputFolder::open(&place, &run, "a", Claim::New).unwrap());
            }),
            ("of files", other("files of another command"), |path| {
                drop(OutputFolder::of_files(path, "synth").unwrap())
            }),
            ("growing", goes_on("run.new-1: holds an unfinished run"), |path| {
                finished(path, B);
                drop(open(path, A, Claim::Overwrite).unwrap());
                assert!(open(path, B, Claim::New).unwrap().is_finished());
            }),
        ];
        for (state, expected, prepare) in states {
            for (claim, expected) in claims.into_iter().zip(expected) {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("run");
                prepare(&path);
                let _lock = (state == "busy").then(|| open(&path, A, Claim::New).unwrap());
                let checked = OutputFolder::check(&Place::Folder(path.clone()), &run(A), claim);
                let opened = open(&path, A, claim);
                let found = match &opened {
                    Err(refused) => refused,
                    Ok(opened) if opened.is_finished() => "finished",
                    Ok(opened) if opened.plan == Plan::Replace => "replaces",
                    Ok(opened) if opened.plan == Plan::Begin => "begins",
                    Ok(_) => "continues",
                };
                assert!(found.contains(expected), "{state}, {claim:?}: {found}");
                assert_eq!(checked.map_err(|error| error.to_string()).err(), opened.err(), "{state}, {claim:?}");
            }
        }
    }

    #[test]
    fn a_description_does_not_count() {
        let [described, same, other] =
            ["description = \"x\"\nseed = 1\n", "seed = 1\n", "seed = 2\n"].map(|of| run([of, ""]));
        assert!(described == same && described != other);
    }

    #[test]
    fn a_run_that_failed_leaves_nothing_that_blocks_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let refused = || ExperimentError::Refused(burn_rank::refusal::Refusal::fault("a", "b"));
        let ends = |of, claim, error| {
            let folder = open(&path, of, claim).unwrap();
            folder.write(STATE, b"{}").unwrap();
            OutputFolder::give_up(Some(&folder), error);
            path.join(STATE).exists()
        };
        assert!(!ends(A, Claim::New, refused()) && !path.exists());
        assert!(ends(B, Claim::New, ExperimentError::Interrupted { finished: 0, all: 1 }));
        assert!(ends(B, Claim::Resume, refused()), "the files of an earlier command stay");
        // A folder that was there stays, with what others put into it.
        let empty = tempfile::tempdir().unwrap();
        let failed = open(empty.path(), A, Claim::New).unwrap();
        fs::write(empty.path().join("notes"), "mine").unwrap();
        OutputFolder::give_up(Some(&failed), refused());
        assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 1);
    }
}
