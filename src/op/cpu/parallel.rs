//! Runs tasks of kernels on several threads.

use crate::parallel;

/// The number of pairs below which a single thread is faster; it corresponds to a few tens of microseconds.
const SERIAL_PAIRS: usize = 1 << 17;

/// For callers outside rayon's pool, the number of pairs below which a single thread is faster. Such callers must wake
/// the pool and wait for it.
const SERIAL_PAIRS_ELSEWHERE: usize = 1 << 21;

/// Runs `f` on each task, using all threads if the tasks visit enough pairs.
pub fn for_each<T: Send>(tasks: Vec<T>, pairs: usize, f: impl Fn(T) + Sync) {
    let serial = if rayon::current_thread_index().is_some() { SERIAL_PAIRS } else { SERIAL_PAIRS_ELSEWHERE };
    if pairs < serial || tasks.len() < 2 || rayon::current_num_threads() < 2 {
        tasks.into_iter().for_each(f);
    } else {
        parallel::for_each(tasks, f);
    }
}
