//! The `burn-rank` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    burn_rank::cli::main()
}
