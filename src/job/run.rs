//! `gpugraph run`: runs a job, and continues where an earlier run stopped.

use crate::comm::Comm;
use crate::config::{Device, Job};
use crate::error::{Error, Result};
use crate::job::context::Context;
use crate::job::ending::{self, RunEnding};
use crate::job::results::report::Report;
use crate::job::run_record::RunRecord;
use crate::job::session;
use crate::job::stage::{Stage, StageResults};
use crate::job::start;
use crate::job::state::finished::FinishedInput;
use crate::job::state::lock::Lock;
use crate::job::tasks::{AlgorithmStage, OtherResults};
use crate::job::{ranks, reporting};
use std::time::Instant;

pub use crate::job::start::StartOptions;

/// Runs `job` to its end on all ranks of `comm`, and returns the report on each of them. Collective.
///
/// # Errors
/// Any error of this crate. Durable results remain, and the same call continues from them. Other ranks may still be
/// waiting for this one, so the caller must terminate all ranks.
pub fn run(job: Job, options: StartOptions, comm: &Comm) -> Result<Report> {
    let started = Instant::now();
    ranks::check_alike(&job, comm)?;
    let (on_cpu, mut lock) = (job_on_cpu(&job, comm), None);
    let mut ending = attempt(job, options, comm, started, &mut lock);
    if let (Err(e @ Error::GpuFull(_)), Some(job)) = (&ending.result, on_cpu) {
        // Stages that are complete are not repeated.
        tracing::warn!("going on on the CPU: {e}");
        ending = attempt(job, StartOptions::default(), comm, started, &mut lock);
    }
    lock.iter().for_each(|lock| ending.write_page(lock.workdir()));
    ending.result
}

/// Returns a copy of the job that computes on the CPU, as a fallback if other processes have filled the GPU. `None`
/// if the user chose a device, or if there are several ranks.
fn job_on_cpu(job: &Job, comm: &Comm) -> Option<Job> {
    let is_chosen = comm.ranks() > 1 || job.run.device != Device::Auto || job.run.gpu.is_some();
    let mut on_cpu = job.clone();
    on_cpu.run.device = Device::Cpu;
    Some(on_cpu).filter(|_| !is_chosen)
}

/// Runs the job once, after the leader has locked the workdir. The lock is stored in `lock`, unless an earlier call
/// has already stored it there.
fn attempt(job: Job, options: StartOptions, comm: &Comm, started: Instant, lock: &mut Option<Lock>) -> RunEnding {
    let (mut context, mut record) = match start::start(job, options, comm, started, lock) {
        Ok(run) => run,
        Err(e) => return RunEnding { result: Err(e), is_changed: false },
    };
    let finished_input = run_stages(&mut context, &mut record);
    // The times of completed stages are recorded even if the run has stopped early.
    record.remember_speeds();
    let result = finished_input.and_then(|finished_input| reporting::report(&context, &mut record, &finished_input));
    ending::close(context, record, result, options.ends_process)
}

fn stages(job: &Job) -> Vec<Box<dyn Stage + Send>> {
    let mut stages = session::input_stages(&job.input);
    stages.push(Box::new(OtherResults));
    for task in &job.tasks {
        stages.push(Box::new(AlgorithmStage(task.clone())));
    }
    stages
}

/// Runs the stages one after the other; a stage whose result is stored only opens it. Then removes files that the job
/// does not keep. Returns the input for the report. Collective.
fn run_stages(context: &mut Context, record: &mut RunRecord) -> Result<FinishedInput> {
    let (mut stages, mut stage_results) = (stages(&context.job), StageResults::default());
    for stage in &mut stages {
        if stage_results.finished.is_some() {
            stage.skip(context, record, &stage_results);
        } else {
            stage.run(context, record, &mut stage_results)?;
        }
    }
    let finished_input = stage_results.into_finished_input()?;
    if context.job.keep {
        context.syncer.wait()?;
    }
    // After this barrier, no rank reads or writes files of the graph.
    context.comm.barrier();
    for stage in stages.iter_mut().filter(|_| !context.job.keep) {
        stage.remove(context, record)?;
    }
    Ok(finished_input)
}
