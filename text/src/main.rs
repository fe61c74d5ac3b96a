//! The `burn-rank-text` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Keeps freed memory for later tensors. The system's allocator would return large blocks to the operating system after
/// each operation. Allocating them again is slow.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(burn_rank_text::run(std::env::args_os()))
}
