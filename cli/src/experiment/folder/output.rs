//! The folder into which a command writes, which carries burn-rank's mark and is locked while the command runs. Every
//! file is written atomically.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use burn_rank::workbench::atomic_file::{Pending, commit_together, replace, replace_with};
use serde::Serialize;

use super::contents::Contents;
use super::lock::{Holding, here, locked, looked};
use super::mark::{Hashed, MARK, Mark, Over, digest_of, plain};
use super::plan::{Place, Wish, no_parts};
use super::swap::{discard, remove, swap};
use super::{CONFIG, Claim, JOBS, NEXT, REPORT, RESULT, RunKind, WRITTEN_OFTEN, top};
use crate::experiment::error::{ExperimentError, OutputError};
use crate::experiment::keep::KEPT;
use crate::experiment::record::{DataReport, Report, Sets};

/// A folder for the files of a command, locked against other commands until it is dropped. Parts of a cross-validation
/// share the lock.
///
/// A command writes only into a folder that it created, that was empty, or that was marked. In a marked folder, a
/// command replaces and removes only files that are unchanged since a command wrote them. A run that will replace
/// another one is first written to [`NEXT`]. [`finish`](Self::finish) then moves it into place.
#[derive(Debug)]
pub struct OutputFolder {
    /// The folder that the user asked for.
    home: PathBuf,
    /// The folder into which the run is written, either `home` or [`NEXT`] inside `home`.
    path: PathBuf,
    /// The folder that contains the jobs of a cross-validation.
    fits: PathBuf,
    /// Whether this command began the run and does not share the folder.
    is_new: bool,
    /// Locked while the mark is read and written, so that threads do not overwrite each other's entries.
    mark: Mutex<()>,
    _lock: File,
}

/// The contents of a folder when a command opens it.
struct Found {
    home: Contents,
    next: Option<Contents>,
    /// Where to write the run; `None` if a finished run in [`NEXT`] must first be moved out.
    place: Option<Place>,
}

impl OutputFolder {
    /// Opens a folder for a run of `kind`, and writes the resolved configuration into it. Creates the folder if needed,
    /// marks it and locks it.
    ///
    /// Existing files are kept if `claim` continues the run to which they belong. A run is written to [`NEXT`] if it
    /// overwrites another run or repeats a finished one.
    ///
    /// # Errors
    /// Returns [`OutputError::Busy`] while another process uses the folder. Returns [`OutputError::NotOurs`] if the
    /// command would overwrite files that burn-rank did not write. Returns [`OutputError::Occupied`] if the folder
    /// holds a run that `claim` may neither continue nor replace. A folder that is rejected for one of these reasons
    /// stays unchanged. Returns [`OutputError::Unwritable`] if the folder cannot be written.
    pub fn open(path: &Path, kind: RunKind, configuration: &str, claim: Claim) -> Result<Self, OutputError> {
        if claim == Claim::Merge {
            Self::check(path, kind, configuration, claim)?;
        }
        let (home, wish) = (here(path), Wish { kind, configuration, claim });
        let (found, lock) = locked(home, wish.holding(), || wish.judge(home))?;
        let found = match found.place {
            Some(_) => found,
            None => swap(home).and_then(|()| wish.judge(home))?,
        };
        let Found { home: contents, next, place } = found;
        let place = place.unwrap_or(Place::Home);
        let is_alone = wish.holding() == Holding::Alone;
        if is_alone {
            // Unfinished files of other parts are not leftovers.
            [Some(&contents), next.as_ref()].into_iter().flatten().for_each(Contents::remove_halves);
        }
        let next_path = home.join(NEXT);
        let (path, begun) = match (place, next) {
            (Place::Next, Some(next)) => (&*next_path, next),
            (place, next) => {
                // Nobody continues it any more.
                if let Some(next) = next.filter(|_| is_alone) {
                    discard(home, &next).map_err(OutputError::unwritable(home))?;
                }
                match place {
                    Place::Anew(over) => (&*next_path, Contents::of(Mark { over: Some(over), ..Mark::default() })),
                    _ => (home, contents),
                }
            }
        };
        let is_of_other = !begun.is_of(path, configuration);
        let is_new = is_alone && !begun.is_worth_keeping();
        let mark = begun.mark;
        let fits = if mark.over == Some(Over::Outcome) { home } else { path };
        let folder = Self {
            home: home.to_path_buf(),
            path: path.to_path_buf(),
            fits: fits.to_path_buf(),
            is_new,
            mark: Mutex::new(()),
            _lock: lock,
        };
        folder.begin(mark, is_of_other, &wish).map_err(OutputError::unwritable(home))?;
        Ok(folder)
    }

