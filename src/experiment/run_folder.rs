//! What is in the folder of a run: the name of every file, how each is recognised, and whose the folder is.
//!
//! A command owns a folder that it created, found empty, or marked. Folders of earlier versions have no mark: they are
//! owned where two of lock, configuration and results are there, each in the form in which runs write it. A file with
//! one of our names that is not as a run wrote it is the user's, and so is every file with another name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::config::is_resolved;
use super::keep::{KEPT, KeptKind, kept_kind};
use super::mark::{self, Mark};
use super::not_ours::NotOurs;
use super::record::RunRecord;
use crate::atomic_file::unfinished;
use crate::learner::gradient::is_log;
use crate::learner::{StopReason, is_state};
use crate::ranker::{Versions, is_card, is_ranker};
use crate::text::beginning;

/// The resolved configuration.
pub const CONFIG: &str = "config.toml";
/// The trained ranker of `train`.
pub const RANKER: &str = "ranker.safetensors";
/// The card of the ranker.
pub const CARD: &str = "README.md";
/// What a run found; written last.
pub const REPORT: &str = "report.json";
/// What may differ between machines and moments.
pub const RECORD: &str = "run.json";
/// Both as a page.
pub const PAGE: &str = "report.html";
/// The fits of `cv`, a folder each.
pub const JOBS: &str = "jobs";
/// What a fit continues from.
pub(crate) use crate::learner::STATE_FILE as STATE;
/// The rounds of the gradient learner.
pub(crate) use crate::learner::gradient::LOG_FILE as LOG;
/// The result in the folder of a finished job.
pub(crate) const RESULT: &str = "result.json";
/// Locked while a run lives; empty.
pub(crate) const LOCK: &str = ".lock";

/// A file that commands write.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: Cow<'static, str>,
    /// Whether a file is in the form of ours, for folders and files that no mark tells of.
    pub(crate) recognize: fn(&Path) -> bool,
    /// Whether the mark knows it by its content: not what is written often, nor what another command makes again.
    pub(crate) recorded: bool,
}

impl Entry {
    /// A file that the mark knows.
    #[cfg(feature = "cli")]
    pub(crate) fn recorded(name: impl Into<Cow<'static, str>>, recognize: fn(&Path) -> bool) -> Self {
        Self { name: name.into(), recognize, recorded: true }
    }
}

const fn entry(name: &'static str, recognize: fn(&Path) -> bool, recorded: bool) -> Entry {
    Entry { name: Cow::Borrowed(name), recognize, recorded }
}

/// The files of runs beside jobs, in the order of their removal: a folder without a report is unfinished.
pub(crate) static RUN_FILES: [Entry; 8] = [
    entry(REPORT, |path| report_kind(path).is_some(), true),
    entry(CONFIG, is_resolved, true),
    entry(RANKER, is_ranker, true),
    entry(STATE, is_state, false),
    entry(PAGE, is_page, false),
    entry(RECORD, is_record, true),
    entry(CARD, |path| fs::read_to_string(path).is_ok_and(|text| is_card(&text)), true),
    entry(LOG, is_log, false),
];

/// The files of a job, which are written often or are many: known by how they begin.
static JOB_FILES: [Entry; 4] = [
    entry(RESULT, is_result, false),
    entry(STATE, is_state, false),
    entry(LOG, is_log, false),
    entry(RANKER, is_ranker, false),
];

/// The file of this path, if it is one that a cross-validation keeps on request. Scores and TREC runs have no form of
/// their own: the mark alone knows them.
pub(crate) fn kept_entry(path: &str) -> Option<Entry> {
    let kind = kept_kind(path.strip_prefix(KEPT)?.strip_prefix('/')?)?;
    let recognize: fn(&Path) -> bool = match kind {
        KeptKind::Ranker => is_ranker,
        KeptKind::Scores | KeptKind::Run => |_| false,
    };
    Some(Entry { name: Cow::Owned(path.to_string()), recognize, recorded: true })
}

/// The command that a run is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// `train`
    Train,
    /// `cv`
    CrossValidation,
}

