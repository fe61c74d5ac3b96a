//! The `burn-rank` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    burn_rank::cli::main()
}
