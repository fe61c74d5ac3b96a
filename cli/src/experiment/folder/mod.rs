//! The folder of a run: its file names, the rule for what burn-rank may overwrite, and how a new run replaces an old
//! one.
//!
//! A folder counts as burn-rank's only if it contains a [`Mark`](mark::Mark). A command writes only into a folder that
//! it created, that was empty, or that was marked. In a marked folder, a command replaces and removes only unchanged
//! files that the mark lists.
//!
//! A run that will replace another one is written to [`NEXT`], a marked folder inside the older run's folder. When the
//! new run is complete, [`swap`] moves its files into the place of the older run. Until the new run is complete, the
//! older run stays unchanged.

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

/// The file that contains the resolved configuration.
pub const CONFIG: &str = "config.toml";
/// The trained ranker from `train`.
pub const RANKER: &str = "ranker.safetensors";
/// The model card for the ranker.
pub const CARD: &str = "README.md";
/// The results of the run.
pub const REPORT: &str = "report.json";
/// Facts that may change when the run is repeated, such as times.
pub const RECORD: &str = "run.json";
/// The page that shows the results of a run.
pub const PAGE: &str = "report.html";
/// The folder with the fits of `cv`, each in a subfolder.
pub const JOBS: &str = "jobs";
/// The folder in which a new run is written until it replaces the run in the enclosing folder.
pub const NEXT: &str = ".next";
/// A copy of the ranker from which the run started. It is made if the run would otherwise overwrite that ranker.
pub(crate) const START: &str = "start.safetensors";
/// The log in which the gradient learner records its rounds.
pub(crate) use burn_rank::workbench::learner::LOG_FILE as LOG;
/// The saved state from which a stopped fit continues.
pub(crate) use burn_rank::workbench::learner::STATE_FILE as STATE;
/// The result of a finished job, in the job's folder.
pub(crate) const RESULT: &str = "result.json";
/// The empty file that a command locks while its run is in progress.
const LOCK: &str = ".lock";

/// The files of a run except its jobs, in the order in which they are removed. The report is removed first, because a
/// folder without a report counts as unfinished.
pub(crate) const RUN_FILES: [&str; 9] = [REPORT, CONFIG, RANKER, START, STATE, PAGE, RECORD, CARD, LOG];

/// Names that the mark lists without digests: files that are written often, and a folder with many files.
const WRITTEN_OFTEN: [&str; 3] = [STATE, LOG, JOBS];

/// The files in a job's folder.
const JOB_FILES: [&str; 4] = [RESULT, STATE, LOG, RANKER];

/// The command that makes a run.
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
    /// Returns the names that a run of this kind may write into its folder.
    fn writes(self) -> &'static [&'static str] {
        match self {
            RunKind::Train => &RUN_FILES,
            RunKind::CrossValidation => &[REPORT, CONFIG, PAGE, RECORD, JOBS, KEPT],
        }
    }
}

/// The permission for a command to continue or replace an earlier run in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Starts a new run, unless this would lose results.
    New,
    /// Continues the earlier run.
    Resume,
    /// Replaces the earlier run.
    Overwrite,
    /// Runs one part of a cross-validation alongside the other parts, and continues the fits that this part had already
    /// begun.
    Part {
        /// The number of parts.
        of: usize,
    },
    /// Merges the parts of a cross-validation.
    Merge,
}

/// Returns whether a name belongs to a run, rather than to another command that writes into the same folder.
fn is_of_run(name: &str) -> bool {
    RUN_FILES.contains(&name) || top(name) == JOBS || top(name) == KEPT
}

/// Returns whether a relative path in a run's folder refers to a folder, judging by the path alone.
fn is_folder(name: &str) -> bool {
    name == KEPT || top(name) == JOBS && name.matches('/').count() < 2
}

/// Returns the first component of a relative path.
fn top(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}
