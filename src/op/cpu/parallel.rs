//! Shares the work of kernels among threads.

use rayon::prelude::*;

/// The number of pairs below which threads cost more than they save, some tens of microseconds of work.
const SERIAL_PAIRS: usize = 1 << 17;

/// The value of [`SERIAL_PAIRS`] outside rayon's pool, where a thread must wake the pool and wait for it.
const SERIAL_PAIRS_ELSEWHERE: usize = 1 << 21;

/// Runs `f` on every task, on all threads if there are enough pairs.
pub fn for_each<T: Send>(tasks: Vec<T>, pairs: usize, f: impl Fn(T) + Sync + Send) {
    let serial = if rayon::current_thread_index().is_some() { SERIAL_PAIRS } else { SERIAL_PAIRS_ELSEWHERE };
    if pairs < serial || tasks.len() < 2 || rayon::current_num_threads() < 2 {
        tasks.into_iter().for_each(f);
    } else {
        tasks.into_par_iter().for_each(f);
    }
}
