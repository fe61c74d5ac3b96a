//! `burn-rank devices trial`: one fit on one device, as a JSON object on standard output.

use std::io::Write;
use std::time::Instant;

use clap::Args;

use crate::cli::execution_args::work_on_this_thread;
use crate::cli::failure::Failure;
use crate::cli::run_args::RunArgs;
use crate::device_comparison::{Trial, TrialOptions};

/// Arguments of `devices trial`.
#[derive(Debug, Args)]
pub struct TrialArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Value of the selecting measure whose time is wanted
    #[arg(long)]
    target: Option<f64>,
}

impl TrialArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let begun = Instant::now();
        work_on_this_thread();
        let opened = self.run.open()?;
        let options = TrialOptions { device: &opened.device, begun, target: self.target };
        let trial = opened.execution.scope(|| Trial::run(&opened.config, &options))?;
        let text = serde_json::to_string(&trial).map_err(Failure::work)?;
        Ok(writeln!(out, "{text}")?)
    }
}
