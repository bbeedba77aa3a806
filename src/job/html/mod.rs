//! `report.html`: a report of a job for people. It is made from the contents of the workdir, without the input, even
//! if the job was stopped, failed, or lost some of its files.
//!
//! The report does not depend on particular algorithms. Results are shown as tables of their fields, and each
//! algorithm describes its own charts ([`Algorithm::figures`](crate::algo::Algorithm::figures)).

pub mod compare;
pub mod page;
mod ranks;
mod render;
mod results;
mod summary;
mod time;
mod usage;
mod value;
mod workdir_contents;

pub use render::html;

use crate::error::Result;
use crate::job::html::page::Page;
use crate::job::html::workdir_contents::{RunState, WorkdirContents};
use crate::store::replace::replace_volatile;
use std::path::Path;

/// Name of the report in the workdir.
pub const FILE: &str = "report.html";

/// Returns the report of the job in `workdir`.
///
/// # Errors
/// [`crate::Error::Usage`] for a folder in which no job has run.
pub fn page(workdir: &Path) -> Result<Page> {
    let seen = WorkdirContents::at(workdir)?;
    let mut page = summary::page(&seen);
    // Results come first, then the input and graph, then the use of resources.
    page.sections = [results::files(&seen)]
        .into_iter()
        .chain(results::sections(&seen))
        .chain([results::graph(&seen)])
        .chain([time::stages(&seen, seen.state == RunState::Running), usage::section(&seen), ranks::section(&seen)])
        .filter(|section| !section.is_empty())
        .collect();
    Ok(page)
}

/// Writes `report.html` to the workdir of a run that has ended, successfully or not. If it can't be written, only a
/// warning is logged.
pub(crate) fn leave(workdir: &Path) {
    let written = page(workdir).and_then(|page| replace_volatile(&workdir.join(FILE), html(&page).as_bytes()));
    if let Err(e) = written {
        tracing::warn!("no {FILE}: {e}");
    }
}
