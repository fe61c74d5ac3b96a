//! Reads the contents of a folder, and distinguishes burn-rank's own files from the user's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use burn_rank::workbench::atomic_file::unfinished;

use super::lock::is_lock;
use super::mark::{MARK, Mark, NotOurs, plain};
use super::{CONFIG, JOB_FILES, JOBS, LOCK, RANKER, REPORT, STATE, top};
use crate::experiment::error::OutputError;
use crate::experiment::keep::{KEPT, kept_kind};

/// The contents of a folder that a command may write into.
#[derive(Debug)]
pub(super) struct Contents {
    /// The mark of the folder, or the default mark if the folder is empty.
    pub(super) mark: Mark,
    /// The files in the mark's list that are unchanged since they were written.
    ours: BTreeSet<String>,
    /// Entries that burn-rank did not write. Their names are listed in the mark, or the command would write files with
    /// these names.
    theirs: BTreeMap<String, NotOurs>,
    /// Unfinished files left behind by a run that was killed.
    halves: Vec<PathBuf>,
}

impl Contents {
    /// Lists and classifies the entries of a folder, without changing anything. `writes` lists the names that the
    /// command writes.
    ///
    /// # Errors
    /// Returns [`OutputError::NotOurs`] if the command would overwrite a user's file, or if an unmarked folder is not
    /// empty.
    pub(super) fn read(folder: &Path, writes: &[&str]) -> Result<Self, OutputError> {
        let in_the_way = |name: &str, reason: NotOurs| {
            let found = format!("`{name}` {reason}; move it elsewhere, or choose another folder with --out");
            OutputError::not_ours(folder, found)
        };
        let names = names(folder).map_err(OutputError::unwritable(folder))?;
        let mark = match Mark::read(folder) {
            Ok(Some(mark)) => mark,
            Ok(None) | Err(NotOurs::Content) => {
                return Self::of_unmarked(folder, names).map_err(|found| OutputError::not_ours(folder, found));
            }
            Err(reason) => return Err(in_the_way(MARK, reason)),
        };
        let mut found = Self::of(mark);
        for name in names {
            found.judge(folder, name, writes);
        }
        let is_in_the_way = |name: &str| name == LOCK || writes.contains(&top(name));
        match found.theirs.iter().find(|(name, _)| is_in_the_way(name)) {
            Some((name, reason)) => Err(in_the_way(name, *reason)),
            None => Ok(found),
        }
    }

    /// Returns the contents of a folder that holds only its mark.
    pub(super) fn of(mark: Mark) -> Self {
        Self { mark, ours: BTreeSet::new(), theirs: BTreeMap::new(), halves: Vec::new() }
    }

    /// Judges an unmarked folder. An empty folder can be used. If a command was killed before it wrote the mark, its
    /// files are ignored.
    fn of_unmarked(folder: &Path, names: Vec<String>) -> Result<Self, String> {
        let mut found = Self::of(Mark::default());
        let is_half = |name: &String| unfinished(name) == Some(MARK);
        found.halves = names.iter().filter(|name| is_half(name)).map(|name| folder.join(name)).collect();
        let left = |name: &String| name == LOCK && is_lock(&folder.join(LOCK)) || is_half(name) || name.contains('/');
        let mut others: Vec<String> = names.into_iter().filter(|name| !left(name)).collect();
        others.sort();
        let more = match others.len() {
            0 => return Ok(found),
            1 => String::new(),
            2 => " and 1 more entry".to_string(),
            count => format!(" and {} more entries", count - 1),
        };
        let advice = "which burn-rank did not write there; choose a new or empty folder with --out";
        Err(format!("holds `{}`{more}, {advice}", others[0]))
    }

    /// Records whether an entry belongs to burn-rank, belongs to the user, or is an unfinished file.
    fn judge(&mut self, folder: &Path, name: String, writes: &[&str]) {
        let wrote = |name: &str| self.mark.wrote.contains_key(name);
        let is_known = |name: &str| match name.split('/').collect::<Vec<_>>()[..] {
            [JOBS, _, file] => wrote(JOBS) && JOB_FILES.contains(&file),
            [JOBS, _] => true,
            [KEPT, file] => kept_kind(file).is_some(),
            _ => wrote(name) || writes.contains(&name),
        };
        let standing = self.mark.standing(folder, &name).filter(|_| is_known(&name) || name == LOCK);
        match standing {
            Some(_) if name == LOCK && is_lock(&folder.join(LOCK)) => {}
            // Others may have files in a folder of this name.
            Some(Err(NotOurs::Content)) if [JOBS, KEPT].contains(&&*name) => {}
            Some(Ok(())) => drop(self.ours.insert(name)),
            Some(Err(reason)) => drop(self.theirs.insert(name, reason)),
            None => {
                let path = folder.join(&name);
                let is_half = unfinished(&name).is_some_and(|whole| is_known(whole) || whole == MARK);
                self.halves.extend(Some(path).filter(|path| is_half && plain(path, false) == Some(Ok(()))));
            }
        }
    }

    /// Removes the unfinished files of a killed run. Errors are ignored, because leftovers do no harm.
    pub(super) fn remove_halves(&self) {
        self.halves.iter().for_each(|half| drop(fs::remove_file(half)));
    }

    /// Returns whether the folder contains a file with this name that burn-rank wrote.
    pub(super) fn has(&self, name: &str) -> bool {
        self.ours.contains(name)
    }

