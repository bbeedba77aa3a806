//! The start of a run: reads what earlier runs left in the workdir, and the streams of the input.

use crate::config::{InputSpec, Job};
use crate::error::{Error, Result};
use crate::job::input::{self, occupied, spool, streams};
use crate::job::state::clean;
use crate::job::state::manifest::Manifest;
use crate::process::log;
use crate::process::status_file::Status;
use crate::store::replace::{remove_leftovers, remove_leftovers_below};
use std::path::Path;

/// Takes over the workdir of the job as its only writer. Returns its manifest, and the previous manifest if the job
/// was already done.
pub(crate) fn take_up(job: &Job, fresh: bool) -> Result<(Manifest, Option<Manifest>)> {
    let workdir = &job.workdir;
    if fresh {
        clean::everything(workdir)?;
    }
    log::attach(workdir)?;
    for folder in ["", "graph", "units"] {
        remove_leftovers(&workdir.join(folder))?;
    }
    remove_leftovers_below(&workdir.join("out"))?;
    let before = load(workdir)?;
    let done = before.clone().filter(|before| before.stopped.is_none());
    let mut manifest = before.unwrap_or_default();
    let resumed = manifest.stopped.is_some();
    let input = take_up_streams(job, &mut manifest, done.as_ref())?;
    if manifest.has_results() && manifest.job != job.name {
        let (other, workdir) = (&manifest.job, workdir.display());
        tracing::warn!(
            "{workdir} has the results of job {other}: those of this job's tables are replaced, others stay"
        );
    }
    manifest.input = Some(input);
    manifest.asked = job.tasks.iter().map(|task| task.name().to_owned()).collect();
    let said = Status::read(workdir).map(|status| (status.run, status.seconds, status.spent));
    manifest.begin(said);
    if resumed {
        manifest.resumes += 1;
        tracing::info!(resumes = manifest.resumes, "resuming");
    }
    manifest.mark_started(&job.name);
    // A finished job is checked first, because it may have nothing to do.
    if done.is_none() {
        manifest.save(workdir)?;
    }
    Ok((manifest, done))
}

/// Copies the streams of the input, if it has some, and returns the input as files with absolute paths. Returns an
/// error if the job would replace the results of another input.
fn take_up_streams(job: &Job, manifest: &mut Manifest, done: Option<&Manifest>) -> Result<InputSpec> {
    let workdir = &job.workdir;
    let said = streams::is_streamed(&job.input) && done.is_none();
    if said {
        manifest.mark_started(&job.name);
        manifest.save(workdir)?;
    }
    let taken = spool::take(job, manifest, done.is_some()).and_then(|()| {
        let input = input::absolute(&streams::replaced(job.clone(), manifest).input);
        let checked = if streams::is_gone(manifest) { Ok(()) } else { occupied::check(job, &input, manifest) };
        checked.map(|()| input)
    });
    taken.map_err(|e| {
        let e = streams::came_by(e, workdir, manifest);
        if said {
            manifest.ended(Some(&e));
        }
        // The error itself matters; whatever can't be saved or removed now is handled by the next run.
        let _ = if said { manifest.save(workdir) } else { Ok(()) };
        let _ = streams::remove_unnoted(workdir, done.unwrap_or(manifest));
        e
    })
}

/// Loads the manifest. A damaged manifest does not stop the job, because files are verified before they are used
/// again.
fn load(workdir: &Path) -> Result<Option<Manifest>> {
    match Manifest::load(workdir) {
        Ok(manifest) => Ok(manifest),
        Err(e @ Error::Corrupt { .. }) => {
            tracing::warn!("{e}");
            let mut manifest = Manifest::default();
            manifest.stopped = Some("its manifest was damaged".into());
            Ok(Some(manifest))
        }
        Err(e) => Err(e),
    }
}
