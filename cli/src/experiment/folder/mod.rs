//! The folder of a run: its file names, when a command may write into it, and how a new run takes the place of an old
//! one.
//!
//! A folder is known by its [mark](mark::Mark), a small file that says which run it holds. A command writes only into a
//! folder that is new, empty or marked with the same run. A run that replaces another one grows in a folder next to it,
//! and the two folders exchange their names when the new run is complete ([`exchange`]). So a folder never holds files
//! of two runs.

mod exchange;
mod mark;
mod output;
mod survey;

pub(crate) use exchange::{put_right, ranker_file, successor_file};
pub use mark::Identity;
pub(crate) use mark::is_run;
pub use output::OutputFolder;
pub(crate) use output::write_page;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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
/// A copy of the ranker from which the run started. It is made if the run would otherwise overwrite that ranker.
pub(crate) const START: &str = "start.safetensors";
/// The log in which the gradient learner records its rounds.
pub(crate) use burn_rank::workbench::learner::LOG_FILE as LOG;
/// The saved state from which a stopped fit continues.
pub(crate) use burn_rank::workbench::learner::STATE_FILE as STATE;
/// The result of a finished job, in the job's folder.
pub(crate) const RESULT: &str = "result.json";
/// The table of a device comparison, and its page.
pub(crate) const DEVICES: [&str; 2] = ["devices.json", "devices.html"];
/// The results of a study, and their page.
pub(crate) const STUDY: [&str; 2] = ["study.json", "study.html"];
/// The folder of runs without `--out`.
const RUNS: &str = "runs";
/// The empty file that a command locks while its run is in progress.
const LOCK: &str = ".lock";

/// The weights of a trained text model.
const MODEL: &str = "model.safetensors";
/// The beginning of the names of the folders in which the members of an ensemble keep their states.
pub(crate) const MEMBER: &str = "member-";

/// The files of a run except its jobs.
pub(crate) const RUN_FILES: [&str; 9] = [REPORT, CONFIG, RANKER, START, STATE, PAGE, RECORD, CARD, LOG];

/// The command that makes a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// `train`
    Train,
    /// `burn-rank-text train`
    #[serde(rename = "text train")]
    Text,
    /// `cv`
    #[serde(rename = "cv")]
    CrossValidation,
    /// `devices compare`
    #[serde(rename = "devices compare")]
    Comparison,
    /// `study`
    Study,
    /// Commands that write files without the state of a run, such as `synth --parts`.
    Files,
}

impl RunKind {
    /// Returns the files without which a run of this kind is not finished.
    fn results(self) -> &'static [&'static str] {
        match self {
            RunKind::Train => &[RANKER, REPORT],
            RunKind::Text => &[MODEL, REPORT],
            RunKind::CrossValidation => &[REPORT],
            RunKind::Comparison => &[DEVICES[0]],
            RunKind::Study => &[STUDY[0]],
            RunKind::Files => &[],
        }
    }

    /// Returns the name of the command, in backticks.
    fn name(self) -> String {
        serde_json::to_string(&self).unwrap_or_default().replace('"', "`")
    }
}

/// Where a run goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// This folder.
    Folder(PathBuf),
    /// The first of `runs/NAME`, `runs/NAME-2`, `runs/NAME-3` that is free or holds the same run.
    Runs(String),
}

impl Place {
    /// Returns the folder `out`, by default one in `runs`. A run that overwrites another one goes to `runs/NAME`.
    pub fn new(out: Option<PathBuf>, name: &str, claim: Claim) -> Self {
        match out {
            None if claim == Claim::Overwrite => Place::Folder(Path::new(RUNS).join(name)),
            None => Place::Runs(name.to_string()),
            Some(path) => Place::Folder(path),
        }
    }
}

/// The claim of a command on a folder: what happens to an earlier run in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Starts a new run. A finished run of the same configuration and data counts as the result.
    New,
    /// Continues an unfinished run of the same configuration and data.
    Resume,
    /// Makes a new run that takes the place of the earlier one when it is complete.
    Overwrite,
    /// Runs one part of a cross-validation alongside the other parts.
    Part {
        /// The number of parts.
        of: usize,
    },
    /// Merges the parts of a cross-validation.
    Merge,
}

/// Formats a value as the JSON of a report.
pub(crate) fn json_bytes(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}
