//! The `burn-rank` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// The system's allocator gives the memory of large tensors back after each operation, and has to fault it in again
/// for the next.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    burn_rank::cli::main()
}
