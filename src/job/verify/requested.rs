//! Checks that the results are those that the job file asks for. Without this check, `verify` would pass for a job
//! file that was changed after the run.

use crate::algo::Verdict;
use crate::error::{Error, Result};
use crate::job::input::{self, occupied, streams};
use crate::job::state::manifest::Manifest;
use crate::job::status::JobPlace;

/// Reports where the results differ from the job file: in the input, in how it is read, and in the tables.
///
/// # Errors
/// An error while writing the verdict; [`Error::Stopped`].
pub(super) fn check(place: &JobPlace, manifest: &Manifest, verdict: &mut Verdict<'_>) -> Result<()> {
    let Some(job) = &place.job else { return Ok(()) };
    let reads_same = || {
        if streams::is_gone(manifest) {
            return occupied::check_keys(job, manifest, None);
        }
        let job = &streams::with_copies(job.clone(), manifest);
        let input = input::absolute(&job.input);
        if manifest.input.as_ref() != Some(&input) {
            occupied::check(job, &input, manifest)?;
        }
        occupied::check_keys(job, manifest, manifest.last("relabel").as_ref())
    };
    match reads_same() {
        // An input that can't be opened is reported later, when it is read.
        Ok(()) | Err(Error::Input { .. }) => {}
        Err(e) => verdict.note("job", Err(e))?,
    }
    let mut of_job = job.tasks.iter().filter_map(|task| manifest.tasks.get(task.name()));
    let has_other_ids = of_job.any(|record| record.found.is_some() && record.first_id != job.first_id);
    // The input was compared above, because two descriptions may denote the same input. Here a difference in
    // `[input]` is reported only if the first id of the results differs.
    for (_, [other, this]) in
        place.differences(manifest).into_iter().filter(|(table, _)| *table != "input" || has_other_ids)
    {
        verdict.note("job", Err(Error::OtherTable { workdir: job.workdir.clone(), other, this }))?;
    }
    let is_finished = manifest.has_results() && !manifest.open && manifest.stopped.is_none();
    for task in &job.tasks {
        if is_finished && !manifest.tasks.contains_key(task.name()) {
            let this = format!("[{}]", task.name());
            let other = format!("no {this}");
            verdict.note("job", Err(Error::OtherTable { workdir: job.workdir.clone(), other, this }))?;
        }
    }
    Ok(())
}