    /// Returns burn-rank's unchanged files and folders, as relative paths. The contents of a subfolder come before the
    /// subfolder.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.ours.iter().rev()
    }

    /// Returns the unchanged files that a cross-validation kept for its selected fits, as relative paths.
    pub(super) fn kept(&self) -> impl Iterator<Item = &String> {
        self.ours.iter().filter(|name| top(name) == KEPT)
    }

    /// Returns whether the folder holds the complete result of a run.
    pub(super) fn is_finished(&self) -> bool {
        self.mark.finished && self.has(REPORT)
    }

    /// Returns whether the folder holds a report, a ranker, a saved state or a job.
    pub(super) fn is_worth_keeping(&self) -> bool {
        self.ours.iter().any(|name| [REPORT, RANKER, STATE].contains(&&**name) || name.contains('/'))
    }

    /// Returns whether the `config.toml` in the folder is this configuration. The description may differ.
    pub(super) fn is_of(&self, folder: &Path, configuration: &str) -> bool {
        let there = fs::read_to_string(folder.join(CONFIG)).ok().filter(|_| self.has(CONFIG));
        there.is_some_and(|text| {
            text == configuration || undescribed(&text).is_some_and(|of| Some(of) == undescribed(configuration))
        })
    }
}

/// Returns a configuration without its description, or `None` if the text is not TOML.
fn undescribed(configuration: &str) -> Option<toml::Table> {
    let mut table: toml::Table = configuration.parse().ok()?;
    table.remove("description");
    Some(table)
}

/// Returns the names in a folder and in its subfolders for jobs and kept files, as relative paths. Invalid UTF-8 in a
/// name is replaced.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let list = |name: &str| -> io::Result<Vec<String>> {
        let shown = |entry: fs::DirEntry| match (name, entry.file_name().to_string_lossy()) {
            ("", entry) => entry.into_owned(),
            (name, entry) => format!("{name}/{entry}"),
        };
        fs::read_dir(folder.join(name))?.map(|entry| entry.map(shown)).collect()
    };
    let below = |name: &str| match plain(&folder.join(name), true) {
        Some(Ok(())) => list(name),
        _ => Ok(Vec::new()),
    };
    let mut found = [list("")?, below(KEPT)?].concat();
    for job in below(JOBS)?.into_iter().filter(|job| is_job(&job[JOBS.len() + 1..])) {
        found.extend(below(&job)?);
        found.push(job);
    }
    Ok(found)
}

/// Returns whether a folder in `jobs` has the name of a job, such as `fold1-seed1-0123456789ab`.
fn is_job(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = name.strip_prefix("fold").and_then(|rest| rest.split_once("-seed"));
    let parts = rest.and_then(|(fold, rest)| Some((fold, rest.split_once('-')?)));
    parts.is_some_and(|(fold, (seed, hash))| {
        digits(fold) && digits(seed) && hash.len() == 12 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::super::{CARD, CONFIG};
    use super::*;

    /// Makes a folder with the given files. Unless `listed` is `None`, also makes a mark that lists these names without
    /// digests. Then reads the folder's contents.
    fn told(files: &[(&str, &str)], listed: Option<&[&str]>) -> Result<Contents, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        if let Some(listed) = listed {
            let wrote = listed.iter().map(|name| (name.to_string(), Vec::new())).collect();
            Mark { wrote, ..Mark::default() }.write(folder.path()).unwrap();
        }
        let read = Contents::read(folder.path(), &[CONFIG, CARD, JOBS, KEPT]);
        read.map_err(|error| error.to_string().split_once(": ").unwrap().1.to_string())
    }

    #[test]
    fn an_unmarked_folder_is_ours_only_if_it_is_empty() {
        for ours in [&[][..], &[(LOCK, "")], &[(LOCK, ""), (".burn-rank.12.partial", "{")]] {
            assert!(told(ours, None).is_ok(), "{ours:?}");
        }
        let advice = "which burn-rank did not write there; choose a new or empty folder with --out";
        for (files, words) in [
            (&[("b", "")][..], "`b`"),
            (&[("b", ""), ("a", ""), ("jobs/c", "")], "`a` and 2 more entries"),
            (&[(LOCK, "12")], "`.lock`"),
            (&[(CONFIG, "seed = 1"), (LOCK, "")], "`config.toml`"),
            (&[("config.toml.12.partial", "")], "`config.toml.12.partial`"),
            (&[(MARK, "{}"), ("notes", "")], "`.burn-rank` and 1 more entry"),
        ] {
            assert_eq!(told(files, None).unwrap_err(), format!("holds {words}, {advice}"));
        }
    }

    #[test]
    fn what_the_mark_does_not_list_is_the_users() {
        let job = ("jobs/fold1-seed1-0123456789ab/state.json", "{}");
        assert!(told(&[("notes", ""), ("jobs/mine", "")], Some(&[])).is_ok());
        assert!(told(&[(CARD, ""), job], Some(&[CARD, JOBS])).is_ok_and(|found| found.has(job.0)));
        let words = "is not as burn-rank wrote it; move it elsewhere, or choose another folder with --out";
        for (file, shown) in [
            ((CARD, "mine"), "README.md"),
            (job, "jobs/fold1-seed1-0123456789ab"),
            (("kept/fold1-seed1.scores.txt", "1"), "kept/fold1-seed1.scores.txt"),
        ] {
            assert_eq!(told(&[file], Some(&[])).unwrap_err(), format!("`{shown}` {words}"));
        }
        assert_eq!(
            told(&[(JOBS, "mine")], Some(&[])).unwrap_err(),
            format!("`jobs` {}", words.replace("is not as burn-rank wrote it", "is not a folder"))
        );
    }

    #[test]
    fn folders_of_jobs_are_known_by_their_names() {
        assert!(is_job("fold12-seed1-0123456789ab"));
        for other in
            ["fold1-seed1", "fold-seed1-0123456789ab", "fold1-seed1-0123456789aB.txt", "foldx-seed1-0123456789ab"]
        {
            assert!(!is_job(other), "{other}");
        }
    }
}
