//! How a new run takes the place of an old one.
//!
//! The new run grows in the folder `X.new-N` next to the folder `X` of the old run. When it is complete, the two folders
//! exchange their names in one step. Where the system has no such step, the old folder is renamed to `X.old-N` first; if
//! the command is killed in between, [`put_right`] completes the exchange. Afterwards the old folder is removed. If it
//! holds anything that burn-rank did not write, it stays as `X.old-N`, with a note.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use burn_rank::workbench::atomic_file::sync_folder;

use super::mark::{MARK, Mark, Succession};
use super::output::mark_of;
use super::survey::Survey;
use super::{JOBS, PAGE, RANKER, REPLACED, RESULT};
use crate::experiment::error::OutputError;

/// The ending of a folder that will take the place of another one. The other folder's name precedes it, and a number
/// follows.
const NEW: &str = ".new-";
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
    let complete = successors(folder).into_iter().find(|(_, mark)| mark.finished);
    match complete.map(|(path, _)| fs::rename(path, real(folder))) {
        Some(Err(source)) if !folder.exists() => Err(OutputError::unwritable(folder)(source)),
        _ => Ok(()),
    }
}

/// Returns the folders next to `home` whose runs will take its place, with their marks.
pub(super) fn successors(home: &Path) -> Vec<(PathBuf, Mark)> {
    let home = real(home);
    let (Some(parent), Some(name)) = (home.parent(), home.file_name()) else { return Vec::new() };
    let begin = format!("{}{NEW}", name.to_string_lossy());
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut named: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&begin))
        .map(|entry| parent.join(entry.file_name()))
        .collect();
    named.sort();
    let of_home = |path: PathBuf| {
        let mark = Mark::read(&path).ok().flatten()?;
        mark.takes.as_ref().is_some_and(|takes| takes.of == home && takes.new == path).then_some((path, mark))
    };
    named.into_iter().filter_map(of_home).collect()
}

/// Returns the path of a file in the folder of the run that grows to take the place of the run in `home`.
pub(crate) fn successor_file(home: &Path, name: &str) -> Option<PathBuf> {
    successors(home).pop().map(|(path, _)| path.join(name))
}

/// Returns the absolute path of a folder, without links. The folder need not exist.
fn real(folder: &Path) -> PathBuf {
    if let Ok(real) = folder.canonicalize() {
        return real;
    }
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else { return whole };
    match fs::read_link(&whole) {
        Ok(target) => parent.join(target),
        Err(_) => parent.canonicalize().unwrap_or_else(|_| parent.to_path_buf()).join(name),
    }
}

/// Creates the folder for a run that will take the place of the run in `home`. Unfinished runs of earlier attempts are
/// removed.
///
/// # Errors
/// Returns [`OutputError::Unwritable`] if the folder cannot be created.
pub(super) fn begin(home: &Path) -> Result<Succession, OutputError> {
    for (path, _) in successors(home) {
        remove(&path, None).map_err(OutputError::unwritable(&path))?;
    }
    let of = real(home);
    let named = |number: u32| {
        let mut name = of.file_name().unwrap_or_default().to_os_string();
        name.push(format!("{NEW}{number}"));
        of.with_file_name(name)
    };
    // A command that was killed before it wrote its mark leaves an empty folder, which is used.
    let is_free = |new: &PathBuf| matches!(mark_of(new), Ok(None)) && old_of(new).symlink_metadata().is_err();
    let new = (1..).map(named).find(is_free).unwrap_or_else(|| named(0));
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
        let reason =
            "is the current folder, or holds it, so it cannot be replaced; run the command from another folder";
        return Err(OutputError::occupied(home, reason));
    }
    if is_mount_point(&real) {
        let inside = home.join("NAME");
        let reason = format!(
            "is a mount point, which no other folder can replace; choose a folder in it (--out {}) or empty it",
            inside.display()
        );
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

/// Lets a cross-validation reuse the fits of an earlier one: links the results of its jobs into the new folder. The name
/// of a job's folder says what was fitted, so fits of other settings or data are never used.
pub(super) fn link_fits(home: &Path, new: &Path) -> io::Result<()> {
    let Ok(jobs) = fs::read_dir(home.join(JOBS)) else { return Ok(()) };
    for job in jobs {
        let job = job?.path();
        let to = new.join(JOBS).join(job.file_name().unwrap_or_default());
        // The result last: with it, the fit counts as done.
        for name in [RANKER, RESULT] {
            let (from, to) = (job.join(name), to.join(name));
            if from.is_file() && !to.exists() {
                fs::create_dir_all(to.parent().unwrap_or(new))?;
                fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop))?;
            }
        }
    }
    Ok(())
}

