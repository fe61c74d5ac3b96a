//! The `burn-rank` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Keeps memory that the system allocator would return after each operation on large tensors and fault in again for the
/// next.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    burn_rank_cli::cli::main()
}
