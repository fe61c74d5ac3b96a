//! What every command that runs a configuration takes, and how it is opened.

use std::path::PathBuf;

use burn::tensor::Device;
use clap::Args;

use super::Failure;
use crate::device;
use crate::experiment::{Document, ExperimentConfig, OutputFolder};

/// The arguments of a command that runs a configuration.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Configuration file
    config: PathBuf,
    /// Device, as listed by `burn-rank devices` [default: the configuration's]
    #[arg(long)]
    device: Option<String>,
    /// Replaces a key of the configuration, as in learner.epochs=10
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// The resolved configuration in a run's folder.
pub const CONFIG: &str = "config.toml";

/// Whether a folder holds the results of another configuration than the `resolved` one.
pub fn holds_another(folder: &OutputFolder, resolved: &str) -> bool {
    std::fs::read_to_string(folder.file(CONFIG)).is_ok_and(|there| there != resolved)
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
