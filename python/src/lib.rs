//! The module `burn_rank._burn_rank`: what the Python package computes. Its functions take arrays and JSON texts; the
//! Python sources beside it give them names, defaults and documentation.

mod arrays;
mod command;
mod errors;
mod fit;
mod loss;
mod measure;
mod ranker;
mod threads;

use pyo3::prelude::*;

/// As in the program: the system allocator returns the memory of large tensors after each operation, and must fault it
/// in again for the next.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
fn _burn_rank(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<ranker::Ranker>()?;
    module.add_function(wrap_pyfunction!(command::main, module)?)?;
    module.add_function(wrap_pyfunction!(fit::fit, module)?)?;
    module.add_function(wrap_pyfunction!(fit::train, module)?)?;
    module.add_function(wrap_pyfunction!(loss::loss, module)?)?;
    module.add_function(wrap_pyfunction!(loss::losses, module)?)?;
    module.add_function(wrap_pyfunction!(measure::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(threads::get_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads::set_num_threads, module)?)?;
    Ok(())
}
