//! Starts a run: locks the workdir, takes over the state that earlier runs left there, and copies streams of the
//! input.

use crate::comm::{Comm, on_leader};
use crate::config::{Device, InputSpec, Job};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::job::context::Context;
use crate::job::input::{self, occupied, spool, streams};
use crate::job::plan::resources::Resources;
use crate::job::plan::{Plan, limits};
use crate::job::ranks;
use crate::job::run_record::RunRecord;
use crate::job::state::lock::{Lock, Reader};
use crate::job::state::manifest::Manifest;
use crate::job::state::{clean, workdir};
use crate::prepare::prepared::InputInfo;
use crate::process::log;
use crate::process::measurements::StageTotals;
use crate::process::status_file::Status;
use crate::store::replace::{remove_leftovers, remove_leftovers_below};
use std::path::Path;
use std::time::Instant;

/// Options for a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct StartOptions {
    /// Remove everything that earlier runs left in the workdir.
    pub fresh: bool,
    /// Wait while another process uses the workdir, rather than return [`Error::Busy`].
    pub wait: bool,
    /// The process ends after the run, so the run leaves the GPU to the driver, which frees memory faster.
    pub ends_process: bool,
}

/// Starts a run of `job` that began at the time `started`. On the leader, `lock` receives the lock of the workdir,
/// unless an earlier call put it there. Collective.
///
/// # Errors
/// [`Error::Busy`], [`Error::Occupied`], errors of the streams, of ranks that differ, of limits and of the disk.
pub(crate) fn start(
    job: Job,
    options: StartOptions,
    comm: &Comm,
    started: Instant,
    lock: &mut Option<Lock>,
) -> Result<(Context, RunRecord)> {
    let mut done = None;
    let manifest = on_leader(comm, || {
        let manifest;
        (manifest, done) = lock_and_adopt(&job, options, comm, lock)?;
        Ok(manifest)
    })?;
    ranks::check_shared(&job.workdir, comm)?;
    // From here on the input consists of files only.
    let mut job = streams::replaced(job, &manifest);
    let before = manifest.last::<InputInfo>("relabel");
    job.keeps_direction = before.is_some_and(|info| info.direction == Direction::Directed);
    if !comm.is_leader() {
        log::attach(&job.workdir)?;
    }
    let context = match Context::new(&job, comm) {
        Ok(context) => context,
        Err(e) => {
            let e = for_all_stages(e, &job, comm);
            if comm.is_leader() && done.is_none() {
                let mut manifest = manifest;
                manifest.close(started.elapsed().as_secs_f64(), &StageTotals::default());
                manifest.ended(Some(&e));
                manifest.save(&job.workdir)?;
            }
            return Err(e);
        }
    };
    let (files, opens) = (matches!(job.input, InputSpec::Files { .. }), job.run.device != Device::Cpu);
    if files && opens && comm.is_leader() && manifest.stages.is_empty() {
        input::read_ahead(&job.input);
    }
    let record = RunRecord::new(&context, manifest, done, started);
    Ok((context, record))
}

/// Changes an error that occurred before any stage. If the error names a limit, replaces it by the limit that is enough
/// for all stages, not just for the process itself.
fn for_all_stages(e: Error, job: &Job, comm: &Comm) -> Error {
    match Resources::here(job, comm.ranks(), comm.nodes()).and_then(|machine| Plan::of(job, &machine)) {
        Ok(plan) => limits::name_limit(&plan, e),
        Err(_) => e,
    }
}

/// Locks the workdir unless this process has the lock, and takes over its manifest.
fn lock_and_adopt(
    job: &Job,
    options: StartOptions,
    comm: &Comm,
    lock: &mut Option<Lock>,
) -> Result<(Manifest, Option<Manifest>)> {
    let StartOptions { fresh, wait, .. } = options;
    workdir::check(job)?;
    let lock = match lock {
        Some(lock) => lock,
        None => lock.insert(if wait { Lock::wait(&job.workdir) } else { Lock::acquire(&job.workdir) }?),
    };
    if fresh || !job.keep {
        // The graph will be removed, now or when the job is done.
        Reader::refuse(lock.workdir())?;
    }
    if fresh {
        check_startable(job, comm)?;
    }
    adopt(job, lock, fresh)
}

/// Returns an error if a fresh run of `job` could not start, such as for a missing input. The job then discards nothing.
/// Streams are not checked, because they can be read only once.
fn check_startable(job: &Job, comm: &Comm) -> Result<()> {
    if streams::is_streamed(&job.input) {
        return Ok(());
    }
    let mut job = Job { expect: None, ..job.clone() };
    // Opening a GPU takes long, and the needs that are certain before ingest are the same with a GPU.
    (job.run.device, job.run.gpu) = (Device::Cpu, None);
    let machine = Resources::here(&job, comm.ranks(), comm.nodes())?;
    let mut plan = Plan::following(&job, &machine, &Manifest::default())?;
    // A fresh run discards the copies of streams, too.
    plan.disk_free += workdir::size_of_tree(&job.workdir.join(workdir::SPOOL));
    // The memory of MPI is only an estimate, and on a GPU the needs of lists and prepared graphs may be smaller.
    if comm.ranks() == 1 && plan.basis.is_bound() { limits::refuse(&plan) } else { Ok(()) }
}

/// Takes over the workdir of the job as its only writer. Returns its manifest, and the previous manifest if the job
/// was already done.
fn adopt(job: &Job, lock: &Lock, fresh: bool) -> Result<(Manifest, Option<Manifest>)> {
    let workdir = lock.workdir();
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
    let input = adopt_streams(job, lock, &mut manifest, done.as_ref())?;
    if manifest.has_results() && manifest.job != job.name {
        let (other, workdir) = (&manifest.job, workdir.display());
        tracing::warn!(
            "{workdir} has the results of job {other}: those of this job's tables are replaced, others stay"
        );
    }
    manifest.input = Some(input);
    manifest.asked = job.tasks.iter().map(|task| task.name().to_owned()).collect();
    let last_run = Status::read(workdir).map(|status| (status.run, status.seconds, status.spent));
    manifest.begin(last_run);
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
fn adopt_streams(job: &Job, lock: &Lock, manifest: &mut Manifest, done: Option<&Manifest>) -> Result<InputSpec> {
    let workdir = lock.workdir();
    let copies_streams = streams::is_streamed(&job.input) && done.is_none();
    if copies_streams {
        manifest.mark_started(&job.name);
        manifest.save(workdir)?;
    }
    let found = streams::readable_streams(&job.input, manifest.spool.as_ref());
    let taken = found.and_then(|found| spool::take(job, &found, manifest, done.is_some())).and_then(|()| {
        let input = streams::absolute_input(job, manifest);
        let checked = if streams::is_gone(manifest) { Ok(()) } else { occupied::check(job, &input, manifest) };
        checked.map(|()| input)
    });
    taken.map_err(|e| {
        let e = streams::name_streams_in_error(e, workdir, manifest);
        if copies_streams {
            manifest.ended(Some(&e));
        }
        // The error itself matters; whatever can't be saved or removed now is handled by the next run.
        let _ = if copies_streams { manifest.save(workdir) } else { Ok(()) };
        let _ = spool::remove_unnoted(workdir, done.unwrap_or(manifest));
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
            manifest.is_lost = true;
            Ok(Some(manifest))
        }
        Err(e) => Err(e),
    }
}
