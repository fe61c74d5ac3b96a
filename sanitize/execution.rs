//! What the kernels ask of the execution of their thread: the instructions.

#[path = "../src/execution/instructions.rs"]
mod instructions;

use std::cell::Cell;

pub use instructions::{Instructions, SumPath};
pub(crate) use instructions::Target;

thread_local! {
    static TARGET: Cell<Option<Target>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
pub struct Execution(Target);

impl Execution {
    pub fn current() -> Self {
        Self(TARGET.get().unwrap_or_else(Target::best))
    }

    pub(crate) fn target(&self) -> Target {
        self.0
    }

    pub fn with_sums(self, sums: SumPath) -> Self {
        Self(self.0.with_sums(sums))
    }

    pub fn scope<R>(self, run: impl FnOnce() -> R) -> R {
        let before = TARGET.replace(Some(self.0));
        let out = run();
        TARGET.set(before);
        out
    }
}

/// Kernels that this thread calls use these instructions from now on.
pub fn enter(instructions: Instructions) {
    TARGET.set(Target::new(instructions));
}