    /// Checks whether [`open`](Self::open) would reject the contents of the folder, before any work is done. Changes
    /// nothing.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn check(path: &Path, kind: RunKind, configuration: &str, claim: Claim) -> Result<(), OutputError> {
        let (home, wish) = (here(path), Wish { kind, configuration, claim });
        match looked(home, wish.holding(), || wish.judge(home))? {
            None if claim == Claim::Merge => Err(no_parts(home)),
            _ => Ok(()),
        }
    }

    /// Opens a folder for the given files, which replace any files of the same names.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub(crate) fn of_files(path: &Path, files: &[&str]) -> Result<Self, OutputError> {
        let home = here(path);
        let (contents, lock) = locked(home, Holding::Alone, || Contents::read(home, files))?;
        contents.remove_halves();
        contents.mark.write(home).map_err(OutputError::unwritable(home))?;
        let [home, path, fits] = [home; 3].map(Path::to_path_buf);
        Ok(Self { home, path, fits, is_new: false, mark: Mutex::new(()), _lock: lock })
    }

    /// Checks whether [`of_files`](Self::of_files) would reject a folder. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`of_files`](Self::of_files).
    pub(crate) fn check_files(path: &Path, files: &[&str]) -> Result<(), OutputError> {
        let home = here(path);
        looked(home, Holding::Alone, || Contents::read(home, files)).map(drop)
    }

    /// Marks the folder, and writes the configuration if the run is new. A command that works alone also writes a
    /// configuration whose description differs.
    fn begin(&self, mut mark: Mark, is_new: bool, wish: &Wish) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        let (before, configuration) = (mark.clone(), wish.configuration.as_bytes());
        mark.run = Some(wish.kind);
        mark.finished &= !is_new && self.path.join(REPORT).exists();
        mark.parts = match wish.claim {
            Claim::Part { of } => Some(of),
            Claim::Merge => mark.parts,
            _ => None,
        };
        for name in wish.kind.writes().iter().filter(|name| WRITTEN_OFTEN.contains(name)) {
            mark.wrote.entry(name.to_string()).or_default();
        }
        let there = fs::read(self.path.join(CONFIG)).unwrap_or_default();
        let writes = is_new || wish.holding() == Holding::Alone && there != configuration;
        // In one writing: parts that begin at once write the same mark.
        if writes {
            mark.expect(&self.path, CONFIG, digest_of(configuration));
        }
        if mark != before {
            mark.write(&self.path)?;
        }
        if writes { replace(&self.path.join(CONFIG), configuration) } else { Ok(()) }
    }

    /// Rejects data that the run being repeated or continued did not use. The report of that run holds the hashes of
    /// its data. `sets` holds the hashes of each fold's data.
    ///
    /// # Errors
    /// [`OutputError::Occupied`].
    pub(crate) fn check_data<'a>(
        &self,
        sets: impl IntoIterator<Item = (usize, &'a Sets<DataReport>)>,
    ) -> Result<(), OutputError> {
        let over = self.mark().map_err(|source| self.unwritable("", source))?.over;
        let report = fs::read(self.home.join(REPORT)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(report) = report.filter(|_| over != Some(Over::Other) && self.cuts_alike()) else { return Ok(()) };
        let before: Vec<(usize, &Sets<DataReport>)> = match &report {
            Report::Train(report) => vec![(report.fold, &report.data)],
            Report::Cv(report) => {
                let folds = report.result.folds.iter().map(|fold| fold.fold);
                folds.zip(report.details.iter().map(|details| &details.data)).collect()
            }
        };
        let hashes = |of: &Sets<DataReport>| of.iter().map(|(set, data)| (set, data.hash.clone())).collect::<Vec<_>>();
        for (fold, now) in sets {
            let Some((_, then)) = before.iter().find(|(number, _)| *number == fold) else { continue };
            let (then, now) = (hashes(then), hashes(now));
            if let Some((set, hash)) =
                then.iter().find(|of| !now.contains(of)).or(now.iter().find(|of| !then.contains(of)))
            {
                let reason = format!(
                    "holds a run on other data (data hash {}\u{2026} of its {set} queries); choose another folder with \
                     --out, or --overwrite it",
                    &hash[..12.min(hash.len())]
                );
                return Err(OutputError::occupied(&self.home, reason));
            }
        }
        Ok(())
    }

    /// Returns whether the configurations of this run and of the older run name the same data, divided in the same way.
    fn cuts_alike(&self) -> bool {
        let cut = |folder: &Path| {
            let config: toml::Table = fs::read_to_string(folder.join(CONFIG)).ok()?.parse().ok()?;
            let split = config.get("cv").and_then(|cv| cv.get("split")).cloned();
            Some((config.get("data").cloned(), config.get("seed").cloned(), split))
        };
        self.path == self.home || cut(&self.home) == cut(&self.path)
    }

    /// Marks the run as finished, and moves it into the place of the run that it replaces.
    ///
    /// # Errors
    /// Returns [`OutputError::NotOurs`] if the user has meanwhile changed a file that would be replaced. Returns
    /// [`OutputError::Unwritable`] if writing fails. The run then stays in [`NEXT`], and `--resume` tries again.
    pub fn finish(&mut self) -> Result<(), OutputError> {
        let accepted = (|| {
            let mut mark = self.mark()?.of_finished_run();
            // Not every learner has a log, nor every run all files.
            mark.wrote.retain(|name, _| name == JOBS || self.path.join(name).exists());
            if mark.over == Some(Over::Same) {
                let home = Mark::read(&self.home).map_err(io::Error::other)?.unwrap_or_default();
                // The same version selects the same fits.
                let kept = home.wrote.iter().filter(|(name, _)| top(name) == KEPT && home.is_of_this_version());
                for (name, known) in kept {
                    mark.wrote.entry(name.clone()).or_insert_with(|| known.clone());
                }
            }
            mark.write(&self.path)
        })();
        accepted.map_err(|source| self.unwritable("", source))?;
        if self.path != self.home {
            swap(&self.home)?;
            (self.path, self.fits) = (self.home.clone(), self.home.clone());
        }
        Ok(())
    }

    /// If a failed run has no result and cannot be resumed, removes its files, so that the corrected command can start.
    /// Returns the same error.
    pub(crate) fn give_up(&self, error: ExperimentError) -> ExperimentError {
        if self.is_new
            && !error.can_go_on()
            && let Ok(found) = Contents::read(&self.path, &[])
            && !found.names().any(|name| Path::new(name).ends_with(RESULT))
        {
            let mut of_fits = found.names().filter(|name| WRITTEN_OFTEN.contains(&top(name)));
            // The error of the run is the one to report; a leftover does no harm.
            let _ = match self.path == self.home {
                true => of_fits.try_for_each(|name| remove(&self.home, name)),
                false => discard(&self.home, &found),
            };
        }
        error
    }

    /// Removes the kept files of earlier runs, unless a finished run of this version wrote them.
    ///
    /// # Errors
    /// [`OutputError::Unwritable`].
    pub(crate) fn clear_kept(&self) -> Result<(), OutputError> {
        let found = Contents::read(&self.path, &[])?;
        let stays = found.mark.finished && found.mark.is_of_this_version();
        let mut old = found.kept().filter(|_| !stays);
        old.try_for_each(|name| remove(&self.path, name)).map_err(|source| self.unwritable(KEPT, source))
    }

    /// Returns the folder into which the run is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns how many parts have shared the folder since the last complete run; `None` if the run has no parts.
    pub(crate) fn parts(&self) -> Option<usize> {
        self.mark().ok().and_then(|mark| mark.parts)
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        if top(name) == JOBS { self.fits.join(name) } else { self.path.join(name) }
    }

    /// Writes a file atomically.
    ///
    /// # Errors
    /// Returns [`OutputError::NotOurs`] if the user has changed the file since the folder was opened. Returns
    /// [`OutputError::Unwritable`] if writing fails.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        self.write_with(name, |file| file.write_all(bytes))
    }

    /// Writes a value as indented JSON.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), OutputError> {
        let mut bytes =
            serde_json::to_vec_pretty(value).map_err(|error| self.unwritable(name, io::Error::other(error)))?;
        bytes.push(b'\n');
        self.write(name, &bytes)
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
        if WRITTEN_OFTEN.contains(&top(name)) {
            return replace_with(&self.file(name), fill).map_err(|source| self.unwritable(name, source));
        }
        let mut fill = Some(fill);
        self.write_together(&[name], |_, file| fill.take().map_or(Ok(()), |fill| fill(file)))
    }

    /// Writes several files, either all of them or none, and lists them in the mark. `fill` writes the file with the
    /// given index.
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with).
    pub(crate) fn write_together<N: AsRef<str>>(
        &self,
        names: &[N],
        fill: impl FnMut(usize, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        write_listed(&self.path, names, &self.mark, fill)
    }

    fn mark(&self) -> io::Result<Mark> {
        let _held = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Mark::read(&self.path).map_err(io::Error::other)?.unwrap_or_default())
    }

    fn unwritable(&self, name: &str, source: io::Error) -> OutputError {
        OutputError::unwritable(&if name.is_empty() { self.path.clone() } else { self.file(name) })(source)
    }
}

