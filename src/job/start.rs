//! Starts a run: locks the workdir, takes over the state that earlier runs left there, and copies input streams, such
//! as standard input, to files.

use crate::comm::{Comm, on_leader};
use crate::config::{Device, InputSpec, Job};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::job::context::Context;
use crate::job::input::{self, occupied, spool, streams};
use crate::job::plan::comm_memory::CommMemory;
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
    /// Whether to remove everything that earlier runs left in the workdir.
    pub fresh: bool,
    /// Whether to wait while another process uses the workdir, instead of returning [`Error::Busy`].
    pub wait: bool,
    /// Whether the process ends after the run. If so, the run does not close the GPU, because the driver frees its
    /// memory faster when the process ends.
    pub ends_process: bool,
}

/// Starts a run of `job`; `started` is the time at which the run began. On the leader, `lock` receives the lock of
/// the workdir, unless an earlier call has already stored the lock there. Collective.
///
/// # Errors
/// [`Error::Busy`], [`Error::Occupied`], errors of input streams, limits and the disk, and [`Error::Usage`] if ranks
/// differ.
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
    // From here on the input contains no streams.
    let mut job = streams::replaced(job, &manifest);
    let before = manifest.last::<InputInfo>("relabel");
    job.keeps_direction = before.is_some_and(|info| info.direction == Direction::Directed);
    if !comm.is_leader() {
        log::attach(&job.workdir)?;
    }
    let context = match Context::new(&job, comm) {
        Ok(context) => context,
        Err(e) => {
            let e = limits::for_all_stages(e, &job, comm.ranks(), comm.nodes());
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

/// Locks the workdir unless this process already has the lock, and takes over the manifest that an earlier run left
/// there.
fn lock_and_adopt(
    job: &Job,
    options: StartOptions,
    comm: &Comm,
    lock: &mut Option<Lock>,
) -> Result<(Manifest, Option<Manifest>)> {
    let StartOptions { fresh, wait, .. } = options;
    workdir::check(job)?;
    input::check_paths(&job.input)?;
    let lock = match lock {
        Some(lock) => lock,
        None => lock.insert(if wait { Lock::wait(&job.workdir) } else { Lock::acquire(&job.workdir) }?),
    };
    if fresh || !job.keep {
        // The graph will be removed now (`fresh`) or at the end of the job, so no other job may be reading it.
        Reader::refuse(lock.workdir())?;
    }
    if fresh {
        check_startable(job, comm)?;
    }
    adopt(job, lock, fresh)
}

/// Returns an error if a fresh run of `job` could not start, for example because the input is missing. It is called
/// before earlier results are discarded. Streams are not checked, because they can be read only once.
fn check_startable(job: &Job, comm: &Comm) -> Result<()> {
    if streams::is_streamed(&job.input) {
        return Ok(());
    }
    let mut job = Job { expect: None, ..job.clone() };
    // Opening a GPU takes long, and with a GPU the requirements that are certain before ingest are the same.
    (job.run.device, job.run.gpu) = (Device::Cpu, None);
    let mut machine = Resources::here(&job, comm.ranks(), comm.nodes())?;
    machine.comm_memory = CommMemory::of(comm, machine.threads, machine.host_memory);
    let mut plan = Plan::following(&job, &machine, &Manifest::default())?;
    // A fresh run also discards the copies of streams, so their disk space counts as free.
    plan.disk_free += workdir::size_of_tree(&job.workdir.join(workdir::SPOOL));
    // On a GPU, lists and prepared graphs may need less host memory.
    if plan.basis.is_bound() { limits::refuse(&plan) } else { Ok(()) }
}

/// Takes over the locked workdir for the job. Returns its manifest, and the previous manifest if an earlier run
/// completed the job.
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
    // For a job that an earlier run completed, the manifest is not saved yet, because there may be nothing to do.
    if done.is_none() {
        manifest.save(workdir)?;
    }
    Ok((manifest, done))
}

/// Copies the streams of the input, if any, and returns the input as files with absolute paths. Returns an error if
/// the job would replace the results of another input.
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
        // The caller needs the first error. Whatever can't be saved or removed now is handled by the next run.
        let _ = if copies_streams { manifest.save(workdir) } else { Ok(()) };
        let _ = spool::remove_unnoted(workdir, done.unwrap_or(manifest));
        e
    })
}

/// Loads the manifest. If it is damaged, logs a warning and returns an empty manifest; this is safe, because files
/// are verified before they are reused.
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
