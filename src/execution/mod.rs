//! Settings for computing primitives: the path (fused or by tensor operations), the memory, and the instructions.
//! Settings apply to one thread during one function call, so no global state is needed.
//!
//! Because this module does not depend on the primitives, any other module can use it to pass settings to threads.

mod instructions;
mod names;

use std::cell::Cell;

pub(crate) use instructions::Target;
pub use instructions::{Instructions, SumPath};
pub use names::InstructionsError;

/// The default memory budget, 256 MiB.
const DEFAULT_MEMORY_BUDGET: usize = 256 << 20;

thread_local! {
    /// The execution of the innermost scope; `None` outside any scope.
    static CURRENT: Cell<Option<Execution>> = const { Cell::new(None) };
}

/// The way in which a primitive is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrimitivePath {
    /// The backend's fastest implementation, with analytic gradients.
    #[default]
    Fused,
    /// The definition in terms of tensor operations, with automatic differentiation.
    Tensor,
}

/// Settings for the primitives that a thread computes, forward and backward: path, memory and instructions.
///
/// [`scope`](Self::scope) applies the settings during one function call on one thread; other threads never see them.
/// Work that this crate hands to other threads uses the execution of the calling thread. Examples are work on rayon's
/// threads and the jobs of a cross-validation. Parallel code of your own can do the same with [`bind`](Self::bind):
///
/// ```
/// use burn_rank::op::Execution;
/// use rayon::prelude::*;
///
/// let small = Execution::current().with_memory_budget(64 << 20); // bytes
/// let budgets: Vec<usize> = small.scope(|| {
///     let of = |_: usize| Execution::current().memory_budget(); // or a loss, or a primitive
///     (0..8).into_par_iter().map(Execution::current().bind(of)).collect()
/// });
/// assert_eq!(budgets, [64 << 20; 8]);
/// assert_eq!(Execution::current(), Execution::default());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "an execution does nothing until its `scope` is entered"]
pub struct Execution {
    memory_budget: usize,
    path: PrimitivePath,
    target: Target,
}

impl Default for Execution {
    /// Returns the default settings: fused, 256 MiB, and the best instructions of this processor.
    fn default() -> Self {
        Self { memory_budget: DEFAULT_MEMORY_BUDGET, path: PrimitivePath::Fused, target: Target::best() }
    }
}

impl Execution {
    /// Returns the execution of the innermost scope on this thread; the default outside any scope.
    pub fn current() -> Self {
        CURRENT.get().unwrap_or_default()
    }

    /// Sets the number of bytes for the temporaries of one primitive. Temporaries are needed by tensor operations, and
    /// by GPU kernels that keep intermediate states or partial sums. At least one row of pairs (32 rows on a GPU) is
    /// computed at a time, even if this exceeds the budget.
    pub fn with_memory_budget(self, bytes: usize) -> Self {
        Self { memory_budget: bytes, ..self }
    }

    /// Sets how primitives are computed.
    #[doc(hidden)]
    pub fn with_path(self, path: PrimitivePath) -> Self {
        Self { path, ..self }
    }

    /// Sets the instructions of the fused CPU kernels, for example to reproduce a result that was computed on an older
    /// processor. Other code, such as burn's matrix product, still chooses its own instructions.
    ///
    /// # Errors
    /// Returns [`InstructionsError::NotFound`] if this processor lacks the instructions.
    pub fn with_instructions(self, instructions: Instructions) -> Result<Self, InstructionsError> {
        let target = Target::new(instructions).ok_or(InstructionsError::NotFound { found: instructions })?;
        Ok(Self { target: target.with_sums(self.target.sums()), ..self })
    }

    /// Sets how fused kernels compute sums over pairs, for tests and measurements.
    #[doc(hidden)]
    pub fn with_sums(self, sums: SumPath) -> Self {
        Self { target: self.target.with_sums(sums), ..self }
    }

