//! Checks the results of a list-ranking job; a part of `gpugraph verify`.

use super::{OTHER_VERSION, recalled};
use crate::algo::{ByInput, ListResults, Verdict};
use crate::config::InputSpec;
use crate::error::Result;
use crate::job::plan::resources;
use crate::job::state::manifest::Manifest;
use crate::job::status::JobPlace;
use crate::list::List;

/// Checks the result of each task on a list with the task's own method. `spec` describes the list.
///
/// # Errors
/// An error while writing the verdict; [`crate::Error::Stopped`].
pub(super) fn verify(
    place: &JobPlace,
    spec: Option<&InputSpec>,
    manifest: &Manifest,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let threads = resources::threads(place.job.as_ref().map_or(0, |job| job.limits.threads));
    let mut found = manifest.tasks_in_order().filter(|(_, record)| record.found.is_some()).peekable();
    if found.peek().is_none() {
        return verdict.skip("results", "the job has none yet");
    }
    let list = opened(spec, manifest, threads);
    for (name, record) in found {
        let (workdir, outputs) = (&place.workdir, &record.outputs);
        let list = list.as_ref().map_err(String::clone);
        let results = ListResults { workdir, outputs, done: record.done, list };
        match (recalled(name, record).filter(|task| task.is_on_list()), &record.found) {
            (Some(task), Some(found)) => task.verify(ByInput::List(&results), (found, &record.how), verdict)?,
            _ => verdict.skip(name, OTHER_VERSION)?,
        }
    }
    Ok(())
}

/// Opens the list if it is unchanged since the job read it. Otherwise returns the reason why the results can't be
/// checked against it.
fn opened(spec: Option<&InputSpec>, manifest: &Manifest, threads: usize) -> std::result::Result<List, String> {
    let spec = spec.ok_or("the manifest does not record the input: name the job file")?;
    let open = || List::open(crate::job::input::list(spec)?, threads);
    let list = open().map_err(|e| format!("the input is gone: {e}"))?;
    match manifest.content() {
        Some(content) if content != list.identity => {
            Err(format!("{} is not what the job read: it changed since", list.source.name()))
        }
        _ => Ok(list),
    }
}
