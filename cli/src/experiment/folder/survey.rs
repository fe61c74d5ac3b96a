//! Which entries of a run's folder burn-rank wrote, by their names.

use std::path::Path;
use std::{fs, io};

use burn_rank::workbench::atomic_file::unfinished;

use super::mark::MARK;
use super::{CARD, LOCK, PAGE, RANKER, RECORD, REPORT, RunKind};
use crate::experiment::error::OutputError;

/// The relative paths of the files that burn-rank writes. `#` stands for a number, and `*` for the name of a job. The
/// folders of a run are those that lead to these files.
const FILES: &str = "
    .burn-rank .lock config.toml report.json run.json report.html
    ranker.safetensors start.safetensors README.md state.json metrics.jsonl
    member-#/state.json member-#/metrics.jsonl
    jobs/*/result.json jobs/*/ranker.safetensors jobs/*/state.json jobs/*/metrics.jsonl
    jobs/*/member-#/state.json jobs/*/member-#/metrics.jsonl
    kept/fold#-seed#.safetensors kept/fold#-seed#.scores.txt kept/fold#-seed#.run.txt
    devices.json devices.html trial-#-seed-#.json steps-#.json
    study.json study.html
    model.safetensors config.json tokenizer.json tokenizer_config.json special_tokens_map.json vocab.txt modules.json
    sentence_bert_config.json config_sentence_transformers.json 1_Pooling/config.json";

/// The files that a fit writes after its ranker.
const AFTER_RANKER: [&str; 4] = [CARD, REPORT, RECORD, PAGE];

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
            let (name, kind) = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)))?;
            let path = format!("{within}{}", name.to_string_lossy());
            if kind.is_dir() && is_folder_of_run(&path) {
                self.walk(folder, &format!("{path}/"))?;
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
        let (last, files): (Vec<&String>, _) =
            self.files.iter().partition(|name| [MARK, LOCK].contains(&name.as_str()));
        files.into_iter().try_for_each(|name| gone(fs::remove_file(folder.join(name))))?;
        self.folders.iter().try_for_each(|name| gone(fs::remove_dir(folder.join(name))))?;
        last.into_iter().try_for_each(|name| gone(fs::remove_file(folder.join(name))))
    }

    /// Removes temporary files that a killed command left. Errors are ignored, because leftovers do no harm.
    pub(super) fn remove_halves(&self, folder: &Path) {
        let halves = self.files.iter().filter(|name| is_half(name));
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
    is_half(path) || FILES.split_whitespace().any(|pattern| fits(pattern, path))
}

/// Returns whether burn-rank makes folders of this relative path.
fn is_folder_of_run(path: &str) -> bool {
    let folders = |pattern: &'static str| pattern.match_indices('/').map(|(end, _)| &pattern[..end]);
    FILES.split_whitespace().flat_map(folders).any(|pattern| fits(pattern, path))
}

/// Returns whether a file has the name that a file has until it is completely written.
fn is_half(path: &str) -> bool {
    unfinished(path.rsplit('/').next().unwrap_or(path)).is_some()
}

/// Returns whether a relative path is one that a pattern in [`FILES`] stands for.
fn fits(pattern: &str, path: &str) -> bool {
    let is = |of: &str, name: &str| match of.contains('#') {
        true => of == shape(name),
        false => of == "*" || of == name,
    };
    let mut names = path.split('/');
    pattern.split('/').all(|of| names.next().is_some_and(|name| is(of, name))) && names.next().is_none()
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

/// Takes an entry that is absent, or a folder that is not empty, for removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if [io::ErrorKind::DirectoryNotEmpty, io::ErrorKind::NotFound].contains(&error.kind()) => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DEVICES, JOBS, LOG, MEMBER, RESULT, RUN_FILES, STATE, STUDY};
    use super::*;
    use crate::experiment::cross_validation::Keep;

    #[test]
    fn every_name_that_burn_rank_writes_is_of_a_run() {
        let whole = [MARK, LOCK].into_iter().chain(RUN_FILES).chain(DEVICES).chain(STUDY);
        let files = whole.chain(RunKind::Text.results().iter().copied()).map(str::to_owned);
        let of_job = [RESULT, STATE, LOG, RANKER].map(|name| format!("{JOBS}/fold1-seed1-0123456789ab/{name}"));
        let of_member = [STATE, LOG].map(|name| format!("{MEMBER}12/{name}"));
        let kept = Keep { rankers: true, scores: true, runs: true, fold_scores: None }.files(2, 17);
        for path in files.chain(of_job).chain(of_member).chain(kept) {
            assert!(is_file_of_run(&path), "{path}");
        }
    }

    #[test]
    fn only_names_that_burn_rank_writes_are_of_a_run() {
        let job = "jobs/fold1-seed1-0123456789ab";
        let ours = "report.json report.json.burn-rank-0123456789abcdef.partial .lock trial-12-seed-7.json steps-1.json
            kept/fold1-seed12.run.txt kept/fold10-seed1.scores.txt kept/fold1-seed1.safetensors
            jobs/fold1-seed1-0123456789ab/state.json jobs/fold1-seed1-0123456789ab/member-2/metrics.jsonl
            member-1/state.json 1_Pooling/config.json";
        let others = "notes 2_Pooling/config.json report.json.12.partial trial-notes.json steps-#.json kept/notes
            kept/fold1-seedx.safetensors kept/fold-seed1.run.txt kept/fold1.scores.txt jobs/notes member-x/state.json member-1/notes a/report.json";
        for (paths, expected) in [(ours, true), (others, false)] {
            paths.split_whitespace().for_each(|path| assert_eq!(is_file_of_run(path), expected, "{path}"));
        }
        assert!(is_folder_of_run(job) && is_folder_of_run("kept"));
        assert!(!is_folder_of_run(&format!("{job}/deep")) && !is_folder_of_run("final"));
    }
}
