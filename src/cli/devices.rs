//! `burn-rank devices`: lists the devices and instructions that this build has, and those that it finds on this
//! machine.

use std::io::Write;

use crate::json::json;
use clap::Args;

use super::failure::Failure;
use super::input;
use super::table::Table;
use crate::device::BACKENDS;
use crate::op::Instructions;

/// Arguments of `devices`.
#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

impl DevicesArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut table = Table::new(["device", "state", "what"]);
        for backend in BACKENDS {
            let state = match (backend.built, input::device(backend.name)) {
                (false, _) => format!("not built: --features {}", backend.name),
                (true, Ok(_)) => "ready".to_string(),
                (true, Err(error)) => error.to_string(),
            };
            if self.json {
                let row =
                    json!({"device": backend.name, "built": backend.built, "ready": state == "ready", "state": state});
                writeln!(out, "{row}")?;
            }
            table.row([backend.name, &state, backend.summary]);
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
            sets.row([set.name(), state, set.summary()]);
        }
        if !self.json {
            write!(out, "{}\nFor the fused kernels of the CPU:\n{}", table.render(), sets.render())?;
        }
        Ok(())
    }
}
