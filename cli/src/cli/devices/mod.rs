//! `burn-rank devices` lists the devices and instruction sets that this build supports, and those found on this
//! machine. `compare.rs` runs one experiment on several devices, each run in a process of `process.rs`, and `merge.rs`
//! merges the tables of several machines.

mod compare;
mod merge;
mod process;

use std::io::Write;

use burn_rank::op::Instructions;
use burn_rank::workbench::backends;
use burn_rank::workbench::json::json;
use clap::{Args, Subcommand};

use super::{Result, input};
use crate::page::Table;

/// Arguments of `devices`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DevicesArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one experiment on several devices and compare their rankers and speed
    Compare(compare::CompareArgs),
    /// Merge the tables of several machines
    Merge(merge::MergeArgs),
    /// Run one fit of a comparison
    #[command(hide = true)]
    Trial(process::TrialArgs),
}

impl DevicesArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        match self.command {
            None => self.list(out),
            Some(Command::Compare(args)) => args.run(out),
            Some(Command::Merge(args)) => args.run(out),
            Some(Command::Trial(args)) => args.run(out),
        }
    }

    fn list(&self, out: &mut dyn Write) -> Result {
        let mut table = Table::new(["device", "state", "what"]);
        for (name, summary, built) in backends() {
            let state = match (built, input::device(name)) {
                (false, _) => format!("not built: --features {name}"),
                (true, Ok(_)) => "ready".to_string(),
                (true, Err(error)) => error.to_string(),
            };
            if self.json {
                let row = json!({"device": name, "built": built, "ready": state == "ready", "state": state});
                writeln!(out, "{row}")?;
            }
            table.row(name, [state.as_str(), summary]);
        }
        let mut sets = Table::new(["instructions", "state", "what"]);
        for &set in Instructions::ALL {
            let (found, best) = (set.is_found(), set == Instructions::best());
            let state = match (found, best) {
                (true, true) => "found, the default",
                (true, false) => "found",
                (false, _) => "not found",
            };
            if self.json {
                writeln!(
                    out,
                    "{}",
                    json!({"instructions": set, "found": found, "default": best, "what": set.summary()})
                )?;
            }
            sets.row(set.name(), [state, set.summary()]);
        }
        if !self.json {
            write!(out, "{}\nFor the fused kernels of the CPU:\n{}", table.text(), sets.text())?;
        }
        Ok(())
    }
}