/// Writes several files, either all of them or none, and lists them in the mark with their digests.
fn write_listed<N: AsRef<str>>(
    folder: &Path,
    names: &[N],
    lock: &Mutex<()>,
    mut fill: impl FnMut(usize, &mut dyn Write) -> io::Result<()>,
) -> Result<(), OutputError> {
    let names = || names.iter().map(AsRef::as_ref);
    let mark = || Ok(Mark::read(folder).map_err(io::Error::other)?.unwrap_or_default());
    let unwritable = |(path, source): (PathBuf, _)| OutputError::unwritable(&path)(source);
    let (mut files, mut digests) = (Vec::new(), Vec::new());
    for (number, name) in names().enumerate() {
        let path = folder.join(name);
        let written = Pending::create(&path).map(Hashed::new).and_then(|mut file| {
            fill(number, &mut file)?;
            Ok(file.finish())
        });
        let (file, digest) = written.map_err(|source| unwritable((path, source)))?;
        files.push(file);
        digests.push(digest);
    }
    let before = mark().map_err(|source| unwritable((folder.join(MARK), source)))?;
    if let Some((name, reason)) = names().find_map(|name| Some((name, before.standing(folder, name)?.err()?))) {
        let found = format!("`{name}` {reason}; move it elsewhere");
        return Err(OutputError::not_ours(folder, found));
    }
    let listed = || {
        let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut mark = mark()?;
        names().zip(digests).for_each(|(name, digest)| mark.expect(folder, name, digest));
        mark.write(folder)
    };
    commit_together(files, listed).map_err(unwritable)
}

