//! The extension module of the Python package `gpugraph`: the library's calls, with NumPy arrays in and out. What Python
//! users see is in `python/gpugraph`.
//!
//! | file | has |
//! |---|---|
//! | `calls` | a call on a thread of its own, while Python's signals and the progress function are served |
//! | `process` | values that a forked process must not drop |
//! | `errors` | exceptions by kind |
//! | `arrays` | edges and lists in NumPy arrays, and results as NumPy arrays, without copies |
//! | `context`, `graph`, `job`, `listrank` | the classes and functions |

mod arrays;
mod calls;
mod context;
mod errors;
mod graph;
mod job;
mod listrank;
mod process;

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command `gpugraph` with these words, of which the first is its name, and ends the process.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) {
    py.detach(|| {
        // It ends the process itself if it fails.
        let _ = gpugraph::main_of(words);
        std::process::exit(0);
    });
}

#[pymodule]
fn _gpugraph(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_class::<context::Context>()?;
    module.add_class::<graph::Graph>()?;
    module.add_class::<graph::Labels>()?;
    module.add_function(wrap_pyfunction!(listrank::rank, module)?)?;
    module.add_function(wrap_pyfunction!(listrank::rank_file, module)?)?;
    module.add_class::<job::Job>()
}
