//! `report.html`: what a job did, for eyes. It is made from what the workdir holds, without the input, and also of a job that was stopped, failed
//! or lost some of its files.
//!
//! It knows no algorithm: results are tables of their fields, and their pictures those that the algorithm describes
//! ([`Algorithm::figures`](crate::algo::Algorithm::figures)).

pub mod compare;
pub mod page;
mod ranks;
mod render;
mod results;
mod seen;
mod summary;
mod time;
mod usage;
mod value;

use crate::error::Result;
use crate::job::html::page::Page;
use crate::job::html::seen::{Seen, State};
use crate::store::replace::replace_volatile;
use std::path::Path;

/// Name of the report in the workdir.
pub const FILE: &str = "report.html";

/// Makes the report of a workdir.
///
/// # Errors
/// [`crate::Error::Usage`] for a folder that no job worked in.
pub fn page(workdir: &Path) -> Result<Page> {
    let seen = Seen::at(workdir)?;
    let mut page = summary::page(&seen);
    // What was found comes first, then what it was found in, then the machine.
    page.sections = [results::files(&seen)]
        .into_iter()
        .chain(results::sections(&seen))
        .chain([results::graph(&seen)])
        .chain([time::stages(&seen, seen.state == State::Running), usage::section(&seen), ranks::section(&seen)])
        .filter(|section| !section.is_empty())
        .collect();
    Ok(page)
}

/// Returns a report as HTML.
pub fn html(page: &Page) -> String {
    render::page(page)
}

/// Leaves `report.html` in the workdir of a run that has ended, however it did. What goes wrong with that is no reason to fail.
pub(crate) fn leave(workdir: &Path) {
    let written = page(workdir).and_then(|page| replace_volatile(&workdir.join(FILE), html(&page).as_bytes()));
    if let Err(e) = written {
        tracing::warn!("no {FILE}: {e}");
    }
}
