//! The CPU kernels without burn, small enough to be built and run with a sanitizer:
//!
//! ```sh
//! cd sanitize
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test --release --target x86_64-unknown-linux-gnu
//! ```
//!
//! They are the only unsafe code of the default build: functions compiled for the instructions that the processor was
//! found to have.

#![allow(dead_code, unused_imports)]

/// What the kernels ask of the execution of their thread: the instructions.
mod execution;

/// The module that the kernels stand in, with what they take from it. A kernel that needs more does not compile here.
mod op {
    #[path = "../../src/op/kernel/mod.rs"]
    pub mod kernel;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Step {
        Logistic,
        Tanh,
        Erf,
        Arctan,
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum PairLoss {
        Logistic,
        Hinge { margin: f64 },
        SquaredHinge { margin: f64 },
        Exponential,
        Fidelity,
        SoftZeroOne,
    }

    pub mod pair_loss {
        pub const EXPONENTIAL_BOUND: f64 = 60.0;
    }

    #[derive(Debug, Clone, Copy)]
    pub struct ExponentialTerm {
        pub coefficient: f64,
        pub base: f64,
    }

    #[cfg(test)]
    mod tests;
}