/// Gives a complete run the place that its mark says.
///
/// # Errors
/// Returns [`OutputError::Unwritable`] if the folders cannot be renamed. The run then stays where it is, and the next
/// command that writes to `home` tries again.
pub(super) fn take_place(mut mark: Mark) -> Result<(), OutputError> {
    let Some(Succession { of: home, new }) = mark.takes.clone() else { return Ok(()) };
    mark.finished = true;
    step().map_err(OutputError::unwritable(&home))?;
    mark.write(&new)?;
    swap_names(&new, &home).map_err(|source| {
        let advice = "the same command with --resume tries again";
        let words = format!("{source}; the new run is complete, in {}; {advice}", new.display());
        OutputError::unwritable(&home)(io::Error::new(source.kind(), words))
    })?;
    sync_folder(&home);
    clear_away(&home)
}

/// Exchanges the names of two folders, or renames the old one and then the new one.
fn swap_names(new: &Path, home: &Path) -> io::Result<()> {
    step()?;
    if !home.exists() {
        return fs::rename(new, home);
    }
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    if !without_exchange() {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, new, CWD, home, RenameFlags::EXCHANGE) {
            // This file system does not know the exchange.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            exchanged => return Ok(exchanged?),
        }
    }
    let old = old_of(new);
    fs::write(home.join(REPLACED), "")?;
    fs::rename(home, &old)?;
    step()?;
    fs::rename(new, home).inspect_err(|_| drop(fs::rename(&old, home)))
}

/// Removes the old run after an exchange, or leaves it with a note, and completes the mark of the new run. After a kill,
/// the next command that writes to `home` calls this function again.
///
/// # Errors
/// Returns [`OutputError::Unwritable`] if the mark cannot be written. If the old run cannot be removed, warns.
pub(super) fn clear_away(home: &Path) -> Result<(), OutputError> {
    let Some(mut mark) = Mark::read(home)? else { return Ok(()) };
    let Some(takes) = mark.takes.take().filter(|takes| takes.of == real(home)) else { return Ok(()) };
    let old = old_of(&takes.new);
    // After the exchange, the old folder has the name of the new one.
    step().map_err(OutputError::unwritable(home))?;
    let renamed = match takes.new.exists() {
        true => fs::write(takes.new.join(REPLACED), "").and_then(|()| fs::rename(&takes.new, &old)),
        false => Ok(()),
    };
    step().map_err(OutputError::unwritable(home))?;
    // A user may have given a folder of theirs this name.
    let is_replaced = old.join(REPLACED).is_file();
    match renamed.and_then(|()| if is_replaced { remove(&old, Some(home)) } else { Ok(Vec::new()) }) {
        Ok(left) if left.is_empty() => {}
        Ok(left) => log::warn!("{} stays, with what burn-rank did not write: {}", old.display(), left.join(", ")),
        Err(error) => log::warn!("{}: the older run could not be removed: {error}", old.display()),
    }
    step().map_err(OutputError::unwritable(home))?;
    mark.write(home)
}

/// Removes a run, unless its folder holds entries that burn-rank did not write; their names are returned. With `by`, the
/// run that replaced it, a note names them.
fn remove(folder: &Path, by: Option<&Path>) -> io::Result<Vec<String>> {
    let found = Survey::of(folder)?;
    let mut stays = [&found.others[..], &found.links].concat();
    stays.retain(|name| name != NOTE);
    stays.extend(changed_since(folder, &found).map(|name| format!("{name} (changed since)")));
    if stays.is_empty() {
        found.remove(folder)?;
        fs::remove_dir(folder)?;
    } else if let Some(by) = by {
        let list: String = stays.iter().map(|name| format!("  {name}\n")).collect();
        let why = "The old folder stays, because burn-rank did not write these entries:";
        let note = format!("burn-rank has replaced this run by a new one, in\n  {}\n{why}\n{list}", by.display());
        fs::write(folder.join(NOTE), note)?;
        fs::remove_file(folder.join(REPLACED))?;
    }
    Ok(stays)
}

/// Returns the files of a finished run that were changed after it ended, except the page, which `report` makes again.
fn changed_since<'a>(folder: &Path, found: &'a Survey) -> impl Iterator<Item = &'a String> {
    let time = |name: &str| -> Option<SystemTime> { fs::metadata(folder.join(name)).ok()?.modified().ok() };
    let end = time(MARK).filter(|_| Mark::read(folder).is_ok_and(|mark| mark.is_some_and(|mark| mark.finished)));
    let is_later = move |name: &&String| {
        end.is_some_and(|end| time(name).is_some_and(|time| time > end)) && ![PAGE, REPLACED].contains(&name.as_str())
    };
    found.files.iter().filter(is_later)
}

