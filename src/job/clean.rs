//! Removing what a job left: what can be made again, or everything.

use crate::error::{Error, Result};
use std::path::Path;

/// Folders and files of a workdir that a job makes again if it needs them.
const INTERMEDIATES: [&str; 1] = ["graph"];
/// All else that a job writes, but for its lock.
const RESULTS: [&str; 7] = ["units", "out", "report.json", "report.html", "manifest.json", "run.log", "status.json"];

/// Removes the prepared graph.
///
/// # Errors
/// [`Error::Io`].
pub fn intermediates(workdir: &Path) -> Result<()> {
    INTERMEDIATES.iter().try_for_each(|name| remove(&workdir.join(name)))
}

/// Removes all that a job wrote, and nothing that it did not.
///
/// # Errors
/// [`Error::Io`].
pub fn everything(workdir: &Path) -> Result<()> {
    intermediates(workdir)?;
    RESULTS.iter().try_for_each(|name| remove(&workdir.join(name)))
}

fn remove(path: &Path) -> Result<()> {
    let result = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match result {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, e)),
        _ => Ok(()),
    }
}
