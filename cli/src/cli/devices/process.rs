//! The processes of a comparison, which end with the command that started them, and the files that keep their results.

use std::fs;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use burn_rank::json::Value;
use burn_rank::learner::Interrupt;
use burn_rank::workbench::text::hexadecimal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use crate::cli::Failure;
use crate::experiment::OutputFolder;

/// How long to wait before checking again whether the process of a fit has ended.
const LOOK: Duration = Duration::from_millis(50);

/// The results of the processes of a comparison, each in a file.
pub(super) struct Results<'a> {
    pub folder: &'a OutputFolder,
    /// The arguments of the comparison.
    pub plan: &'a Value,
}

/// The contents of the file of a result.
#[derive(Serialize, Deserialize)]
struct Kept<T> {
    /// The checksum of the result, of the arguments of the comparison and of the file's name.
    sha256: String,
    result: T,
}

impl Results<'_> {
    /// Runs a process, and keeps its result in the file `name`. If an interrupted comparison left this file, returns
    /// its result and runs nothing. A file that is damaged, or that belongs to another fit, is made again. The inner
    /// error says why the process failed.
    pub fn of<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        command: Command,
        interrupt: &Interrupt,
    ) -> Result<Result<T, String>, Failure> {
        let path = self.folder.file(name);
        if let Ok(bytes) = fs::read(&path) {
            if let Ok(kept) = serde_json::from_slice::<Kept<T>>(&bytes)
                && kept.sha256 == self.checksum(name, &kept.result)?
            {
                return Ok(Ok(kept.result));
            }
            log::warn!("{}: found damage, or the result of another fit; made again", path.display());
            fs::remove_file(&path).map_err(Failure::unwritable)?;
        }
        let result = match run(command, interrupt)? {
            Ended::Interrupted => {
                return Err(Failure::work("interrupted; the fits so far are saved, --resume continues"));
            }
            Ended::Failed(reason) => return Ok(Err(reason)),
            Ended::Printed(text) => {
                serde_json::from_str::<T>(&text).map_err(|error| Failure::work(format!("{name}: {error}")))?
            }
        };
        let kept = Kept { sha256: self.checksum(name, &result)?, result };
        self.folder.write_json(name, &kept)?;
        Ok(Ok(kept.result))
    }

    fn checksum(&self, name: &str, result: &impl Serialize) -> Result<String, Failure> {
        let text = serde_json::to_string(&(self.plan, name, result))?;
        Ok(hexadecimal(&Sha256::digest(text)))
    }
}

/// How a process ended.
pub(super) enum Ended {
    /// The process succeeded and printed this text on its standard output.
    Printed(String),
    /// The process failed, with this error.
    Failed(String),
    /// A signal stopped the process.
    Interrupted,
}

/// Runs a command until it ends, or until a signal requests a stop.
pub(super) fn run(mut command: Command, interrupt: &Interrupt) -> Result<Ended, Failure> {
    // The child holds the other end of its standard input until it ends, or until this process does.
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let all = |stream: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // Bytes that cannot be read are missing at the end of the text.
            let _ = stream.map(|mut stream| stream.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let output = all(child.stdout.take().map(|stream| Box::new(stream) as _));
    let errors = all(child.stderr.take().map(|stream| Box::new(stream) as _));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if interrupt.requested() {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::Interrupted);
        }
        thread::sleep(LOOK);
    };
    let (output, errors) = (output.join().unwrap_or_default(), errors.join().unwrap_or_default());
    if interrupt.requested() {
        return Ok(Ended::Interrupted);
    }
    if status.success() {
        return Ok(Ended::Printed(output));
    }
    let said = errors.lines().rev().find(|line| !line.trim().is_empty()).map(str::trim);
    let said = said.map(|line| line.strip_prefix("error: ").unwrap_or(line).to_string());
    Ok(Ended::Failed(said.unwrap_or_else(|| format!("the process ended with {status} and said nothing"))))
}

/// Ends this process when its standard input ends, as it does when the process that started it is killed.
pub(super) fn end_with_input() {
    thread::spawn(|| {
        // An error is an end, too.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(1);
    });
}