/// Returns the name of the older run's folder after an exchange: `X.old-N` for `X.new-N`.
fn old_of(new: &Path) -> PathBuf {
    let name = new.file_name().unwrap_or_default().to_string_lossy();
    let (home, number) = name.rsplit_once(NEW).unwrap_or((&name, "1"));
    new.with_file_name(format!("{home}.old-{number}"))
}

/// Called before every change, so that a test can simulate a kill.
fn step() -> io::Result<()> {
    #[cfg(test)]
    tests::count_step()?;
    Ok(())
}

/// Returns whether a test asks for the exchange by two renames.
fn without_exchange() -> bool {
    #[cfg(test)]
    return tests::TWO_RENAMES.get();
    #[cfg(not(test))]
    false
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::{CONFIG, Claim, Identity, OutputFolder, Place, REPORT, RunKind};
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

    fn open(home: &Path, of: &str, claim: Claim) -> Result<OutputFolder, String> {
        let run = Identity::new(RunKind::Train, of).on(["data"]);
        OutputFolder::open(&Place::Folder(home.to_path_buf()), &run, of, claim).map_err(|error| error.to_string())
    }

    fn fill(folder: &OutputFolder, of: &str) {
        [RANKER, REPORT].into_iter().for_each(|name| folder.write(name, of.as_bytes()).unwrap());
    }

    /// Makes a finished run, and a newer one that is ready to take its place.
    fn waiting(home: &Path) -> OutputFolder {
        let mut old = open(home, "old", Claim::New).unwrap();
        fill(&old, "old");
        old.finish().unwrap();
        drop(old);
        let new = open(home, "new", Claim::Overwrite).unwrap();
        fill(&new, "new");
        new
    }

    /// Returns the one text that all files of a run have.
    fn text(home: &Path) -> String {
        let texts = [CONFIG, RANKER, REPORT].map(|name| fs::read_to_string(home.join(name)).unwrap());
        assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
        texts[0].clone()
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn an_exchange_that_is_killed_before_any_change_goes_on_to_the_same_end() {
        for (two_renames, notes) in [(false, false), (false, true), (true, false), (true, true)] {
            TWO_RENAMES.set(two_renames);
            let mut killed = 0;
            loop {
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
                let mut again = open(&home, "new", Claim::Resume).unwrap();
                again.finish().unwrap();
                drop(again);
                assert_eq!(text(&home), "new", "{two_renames}, {notes}, {killed} changes");
                let left: &[&str] = if notes { &["x", "x.old-1"] } else { &["x"] };
                assert_eq!(names(folder.path()), left, "{two_renames}, {notes}, {killed} changes");
                if notes {
                    let old = folder.path().join("x.old-1");
                    assert_eq!(
                        (text(&old).as_str(), fs::read(old.join("notes")).unwrap().as_slice()),
                        ("old", &b"mine"[..])
                    );
                    assert!(fs::read_to_string(old.join(NOTE)).unwrap().ends_with("entries:\n  notes\n"));
                }
                killed += 1;
                if ended.is_ok() {
                    break;
                }
            }
            assert!(killed > 4, "{killed}");
        }
        TWO_RENAMES.set(false);
    }

    #[test]
    fn an_older_run_whose_file_was_changed_since_stays() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("x");
        let mut new = waiting(&home);
        let file = fs::File::options().append(true).open(home.join(RANKER)).unwrap();
        file.set_modified(SystemTime::now() + std::time::Duration::from_secs(2)).unwrap();
        new.finish().unwrap();
        assert_eq!(names(folder.path()), ["x", "x.old-1"]);
        let note = fs::read_to_string(folder.path().join("x.old-1").join(NOTE)).unwrap();
        assert!(note.ends_with("  ranker.safetensors (changed since)\n"), "{note}");
    }

    #[test]
    fn folders_with_similar_names_are_not_taken_for_runs_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("x");
        let path = |name: &str| folder.path().join(name);
        for name in ["x.new-1", "x.old-1"] {
            let mut mine = open(&path(name), "mine", Claim::New).unwrap();
            fill(&mine, "mine");
            mine.finish().unwrap();
        }
        let mut new = waiting(&home);
        assert_eq!(new.path(), path("x.new-2"));
        new.finish().unwrap();
        assert_eq!((text(&path("x.new-1")).as_str(), text(&path("x.old-1")).as_str()), ("mine", "mine"));
        assert_eq!((text(&home).as_str(), names(folder.path()).len()), ("new", 3));
    }

    #[test]
    fn a_run_that_its_user_moved_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (home, backup) = (folder.path().join("x"), folder.path().join("x.old-1"));
        let mut new = waiting(&home);
        fs::rename(&home, &backup).unwrap();
        new.finish().unwrap();
        assert_eq!((text(&home).as_str(), text(&backup).as_str()), ("new", "old"));
    }
}
