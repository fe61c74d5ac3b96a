//! What every command that runs a configuration takes, and how it is opened.

use std::path::PathBuf;

use burn::tensor::Device;
use clap::Args;

use super::Failure;
use crate::device;
use crate::experiment::{Claim, Document, ExperimentConfig};

/// The arguments of a command that runs a configuration.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Configuration file
    config: PathBuf,
    /// Device, as listed by `burn-rank devices` [default: the configuration's]
    #[arg(long)]
    device: Option<String>,
    /// Replaces a key of the configuration, as in learner.epochs=10; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// A configuration, checked, and the device it asks for.
pub struct Opened {
    pub document: Document,
    pub config: ExperimentConfig,
    pub device: Device,
}

impl RunArgs {
    /// Reads and checks the configuration and opens its device.
    pub fn open(&self) -> Result<Opened, Failure> {
        let mut document = Document::read(&self.config, &self.set)?;
        if let Some(device) = &self.device {
            document.set(&format!("device={device}"))?;
        }
        let config = ExperimentConfig::from_document(&document)?;
        let device = device::open(&config.device).map_err(|error| document.refuse("device", &error.to_string()))?;
        Ok(Opened { document, config, device })
    }
}

/// What to do with a folder that holds a run.
#[derive(Debug, Args)]
pub struct FolderArgs {
    /// Continue a run that was stopped
    #[arg(long)]
    pub resume: bool,
    /// Replace the run that is in the folder; files that no run wrote there stay
    #[arg(long, conflicts_with = "resume")]
    overwrite: bool,
}

impl FolderArgs {
    /// The claim on the folder.
    pub fn claim(&self) -> Claim {
        match (self.resume, self.overwrite) {
            (true, _) => Claim::Resume,
            (_, true) => Claim::Overwrite,
            _ => Claim::New,
        }
    }
}
