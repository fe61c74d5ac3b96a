//! Arguments that every command with a configuration accepts, and code that opens the configuration.

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

use burn::tensor::Device;
use burn_rank::device::{self, DeviceError};
use burn_rank::op::{Execution, Instructions};
use burn_rank::workbench::text::harmless;
use clap::Args;
use rayon::{ThreadBuilder, ThreadPoolBuilder};

use super::{Result, process};
use crate::experiment::{Claim, ConfigError, Document, Experiment, Place};

/// Opens the device called `name`, or the default device if there is no name. If a backend panics because a driver is
/// missing, the returned error contains its message, and nothing else is printed.
pub fn open_device(name: Option<&str>) -> Result<Device, DeviceError> {
    process::quietly(|| name.map_or_else(device::open_default, device::open))
}

/// The arguments of a command that runs a configuration.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Configuration file
    config: PathBuf,
    /// Device, as listed by `burn-rank devices` [default: the configuration's, else
    /// BURN_DEVICE, else flex]
    #[arg(long)]
    device: Option<String>,
    /// Instructions of the fused kernels on the CPU, as listed by `burn-rank devices` [default: the configuration's,
    /// else the best]
    #[arg(long, value_name = "SET")]
    instructions: Option<String>,
    /// Set a key of the configuration, as in learner.epochs=10; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// A checked configuration, with its opened device and its settings for execution.
pub struct Opened {
    pub document: Document,
    pub config: Experiment,
    pub device: Device,
    pub execution: Execution,
}

impl RunArgs {
    /// Reads the configuration and opens its device. Before that, sets a key to the value that a command-line option
    /// gave. `read` decodes and checks the document.
    pub fn open(
        &self,
        option: Option<(&str, &str, String)>,
        read: fn(&Document) -> Result<Experiment, ConfigError>,
    ) -> Result<Opened> {
        let mut document = Document::read(&self.config, &self.set)?;
        let device = self.device.clone().map(|name| ("device", "--device", name));
        let instructions = self.instructions.clone().map(|set| ("instructions", "--instructions", set));
        for (key, flag, value) in [device, instructions, option].into_iter().flatten() {
            document.set_option(key, flag, &value);
        }
        document.set_default_device();
        let config = read(&document)?;
        let refuse = |key: &str, error: &dyn Display| document.refuse(key, &error.to_string());
        let device = open_device(Some(&config.device)).map_err(|error| refuse("device", &error))?;
        let mut execution = Execution::current();
        if let Some(set) = config.instructions {
            execution = execution.with_instructions(set).map_err(|error| refuse("instructions", &error))?;
        }
        Ok(Opened { document, config, device, execution })
    }
}

/// Options for the folder of a run.
#[derive(Debug, Clone, Args)]
pub struct FolderArgs {
    /// Folder for the results: new, empty, or the folder of an earlier run. A finished run of the same configuration
    /// and data is not repeated [default: runs/NAME, or runs/NAME-2, .. if that holds another run]
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Continue a run that was stopped
    #[arg(long)]
    pub resume: bool,
    /// Replace the run in the folder once the new one is complete. If the folder holds files that burn-rank did not
    /// write, the old folder stays as OUT.old-1
    #[arg(long, conflicts_with = "resume")]
    pub overwrite: bool,
}

impl FolderArgs {
    /// Returns what the command does with an earlier run: keep it, resume it, or overwrite it.
    pub fn claim(&self) -> Claim {
        match (self.resume, self.overwrite) {
            (true, _) => Claim::Resume,
            (_, true) => Claim::Overwrite,
            _ => Claim::New,
        }
    }

    /// Returns the folder of the run with this name.
    pub fn place(&self, name: &str) -> Place {
        Place::new(self.out.clone(), name, self.claim())
    }
}

/// Returns the line that ends the output of a run: where it is, and the page to look at.
pub fn written_to(folder: &Path, page: &str, is_new: bool) -> String {
    let words = if is_new { "written to" } else { "finished before; nothing was trained again:" };
    harmless(&format!("{words} {}, open {}", folder.display(), folder.join(page).display())).into_owned()
}

/// Options that determine how losses and other primitives are computed.
#[derive(Debug, Args)]
pub struct ExecutionArgs {
    /// CPU instructions that the fused kernels use, as listed by `burn-rank devices` [default: the best]
    #[arg(long, value_name = "SET", global = true)]
    instructions: Option<String>,
}

impl ExecutionArgs {
    /// Runs `f` with the CPU instructions that the user selected.
    pub fn scope<R>(&self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        let Some(name) = &self.instructions else { return f() };
        Execution::current().with_instructions(name.parse::<Instructions>()?)?.scope(f)
    }
}

/// Starts rayon's thread pool, which the calling thread may be part of: short parallel work then starts at once on a
/// thread of the pool, instead of waiting for another thread to wake up. The pool then has one worker fewer for other
/// threads, so this is not for commands that start other threads. Where a limit of the system lets fewer threads
/// start than there are processors, the pool has these; where it lets none start, the calling thread does all the work.
pub fn start_threads(with_this: bool) {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok()).filter(|count| *count > 0);
    let wanted = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get));
    // Threads that are there before rayon hands them its work: its pool can be made only once.
    let (give, take) = channel::<ThreadBuilder>();
    let take = Arc::new(Mutex::new(take));
    let start = |_| {
        let take = take.clone();
        let work = move || {
            let given = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
            given.into_iter().for_each(ThreadBuilder::run);
        };
        thread::Builder::new().spawn(work).ok()
    };
    let started = (usize::from(with_this)..wanted).map_while(start).count();
    let with_this = with_this || started == 0;
    let builder = ThreadPoolBuilder::new()
        .num_threads(started + usize::from(with_this))
        .spawn_handler(|thread| give.send(thread).map_err(|_| io::ErrorKind::BrokenPipe.into()));
    // An error means that the pool exists already, which is fine.
    let _ = if with_this { builder.use_current_thread() } else { builder }.build_global();
}
