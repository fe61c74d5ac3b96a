//! The CPU kernels without burn, small enough to be built and run with a sanitizer:
//!
//! ```sh
//! cd sanitize
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test --release --target x86_64-unknown-linux-gnu
//! ```
//!
//! The same tests with NEON, in an emulator of 64-bit ARM (minutes; the target needs no compiler of C):
//!
//! ```sh
//! rustup target add aarch64-unknown-linux-musl && apt-get install qemu-user
//! cd sanitize
//! export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64
//! RUSTFLAGS=-Clink-self-contained=yes cargo test --release --target aarch64-unknown-linux-musl
//! ```
//!
//! Their unsafe code is in `dispatch.rs`: functions compiled for the instructions that the processor was found to have.
//! The other unsafe code of the default build is not here: mapped files (`data/columnar/map.rs`) and the pointers that
//! a dense layer hands to the `gemm` crate (`scorer/dense/product.rs`).

#![allow(dead_code, unused_imports)]

/// The kernels as they are. One that took anything else from the crate would not compile here.
#[path = "../src/op"]
mod op {
    pub mod cpu;
}
/// The threads that kernels run on.
#[path = "../src/parallel.rs"]
mod parallel;
/// What the kernels ask of the execution of their thread: the instructions.
mod execution;
#[cfg(test)]
mod tests;
