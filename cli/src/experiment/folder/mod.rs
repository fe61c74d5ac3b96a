//! The folder of a run: the names of its files, its owner, and the replacement of an older run by a new one.
//!
//! Only a [`Mark`](mark::Mark) identifies a folder as burn-rank's. A command writes only into a folder that it created,
//! found empty, or found marked. In a marked folder, a command replaces and removes only unchanged files that the mark
//! lists.
//!
//! A run that will replace another one is written to [`NEXT`], a marked folder inside the older run's folder. When the
//! new run is complete, [`swap`] moves it into the place of the older run. Until the new run is complete, the older run
//! stays unchanged.

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

/// The file of the resolved configuration.
pub const CONFIG: &str = "config.toml";
/// The file of the ranker that `train` trained.
pub const RANKER: &str = "ranker.safetensors";
/// The file of the ranker's card.
pub const CARD: &str = "README.md";
/// The file of a run's results.
pub const REPORT: &str = "report.json";
/// The file of facts that may change when a run is repeated, such as times.
pub const RECORD: &str = "run.json";
/// The page that shows the results of a run.
pub const PAGE: &str = "report.html";
/// The folder of the fits of `cv`, with a subfolder for each.
pub const JOBS: &str = "jobs";
/// The folder of a new run, inside the run that it will replace.
pub const NEXT: &str = ".next";
/// The copy of the ranker that a run started from, if that was the ranker in its own folder.
pub(crate) const START: &str = "start.safetensors";
/// The log of the gradient learner's rounds.
pub(crate) use burn_rank::workbench::learner::LOG_FILE as LOG;
/// The file of the state that a fit continues from.
pub(crate) use burn_rank::workbench::learner::STATE_FILE as STATE;
/// The file of the result in the folder of a finished job.
pub(crate) const RESULT: &str = "result.json";
/// The empty file that is locked while a run lives.
const LOCK: &str = ".lock";

/// The files of a run except its jobs, in the order of their removal. The report is removed first, because a folder
/// without a report counts as unfinished.
pub(crate) const RUN_FILES: [&str; 9] = [REPORT, CONFIG, RANKER, START, STATE, PAGE, RECORD, CARD, LOG];

/// The names that the mark lists without digests, because a run writes these files often or they are folders of many
/// files.
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
    /// Returns the names that runs of this kind write into their folder.
    fn writes(self) -> &'static [&'static str] {
        match self {
            RunKind::Train => &RUN_FILES,
            RunKind::CrossValidation => &[REPORT, CONFIG, PAGE, RECORD, JOBS, KEPT],
        }
    }
}

/// The right of a run to use or replace the files of earlier runs in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Starts a new run only where no results would be lost.
    New,
    /// Continues the earlier run.
    Resume,
    /// Replaces the earlier run.
    Overwrite,
    /// Works together with the other parts of the same cross-validation, and continues the files of its own part.
    Part {
        /// The number of parts.
        of: usize,
    },
    /// Merges the parts of a cross-validation.
    Merge,
}

/// Returns whether a name in a folder belongs to a run, rather than to another command.
fn is_of_run(name: &str) -> bool {
    RUN_FILES.contains(&name) || top(name) == JOBS || top(name) == KEPT
}

/// Returns whether a path in the folder of a run is the path of a folder.
fn is_folder(name: &str) -> bool {
    name == KEPT || top(name) == JOBS && name.matches('/').count() < 2
}

/// Returns the first component of a path in the folder of a run.
fn top(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}
