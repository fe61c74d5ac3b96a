//! Which entries of a folder have the names that burn-rank writes.

use std::fs;
use std::io;
use std::path::Path;

use burn_rank::workbench::atomic_file::unfinished;

use super::mark::MARK;
use super::{CARD, DEVICES, JOB_FILES, JOBS, LOCK, PAGE, RANKER, RECORD, REPLACED, REPORT, RUN_FILES, RunKind, STUDY};
use crate::experiment::error::OutputError;
use crate::experiment::keep::{KEPT, kept_kind};

/// The files that a fit writes after its ranker.
const AFTER_RANKER: [&str; 4] = [CARD, REPORT, RECORD, PAGE];

/// The entries of a folder, as relative paths.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Files with names that burn-rank writes.
    pub(super) files: Vec<String>,
    /// Folders that burn-rank makes, each after the folders in it.
    pub(super) folders: Vec<String>,
    /// Everything else.
    pub(super) others: Vec<String>,
    /// Links with names that burn-rank writes.
    pub(super) links: Vec<String>,
}

impl Survey {
    /// Lists a folder of a run, with its subfolders for jobs and kept files. Links are not followed.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let mut found = Self::default();
        found.walk(folder, "")?;
        found.others.sort();
        Ok(found)
    }

    fn walk(&mut self, folder: &Path, within: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder.join(within))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if within.is_empty() { name } else { format!("{within}/{name}") };
            let kind = entry.file_type()?;
            let (is_file, is_folder) = (is_file_of_run(&path), is_folder_of_run(&path));
            match () {
                () if kind.is_symlink() && (is_file || is_folder) => self.links.push(path),
                () if kind.is_dir() && is_folder => {
                    self.walk(folder, &path)?;
                    self.folders.push(path);
                }
                () if kind.is_file() && is_file => self.files.push(path),
                () => self.others.push(path),
            }
        }
        Ok(())
    }

    /// Removes the files of a run, and the folders that are empty then.
    pub(super) fn remove(&self, folder: &Path) -> io::Result<()> {
        // The marks last: without them, what is left would be the user's.
        let last = [MARK, LOCK, REPLACED];
        let files = self.files.iter().filter(|name| !last.contains(&name.as_str()));
        files.into_iter().try_for_each(|name| gone(fs::remove_file(folder.join(name))))?;
        self.folders.iter().try_for_each(|name| gone(fs::remove_dir(folder.join(name))))?;
        last.into_iter().try_for_each(|name| gone(fs::remove_file(folder.join(name))))
    }

    /// Removes temporary files that a killed command left. Errors are ignored, because leftovers do no harm.
    pub(super) fn remove_halves(&self, folder: &Path) {
        let halves = self.files.iter().filter(|name| unfinished(last(name)).is_some());
        halves.for_each(|name| drop(fs::remove_file(folder.join(name))));
    }

    /// Rejects a run in whose files burn-rank cannot write.
    ///
    /// # Errors
    /// Returns [`OutputError::NotOurs`] if a file or folder of the run is a link, or if an unfinished run of `train`
    /// holds a file that only comes after its ranker.
    pub(super) fn check(&self, folder: &Path, kind: RunKind) -> Result<(), OutputError> {
        let has = |name: &str| self.files.iter().any(|file| file == name);
        let early = AFTER_RANKER.into_iter().find(|name| kind == RunKind::Train && has(name) && !has(RANKER));
        let found = match (self.links.first(), early) {
            (Some(link), _) => format!("`{link}` is a link, which burn-rank does not write through"),
            (None, Some(name)) => format!("`{name}` is not of the unfinished run here"),
            (None, None) => return Ok(()),
        };
        Err(OutputError::not_ours(folder, format!("{found}; move it elsewhere, or choose another folder with --out")))
    }
}

/// Returns whether burn-rank writes files of this relative path.
fn is_file_of_run(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let name = last(path);
    if unfinished(name).is_some() {
        return true;
    }
    match parts[..] {
        [_] => {
            let known = [&RUN_FILES[..], &DEVICES, &STUDY, &[MARK, LOCK, REPLACED]];
            known.iter().any(|names| names.contains(&name)) || is_trial(name)
        }
        [JOBS, _, _] => JOB_FILES.contains(&name),
        [KEPT, _] => kept_kind(name).is_some(),
        _ => false,
    }
}

/// Returns whether burn-rank makes folders of this relative path.
fn is_folder_of_run(path: &str) -> bool {
    matches!(path.split('/').collect::<Vec<_>>()[..], [JOBS | KEPT] | [JOBS, _])
}

/// Returns whether a file holds a fit of a device comparison, or the cost of its training steps, by its name.
fn is_trial(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(stem) = name.strip_suffix(".json") else { return false };
    let seeded = stem.strip_prefix("trial-").and_then(|rest| rest.split_once("-seed-"));
    seeded.is_some_and(|(number, seed)| digits(number) && digits(seed))
        || stem.strip_prefix("steps-").is_some_and(digits)
}

/// Returns the last component of a relative path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Takes an entry that is absent, or a folder that is not empty, for removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if [io::ErrorKind::DirectoryNotEmpty, io::ErrorKind::NotFound].contains(&error.kind()) => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_burn_rank_writes_are_of_a_run() {
        let half = "report.json.burn-rank-0123456789abcdef.partial";
        let job = "jobs/fold1-seed1-0123456789ab";
        for path in ["report.json", half, ".lock", "trial-2-seed-7.json", "steps-1.json", "kept/fold1-seed1.run.txt"] {
            assert!(is_file_of_run(path), "{path}");
        }
        assert!(is_file_of_run(&format!("{job}/state.json")) && is_folder_of_run(job) && is_folder_of_run("kept"));
        for path in ["notes", "report.json.12.partial", "trial-notes.json", "kept/notes", "jobs/notes", "a/report.json"]
        {
            assert!(!is_file_of_run(path), "{path}");
        }
        assert!(!is_folder_of_run(&format!("{job}/deep")) && !is_folder_of_run("final"));
    }
}
