//! The `burn-rank` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Keeps the memory of large tensors, which the system allocator would return after each operation and fault in again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    burn_rank_cli::cli::main()
}