/// Writes a page into the folder of a run, and replaces a page that an earlier command wrote there. Because the user
/// did not choose the page's name, a user's own file with this name is never overwritten.
///
/// # Errors
/// Returns [`OutputError::NotOurs`] if the existing file is the user's, or [`OutputError::Unwritable`] if writing
/// fails.
pub(crate) fn write_page(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
    let mark = Mark::read(folder).ok().flatten();
    if let Some(Err(_)) = mark.clone().unwrap_or_default().standing(folder, name) {
        let found = format!("`{name}` is not a page of burn-rank; name another file with --out");
        return Err(OutputError::not_ours(folder, found));
    }
    if mark.is_some() {
        return write_listed(folder, &[name], &Mutex::new(()), |_, file| file.write_all(bytes));
    }
    let path = folder.join(name);
    replace(&path, bytes).map_err(OutputError::unwritable(&path))
}

impl Wish<'_> {
    fn holding(&self) -> Holding {
        if matches!(self.claim, Claim::Part { .. }) { Holding::Shared } else { Holding::Alone }
    }

    /// Reads the folder, and decides where the run is written.
    fn judge(&self, path: &Path) -> Result<Found, OutputError> {
        let home = Contents::read(path, self.kind.writes())?;
        let next = next(path, self.kind)?;
        let place = match &next {
            Some(next) if next.mark.finished && self.holding() == Holding::Alone => None,
            Some(next) if next.mark.finished => {
                let reason = "holds a finished run that has not taken its place yet; --resume puts it there";
                return Err(OutputError::occupied(path, reason));
            }
            next => Some(self.place(path, &home, next.as_ref())?),
        };
        Ok(Found { home, next, place })
    }
}

