//! How a new run takes the place of an old one.
//!
//! The new run grows in the folder `X.new-N` next to the folder `X` of the old run. When it is complete, the two
//! folders exchange their names in one step. Where the system has no such step, the old folder is renamed first, to
//! `X.new-N.replaced`; if the command is killed in between, [`put_right`] completes the exchange. Afterwards the old
//! folder is removed. If it holds anything that burn-rank did not write, it stays as `X.old-N`, with a note.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use burn_rank::ranker::RankerError;
use burn_rank::workbench::atomic_file::sync_folder;

use super::mark::{MARK, Mark, Succession, existing_lock, mark_of};
use super::survey::Survey;
use super::{JOBS, PAGE, RANKER, RESULT};
use crate::experiment::error::{ExperimentError, OutputError};

/// The note in an old folder that stays.
const NOTE: &str = "NOTE-OF-BURN-RANK.txt";

/// Renames the complete new run in `X.new-N` to `X` if a command was killed between the two renames of an exchange.
/// Every command calls this function first for the folder of a run. Without such a run, nothing changes.
///
/// # Errors
/// Returns [`OutputError::Unwritable`] if the folder cannot be renamed.
pub(crate) fn put_right(folder: &Path) -> Result<(), OutputError> {
    if folder.exists() {
        return Ok(());
    }
    let complete = successor(folder).filter(|(_, mark)| mark.finished);
    match complete.map(|(path, _)| fs::rename(path, real(folder))) {
        Some(Err(source)) if !folder.exists() => Err(OutputError::unwritable(folder)(source)),
        _ => Ok(()),
    }
}

/// Returns the path of a ranker's file. If the given path is the folder of a `train` run, returns the path of the
/// ranker in it.
///
/// # Errors
/// Returns [`RankerError::File`] if the folder contains no ranker. Also returns any
/// [`OutputError`] from [`put_right`].
pub(crate) fn ranker_file(path: &Path) -> Result<PathBuf, ExperimentError> {
    put_right(path)?;
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let file = path.join(RANKER);
    // An error of the system does not mean that the file is absent.
    if matches!(file.try_exists(), Ok(false)) {
        let words = format!("no {RANKER} here, expected a saved ranker or the folder of a `train` run");
        let source = io::Error::new(io::ErrorKind::NotFound, words);
        return Err(RankerError::File { path: path.to_path_buf(), source }.into());
    }
    Ok(file)
}

/// Completes the exchange that a killed command began.
///
/// # Errors
/// Returns [`OutputError::Busy`] while another command completes it, [`OutputError::Occupied`] if the folder has a
/// damaged mark, and [`OutputError::Unwritable`] if the folders cannot be renamed.
pub(super) fn settle(home: &Path) -> Result<(), OutputError> {
    put_right(home)?;
    let Some(mark) = Mark::read(home)? else { return Ok(()) };
    let complete = || successor(home).filter(|(_, mark)| mark.finished);
    if complete().is_none() && mark.takes.is_none_or(|takes| takes.of != real(home)) {
        return Ok(());
    }
    let _lock = existing_lock(home, false)?;
    match complete() {
        Some((_, mark)) => take_place(&mark),
        None => clear_away(home),
    }
}

/// Returns the folder in which a run grows that will take the place of the run in `home`, with its mark.
pub(super) fn successor(home: &Path) -> Option<(PathBuf, Mark)> {
    let home = real(home);
    let of_home = |path: PathBuf| {
        let mark = Mark::read(&path).ok().flatten()?;
        mark.takes.as_ref().is_some_and(|takes| takes.of == home && takes.new == path).then_some((path, mark))
    };
    (1..).map(|number| numbered(&home, "new", number)).take_while(|path| path.exists()).find_map(of_home)
}

/// Returns the path of a file in the folder of the run that grows to take the place of the run in `home`.
pub(crate) fn successor_file(home: &Path, name: &str) -> Option<PathBuf> {
    successor(home).map(|(path, _)| path.join(name))
}

