//! The `burn-rank` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// The system allocator returns the memory of large tensors after each operation, and must fault it in again for the
/// next.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    burn_rank_cli::cli::main()
}
