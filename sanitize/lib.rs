//! The CPU kernels without burn, small enough to be built and run with a sanitizer:
//!
//! ```sh
//! cd sanitize
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test --release --target x86_64-unknown-linux-gnu
//! ```
//!
//! They have the only unsafe code of the default build, in `dispatch.rs`: functions compiled for the instructions that
//! the processor was found to have.

#![allow(dead_code, unused_imports)]

/// The kernels as they are. One that took anything else from the crate would not compile here.
#[path = "../src/op/cpu/mod.rs"]
mod cpu;
/// What the kernels ask of the execution of their thread: the instructions.
mod execution;
#[cfg(test)]
mod tests;
