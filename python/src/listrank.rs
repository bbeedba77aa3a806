//! List ranking.

use crate::arrays::{Successors, of_column};
use crate::context::Context;
use crate::errors;
use gpugraph::listrank::{self, Method, Options, Order, Ranks};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;
use std::sync::Arc;

/// Ranks the list in an array of successors.
#[pyfunction]
pub fn rank<'py>(
    py: Python<'py>,
    context: &Context,
    successors: &Bound<'py, PyUntypedArray>,
    method: &str,
    order: &str,
) -> PyResult<Bound<'py, PyTuple>> {
    let (list, options) = (Arc::new(Successors::new(successors)?), options(py, method, order)?);
    let ranks = context.call(py, move |context| listrank::rank_list(list, &options, context))?;
    named(py, &ranks)
}

/// Ranks the list in a file.
#[pyfunction]
pub fn rank_file<'py>(
    py: Python<'py>,
    context: &Context,
    path: PathBuf,
    method: &str,
    order: &str,
) -> PyResult<Bound<'py, PyTuple>> {
    let options = options(py, method, order)?;
    let ranks = context.call(py, move |context| listrank::rank_file(path, &options, context))?;
    named(py, &ranks)
}

fn options(py: Python<'_>, method: &str, order: &str) -> PyResult<Options> {
    let method = match method {
        "auto" => Method::Auto,
        "serial" => Method::Serial,
        "wyllie" => Method::Wyllie,
        "ruling-set" => Method::RulingSet,
        other => {
            let why = "method: expected \"auto\", \"serial\", \"wyllie\" or \"ruling-set\"";
            return Err(errors::usage(py, &format!("{why}, found {other:?}")));
        }
    };
    let order = match order {
        "successors" => Order::Successors,
        "from-head" => Order::FromHead,
        other => {
            let why = format!("order: expected \"successors\" or \"from-head\", found {other:?}");
            return Err(errors::usage(py, &why));
        }
    };
    Ok(Options { method, order })
}

/// Returns head, checksum, seconds, and the ranks.
fn named<'py>(py: Python<'py>, ranks: &Ranks) -> PyResult<Bound<'py, PyTuple>> {
    (ranks.head(), ranks.checksum(), ranks.seconds(), of_column(py, ranks.ranks())?).into_pyobject(py)
}