/// Returns the folder `X.new-N` or `X.old-N` next to the folder `X`.
fn numbered(home: &Path, what: &str, number: u32) -> PathBuf {
    let name = home.file_name().unwrap_or_default().to_string_lossy();
    home.with_file_name(format!("{name}.{what}-{number}"))
}

/// Returns the absolute path of a folder, without links. The folder need not exist.
fn real(folder: &Path) -> PathBuf {
    let absent = |_| {
        let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        let parent = whole.parent().and_then(|parent| parent.canonicalize().ok());
        parent.zip(whole.file_name()).map(|(parent, name)| parent.join(name)).unwrap_or(whole)
    };
    folder.canonicalize().unwrap_or_else(absent)
}

/// Creates the folder for a run that will take the place of the run in `home`. The unfinished run of an earlier attempt
/// is removed.
///
/// # Errors
/// Returns [`OutputError::Unwritable`] if the folder cannot be created.
pub(super) fn begin(home: &Path) -> Result<Succession, OutputError> {
    if let Some((path, _)) = successor(home) {
        retire(&path, home).map_err(OutputError::unwritable(&path))?;
    }
    let of = real(home);
    // A command that was killed before it wrote its mark leaves an empty folder, which is used.
    let is_free = |new: &PathBuf| matches!(mark_of(new), Ok(None));
    let new = (1..).map(|number| numbered(&of, "new", number)).find(is_free).unwrap_or_default();
    fs::create_dir_all(&new).map_err(OutputError::unwritable(&new))?;
    Ok(Succession { of, new })
}

/// Rejects a folder whose name cannot be exchanged.
///
/// # Errors
/// Returns [`OutputError::Occupied`] with advice.
pub(super) fn check(home: &Path) -> Result<(), OutputError> {
    let real = real(home);
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    if here.is_ok_and(|here| here.starts_with(&real)) {
        let advice = "so it cannot be replaced; run the command from another folder";
        return Err(OutputError::occupied(home, format!("is the current folder, or holds it, {advice}")));
    }
    if is_mount_point(&real) {
        let advice = format!("choose a folder in it (--out {}) or empty it", home.join("NAME").display());
        let reason = format!("is a mount point, which no other folder can replace; {advice}");
        return Err(OutputError::occupied(home, reason));
    }
    Ok(())
}

#[cfg(unix)]
fn is_mount_point(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).ok().map(|there| there.dev());
    folder.parent().is_none_or(|parent| device(parent) != device(folder))
}

#[cfg(not(unix))]
fn is_mount_point(folder: &Path) -> bool {
    folder.parent().is_none()
}

/// Lets a cross-validation reuse the fits of an earlier one: links the results of its jobs into the new folder. The
/// name of a job's folder says what was fitted, so fits of other settings or data are never used.
pub(super) fn link_fits(home: &Path, new: &Path) -> io::Result<()> {
    let Ok(jobs) = fs::read_dir(home.join(JOBS)) else { return Ok(()) };
    for job in jobs {
        let job = job?.path();
        let to = new.join(JOBS).join(job.file_name().unwrap_or_default());
        fs::create_dir_all(&to)?;
        // The result last: with it, the fit counts as done.
        for name in [RANKER, RESULT].into_iter().filter(|name| job.join(name).is_file()) {
            let (from, to) = (job.join(name), to.join(name));
            fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop))?;
        }
    }
    Ok(())
}

/// Gives a complete run the place that its mark says.
///
/// # Errors
/// Returns [`OutputError::Unwritable`] if the folders cannot be renamed. The run then stays where it is, and the next
/// command that writes to its place tries again.
pub(super) fn take_place(mark: &Mark) -> Result<(), OutputError> {
    let Some(Succession { of: home, new }) = &mark.takes else { return Ok(()) };
    step().map_err(OutputError::unwritable(home))?;
    mark.write(new)?;
    swap_names(new, home).map_err(|source| {
        let advice = "the same command with --resume tries again";
        let words = format!("{source}; the new run is complete, in {}; {advice}", new.display());
        OutputError::unwritable(home)(io::Error::new(source.kind(), words))
    })?;
    sync_folder(home);
    clear_away(home)
}

