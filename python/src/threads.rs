//! The threads that compute: a pool of rayon's per number of threads, of this process alone.
//!
//! A process that was forked has no threads but the one that forked, so that waiting for a pool of its parent's would
//! hang. It gets pools of its own. What another thread was computing when the process was forked may hold locks of the
//! library for ever; calls are refused then.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Most pools that are kept, of different numbers of threads.
const POOLS: usize = 4;

/// What one process has. It is never freed.
struct Process {
    id: u32,
    /// Calls that compute now.
    calls: AtomicUsize,
    /// Whether nothing was computed in the parent when this process was forked.
    is_sound: bool,
    /// By the number of threads that was asked for; 0 is rayon's default.
    pools: Mutex<Vec<(usize, Arc<ThreadPool>)>>,
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

/// The number of threads that was set; 0 where none was.
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

impl Process {
    /// The record of this process, made at its first call.
    fn current() -> &'static Process {
        let id = std::process::id();
        loop {
            let found = PROCESS.load(Ordering::Acquire);
            // SAFETY: null, or a box that was leaked below.
            let known = unsafe { found.as_ref() };
            if let Some(known) = known.filter(|known| known.id == id) {
                return known;
            }
            let is_sound = known.is_none_or(|parent| parent.is_sound && parent.calls.load(Ordering::Acquire) == 0);
            let own = Process { id, calls: AtomicUsize::new(0), is_sound, pools: Mutex::default() };
            let own = Box::into_raw(Box::new(own));
            if PROCESS.compare_exchange(found, own, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: made above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(own) });
            }
        }
    }

    /// The pool of a number of threads.
    fn pool(&self, threads: usize) -> PyResult<Arc<ThreadPool>> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pool)) = pools.iter().find(|(of, _)| *of == threads) {
            return Ok(pool.clone());
        }
        let builder = ThreadPoolBuilder::new().num_threads(threads).thread_name(|at| format!("burn-rank-{at}"));
        let pool = builder.build().map_err(|error| PyRuntimeError::new_err(format!("no threads: {error}")))?;
        let pool = Arc::new(pool);
        if pools.len() == POOLS {
            pools.remove(0);
        }
        pools.push((threads, pool.clone()));
        Ok(pool)
    }
}

/// Work that may use the threads of a pool.
pub struct Threads {
    process: &'static Process,
    pool: Arc<ThreadPool>,
}

impl Threads {
    /// The threads that were set, or else `proposed`, or else one per processor.
    ///
    /// # Errors
    /// `RuntimeError` in a process that was forked while another thread computed, or where no threads can be started.
    pub fn new(proposed: Option<usize>) -> PyResult<Self> {
        let process = Process::current();
        if !process.is_sound {
            return Err(PyRuntimeError::new_err(
                "this process was forked while another thread was in a call of burn_rank: start it with the method \
                 \"spawn\" or \"forkserver\" of multiprocessing",
            ));
        }
        let threads = match CHOSEN.load(Ordering::Relaxed) {
            0 => proposed.unwrap_or(0),
            chosen => chosen,
        };
        Ok(Self { process, pool: process.pool(threads)? })
    }

    /// Runs `work` in the pool.
    ///
    /// # Errors
    /// The message of a panic: a fault of the library, and no end of the interpreter.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, String> {
        struct Call<'a>(&'a AtomicUsize);
        impl Drop for Call<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::AcqRel);
            }
        }
        self.process.calls.fetch_add(1, Ordering::AcqRel);
        let _call = Call(&self.process.calls);
        catch_unwind(AssertUnwindSafe(|| self.pool.install(work))).map_err(message)
    }
}

fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").to_string()
}

/// The exception of a panic.
pub fn internal(message: String) -> PyErr {
    PyRuntimeError::new_err(format!("a fault of burn-rank, please report it: {message}"))
}

/// Runs `work` without the interpreter's lock, on the threads that were set, or else as many as `proposed`.
///
/// # Errors
/// As [`Threads::new`]; `RuntimeError` for a panic.
pub fn compute<R: Send>(py: Python<'_>, proposed: Option<usize>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let threads = Threads::new(proposed)?;
    py.detach(|| threads.run(work)).map_err(internal)
}

/// The number of threads that a call from here would use.
#[pyfunction]
pub fn get_num_threads() -> PyResult<usize> {
    Ok(Threads::new(None)?.pool.current_num_threads())
}

/// Sets the number of threads of every later call; `None` takes it back.
#[pyfunction]
#[pyo3(signature = (threads))]
pub fn set_num_threads(threads: Option<usize>) -> PyResult<()> {
    if threads == Some(0) {
        return Err(PyValueError::new_err("threads: found 0, expected 1 or more, or None"));
    }
    CHOSEN.store(threads.unwrap_or(0), Ordering::Relaxed);
    Ok(())
}
