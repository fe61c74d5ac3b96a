//! Which entries of a run's folder burn-rank wrote, by their names.

use std::fs;
use std::io;
use std::path::Path;

use burn_rank::workbench::atomic_file::unfinished;

use super::TEXT_MODEL;
use super::mark::MARK;
use super::{
    CARD, DEVICES, JOB_FILES, JOBS, LOCK, LOG, MEMBER, PAGE, POOLING, RANKER, RECORD, REPORT, RUN_FILES, RunKind,
    STATE, STUDY,
};
use crate::experiment::cross_validation::{ENDINGS, KEPT};
use crate::experiment::error::OutputError;

/// The files that a fit writes after its ranker.
const AFTER_RANKER: [&str; 4] = [CARD, REPORT, RECORD, PAGE];
/// The files of a device comparison that have numbers in their names.
const NUMBERED: [&str; 2] = ["trial-#-seed-#.json", "steps-#.json"];

/// The entries of a folder, as relative paths.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Files with names that burn-rank writes.
    pub(super) files: Vec<String>,
    /// Folders that burn-rank makes, each after the folders in it.
    folders: Vec<String>,
    /// Everything else, also links.
    pub(super) others: Vec<String>,
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
            if kind.is_dir() && is_folder_of_run(&path) {
                self.walk(folder, &path)?;
                self.folders.push(path);
            } else if kind.is_file() && is_file_of_run(&path) {
                self.files.push(path);
            } else {
                self.others.push(path);
            }
        }
        Ok(())
    }

    /// Removes the files of a run, and the folders that are empty then.
    pub(super) fn remove(&self, folder: &Path) -> io::Result<()> {
        // The mark and the lock last: without them, what is left would be the user's.
        let last = [MARK, LOCK];
        let files = self.files.iter().map(String::as_str).filter(|name| !last.contains(name));
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
    /// Returns [`OutputError::Occupied`] if a file or folder of the run is a link, or if an unfinished run of `train`
    /// holds a file that only comes after its ranker.
    pub(super) fn check(&self, folder: &Path, kind: RunKind) -> Result<(), OutputError> {
        let has = |name: &str| self.files.iter().any(|file| file == name);
        let early = AFTER_RANKER.into_iter().find(|name| kind == RunKind::Train && has(name) && !has(RANKER));
        let is_of_run = |name: &&String| is_file_of_run(name) || is_folder_of_run(name);
        let link = self.others.iter().filter(is_of_run).find(|name| folder.join(name).is_symlink());
        let found = match (link, early) {
            (Some(link), _) => format!("`{link}` is a link, which burn-rank does not write through"),
            (None, Some(name)) => format!("`{name}` does not belong to the unfinished run here"),
            (None, None) => return Ok(()),
        };
        Err(OutputError::occupied(folder, format!("{found}; move it elsewhere, or choose another folder with --out")))
    }
}

/// Returns whether burn-rank writes files of this relative path.
fn is_file_of_run(path: &str) -> bool {
    let name = last(path);
    let shape = shape(name);
    match path.split('/').collect::<Vec<_>>()[..] {
        _ if unfinished(name).is_some() => true,
        [_] => {
            let names = [&RUN_FILES[..], &DEVICES, &STUDY, &NUMBERED, &[MARK, LOCK]].concat();
            names.contains(&shape.as_str()) || TEXT_MODEL.contains(&name)
        }
        [_, _] if path == POOLING.join("/") => true,
        [JOBS, _, _] => JOB_FILES.contains(&name),
        [JOBS, _, member, _] | [member, _] if is_member(member) => [STATE, LOG].contains(&name),
        [KEPT, _] => ENDINGS.iter().any(|ending| shape == format!("fold#-seed#{ending}")),
        _ => false,
    }
}

/// Returns whether burn-rank makes folders of this relative path.
fn is_folder_of_run(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts[..], [JOBS | KEPT] | [JOBS, _])
        || matches!(parts[..], [JOBS, _, member] | [member] if is_member(member))
        || path == POOLING[0]
}

/// Returns whether a folder holds the state of a member of an ensemble.
fn is_member(name: &str) -> bool {
    shape(name) == format!("{MEMBER}#")
}

/// Returns a name with `#` in the place of every number.
fn shape(name: &str) -> String {
    let mut shape = String::new();
    for character in name.chars() {
        match character {
            '#' => shape.push_str("##"),
            '0'..='9' if shape.ends_with('#') => {}
            '0'..='9' => shape.push('#'),
            other => shape.push(other),
        }
    }
    shape
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
        let job = "jobs/fold1-seed1-0123456789ab";
        for path in [
            "report.json",
            "report.json.burn-rank-0123456789abcdef.partial",
            ".lock",
            "trial-12-seed-7.json",
            "steps-1.json",
            "kept/fold1-seed12.run.txt",
            "kept/fold10-seed1.scores.txt",
            "kept/fold1-seed1.safetensors",
            &format!("{job}/state.json"),
            &format!("{job}/member-2/metrics.jsonl"),
            "member-1/state.json",
        ] {
            assert!(is_file_of_run(path), "{path}");
        }
        for path in [
            "notes",
            "report.json.12.partial",
            "trial-notes.json",
            "steps-#.json",
            "kept/notes",
            "kept/fold1-seedx.safetensors",
            "kept/fold-seed1.run.txt",
            "kept/fold1.scores.txt",
            "jobs/notes",
            "member-x/state.json",
            "member-1/notes",
            "a/report.json",
        ] {
            assert!(!is_file_of_run(path), "{path}");
        }
        assert!(is_folder_of_run(job) && is_folder_of_run("kept"));
        assert!(!is_folder_of_run(&format!("{job}/deep")) && !is_folder_of_run("final"));
    }
}
