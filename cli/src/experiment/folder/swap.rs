//! Replaces a run with the newer run that was written to [`NEXT`] inside its folder.
//!
//! The swap begins once all files of the newer run are on disk and the run's mark says that it is finished. Every step
//! can be repeated, so if a command is killed during the swap, the next command completes it. The report of the older
//! run is removed first, and the report of the new run is moved last. So a folder with a report always holds one whole
//! run.

use std::fs;
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use burn_rank::workbench::atomic_file::sync_folder;

use super::contents::Contents;
use super::lock::{Holding, locked};
use super::mark::{MARK, Mark, Over};
use super::{JOBS, NEXT, REPORT, is_folder, is_of_run, top};
use crate::experiment::error::OutputError;
use crate::experiment::keep::KEPT;

/// The time for which a read-only command waits for another command to finish its swap.
const PATIENCE: Duration = Duration::from_secs(10);

/// Completes the swap of a finished run if the command that began it was killed. Every command that reads a run's
/// folder calls this function first. It therefore sees a single complete run. If no finished run waits in [`NEXT`],
/// nothing changes.
///
/// # Errors
/// Returns an [`OutputError`] if the folder is read-only, the user has changed a file in it, or another command holds
/// it.
pub(crate) fn settle(folder: &Path) -> Result<(), OutputError> {
    let is_finished = |folder: &Path| matches!(Mark::read(folder), Ok(Some(mark)) if mark.finished);
    let is_half_way = || is_finished(&folder.join(NEXT)) && !is_finished(folder);
    let words = "the command that made the run here was killed while it moved its files into place";
    let begun = Instant::now();
    while is_half_way() {
        let look = || Contents::read(folder, &[]).map(|_| is_half_way());
        let moved = locked(folder, Holding::Alone, look).and_then(|(is_half_way, _lock)| match is_half_way {
            true => swap(folder),
            false => Ok(()),
        });
        match moved {
            Ok(()) => {}
            Err(OutputError::Busy { .. }) if begun.elapsed() < PATIENCE => sleep(Duration::from_millis(20)),
            Err(OutputError::Busy { path }) => {
                let reason = "another command is moving a finished run into place here; try again when it has ended";
                return Err(OutputError::occupied(&path, reason));
            }
            Err(OutputError::Unwritable { path, source }) => {
                let advice = "make the folder writable, or copy it and read the copy";
                let source = io::Error::new(source.kind(), format!("{source}; {words}; {advice}"));
                return Err(OutputError::Unwritable { path, source });
            }
            Err(OutputError::NotOurs { path, found }) => {
                return Err(OutputError::NotOurs { path, found: format!("{found}; {words}") });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Replaces the run in `home` with the finished run in [`NEXT`].
///
/// # Errors
/// Returns [`OutputError::NotOurs`] if the user has changed a file in the meantime; in that case nothing has moved.
/// Returns [`OutputError::Unwritable`] if a file cannot be moved.
pub(super) fn swap(home: &Path) -> Result<(), OutputError> {
    let from = home.join(NEXT);
    let (old, new) = (Contents::read(home, &[])?, Contents::read(&from, &[])?);
    for name in new.names().filter(|name| top(name) != JOBS) {
        if let Some(Err(reason)) = old.mark.standing(home, name) {
            return Err(OutputError::not_ours(home, format!("`{name}` {reason}; move it elsewhere")));
        }
    }
    moved(home, &from, &old, &new).map_err(OutputError::unwritable(home))
}

fn moved(home: &Path, from: &Path, old: &Contents, new: &Contents) -> io::Result<()> {
    let (mut mark, mut next) = (old.mark.clone(), new.mark.clone());
    let over = next.over.unwrap_or(Over::Other);
    let mut after = Mark { run: next.run, finished: true, wrote: mark.wrote.clone(), ..Mark::default() };
    after.wrote.retain(|name, _| !is_of_run(name));
    after.wrote.extend(next.wrote.clone());

    // The mark knows the files of both.
    for (name, known) in &next.wrote {
        let both = mark.wrote.entry(name.clone()).or_default();
        both.extend(known.iter().filter(|digest| !both.contains(digest)).cloned().collect::<Vec<_>>());
    }
    mark.finished = false;
    step()?;
    mark.write(home)?;

    let is_report = |name: &&String| *name == REPORT;
    let goes = |name: &&String| match top(name) {
        REPORT => new.has(REPORT),
        JOBS => over != Over::Outcome,
        _ => is_of_run(name) && !after.wrote.contains_key(*name),
    };
    let report = old.names().filter(is_report);
    report.chain(old.names().filter(|name| !is_report(name))).filter(goes).try_for_each(|name| remove(home, name))?;
    if over != Over::Outcome {
        // The jobs that are moved from now on belong to the new run.
        next.over = Some(Over::Outcome);
        step()?;
        next.write(from)?;
    }
    let report = new.names().filter(is_report);
    for name in new.names().filter(|name| !is_report(name) && !is_folder(name)).chain(report) {
        let to = home.join(name);
        fs::create_dir_all(to.parent().unwrap_or(home))?;
        step()?;
        fs::rename(from.join(name), to)?;
    }
    sync_folder(&home.join(REPORT));
    step()?;
    after.write(home)?;
    discard(home, new)
}

/// Removes burn-rank's files from [`NEXT`], then the folder itself if it is empty.
pub(super) fn discard(home: &Path, next: &Contents) -> io::Result<()> {
    let path = home.join(NEXT);
    next.names().try_for_each(|name| remove(&path, name))?;
    emptied(&path.join(KEPT))?;
    // The mark last: without it, what is left would be the user's.
    gone(&path.join(MARK))?;
    emptied(&path)
}

/// Removes one of burn-rank's files, then its folder if it is empty. If `name` is a folder, it is removed only if it is
/// empty.
pub(super) fn remove(folder: &Path, name: &str) -> io::Result<()> {
    let path = folder.join(name);
    match path.parent() {
        _ if is_folder(name) => emptied(&path),
        Some(above) if name.contains('/') => gone(&path).and_then(|()| emptied(above)),
        _ => gone(&path),
    }
}

/// Removes a file, if it exists.
fn gone(path: &Path) -> io::Result<()> {
    step()?;
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes a folder, if it exists and is empty.
fn emptied(path: &Path) -> io::Result<()> {
    step()?;
    match fs::remove_dir(path) {
        Err(error) if [io::ErrorKind::DirectoryNotEmpty, io::ErrorKind::NotFound].contains(&error.kind()) => Ok(()),
        removed => removed,
    }
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

    use super::super::{CONFIG, Claim, LOCK, LOG, OutputFolder, PAGE, RANKER, RESULT, RunKind, START, STATE};
    use super::*;

    thread_local! {
        /// The number of changes left before a simulated kill.
        static STEPS: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    pub(super) fn count_step() -> io::Result<()> {
        let left = STEPS.get();
        STEPS.set(left.saturating_sub(1));
        if left == 0 { Err(io::Error::other("killed")) } else { Ok(()) }
    }

    const OLD_JOB: &str = "jobs/fold1-seed1-000000000000";
    const NEW_JOB: &str = "jobs/fold1-seed1-111111111111";
    const KEPT_OLD: &str = "kept/fold1-seed1.scores.txt";
    const KEPT_NEW: &str = "kept/fold2-seed1.scores.txt";

    /// Writes all files of a run, each with the text `of`.
    fn fill(folder: &OutputFolder, kind: RunKind, of: &str, job: &str, kept: &str) {
        let names: &[&str] = match kind {
            RunKind::Train => &[RANKER, START, STATE, LOG, PAGE, REPORT],
            RunKind::CrossValidation => &[PAGE, REPORT],
        };
        if kind == RunKind::CrossValidation {
            for (name, folder_of) in [(format!("{job}/{RESULT}"), job), (format!("{job}/{STATE}"), job)] {
                fs::create_dir_all(folder.file(folder_of)).unwrap();
                folder.write(&name, of.as_bytes()).unwrap();
            }
            fs::create_dir_all(folder.file(KEPT)).unwrap();
            folder.write(kept, of.as_bytes()).unwrap();
        }
        names.iter().for_each(|name| folder.write(name, of.as_bytes()).unwrap());
    }

    /// Returns the files of a folder and its subfolders, without marks and locks.
    fn everything(folder: &Path) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                let below = everything(&entry.path()).into_iter();
                found.extend(below.map(|(path, text)| (format!("{name}/{path}"), text)));
            } else if ![MARK, LOCK].contains(&name.as_str()) {
                found.insert(name, fs::read_to_string(entry.path()).unwrap());
            }
        }
        found
    }

    /// Makes a folder with a finished run, a file of the user's, and a newer run that is ready to replace the old one.
    fn waiting(path: &Path, from: RunKind, to: RunKind) {
        let mut old = OutputFolder::open(path, from, "old", Claim::New).unwrap();
        fill(&old, from, "old", OLD_JOB, KEPT_OLD);
        old.finish().unwrap();
        fs::write(path.join("notes"), "mine").unwrap();
        drop(old);
        let new = OutputFolder::open(path, to, "new", Claim::Overwrite).unwrap();
        fill(&new, to, "new", NEW_JOB, KEPT_NEW);
        drop(new);
    }

    #[test]
    fn a_swap_that_is_killed_before_any_change_goes_on_to_the_same_end() {
        use RunKind::{CrossValidation, Train};
        for (from, to) in [(Train, Train), (CrossValidation, CrossValidation), (CrossValidation, Train)] {
            let expected = {
                let folder = tempfile::tempdir().unwrap();
                fs::write(folder.path().join(LOCK), "").unwrap();
                let mut alone = OutputFolder::open(folder.path(), to, "new", Claim::New).unwrap();
                fill(&alone, to, "new", NEW_JOB, KEPT_NEW);
                alone.finish().unwrap();
                fs::write(folder.path().join("notes"), "mine").unwrap();
                everything(folder.path())
            };
            let mut killed = 0;
            loop {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path();
                waiting(path, from, to);
                let before = everything(path);
                let mut new = OutputFolder::open(path, to, "new", Claim::Resume).unwrap();
                assert_eq!(everything(path), before);
                STEPS.set(killed);
                let ended = new.finish();
                STEPS.set(usize::MAX);
                drop(new);
                let there = everything(path);
                assert!(there.values().all(|text| ["old", "new", "mine"].contains(&text.as_str())));
                // A folder with a report holds one whole run.
                if let Some(report) = there.get(REPORT) {
                    let of_run = |name: &&String| *name != "notes" && !name.starts_with(NEXT);
                    let run: Vec<&String> =
                        there.iter().filter(|(name, _)| of_run(name)).map(|(_, text)| text).collect();
                    let mixed = run.iter().any(|text| *text != report);
                    assert!(!mixed, "{from:?} to {to:?}, {killed} changes: {there:?}");
                }
                // A reader finds one whole run: the new one, or the old one before anything has moved.
                settle(path).unwrap();
                let found = everything(path);
                let is_whole = found == expected || found == before && there == before;
                assert!(is_whole, "{from:?} to {to:?}, {killed} changes: {found:?}");
                // Any command that may write there ends the swap first.
                drop(OutputFolder::open(path, to, "new", Claim::Resume).unwrap());
                assert_eq!(everything(path), expected, "{from:?} to {to:?}, {killed} changes");
                assert!(!path.join(NEXT).exists());
                // The mark knows the files.
                OutputFolder::check(path, to, "new", Claim::New).unwrap();
                killed += 1;
                if ended.is_ok() {
                    break;
                }
            }
            assert!(killed > 10, "{killed}");
        }
    }

    /// Creates a folder that looks as if a swap had been killed after its first changes.
    fn half_way(path: &Path) {
        waiting(path, RunKind::Train, RunKind::Train);
        let mut new = OutputFolder::open(path, RunKind::Train, "new", Claim::Resume).unwrap();
        STEPS.set(3);
        new.finish().unwrap_err();
        STEPS.set(usize::MAX);
    }

    #[test]
    fn a_reader_that_cannot_end_a_swap_says_what_is_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        half_way(path);
        STEPS.set(0);
        let told = settle(path).unwrap_err().to_string();
        STEPS.set(usize::MAX);
        assert!(told.ends_with("copy it and read the copy") && told.contains("killed while it moved"), "{told}");
        let ranker = fs::read(path.join(RANKER)).unwrap();
        fs::write(path.join(RANKER), "mine").unwrap();
        let told = settle(path).unwrap_err().to_string();
        assert!(told.contains("`ranker.safetensors` is not as burn-rank wrote it; move it elsewhere; the"), "{told}");
        fs::write(path.join(RANKER), ranker).unwrap();
        // While another command holds the folder, a reader waits.
        let held = fs::File::open(path.join(LOCK)).unwrap();
        held.lock().unwrap();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| settle(path));
            sleep(Duration::from_millis(100));
            assert!(!reader.is_finished());
            drop(held);
            reader.join().unwrap().unwrap();
        });
        assert_eq!(everything(path)[REPORT], "new");
        assert!(!path.join(NEXT).exists());
    }

    #[test]
    fn a_file_that_became_the_users_meanwhile_stops_the_swap_before_anything_moves() {
        let folder = tempfile::tempdir().unwrap();
        waiting(folder.path(), RunKind::Train, RunKind::Train);
        let mut new = OutputFolder::open(folder.path(), RunKind::Train, "new", Claim::Resume).unwrap();
        fs::write(folder.path().join(RANKER), "mine").unwrap();
        let before = everything(folder.path());
        let refused = new.finish().unwrap_err().to_string();
        assert!(refused.ends_with("`ranker.safetensors` is not as burn-rank wrote it; move it elsewhere"), "{refused}");
        assert_eq!(everything(folder.path()), before);
        drop(new);
        fs::remove_file(folder.path().join(RANKER)).unwrap();
        drop(OutputFolder::open(folder.path(), RunKind::Train, "new", Claim::Resume).unwrap());
        assert_eq!(everything(folder.path())[RANKER], "new");
        assert_eq!(everything(folder.path())[CONFIG], "new");
    }
}