/// Exchanges the names of two folders, or renames the old one and then the new one.
fn swap_names(new: &Path, home: &Path) -> io::Result<()> {
    step()?;
    if !home.exists() {
        return fs::rename(new, home);
    }
    #[cfg(test)]
    let has_exchange = !tests::TWO_RENAMES.get();
    #[cfg(not(test))]
    let has_exchange = true;
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    if has_exchange {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, new, CWD, home, RenameFlags::EXCHANGE) {
            // This file system does not know the exchange.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            exchanged => return Ok(exchanged?),
        }
    }
    let old = replaced(new);
    fs::rename(home, &old)?;
    step()?;
    fs::rename(new, home).inspect_err(|_| drop(fs::rename(&old, home)))
}

/// Returns the name that the old folder has after two renames.
fn replaced(new: &Path) -> PathBuf {
    let name = new.file_name().unwrap_or_default().to_string_lossy();
    new.with_file_name(format!("{name}.replaced"))
}

/// Removes the old run after an exchange, or leaves it with a note, and completes the mark of the new run. If the old
/// run cannot be removed, warns.
fn clear_away(home: &Path) -> Result<(), OutputError> {
    let Some(mut mark) = Mark::read(home)? else { return Ok(()) };
    let Some(takes) = mark.takes.take() else { return Ok(()) };
    // After an exchange, the old folder has the name of the new one.
    for old in [replaced(&takes.new), takes.new].into_iter().filter(|old| old.exists()) {
        step().map_err(OutputError::unwritable(home))?;
        if let Err(error) = retire(&old, home) {
            log::warn!("{}: the older run could not be removed: {error}", old.display());
        }
    }
    step().map_err(OutputError::unwritable(home))?;
    mark.write(home)
}

/// Removes the folder of an older run in favor of the run in `home`. If it holds entries that burn-rank did not write,
/// it stays as `X.old-N` with a note that names them, and a warning says so.
fn retire(folder: &Path, home: &Path) -> io::Result<()> {
    let found = Survey::of(folder)?;
    let mut stays: Vec<String> = found.others.iter().filter(|name| *name != NOTE).cloned().collect();
    stays.extend(changed_since(folder, &found).map(|name| format!("{name} (changed since)")));
    if stays.is_empty() {
        found.remove(folder)?;
        return fs::remove_dir(folder);
    }
    let home = real(home);
    let is_free = |old: &PathBuf| old.symlink_metadata().is_err();
    let old = (1..).map(|number| numbered(&home, "old", number)).find(is_free).unwrap_or_default();
    let list: String = stays.iter().map(|name| format!("  {name}\n")).collect();
    let why = "The old folder stays, because burn-rank did not write these entries:";
    let note = format!("burn-rank has replaced this run by a new one, in\n  {}\n{why}\n{list}", home.display());
    fs::write(folder.join(NOTE), note)?;
    step()?;
    fs::rename(folder, &old)?;
    log::warn!("{} stays, with what burn-rank did not write: {}", old.display(), stays.join(", "));
    Ok(())
}

/// Returns the files of a finished run that were changed after it ended, except the page, which `report` makes again.
fn changed_since<'a>(folder: &Path, found: &'a Survey) -> impl Iterator<Item = &'a String> {
    let time = |name: &str| -> Option<SystemTime> { fs::metadata(folder.join(name)).ok()?.modified().ok() };
    let end = time(MARK).filter(|_| matches!(Mark::read(folder), Ok(Some(Mark { finished: true, .. }))));
    let is_later = move |name: &&String| *name != PAGE && end.is_some_and(|end| time(name) > Some(end));
    found.files.iter().filter(is_later)
}