impl RunKind {
    /// Whether runs of this kind write `name` into their folder.
    fn writes(self, name: &str) -> bool {
        match self {
            RunKind::Train => ![JOBS, KEPT].contains(&name),
            RunKind::CrossValidation => [CONFIG, REPORT, RECORD, PAGE, JOBS, KEPT].contains(&name),
        }
    }
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The kind of run that a report is of, of this version or of another one; none of what is no report.
fn report_kind(path: &Path) -> Option<RunKind> {
    report_head(path).map(|(kind, _)| kind)
}

/// The kind of run that a report is of, and whether it was stopped before its end.
fn report_head(path: &Path) -> Option<(RunKind, bool)> {
    #[derive(Deserialize)]
    struct Head {
        command: String,
        #[serde(rename = "name")]
        _name: String,
        #[serde(rename = "config")]
        _config: Map<String, Value>,
        #[serde(rename = "versions")]
        _versions: Versions,
        /// Of `train` alone.
        #[serde(default)]
        stop: Option<Value>,
    }
    let head = parse::<Head>(path)?;
    let kind = match head.command.as_str() {
        "train" => RunKind::Train,
        "cv" => RunKind::CrossValidation,
        _ => return None,
    };
    Some((kind, head.stop == Some(json!(StopReason::Interrupted))))
}

fn is_record(path: &Path) -> bool {
    parse::<RunRecord>(path).is_some()
}

/// Whether the file is the page of a run or of a study, by its head.
pub(crate) fn is_page(path: &Path) -> bool {
    let head = beginning(path, 1 << 16).unwrap_or_default();
    let title = head.split_once("</title>").map_or("", |(before, _)| before);
    head.starts_with("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n")
        && ["train", "cv", "study"].iter().any(|command| title.ends_with(&format!(" \u{b7} burn-rank {command}")))
}

fn is_result(path: &Path) -> bool {
    let opening = "{\n  \"selection\": ";
    beginning(path, opening.len()).is_some_and(|head| head == opening)
}

/// Whether a folder in `jobs` has the name of a job: `fold1-seed1-0123456789ab`.
fn is_job(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = name.strip_prefix("fold").and_then(|rest| rest.split_once("-seed"));
    let parts = rest.and_then(|(fold, rest)| Some((fold, rest.split_once('-')?)));
    parts.is_some_and(|(fold, (seed, hash))| {
        digits(fold) && digits(seed) && hash.len() == 12 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether the file of an entry is ours; none where there is none.
pub(crate) fn standing(entry: &Entry, folder: &Path, mark: Option<&Mark>) -> Option<Result<(), NotOurs>> {
    let path = folder.join(&*entry.name);
    let kind = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(_) => return Some(Err(NotOurs::Content)),
        Ok(there) => there.file_type(),
    };
    if !kind.is_file() {
        return Some(Err(if kind.is_symlink() { NotOurs::Link } else { NotOurs::NotAFile }));
    }
    let known = mark.filter(|_| entry.recorded).and_then(|mark| mark.knows(&entry.name, &path));
    let ours = known.unwrap_or_else(|| (entry.recognize)(&path));
    Some(if ours { Ok(()) } else { Err(NotOurs::Content) })
}

/// What was found in a folder.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The mark of an earlier run.
    pub(crate) mark: Option<Mark>,
    /// Whether there is a lock.
    locked: bool,
    /// Files with our names that are ours.
    pub(crate) ours: Vec<String>,
    /// What has one of our names but is not ours.
    theirs: BTreeMap<String, NotOurs>,
    /// What has other names.
    foreign: Vec<String>,
    /// Halves of our files that a killed run left.
    pub(crate) unfinished: Vec<PathBuf>,
    /// The folders of jobs.
    pub(crate) jobs: Vec<PathBuf>,
    /// The files that were kept of selected fits, as paths in the folder.
    kept: Vec<String>,
    /// The kind of run that the report is of.
    report: Option<RunKind>,
    /// Whether the report is of a run that was stopped before its end.
    is_interrupted: bool,
}

impl Contents {
    /// Looks at a folder and changes nothing. `further` are files beside those of runs.
    pub(crate) fn read(folder: &Path, further: &[Entry]) -> io::Result<Self> {
        let mut found = Self::default();
        let entries: Vec<Entry> = RUN_FILES.iter().chain(further).cloned().collect();
        let known = |name: &str| entries.iter().any(|entry| entry.name == name);
        let (mut names, mut kept) = (Vec::new(), None);
        for there in fs::read_dir(folder)? {
            let there = there?;
            let (name, Some(kind)) = (there.file_name(), kind_of(&there)?) else { continue };
            let Some(name) = name.to_str() else {
                found.foreign.push(name.to_string_lossy().into_owned());
                continue;
            };
            match name {
                LOCK => found.locked = found.lock(&there, kind)?,
                mark::NAME => match Mark::read(&there.path(), kind) {
                    Ok(mark) => found.mark = Some(mark),
                    Err(reason) => drop(found.theirs.insert(name.to_string(), reason)),
                },
                JOBS => found.jobs(&there.path(), kind)?,
                KEPT => kept = Some((there.path(), kind)),
                _ if known(name) => names.push(name.to_string()),
                _ => match unfinished(name) {
                    Some(whole) if kind.is_file() && (known(whole) || whole == mark::NAME) => {
                        found.unfinished.push(there.path());
                    }
                    _ => found.foreign.push(name.to_string()),
                },
            }
        }
        for entry in entries.iter().filter(|entry| names.iter().any(|name| *name == entry.name)) {
            match standing(entry, folder, found.mark.as_ref()) {
                Some(Ok(())) => found.ours.push(entry.name.to_string()),
                Some(Err(reason)) => drop(found.theirs.insert(entry.name.to_string(), reason)),
                None => {}
            }
        }
        // The mark, which alone knows some of these files, is read by now.
        if let Some((path, kind)) = kept {
            found.kept(folder, &path, kind)?;
        }
        if found.has(REPORT) {
            let head = report_head(&folder.join(REPORT));
            found.report = head.map(|(kind, _)| kind);
            found.is_interrupted = head.is_some_and(|(_, interrupted)| interrupted);
        }
        Ok(found)
    }

    fn lock(&mut self, there: &fs::DirEntry, kind: fs::FileType) -> io::Result<bool> {
        let reason = match kind {
            _ if kind.is_symlink() => NotOurs::Link,
            _ if !kind.is_file() => NotOurs::NotAFile,
            _ if there.metadata()?.len() > 0 => NotOurs::Content,
            _ => return Ok(true),
        };
        self.theirs.insert(LOCK.to_string(), reason);
        Ok(false)
    }

    fn jobs(&mut self, path: &Path, kind: fs::FileType) -> io::Result<()> {
        if !kind.is_dir() {
            let reason = if kind.is_symlink() { NotOurs::Link } else { NotOurs::NotAFolder };
            self.theirs.insert(JOBS.to_string(), reason);
            return Ok(());
        }
        let mut other = true;
        for job in fs::read_dir(path)? {
            let job = job?;
            let (name, kind) = (job.file_name(), job.file_type()?);
            let Some(name) = name.to_str().filter(|name| is_job(name)) else { continue };
            other = false;
            let name = format!("{JOBS}/{name}");
            if !kind.is_dir() {
                let reason = if kind.is_symlink() { NotOurs::Link } else { NotOurs::NotAFolder };
                self.theirs.insert(name, reason);
                continue;
            }
            for entry in &JOB_FILES {
                if let Some(Err(reason)) = standing(entry, &job.path(), None) {
                    self.theirs.insert(format!("{name}/{}", entry.name), reason);
                }
            }
            for half in fs::read_dir(job.path())? {
                let half = half?;
                let of_job = half
                    .file_name()
                    .to_str()
                    .and_then(unfinished)
                    .is_some_and(|whole| JOB_FILES.iter().any(|entry| entry.name == whole));
                if of_job && kind_of(&half)?.is_some_and(|kind| kind.is_file()) {
                    self.unfinished.push(half.path());
                }
            }
            self.jobs.push(job.path());
        }
        if other {
            self.foreign.push(JOBS.to_string());
        }
        Ok(())
    }

    fn kept(&mut self, folder: &Path, path: &Path, kind: fs::FileType) -> io::Result<()> {
        if !kind.is_dir() {
            let reason = if kind.is_symlink() { NotOurs::Link } else { NotOurs::NotAFolder };
            self.theirs.insert(KEPT.to_string(), reason);
            return Ok(());
        }
        let mut other = true;
        for there in fs::read_dir(path)? {
            let there = there?;
            let name = there.file_name();
            let Some(name) = name.to_str() else { continue };
            if let Some(entry) = kept_entry(&format!("{KEPT}/{name}")) {
                other = false;
                match standing(&entry, folder, self.mark.as_ref()) {
                    Some(Ok(())) => self.kept.push(entry.name.to_string()),
                    Some(Err(reason)) => drop(self.theirs.insert(entry.name.to_string(), reason)),
                    None => {}
                }
            } else if unfinished(name).is_some_and(|whole| kept_kind(whole).is_some()) && there.file_type()?.is_file() {
                self.unfinished.push(there.path());
                other = false;
            }
        }
        if other {
            self.foreign.push(KEPT.to_string());
        }
        Ok(())
    }

    /// Whether this file is there, and ours.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.ours.iter().any(|ours| ours == name)
    }

    /// Whether there is the report of a run that came to its end.
    pub(crate) fn is_finished(&self) -> bool {
        self.has(REPORT) && !self.is_interrupted
    }

    /// Whether there is something of a run of `kind` to keep.
    pub(crate) fn keeps(&self, kind: RunKind) -> bool {
        self.report == Some(kind)
            || match kind {
                RunKind::Train => self.has(RANKER) || self.has(STATE),
                RunKind::CrossValidation => !self.jobs.is_empty(),
            }
    }

    /// Whether the folder is ours to write into.
    fn is_owned(&self) -> bool {
        let empty = self.ours.is_empty()
            && self.theirs.is_empty()
            && self.foreign.is_empty()
            && self.jobs.is_empty()
            && self.kept.is_empty();
        let of_runs = |name: &&String| RUN_FILES.iter().any(|entry| entry.name == ***name);
        let results = self.ours.iter().filter(|name| *name != CONFIG).filter(of_runs).count() + self.jobs.len();
        let further = self.ours.iter().filter(|name| !of_runs(name)).count();
        let evidence = usize::from(self.locked) + usize::from(self.has(CONFIG)) + results.min(1) + further;
        self.mark.is_some() || empty || evidence >= 2
    }

    /// What keeps a command from writing into the folder: in a folder of ours what has the name of a file that the
    /// command writes, in any other whatever is there.
    ///
    /// # Errors
    /// What was found, in words, and what to do.
    pub(crate) fn check(&self, writes: impl Fn(&str) -> bool) -> Result<(), String> {
        let top = |name: &str| name.split('/').next().unwrap_or(name).to_string();
        if self.is_owned() {
            let in_the_way = |name: &str| [LOCK, mark::NAME].contains(&name) || writes(name);
            return match self.theirs.iter().find(|(name, _)| in_the_way(&top(name))) {
                None => Ok(()),
                Some((name, reason)) => {
                    Err(format!("`{name}` {}; move it elsewhere, or choose another folder with --out", reason.words()))
                }
            };
        }
        let all = self.foreign.iter().chain(&self.ours).cloned().chain(self.theirs.keys().map(|name| top(name)));
        let jobs = self.jobs.first().map(|_| JOBS.to_string());
        let kept = self.kept.first().map(|_| KEPT.to_string());
        let names: BTreeSet<String> = all.chain(jobs).chain(kept).collect();
        let more = match names.len() {
            0 | 1 => String::new(),
            2 => " and 1 more entry".to_string(),
            count => format!(" and {} more entries", count - 1),
        };
        let first = names.first().map_or("", String::as_str);
        Err(format!(
            "holds `{first}`{more}, which burn-rank did not write there; choose a new or empty folder with --out"
        ))
    }

    /// [`check`](Self::check) for a run.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub(crate) fn check_for(&self, kind: RunKind) -> Result<(), String> {
        self.check(|name| kind.writes(name))
    }

