//! Errors of the library as exceptions.

use gpugraph::{Error, ErrorKind};
use pyo3::prelude::*;

/// Returns the exception for `error`. Its class is in `gpugraph/errors.py`.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Usage => "UsageError",
        ErrorKind::Input => "InputError",
        ErrorKind::Corrupt => "CorruptError",
        ErrorKind::Busy => "BusyError",
        ErrorKind::DiskFull => "DiskFullError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::Validation => "ValidationError",
        ErrorKind::Lost => "LostError",
        ErrorKind::Stopped => "StoppedError",
        _ => "SystemFailure",
    };
    made(py, class, &error.to_string())
}

/// Returns an exception of the class `UsageError`.
pub fn usage(py: Python<'_>, message: &str) -> PyErr {
    made(py, "UsageError", message)
}

/// Returns an exception of the class `SystemFailure`.
pub fn failure(py: Python<'_>, message: &str) -> PyErr {
    made(py, "SystemFailure", message)
}

/// Returns an exception whose message has no control characters of an input, which would affect a terminal.
fn made(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let message = message.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}");
    let class = py.import("gpugraph.errors").and_then(|module| module.getattr(class));
    match class.and_then(|class| class.call1((message,))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(e) => e,
    }
}
