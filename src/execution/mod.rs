//! How primitives are computed: fused or by tensor operations, in how much memory, with which instructions. A value of
//! the thread, entered for the time of a function, so that nothing is shared by a process.
//!
//! This module knows nothing of primitives: whatever hands work to other threads may carry it there.

mod instructions;
mod names;

use std::cell::Cell;

pub use instructions::Instructions;
pub(crate) use instructions::Target;
pub use names::InstructionsError;

/// 256 MiB.
const DEFAULT_MEMORY_BUDGET: usize = 256 << 20;

thread_local! {
    /// `None` outside any scope.
    static CURRENT: Cell<Option<Execution>> = const { Cell::new(None) };
}

/// How a primitive is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrimitivePath {
    /// The fastest way of the backend, with analytic gradients.
    #[default]
    Fused,
    /// The tensor definition and its automatic differentiation.
    Tensor,
}

/// How the primitives that a thread calls are computed, forward and backward: path, memory and instructions.
///
/// [`scope`](Self::scope) holds for the time of one function, on one thread; other threads never see it. Whatever this
/// crate hands to other threads (rayon's, and those of a cross-validation) takes the execution of the calling thread
/// along. A program's own parallel code does so with [`bind`](Self::bind):
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
    /// Fused, 256 MiB, the best instructions of this processor.
    fn default() -> Self {
        Self { memory_budget: DEFAULT_MEMORY_BUDGET, path: PrimitivePath::Fused, target: Target::best() }
    }
}

impl Execution {
    /// The execution of the innermost scope that this thread is in; the default outside any.
    pub fn current() -> Self {
        CURRENT.get().unwrap_or_default()
    }

    /// With so many bytes for the temporaries of one primitive that is computed by tensor operations. A list whose
    /// single row of pairs exceeds the budget is still computed, one row at a time.
    pub fn with_memory_budget(self, bytes: usize) -> Self {
        Self { memory_budget: bytes, ..self }
    }

    /// With primitives computed that way.
    pub fn with_path(self, path: PrimitivePath) -> Self {
        Self { path, ..self }
    }

    /// With fused kernels of the CPU computed by these instructions, so that a number comes back on a processor that
    /// has better ones. Other code, such as burn's matrix product, goes on to choose for itself.
    ///
    /// # Errors
    /// [`InstructionsError::NotFound`] when this processor does not have them.
    pub fn with_instructions(self, instructions: Instructions) -> Result<Self, InstructionsError> {
        let target = Target::new(instructions).ok_or(InstructionsError::NotFound { found: instructions })?;
        Ok(Self { target, ..self })
    }

    /// Bytes for the temporaries of one primitive.
    pub fn memory_budget(self) -> usize {
        self.memory_budget
    }

    /// How primitives are computed.
    pub fn path(self) -> PrimitivePath {
        self.path
    }

    /// Instructions of the fused kernels of the CPU.
    pub fn instructions(self) -> Instructions {
        self.target.instructions()
    }

    #[cfg_attr(not(feature = "flex"), allow(dead_code, reason = "the kernels are those of Flex"))]
    pub(crate) fn target(self) -> Target {
        self.target
    }

    /// Runs `f` in this execution: on this thread, until `f` returns or panics. Scopes nest.
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

    /// `f`, run in this execution on whichever thread calls it: what parallel code hands to other threads.
    pub fn bind<T, R>(self, f: impl Fn(T) -> R) -> impl Fn(T) -> R {
        move |input| self.scope(|| f(input))
    }
}

/// Runs `f` with every primitive that this thread calls computed, and differentiated, by its tensor definition.
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
        // An inner scope changes what it names, and nothing of it is left.
        budget(7).scope(|| {
            assert_eq!(with_tensor_path(Execution::current), budget(7).with_path(PrimitivePath::Tensor));
            assert_eq!(Execution::current(), budget(7));
        });
    }

    #[test]
    fn two_threads_do_not_see_the_budgets_of_each_other() {
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
    fn what_is_bound_runs_in_its_execution_on_any_thread() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let seen: Vec<Execution> =
            pool.install(|| (0..64).into_par_iter().map(budget(5).bind(|_: usize| Execution::current())).collect());
        assert_eq!(seen, [budget(5); 64]);
        // Nothing of it stays on the threads of the pool.
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