/// Called before every change, so that a test can simulate a kill.
fn step() -> io::Result<()> {
    #[cfg(test)]
    tests::count_step()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;

    use super::super::output::tests::{finished, made, open};
    use super::super::{CONFIG, Claim, OutputFolder, REPORT};
    use super::*;

    thread_local! {
        /// The number of changes left before a simulated kill.
        static STEPS: Cell<usize> = const { Cell::new(usize::MAX) };
        pub(super) static TWO_RENAMES: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn count_step() -> io::Result<()> {
        let left = STEPS.get();
        STEPS.set(left.saturating_sub(1));
        if left == 0 { Err(io::Error::other("killed")) } else { Ok(()) }
    }

    /// Makes a finished run, and a newer one that is ready to take its place.
    fn waiting(home: &Path) -> OutputFolder {
        finished(home, ["old", ""]);
        made(home, ["new", ""], Claim::Overwrite)
    }

    /// Returns the one text that all files of a run have.
    fn text(home: &Path) -> String {
        let texts = [CONFIG, RANKER, REPORT].map(|name| fs::read_to_string(home.join(name)).unwrap());
        assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
        texts[0].clone()
    }

    /// Returns the names of the folders of runs, each with the text of its run.
    fn runs(folder: &Path) -> BTreeMap<String, String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        entries.map(|entry| (entry.file_name().into_string().unwrap(), text(&entry.path()))).collect()
    }

    fn expected<const N: usize>(runs: [[&str; 2]; N]) -> BTreeMap<String, String> {
        runs.map(|run| run.map(String::from)).map(|[name, text]| (name, text)).into()
    }

    fn note(folder: &Path) -> String {
        fs::read_to_string(folder.join(NOTE)).unwrap()
    }

    #[test]
    fn an_exchange_that_is_killed_before_any_change_goes_on_to_the_same_end() {
        for (two_renames, notes) in [(false, false), (false, true), (true, false), (true, true)] {
            TWO_RENAMES.set(two_renames);
            let ends = |killed: usize| {
                let folder = tempfile::tempdir().unwrap();
                let home = folder.path().join("x");
                let mut new = waiting(&home);
                if notes {
                    fs::write(home.join("notes"), "mine").unwrap();
                }
                STEPS.set(killed);
                let ended = new.finish();
                STEPS.set(usize::MAX);
                drop(new);
                // A reader finds one whole run.
                put_right(&home).unwrap();
                let seen = text(&home);
                assert!(["old", "new"].contains(&&*seen) && (ended.is_err() || seen == "new"));
                // The next command that writes there ends what was begun.
                open(&home, ["new", ""], Claim::Resume).unwrap().finish().unwrap();
                let old = folder.path().join("x.old-1");
                let left = if notes { expected([["x", "new"], ["x.old-1", "old"]]) } else { expected([["x", "new"]]) };
                assert_eq!(runs(folder.path()), left, "{two_renames}, {notes}, {killed} changes");
                if notes {
                    assert_eq!(fs::read(old.join("notes")).unwrap(), b"mine");
                    assert!(note(&old).ends_with("entries:\n  notes\n"));
                }
                ended.is_ok()
            };
            assert!((0..).find(|killed| ends(*killed)) >= Some(4));
        }
        TWO_RENAMES.set(false);
    }

    #[test]
    fn an_exchange_takes_nothing_that_is_not_of_the_old_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // Runs of the user have the names that an exchange would use.
        ["x.new-1", "x.old-1"].into_iter().for_each(|name| finished(&path(name), ["mine", ""]));
        let mut new = waiting(&path("x"));
        assert_eq!(new.path(), path("x.new-2"));
        // A file of the old run was changed since.
        let file = fs::File::options().append(true).open(path("x").join(RANKER)).unwrap();
        file.set_modified(SystemTime::now() + std::time::Duration::from_secs(2)).unwrap();
        new.finish().unwrap();
        drop(new);
        let there = [["x", "new"], ["x.new-1", "mine"], ["x.old-1", "mine"], ["x.old-2", "old"]];
        assert_eq!(runs(folder.path()), expected(there));
        assert!(note(&path("x.old-2")).ends_with("  ranker.safetensors (changed since)\n"));
        // The user moves the run away while a new one grows.
        let mut newer = made(&path("x"), ["newer", ""], Claim::Overwrite);
        fs::rename(path("x"), path("x.old-3")).unwrap();
        newer.finish().unwrap();
        assert_eq!([text(&path("x")), text(&path("x.old-3"))], ["newer", "new"]);
    }
}
