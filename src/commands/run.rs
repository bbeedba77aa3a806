//! `gpugraph run`: starts MPI and CUDA in parallel, and runs the job.
#![allow(unsafe_code)] // the environment of MPI and CUDA is set before there are threads

use super::cli::{RunArgs, StartArgs};
use crate::comm::{self, Comm};
use crate::config::{self, Device, Job};
use crate::error::Result;
use crate::job::results::report::Report;
use crate::job::run::StartOptions;
use crate::job::{self, device};
use crate::process::log;
use crate::{gpu, stdout};
use std::time::Instant;

/// `gpugraph run`: runs a job, as a single process or as one of the ranks that a launcher started.
///
/// # Safety
/// No other thread may run yet, because MPI and CUDA are configured by environment variables.
///
/// # Errors
/// Mistakes in the job file, and the errors of [`job::run::run`].
pub unsafe fn run(args: &RunArgs) -> Result<()> {
    let job = config::load(&args.job, &args.start.set);
    let workdir = job.as_ref().map(|job| job.workdir.clone()).unwrap_or_default();
    let print = |report: &Report| {
        // The results are already in report.json, so a closed stdout is no reason to fail.
        let _ = stdout::show(&report.answer(&workdir));
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { carry_out(job, &args.start, print) }
}

/// Runs a job, as a single process or as one of the ranks that a launcher started. Rank 0 then passes the report to
/// `finish`.
///
/// # Safety
/// No other thread may run yet, because MPI and CUDA are configured by environment variables.
///
/// # Errors
/// The error of `job`, and the errors of [`job::run::run`] and `finish`.
pub(super) unsafe fn carry_out(
    job: Result<Job>,
    args: &StartArgs,
    finish: impl FnOnce(&Report) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let several = unsafe { comm::shorten_start() };
    if let (Ok(job), Some(local_rank)) = (&job, comm::launched_local_rank())
        && job.run.device != Device::Cpu
    {
        // SAFETY: as above; since then only a file was read.
        unsafe {
            gpu::restrict_to_one(job.run.gpu, local_rank);
            gpu::shorten_start(comm::launched_local_ranks().unwrap_or(1));
        }
    }
    // CUDA starts in parallel with MPI, unless other ranks must start it first.
    job.iter().filter(|_| several).for_each(|job| device::wake(job, !comm::launched_later()));
    let started = Instant::now();
    let comm = Comm::open()?;
    log::init(args.log_format, args.quiet, comm.is_leader());
    tracing::debug!(ranks = comm.ranks(), seconds = started.elapsed().as_secs_f64(), "ranks have met");
    // A mistake in the job file is returned only now, so that one of the connected ranks reports it for all.
    let start = StartOptions { fresh: args.fresh, wait: args.wait, ends_process: true };
    let report = job::run::run(job?, start, &comm)?;
    if comm.is_leader() {
        finish(&report)?;
    }
    comm.close();
    Ok(())
}
