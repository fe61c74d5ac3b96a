//! Logs the rounds of a fit, line by line.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::atomic_file;
use crate::learner::error::{LearnerError, Result};
use crate::learner::shared::context::Round;

/// The name of the log file in the directory of a fit.
pub const LOG_FILE: &str = "metrics.jsonl";

/// The path and the open file of the log, or `None` if the fit has no folder.
#[derive(Default)]
pub(super) struct MetricsLog(Option<(PathBuf, File)>);

impl MetricsLog {
    /// Opens the log, and replaces its contents with the rounds in `history`. A killed fit may have logged rounds after
    /// its last saved state. These unsaved rounds are dropped, and logged again when the resumed fit repeats them.
    pub(super) fn open(directory: Option<&Path>, history: &[Round]) -> Result<Self> {
        let Some(directory) = directory else { return Ok(Self(None)) };
        let path = directory.join(LOG_FILE);
        let file = atomic_file::replace_with(&path, |file| history.iter().try_for_each(|round| line(file, round)))
            .and_then(|()| File::options().append(true).open(&path))
            .map_err(|error| LearnerError::State { path: path.clone(), reason: error.to_string() })?;
        Ok(Self(Some((path, file))))
    }

    /// Adds a round to the log.
    pub(super) fn write(&mut self, round: &Round) -> Result<()> {
        let Some((path, file)) = &mut self.0 else { return Ok(()) };
        line(file, round).map_err(|error| LearnerError::State { path: path.clone(), reason: error.to_string() })
    }
}

fn line(file: &mut dyn Write, round: &Round) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(round)?;
    text.push(b'\n');
    file.write_all(&text)
}
