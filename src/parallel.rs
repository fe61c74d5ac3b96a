//! Runs tasks on rayon's threads. All tasks pass through one function that is not generic, so that rayon's machinery is
//! compiled once and not for each kind of task. Tasks wait in slots until a thread takes them.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::execution::Execution;

/// Calls `of` with every index below `count` on several threads, in the [`Execution`] of the calling thread.
fn indices(count: usize, of: &(dyn Fn(usize) + Sync)) {
    let execution = Execution::current();
    (0..count).into_par_iter().for_each(|index| execution.scope(|| of(index)));
}

/// Runs `of` on each task, on several threads. The tasks should be large: each of them takes a lock once.
pub(crate) fn for_each<T: Send>(tasks: impl IntoIterator<Item = T>, of: impl Fn(T) + Sync) {
    let slots: Vec<Mutex<Option<T>>> = tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
    indices(slots.len(), &|index| {
        let task = slots[index].lock().unwrap_or_else(PoisonError::into_inner).take();
        task.into_iter().for_each(&of);
    });
}

/// Returns the results of `of` for each task, in the order of the tasks; see [`for_each`].
pub(crate) fn map<T: Send, R: Send>(tasks: impl IntoIterator<Item = T>, of: impl Fn(T) -> R + Sync) -> Vec<R> {
    let tasks: Vec<T> = tasks.into_iter().collect();
    let mut results: Vec<Option<R>> = tasks.iter().map(|_| None).collect();
    for_each(tasks.into_iter().zip(&mut results), |(task, result)| *result = Some(of(task)));
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::SumPath;

    #[test]
    fn results_keep_the_order_of_the_tasks_and_run_in_the_callers_execution() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let sums = |task: usize| (task, Execution::current().target().sums());
        let found = pool.install(|| Execution::current().with_sums(SumPath::Pairs).scope(|| map(0..100, sums)));
        assert_eq!(found, (0..100).map(|task| (task, SumPath::Pairs)).collect::<Vec<_>>());
        let mut squares = [0; 50];
        pool.install(|| for_each(squares.iter_mut().enumerate(), |(i, square)| *square = i * i));
        assert!(squares.iter().enumerate().all(|(i, square)| *square == i * i));
    }
}
