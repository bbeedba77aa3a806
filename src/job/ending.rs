//! Ends a run: determines the final content of the manifest, and which files remain in the workdir.

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
pub(crate) struct RunEnding {
    /// The report of the run, or the error that ended it. Durable results remain in both cases.
    pub(crate) result: Result<Report>,
    /// True if a stage ran, or the report was written. False if an earlier run had already done everything, or the
    /// run failed early.
    pub(crate) is_changed: bool,
}

impl RunEnding {
    /// Returns true if the workdir keeps `done`, the manifest of an earlier run that completed the job. Otherwise the
    /// manifest of this run replaces it.
    fn keeps(&self, done: &Manifest, record: &RunRecord) -> bool {
        let manifest = &record.manifest;
        let may_stay = match &self.result {
            Ok(_) => !self.is_changed && done.input == manifest.input,
            // The workdir contains results that this job may not replace.
            Err(Error::Occupied { .. }) => true,
            Err(_) => !self.is_changed,
        };
        may_stay && (&done.outputs, &done.tasks) == (&manifest.outputs, &manifest.tasks)
    }

    /// Writes `report.html` to the workdir, unless the existing page is up to date or there is nothing to show.
    pub(crate) fn write_page(&self, workdir: &Path) {
        let stays = match &self.result {
            Ok(_) => !self.is_changed && workdir.join(html::FILE).is_file(),
            Err(Error::Occupied { .. }) => true,
            Err(_) => !Manifest::path(workdir).is_file(),
        };
        if !stays {
            html::leave(workdir);
        }
    }
}

/// Ends a run: records in the metrics and the manifest how it ended, and returns the report or the error. If
/// `ends_process` is true, the GPU stays open until the process ends.
pub(crate) fn close(context: Context, mut record: RunRecord, result: Result<Report>, ends_process: bool) -> RunEnding {
    let Context { job, comm, gpu, .. } = context;
    let result = result.map_err(|e| {
        let e = if let InputSpec::Prepared(other) = &job.input { e.advise_rerun(other) } else { e };
        streams::name_streams_in_error(e, &job.workdir, &record.manifest)
    });
    let mut ending = RunEnding { result, is_changed: record.is_changed };
    let error = ending.result.as_ref().err();
    record.progress.metrics().end(&error.map_or_else(|| "finished".into(), ToString::to_string));
    let spent = StageTotals { gpu_memory_peak: gpu.memory()[1], ..record.progress.spent() };
    record.manifest.close(record.seconds(), &spent);
    record.manifest.ended(error);
    if error.is_none() {
        spool::done_with(&mut record.manifest);
    }
    let saved = if comm.is_leader() { save(&ending, &job.workdir, record) } else { Ok(()) };
    match saved {
        _ if ending.result.is_err() => {}
        Err(e) => ending.result = Err(e),
        Ok(()) if ends_process => gpu.leave_open(),
        Ok(()) => {}
    }
    ending
}

/// Saves the manifest of this run, unless the workdir keeps the manifest of an earlier run that completed the job. Then
/// removes the copies of input streams that the manifest in the workdir does not record.
fn save(ending: &RunEnding, workdir: &Path, mut record: RunRecord) -> Result<()> {
    let kept = record.done.take().filter(|done| ending.keeps(done, &record));
    let is_on_disk = kept.is_some() && !record.is_changed;
    let mut manifest = kept.unwrap_or(record.manifest);
    if !is_on_disk {
        manifest.save(workdir)?;
    }
    spool::remove_unnoted(workdir, &manifest)
}