    /// Removes what runs wrote, and nothing else.
    ///
    /// # Errors
    /// The file that cannot be removed.
    pub(crate) fn clear(&self, folder: &Path) -> Result<(), (PathBuf, io::Error)> {
        let remove = |name: &str| {
            let path = folder.join(name);
            let removed = fs::remove_file(&path);
            gone(path, removed)
        };
        self.clear_outcome(folder)?;
        for job in &self.jobs {
            for entry in &JOB_FILES {
                if let Some(Ok(())) = standing(entry, job, None) {
                    let path = job.join(&*entry.name);
                    let removed = fs::remove_file(&path);
                    gone(path, removed)?;
                }
            }
            emptied(job)?;
        }
        if !self.jobs.is_empty() {
            emptied(&folder.join(JOBS))?;
        }
        RUN_FILES.iter().filter(|entry| self.has(&entry.name)).try_for_each(|entry| remove(&entry.name))
    }

    /// Removes the report, which is not of the run that begins, and what was kept of selected fits.
    ///
    /// # Errors
    /// The file that cannot be removed.
    pub(crate) fn clear_outcome(&self, folder: &Path) -> Result<(), (PathBuf, io::Error)> {
        if self.has(REPORT) {
            let path = folder.join(REPORT);
            let removed = fs::remove_file(&path);
            gone(path, removed)?;
        }
        self.clear_kept(folder)
    }

