//! `burn-rank devices`: what this build has, and what it finds here.

use std::io::Write;

use crate::json::json;
use clap::Args;

use super::{Failure, Table};
use crate::device::{self, BACKENDS};

/// Arguments of `devices`.
#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl DevicesArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut table = Table::new(["device", "state", "what"]);
        for backend in BACKENDS {
            let state = match (backend.built, device::open(backend.name)) {
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
        if !self.json {
            write!(out, "{}", table.render())?;
        }
        Ok(())
    }
}