/// Returns the contents of the run in [`NEXT`], if there is one.
fn next(path: &Path, kind: RunKind) -> Result<Option<Contents>, OutputError> {
    let next = path.join(NEXT);
    match plain(&next, true) {
        None => Ok(None),
        Some(Ok(())) => Contents::read(&next, kind.writes()).map(Some),
        Some(Err(reason)) => {
            let found = format!("`{NEXT}` {reason}; move it elsewhere, or choose another folder with --out");
            Err(OutputError::not_ours(path, found))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mark::NotOurs;
    use super::super::{CARD, RANKER, STATE};
    use super::*;

    fn open(path: &Path, kind: RunKind, configuration: &str, claim: Claim) -> Result<OutputFolder, String> {
        OutputFolder::open(path, kind, configuration, claim).map_err(|error| error.to_string())
    }

    /// Leaves a finished run.
    fn finished(path: &Path, kind: RunKind, configuration: &str) {
        let mut run = open(path, kind, configuration, Claim::New).unwrap();
        run.write(REPORT, b"{}").unwrap();
        run.write(STATE, b"{}").unwrap();
        run.finish().unwrap();
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
        assert_eq!(run.path(), path);
        run.write(STATE, b"{}").unwrap();
        drop(run);
        assert!(claim(RunKind::Train, "b", Claim::New).unwrap_err().contains("--resume continues it"));
        drop(claim(RunKind::Train, "b", Claim::Resume).unwrap());
        assert!(claim(RunKind::Train, "a", Claim::Resume).unwrap_err().contains("config.toml differs"));
        assert!(claim(RunKind::CrossValidation, "b", Claim::Resume).unwrap_err().contains("another command"));
        // A run that was stopped has a report, and continues all the same.
        let mut run = claim(RunKind::Train, "b", Claim::Resume).unwrap();
        run.write(REPORT, b"{}").unwrap();
        drop(run);
        assert!(claim(RunKind::Train, "b", Claim::New).unwrap_err().contains("--resume continues it"));
        run = claim(RunKind::Train, "b", Claim::Resume).unwrap();
        run.finish().unwrap();
        drop(run);
        // A finished run is repeated next to itself.
        let run = claim(RunKind::Train, "b", Claim::New).unwrap();
        assert_eq!(run.path(), path.join(NEXT));
        drop(run);
        assert!(claim(RunKind::Train, "a", Claim::New).unwrap_err().contains("--overwrite"));
        let mut over = claim(RunKind::Train, "a", Claim::Overwrite).unwrap();
        assert!(!over.file(STATE).exists() && path.join(STATE).exists() && path.join(REPORT).exists());
        over.write(REPORT, b"[]").unwrap();
        over.finish().unwrap();
        assert!(over.path() == path && !path.join(STATE).exists() && !path.join(NEXT).exists());
        assert_eq!(fs::read(path.join(REPORT)).unwrap(), b"[]");
    }

    #[test]
    fn a_run_that_was_stopped_beside_a_finished_one_is_known_by_its_own_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let claim = |configuration, claim| open(path, RunKind::Train, configuration, claim);
        finished(path, RunKind::Train, "old");
        let begun = claim("new", Claim::Overwrite).unwrap();
        // Nothing to keep: the finished run is as it was.
        drop(begun);
        assert_eq!(claim("new", Claim::Resume).unwrap().path(), path.join(NEXT));
        assert_eq!(claim("old", Claim::Resume).unwrap().path(), path);
        assert!(!path.join(NEXT).exists());
        let begun = claim("new", Claim::Overwrite).unwrap();
        begun.write(STATE, b"{}").unwrap();
        drop(begun);
        assert!(claim("new", Claim::New).unwrap_err().contains("--resume continues it, --overwrite starts again"));
        assert!(claim("old", Claim::New).unwrap_err().contains("--resume continues it, --overwrite starts again"));
        assert!(claim("old", Claim::Resume).unwrap_err().contains("config.toml differs"));
        assert!(claim("new", Claim::Resume).unwrap().file(STATE).exists());
        let again = claim("other", Claim::Overwrite).unwrap();
        assert!(!again.file(STATE).exists() && path.join(STATE).exists());
        let refused = ExperimentError::Refused(burn_rank::refusal::Refusal::fault("a", "b"));
        again.give_up(refused);
        assert!(!path.join(NEXT).exists() && path.join(REPORT).exists());
    }

    #[test]
    fn a_run_that_failed_leaves_nothing_that_blocks_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let claim = |configuration, claim| open(folder.path(), RunKind::Train, configuration, claim);
        let refused = || ExperimentError::Refused(burn_rank::refusal::Refusal::fault("a", "b"));
        let failed = claim("a", Claim::New).unwrap();
        failed.write(STATE, b"{}").unwrap();
        failed.give_up(refused());
        drop(failed);
        let stopped = claim("b", Claim::New).unwrap();
        stopped.write(STATE, b"{}").unwrap();
        stopped.give_up(ExperimentError::Interrupted { finished: 0, all: 1 });
        drop(stopped);
        assert!(claim("c", Claim::New).unwrap_err().contains("--overwrite"));
        // The files of an earlier command stay.
        let resumed = claim("b", Claim::Resume).unwrap();
        resumed.give_up(refused());
        assert!(resumed.file(STATE).exists());
    }

    #[test]
    fn the_report_of_another_configuration_stays_until_the_one_that_begins_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let claim = |configuration, claim| open(&path, RunKind::CrossValidation, configuration, claim).unwrap();
        let mut run = claim("a", Claim::New);
        run.write(REPORT, b"{}").unwrap();
        run.finish().unwrap();
        drop(run);
        assert_eq!(claim("a", Claim::Resume).path(), path);
        let mut run = claim("b", Claim::Resume);
        assert!(run.path() == path.join(NEXT) && run.file("jobs/x") == path.join("jobs/x"));
        run.write(REPORT, b"{\"b\": 1}").unwrap();
        assert_eq!(fs::read(path.join(REPORT)).unwrap(), b"{}");
        run.finish().unwrap();
        assert_eq!(fs::read(path.join(REPORT)).unwrap(), b"{\"b\": 1}");
    }

    /// A report counts as a result even if the user has removed the jobs or the saved state to free space.
    #[test]
    fn a_report_alone_is_worth_keeping() {
        for (kind, other) in [(RunKind::Train, RunKind::CrossValidation), (RunKind::CrossValidation, RunKind::Train)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run");
            finished(&path, kind, "a");
            fs::remove_file(path.join(STATE)).unwrap();
            assert!(open(&path, kind, "b", Claim::New).unwrap_err().contains("another configuration"));
            assert!(open(&path, other, "a", Claim::New).unwrap_err().contains("another command"));
            // A fit from its start may be stopped again.
            let again = if kind == RunKind::Train { path.join(NEXT) } else { path.clone() };
            assert_eq!(open(&path, kind, "a", Claim::Resume).unwrap().path(), again);
            assert_eq!(open(&path, kind, "a", Claim::New).unwrap().path(), path.join(NEXT));
        }
    }

    #[test]
    fn a_file_that_became_the_users_during_the_run_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let run = open(folder.path(), RunKind::Train, "a", Claim::New).unwrap();
        fs::write(run.file(CARD), "mine").unwrap();
        let refused = run.write(CARD, b"card").unwrap_err().to_string();
        assert!(refused.ends_with("`README.md` is not as burn-rank wrote it; move it elsewhere"), "{refused}");
        assert_eq!(fs::read(run.file(CARD)).unwrap(), b"mine");
        run.write(RANKER, b"b").unwrap();
        run.write(RANKER, b"c").unwrap();
        fs::write(run.file(RANKER), "mine").unwrap();
        assert!(run.write(RANKER, b"d").is_err());
    }

    /// The mark is written before the file. If a command is killed in between, the old file stays and is still
    /// recognized.
    #[test]
    fn a_file_that_is_being_replaced_is_known_before_and_after() {
        let folder = tempfile::tempdir().unwrap();
        let run = open(folder.path(), RunKind::Train, "a", Claim::New).unwrap();
        run.write(RANKER, b"a").unwrap();
        let failed = run.write_with(RANKER, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("disk full"));
        let mut mark = run.mark().unwrap();
        mark.expect(folder.path(), RANKER, digest_of(b"b"));
        mark.write(folder.path()).unwrap();
        for there in ["a", "b"] {
            fs::write(run.file(RANKER), there).unwrap();
            assert_eq!(mark.standing(folder.path(), RANKER), Some(Ok(())), "{there}");
        }
        fs::write(run.file(RANKER), "c").unwrap();
        assert_eq!(mark.standing(folder.path(), RANKER), Some(Err(NotOurs::Content)));
    }
}