    /// Removes what was kept of selected fits, and nothing else.
    ///
    /// # Errors
    /// The file that cannot be removed.
    pub(crate) fn clear_kept(&self, folder: &Path) -> Result<(), (PathBuf, io::Error)> {
        for name in &self.kept {
            let path = folder.join(name);
            let removed = fs::remove_file(&path);
            gone(path, removed)?;
        }
        if self.kept.is_empty() { Ok(()) } else { emptied(&folder.join(KEPT)) }
    }
}

/// What kind of file it is; none where another part of the run has renamed it meanwhile.
fn kind_of(there: &fs::DirEntry) -> io::Result<Option<fs::FileType>> {
    match there.file_type() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        kind => kind.map(Some),
    }
}

/// Ends a removal; what was not there is as good as removed.
fn gone(path: PathBuf, removed: io::Result<()>) -> Result<(), (PathBuf, io::Error)> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err((path, error)),
        _ => Ok(()),
    }
}

/// Removes a folder; one that holds something else stays.
fn emptied(path: &Path) -> Result<(), (PathBuf, io::Error)> {
    match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => gone(path.to_path_buf(), removed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `train` of the first version wrote it.
    const RESOLVED: &str = include_str!("../../tests/cli/unmarked/train/config.toml");

    /// A folder with these files.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn is_owned(files: &[(&str, &str)]) -> bool {
        Contents::read(folder(files).path(), &[]).unwrap().is_owned()
    }

    fn recognized(name: &str, text: &str) -> bool {
        let folder = folder(&[(name, text)]);
        let entry = RUN_FILES.iter().chain(&JOB_FILES).find(|entry| entry.name == name).unwrap();
        standing(entry, folder.path(), None) == Some(Ok(()))
    }

    #[test]
    fn a_resolved_configuration_is_one_to_the_letter() {
        assert!(recognized(CONFIG, RESOLVED));
        // Of an earlier version, which did not know a key.
        let earlier = RESOLVED.lines().filter(|line| !line.starts_with("max_line_bytes"));
        let earlier: String = earlier.map(|line| format!("{line}\n")).collect();
        assert_ne!(earlier, RESOLVED);
        assert!(recognized(CONFIG, &earlier));
        for changed in [
            format!("# mine\n{RESOLVED}"),
            format!("{RESOLVED}# mine\n"),
            RESOLVED.replace("seed = 1", "seed=1"),
            RESOLVED.replace("name = \"small\"\n", ""),
            RESOLVED.replace("[learner]", "[learner]\nepoch = 3"),
            String::new(),
        ] {
            assert!(!recognized(CONFIG, &changed), "{changed}");
        }
    }

    #[test]
    fn every_file_of_a_run_without_a_mark_is_recognized() {
        let unmarked = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/unmarked");
        let train = Contents::read(&unmarked.join("train"), &[]).unwrap();
        assert_eq!((train.ours.len(), train.theirs.len(), train.foreign.len()), (RUN_FILES.len(), 0, 0), "{train:?}");
        assert!(train.is_owned() && train.keeps(RunKind::Train) && !train.keeps(RunKind::CrossValidation));
        let cv = Contents::read(&unmarked.join("cv"), &[]).unwrap();
        assert_eq!((cv.ours.len(), cv.jobs.len(), cv.theirs.len(), cv.foreign.len()), (4, 3, 0, 0), "{cv:?}");
        assert!(cv.is_owned() && cv.keeps(RunKind::CrossValidation) && !cv.keeps(RunKind::Train));
    }

    #[test]
    fn files_of_others_with_our_names_are_not_ours() {
        for (name, texts) in [
            (REPORT, &["", "{}", "[]", r#"{"command": "train"}"#][..]),
            (RECORD, &["", "{}", r#"{"device": "flex"}"#]),
            (RANKER, &["", "mine", "\u{2}\0\0\0\0\0\0\0{}"]),
            (STATE, &["", "{}", r#"{"fit":"0","best_round":1}"#]),
            (RESULT, &["", "{}", r#"{"selection": 1}"#]),
            (LOG, &["{}", "mine\n"]),
            (
                PAGE,
                &[
                    "",
                    "<!DOCTYPE html>\n<html lang=\"en\"><title>mine</title></html>",
                    "<title>a \u{b7} burn-rank train</title>",
                ],
            ),
            (
                CARD,
                &[
                    "",
                    "# small\n",
                    "# small\n\nA linear ranker.\n\n| property | value |\n| made with | burn-rank 0 |\n",
                ],
            ),
        ] {
            for text in texts {
                assert!(!recognized(name, text), "{name}: {text}");
            }
        }
    }

    #[test]
    fn a_folder_without_a_mark_is_owned_when_empty_or_by_two_kinds_of_evidence() {
        let state = format!(r#"{{"fit":"{}","best_round":1}}"#, "0".repeat(64));
        let (lock, config, state, mine) = ((".lock", ""), (CONFIG, RESOLVED), (STATE, &state[..]), ("notes", "mine"));
        let job = ("jobs/fold1-seed1-0123456789ab/state.json", state.1);
        for owned in [
            &[][..],
            &[lock],
            &[lock, ("config.toml.12.partial", "na")],
            &[lock, config],
            &[lock, state, mine],
            &[config, state, mine],
            &[config, job, mine],
        ] {
            assert!(is_owned(owned), "{owned:?}");
        }
        for foreign in [
            &[mine][..],
            &[lock, mine],
            &[config],
            &[state],
            &[job],
            &[state, ("metrics.jsonl", "")],
            &[(".lock", "12"), config],
            &[lock, (CONFIG, "# mine\n")],
            &[lock, ("jobs/mine", "")],
            &[lock, ("notes.12.partial", "mine")],
        ] {
            assert!(!is_owned(foreign), "{foreign:?}");
        }
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

    #[test]
    fn what_is_in_the_way_is_named() {
        let told =
            |files: &[(&str, &str)]| Contents::read(folder(files).path(), &[]).unwrap().check_for(RunKind::Train);
        let advice = "which burn-rank did not write there; choose a new or empty folder with --out";
        assert_eq!(told(&[("b", "")]), Err(format!("holds `b`, {advice}")));
        assert_eq!(
            told(&[("b", ""), ("a", ""), ("jobs/c", "")]),
            Err(format!("holds `a` and 2 more entries, {advice}"))
        );
        let ours = [(CONFIG, RESOLVED), (".lock", ""), (CARD, "mine")];
        let words = "`README.md` is not as burn-rank wrote it; move it elsewhere, or choose another folder with --out";
        assert_eq!(told(&ours), Err(words.to_string()));
        // `cv` writes no card.
        assert_eq!(Contents::read(folder(&ours).path(), &[]).unwrap().check_for(RunKind::CrossValidation), Ok(()));
    }
}
