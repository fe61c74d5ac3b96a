//! What is in a folder: which files are ours, and what is in the way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::mark::{MARK, Mark, NotOurs};
use super::{CONFIG, JOB_FILES, JOBS, LOCK, RANKER, REPORT, STATE, top};
use crate::atomic_file::unfinished;
use crate::experiment::error::OutputError;
use crate::experiment::keep::{KEPT, kept_kind};

/// What was found in a folder that a command may write into.
#[derive(Debug)]
pub(super) struct Contents {
    /// The mark; the default one in an empty folder.
    pub(super) mark: Mark,
    /// The listed files that are there as they were written.
    ours: BTreeSet<String>,
    /// What has a name that the mark lists or that the command writes, but is not ours.
    theirs: BTreeMap<String, NotOurs>,
    /// The folders of our jobs.
    pub(super) jobs: Vec<PathBuf>,
    /// Halves of our files that a killed run left.
    halves: Vec<PathBuf>,
}

impl Contents {
    /// Looks at a folder, and changes nothing. `writes` are the names that the command writes.
    ///
    /// # Errors
    /// [`OutputError::NotOurs`]: in a marked folder something of the user's with such a name, in any other one whatever is
    /// there.
    pub(super) fn read(folder: &Path, writes: &[&str]) -> Result<Self, OutputError> {
        let unreadable = |source| OutputError::Unwritable { path: folder.to_path_buf(), source };
        let not_ours = |found| OutputError::NotOurs { path: folder.to_path_buf(), found };
        let in_the_way = |name: &str, reason: NotOurs| {
            not_ours(format!("`{name}` {reason}; move it elsewhere, or choose another folder with --out"))
        };
        let names = names(folder).map_err(unreadable)?;
        let mark = match Mark::read(folder) {
            Ok(Some(mark)) => mark,
            Ok(None) | Err(NotOurs::Content) => {
                return Self::of_unmarked(folder, names).map_err(not_ours);
            }
            Err(reason) => return Err(in_the_way(MARK, reason)),
        };
        let mut found = Self::of(mark);
        let listed: BTreeSet<String> =
            found.mark.wrote.keys().cloned().chain(writes.iter().map(|name| name.to_string())).collect();
        let is_half = |name: &str| unfinished(name).is_some_and(|whole| listed.contains(whole) || whole == MARK);
        found.add_halves(folder, &names, is_half);
        for name in listed.iter().filter(|name| ![JOBS, KEPT].contains(&name.as_str())) {
            found.judge(folder, name);
        }
        if names.iter().any(|name| name == LOCK) && !is_lock(&folder.join(LOCK)) {
            let standing = found.mark.standing(folder, LOCK).and_then(Result::err).unwrap_or(NotOurs::Content);
            found.theirs.insert(LOCK.to_string(), standing);
        }
        found.add_jobs(folder).and_then(|()| found.add_kept(folder)).map_err(unreadable)?;
        let is_in_the_way = |name: &str| name == LOCK || writes.contains(&top(name));
        match found.theirs.iter().find(|(name, _)| is_in_the_way(name)) {
            Some((name, reason)) => Err(in_the_way(name, *reason)),
            None => Ok(found),
        }
    }

    /// A folder with nothing in it but its mark.
    pub(super) fn of(mark: Mark) -> Self {
        Self { mark, ours: BTreeSet::new(), theirs: BTreeMap::new(), jobs: Vec::new(), halves: Vec::new() }
    }

