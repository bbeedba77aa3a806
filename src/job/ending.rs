//! Ends a run: decides what its manifest says, and which files stay in the workdir.

use crate::config::InputSpec;
use crate::error::{Error, Result};
use crate::job::context::Context;
use crate::job::html;
use crate::job::input::{spool, streams};
use crate::job::results::report::Report;
use crate::job::run_record::RunRecord;
use crate::job::state::manifest::Manifest;
use crate::process::measurements::StageTotals;
use std::path::Path;

/// How a run ended.
pub(crate) enum RunEnding {
    /// A stage ran, or the report was written.
    Worked(Box<Report>),
    /// An earlier run did everything. Its manifest and its report stay.
    NothingToDo(Box<Report>),
    /// The workdir has results that this job may not replace. They stay.
    Refused(Error),
    /// The run failed or was stopped. Durable results stay.
    Failed(Error),
}

impl RunEnding {
    /// Returns how a run ended that failed with `error`.
    pub(crate) fn of_error(error: Error) -> RunEnding {
        if matches!(error, Error::Occupied { .. }) { RunEnding::Refused(error) } else { RunEnding::Failed(error) }
    }

    /// Returns the report, or the error.
    ///
    /// # Errors
    /// The error that ended the run.
    pub(crate) fn into_result(self) -> Result<Report> {
        match self {
            RunEnding::Worked(report) | RunEnding::NothingToDo(report) => Ok(*report),
            RunEnding::Refused(e) | RunEnding::Failed(e) => Err(e),
        }
    }

    fn error(&self) -> Option<&Error> {
        if let RunEnding::Refused(e) | RunEnding::Failed(e) = self { Some(e) } else { None }
    }

    /// Returns true if `done`, the manifest of an earlier run that finished the job, remains the workdir's manifest.
    fn keeps(&self, done: &Manifest, record: &RunRecord) -> bool {
        let manifest = &record.manifest;
        let may_stay = match self {
            RunEnding::Worked(_) => false,
            RunEnding::NothingToDo(_) => done.input == manifest.input,
            RunEnding::Refused(_) => true,
            RunEnding::Failed(_) => !record.is_changed,
        };
        may_stay && (&done.outputs, &done.tasks) == (&manifest.outputs, &manifest.tasks)
    }

    /// Writes `report.html` to the workdir, unless the existing page is still right or there is nothing to show.
    pub(crate) fn write_page(&self, workdir: &Path) {
        let stays = match self {
            RunEnding::Worked(_) => false,
            RunEnding::NothingToDo(_) => workdir.join(html::FILE).is_file(),
            RunEnding::Refused(_) => true,
            RunEnding::Failed(_) => !Manifest::path(workdir).is_file(),
        };
        if !stays {
            html::leave(workdir);
        }
    }
}

/// Ends a run: records in the metrics and the manifest how it ended, and returns the ending.
pub(crate) fn close(context: Context, mut record: RunRecord, result: Result<Report>) -> RunEnding {
    let Context { job, comm, gpu, .. } = context;
    let ending = match result {
        Ok(report) if record.is_changed => RunEnding::Worked(Box::new(report)),
        Ok(report) => RunEnding::NothingToDo(Box::new(report)),
        Err(e) => {
            let e = if let InputSpec::Prepared(other) = &job.input { e.advise_rerun(other) } else { e };
            RunEnding::of_error(streams::name_streams_in_error(e, &job.workdir, &record.manifest))
        }
    };
    record.progress.metrics().end(&ending.error().map_or_else(|| "finished".into(), ToString::to_string));
    let spent = StageTotals { gpu_memory_peak: gpu.memory()[1], ..record.progress.spent() };
    record.manifest.close(record.seconds(), &spent);
    record.manifest.ended(ending.error());
    if ending.error().is_none() {
        spool::done_with(&mut record.manifest);
    }
    let saved = if comm.is_leader() { save(&ending, &job.workdir, record) } else { Ok(()) };
    if ending.error().is_some() {
        return ending;
    }
    if comm.ranks() > 1 && saved.is_ok() {
        // A rank ends with its job, and the driver frees the memory of a process faster than the process does.
        std::mem::forget(gpu);
    }
    saved.map_or_else(RunEnding::of_error, |()| ending)
}

/// Saves the manifest of this run, unless the manifest of an earlier run that finished the job stays. Then removes
/// copies of the input that the manifest does not record.
fn save(ending: &RunEnding, workdir: &Path, mut record: RunRecord) -> Result<()> {
    let kept = record.done.take().filter(|done| ending.keeps(done, &record));
    let is_on_disk = kept.is_some() && !record.is_changed;
    let mut manifest = kept.unwrap_or(record.manifest);
    if !is_on_disk {
        manifest.save(workdir)?;
    }
    spool::remove_unnoted(workdir, &manifest)
}
