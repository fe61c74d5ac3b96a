//! The folder of a run: the names in it, its owner, and the replacement of an older run by a new one.
//!
//! Only its [`Mark`](mark::Mark) identifies a folder. A command writes only into a folder that it made, found empty, or
//! marked. There it replaces and removes only files that the mark lists and that are unchanged.
//!
//! A run that will replace another one is written to [`NEXT`], a marked folder inside the older run's folder. When it
//! is complete, [`swap`] moves it into the place of the older run. Until then the older run stays as it was.

mod contents;
mod lock;
mod mark;
mod output;
mod plan;
mod swap;

pub use output::OutputFolder;
pub(crate) use output::write_page;
pub(crate) use swap::settle;

use serde::{Deserialize, Serialize};

use super::keep::KEPT;

/// The resolved configuration.
pub const CONFIG: &str = "config.toml";
/// The trained ranker of `train`.
pub const RANKER: &str = "ranker.safetensors";
/// The card of the ranker.
pub const CARD: &str = "README.md";
/// The results of a run.
pub const REPORT: &str = "report.json";
/// Facts that may differ between machines and moments.
pub const RECORD: &str = "run.json";
/// Both as a page.
pub const PAGE: &str = "report.html";
/// The fits of `cv`, a folder each.
pub const JOBS: &str = "jobs";
/// The folder of a new run, inside the run that it will replace.
pub const NEXT: &str = ".next";
/// The ranker that a run started from, if it was the one in its own folder.
pub(crate) const START: &str = "start.safetensors";
/// The rounds of the gradient learner.
pub(crate) use burn_rank::workbench::learner::LOG_FILE as LOG;
/// The state that a fit continues from.
pub(crate) use burn_rank::workbench::learner::STATE_FILE as STATE;
/// The result in the folder of a finished job.
pub(crate) const RESULT: &str = "result.json";
/// Locked while a run lives; empty.
const LOCK: &str = ".lock";

/// The files of runs, without jobs, in the order of their removal: a folder without a report is unfinished.
pub(crate) const RUN_FILES: [&str; 9] = [REPORT, CONFIG, RANKER, START, STATE, PAGE, RECORD, CARD, LOG];

/// Files that a run writes often, or folders of many files: the mark lists these names without digests.
const WRITTEN_OFTEN: [&str; 3] = [STATE, LOG, JOBS];

/// The files of a job.
const JOB_FILES: [&str; 4] = [RESULT, STATE, LOG, RANKER];

/// The command that made a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunKind {
    /// `train`
    #[serde(rename = "train")]
    Train,
    /// `cv`
    #[serde(rename = "cv")]
    CrossValidation,
}

impl RunKind {
    /// The names that runs of this kind write into their folder.
    fn writes(self) -> &'static [&'static str] {
        match self {
            RunKind::Train => &RUN_FILES,
            RunKind::CrossValidation => &[REPORT, CONFIG, PAGE, RECORD, JOBS, KEPT],
        }
    }
}

/// The rights of a run over the files of earlier runs in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Nothing may be lost.
    New,
    /// Continue it.
    Resume,
    /// Take its place.
    Overwrite,
    /// Work in it together with the other parts of the same cross-validation, `of` in number; continue the files of
    /// this part.
    Part {
        /// Number of parts.
        of: usize,
    },
    /// Put together the parts of this cross-validation.
    Merge,
}

/// Whether a run wrote this name into its folder, and another command did not.
fn is_of_run(name: &str) -> bool {
    RUN_FILES.contains(&name) || top(name) == JOBS || top(name) == KEPT
}

/// Whether a name in the folder of a run is the name of a folder.
fn is_folder(name: &str) -> bool {
    name == KEPT || top(name) == JOBS && name.matches('/').count() < 2
}

/// The first folder of a path in the folder of a run, or the file itself.
fn top(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}