    /// An unmarked folder is ours to use if it is empty, but for what a command leaves that is killed before its mark.
    fn of_unmarked(folder: &Path, names: Vec<String>) -> Result<Self, String> {
        let mut found = Self::of(Mark::default());
        found.add_halves(folder, &names, |name| unfinished(name) == Some(MARK));
        let left = |name: &str| name == LOCK && is_lock(&folder.join(LOCK)) || unfinished(name) == Some(MARK);
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

    /// Looks at one file.
    fn judge(&mut self, folder: &Path, name: &str) {
        match self.mark.standing(folder, name) {
            Some(Ok(())) => drop(self.ours.insert(name.to_string())),
            Some(Err(reason)) => drop(self.theirs.insert(name.to_string(), reason)),
            None => {}
        }
    }

    fn add_halves(&mut self, folder: &Path, names: &[String], is_half: impl Fn(&str) -> bool) {
        let halves = names.iter().filter(|name| is_half(name)).map(|name| folder.join(name));
        self.halves.extend(halves.filter(|path| fs::symlink_metadata(path).is_ok_and(|there| there.is_file())));
    }

    /// Looks at the folders of jobs, whose files the mark does not list one by one.
    fn add_jobs(&mut self, folder: &Path) -> io::Result<()> {
        let jobs = folder.join(JOBS);
        match self.mark.standing(folder, JOBS) {
            None => return Ok(()),
            Some(Err(reason)) if reason != NotOurs::Content => {
                self.theirs.insert(JOBS.to_string(), reason);
                return Ok(());
            }
            _ => {}
        }
        let every_file = Mark { wrote: JOB_FILES.map(|name| (name.to_string(), Vec::new())).into(), ..Mark::default() };
        for name in names(&jobs)?.into_iter().filter(|name| is_job(name)) {
            let (job, shown) = (jobs.join(&name), format!("{JOBS}/{name}"));
            let kind = fs::symlink_metadata(&job)?;
            let reason = match self.mark.wrote.contains_key(JOBS) {
                _ if kind.is_symlink() => NotOurs::Link,
                _ if !kind.is_dir() => NotOurs::NotAFolder,
                false => NotOurs::Content,
                true => {
                    for file in JOB_FILES {
                        if let Some(Err(reason)) = every_file.standing(&job, file) {
                            self.theirs.insert(format!("{shown}/{file}"), reason);
                        }
                    }
                    let is_half = |name: &str| unfinished(name).is_some_and(|whole| JOB_FILES.contains(&whole));
                    self.add_halves(&job, &names(&job)?, is_half);
                    self.jobs.push(job);
                    continue;
                }
            };
            self.theirs.insert(shown, reason);
        }
        Ok(())
    }

    /// Looks at what was kept of selected fits. The mark lists each file.
    fn add_kept(&mut self, folder: &Path) -> io::Result<()> {
        let kept = folder.join(KEPT);
        match fs::symlink_metadata(&kept) {
            Err(_) => return Ok(()),
            Ok(there) if !there.is_dir() => {
                let reason = if there.is_symlink() { NotOurs::Link } else { NotOurs::NotAFolder };
                self.theirs.insert(KEPT.to_string(), reason);
                return Ok(());
            }
            Ok(_) => {}
        }
        let names = names(&kept)?;
        self.add_halves(&kept, &names, |name| unfinished(name).is_some_and(|whole| kept_kind(whole).is_some()));
        for name in names.iter().filter(|name| kept_kind(name).is_some()) {
            self.judge(folder, &format!("{KEPT}/{name}"));
        }
        Ok(())
    }

    /// Removes what a killed run left of files that it had not finished. A leftover does no harm.
    pub(super) fn remove_halves(&self) {
        self.halves.iter().for_each(|half| drop(fs::remove_file(half)));
    }

    /// Whether this file is there, and ours.
    pub(super) fn has(&self, name: &str) -> bool {
        self.ours.contains(name)
    }

    /// The files that were kept of selected fits, as paths in the folder.
    pub(super) fn kept(&self) -> impl Iterator<Item = &String> {
        self.ours.iter().filter(|name| top(name) == KEPT)
    }

    /// Whether there is the whole result of a run.
    pub(super) fn is_finished(&self) -> bool {
        self.mark.finished && self.has(REPORT)
    }

    /// Whether there is something of a run to keep.
    pub(super) fn is_worth_keeping(&self) -> bool {
        [REPORT, RANKER, STATE].iter().any(|name| self.has(name))
            || !self.jobs.is_empty()
            || self.kept().next().is_some()
    }

    /// Whether the run has this resolved configuration.
    pub(super) fn is_of(&self, folder: &Path, configuration: &str) -> bool {
        self.has(CONFIG) && fs::read(folder.join(CONFIG)).is_ok_and(|text| text == configuration.as_bytes())
    }
}

/// The names in a folder. Those that are not text are shown as well as they can be.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Whether something is a lock: an empty file.
fn is_lock(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_file() && there.len() == 0)
}

/// Whether a folder in `jobs` has the name of a job: `fold1-seed1-0123456789ab`.
pub(super) fn is_job(name: &str) -> bool {
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

    /// What is said of a folder with these files, in which the mark lists `listed` without digests.
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
        assert!(told(&[(CARD, ""), job], Some(&[CARD, JOBS])).is_ok_and(|found| found.jobs.len() == 1));
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
