//! The processes of a comparison, which end with the command that started them, and the files that keep their results.
//!
//! `burn-rank devices trial` runs one fit on one device, or times its training steps, and prints the result as a JSON
//! object.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use burn_rank::json::Value;
use burn_rank::learner::Interrupt;
use burn_rank::workbench::text::hexadecimal;
use clap::Args;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::cli::{Failure, Opened, Result, RunArgs, work_on_this_thread};
use crate::device_comparison::{StepCost, Trial};
use crate::experiment::{Experiment, OutputFolder, Sets};

/// How long to wait before checking again whether the process of a fit has ended.
const LOOK: Duration = Duration::from_millis(50);

/// The results of the processes of a comparison, each in a file.
pub(super) struct Results<'a> {
    pub folder: &'a OutputFolder,
    /// The arguments of the comparison.
    pub plan: &'a Value,
    pub interrupt: &'a Interrupt,
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
    pub fn of<T: Serialize + DeserializeOwned>(&self, name: &str, command: Command) -> Result<Result<T, String>> {
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
        let text = match run(command, self.interrupt, "the fits so far are saved, --resume continues")? {
            Ok(text) => text,
            Err(reason) => return Ok(Err(reason)),
        };
        let result: T = serde_json::from_str(&text).map_err(|error| Failure::work(format!("{name}: {error}")))?;
        let kept = Kept { sha256: self.checksum(name, &result)?, result };
        self.folder.write_json(name, &kept)?;
        Ok(Ok(kept.result))
    }

    fn checksum(&self, name: &str, result: &impl Serialize) -> Result<String> {
        let text = serde_json::to_string(&(self.plan, name, result))?;
        Ok(hexadecimal(&Sha256::digest(text)))
    }
}

/// Runs a command until it ends, and returns what it printed on its standard output; the inner error says why it failed.
/// If a signal requests a stop, ends it and returns a failure that says what is `left`.
pub(super) fn run(mut command: Command, interrupt: &Interrupt, left: &str) -> Result<Result<String, String>> {
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
    while child.try_wait()?.is_none() && !interrupt.requested() {
        thread::sleep(LOOK);
    }
    if interrupt.requested() {
        // A process that has ended is not there to be ended.
        child.kill()?;
        child.wait()?;
        return Err(Failure::work(format!("interrupted; {left}")));
    }
    let status = child.wait()?;
    let (output, errors) = (output.join().unwrap_or_default(), errors.join().unwrap_or_default());
    if status.success() {
        return Ok(Ok(output));
    }
    let said = errors.lines().rev().find(|line| !line.trim().is_empty()).map(str::trim);
    let said = said.map(|line| line.strip_prefix("error: ").unwrap_or(line).to_string());
    Ok(Err(said.unwrap_or_else(|| format!("the process ended with {status} and said nothing"))))
}

/// Ends this process when its standard input ends, as it does when the process that started it is killed.
pub(super) fn end_with_input() {
    thread::spawn(|| {
        // An error is an end, too.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(1);
    });
}

/// Arguments of `devices trial`, which ends when its standard input ends.
#[derive(Debug, Args)]
pub struct TrialArgs {
    #[command(flatten)]
    run: RunArgs,
    /// A value of the measure that selects rounds; the trial reports how long training takes to reach it
    #[arg(long)]
    target: Option<f64>,
    /// Measure the cost of training steps instead of a fit
    #[arg(long)]
    steps: bool,
    /// Read the data, print their hashes and end
    #[arg(long)]
    read_only: bool,
}

impl TrialArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let begun = Instant::now();
        end_with_input();
        work_on_this_thread();
        let Opened { document, config, device, execution } = self.run.open(None, Experiment::from_document)?;
        let text = execution.scope(|| match (self.read_only, self.steps) {
            (true, _) => Ok::<_, Failure>(Sets::from_split(&config.data.split(config.seed)?).hashes().join("\n")),
            (_, true) => Ok(serde_json::to_string(&StepCost::measure(&document, &device)?)?),
            _ => Ok(serde_json::to_string(&Trial::run(&config, &device, begun, self.target)?)?),
        })?;
        Ok(writeln!(out, "{text}")?)
    }
}
