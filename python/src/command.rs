//! The command `burn-rank`, run inside of the interpreter.

use pyo3::prelude::*;

/// Runs a command line, whose first argument is the name of the program, and returns its exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| burn_rank_cli::run(arguments))
}