    /// Returns the number of bytes for the temporaries of one primitive.
    pub fn memory_budget(self) -> usize {
        self.memory_budget
    }

    /// Returns how primitives are computed.
    #[doc(hidden)]
    pub fn path(self) -> PrimitivePath {
        self.path
    }

    /// Returns the instructions of the fused CPU kernels.
    pub fn instructions(self) -> Instructions {
        self.target.instructions()
    }

    /// Returns how fused kernels compute sums over pairs.
    #[doc(hidden)]
    pub fn sums(self) -> SumPath {
        self.target.sums()
    }

    #[cfg_attr(not(feature = "flex"), allow(dead_code, reason = "the kernels are those of Flex"))]
    pub(crate) fn target(self) -> Target {
        self.target
    }

    /// Runs `f` in this execution on this thread, until `f` returns or panics. Scopes may be nested.
    pub fn scope<R>(self, f: impl FnOnce() -> R) -> R {
        struct Restore(Option<Execution>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(Some(self)));
        f()
    }

    /// Wraps `f` to run in this execution on whichever thread calls it. Parallel code can hand the wrapped function to
    /// other threads.
    pub fn bind<T, R>(self, f: impl Fn(T) -> R) -> impl Fn(T) -> R {
        move |input| self.scope(|| f(input))
    }
}

/// Runs `f` so that this thread computes and differentiates every primitive by its tensor definition.
pub fn with_tensor_path<R>(f: impl FnOnce() -> R) -> R {
    Execution::current().with_path(PrimitivePath::Tensor).scope(f)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use rayon::prelude::*;

    use super::*;

    fn budget(bytes: usize) -> Execution {
        Execution::default().with_memory_budget(bytes)
    }

    #[test]
    fn a_scope_ends_with_its_function_even_by_panic() {
        let path = || Execution::current().path();
        assert!(with_tensor_path(|| with_tensor_path(path) == path() && path() == PrimitivePath::Tensor));
        assert!(std::panic::catch_unwind(|| with_tensor_path(|| panic!("unwinds"))).is_err());
        assert_eq!(Execution::current(), Execution::default());
        // An inner scope changes only what it names, and leaves nothing behind.
        budget(7).scope(|| {
            assert_eq!(with_tensor_path(Execution::current), budget(7).with_path(PrimitivePath::Tensor));
            assert_eq!(Execution::current(), budget(7));
        });
    }

    #[test]
    fn two_threads_do_not_see_each_others_budgets() {
        let (both_entered, both_looked) = (Barrier::new(2), Barrier::new(2));
        let seen = |bytes| {
            budget(bytes).scope(|| {
                both_entered.wait();
                let seen = Execution::current().memory_budget();
                both_looked.wait();
                seen
            })
        };
        std::thread::scope(|threads| {
            let [first, second] = [1, 2].map(|bytes| threads.spawn(move || seen(bytes)));
            assert_eq!((first.join().unwrap(), second.join().unwrap()), (1, 2));
        });
    }

    #[test]
    fn a_bound_function_runs_in_its_execution_on_any_thread() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let seen: Vec<Execution> =
            pool.install(|| (0..64).into_par_iter().map(budget(5).bind(|_: usize| Execution::current())).collect());
        assert_eq!(seen, [budget(5); 64]);
        // Nothing is left behind on the threads of the pool.
        assert!(pool.broadcast(|_| Execution::current()).iter().all(|left| *left == Execution::default()));
    }

    #[test]
    fn instructions_that_the_processor_lacks_are_refused() {
        for &set in Instructions::ALL {
            match Execution::default().with_instructions(set) {
                Ok(execution) => assert!(set.is_found() && execution.instructions() == set),
                Err(error) => {
                    assert!(!set.is_found());
                    let message = error.to_string();
                    let expected = format!("instructions `{set}`: this processor does not have them, expected ");
                    assert!(message.starts_with(&expected), "{message}");
                }
            }
        }
    }
}
