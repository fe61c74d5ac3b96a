//! The argument of every command that computes with kernels: the instructions of the fused kernels.

use clap::Args;

use super::Failure;
use crate::op::{Execution, Instructions};

/// How primitives are computed.
#[derive(Debug, Args)]
pub struct ExecutionArgs {
    /// Instructions of the fused kernels on the CPU, as listed by `burn-rank devices` [default: the best]
    #[arg(long, value_name = "SET", global = true)]
    instructions: Option<String>,
}

impl ExecutionArgs {
    /// Runs `f` with these instructions.
    pub fn scope<R>(&self, f: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        let Some(name) = &self.instructions else { return f() };
        Execution::current().with_instructions(name.parse::<Instructions>()?)?.scope(f)
    }
}
