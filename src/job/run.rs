//! `gpugraph run`: from a job to its report, going on where an earlier run stopped.

use crate::comm::Comm;
use crate::config::{Device, InputSpec, Job};
use crate::error::{Error, Result};
use crate::job::context::Context;
use crate::job::ending::{self, RunEnding};
use crate::job::graph::kept::KeptGraph;
use crate::job::graph::merge::MergedRows;
use crate::job::graph::transpose::UpperHalf;
use crate::job::graph::{Derived, FromEdges};
use crate::job::list::OpenedList;
use crate::job::results::report::Report;
use crate::job::run_record::RunRecord;
use crate::job::stage::{Made, Stage};
use crate::job::start;
use crate::job::state::finished::Subject;
use crate::job::state::lock::Lock;
use crate::job::tasks::{AlgorithmStage, OtherResults};
use crate::job::{ranks, reporting};
use std::time::Instant;

pub use crate::job::start::StartOptions;

/// Runs `job` to its end, by all ranks of `comm` together; each gets the report.
///
/// # Errors
/// Every one of this crate. What was durable before stays, and the same call goes on from there. Other ranks may be left
/// waiting: an error of one ends the job for all.
pub fn run(job: Job, options: StartOptions, comm: &Comm) -> Result<Report> {
    let started = Instant::now();
    ranks::check_alike(&job, comm)?;
    let (on_cpu, mut lock) = (job_on_cpu(&job, comm), None);
    let mut ending = attempt(job, options, comm, started, &mut lock);
    if let (RunEnding::Failed(e @ Error::GpuFull(_)), Some(job)) = (&ending, on_cpu) {
        // The stages that are done stay so.
        tracing::warn!("going on on the CPU: {e}");
        ending = attempt(job, StartOptions::default(), comm, started, &mut lock);
    }
    lock.iter().for_each(|lock| ending.leave_page(lock.workdir()));
    ending.into_result()
}

/// Returns the same job on the CPU, for a GPU that turns out to be full. `None` if the user named the device.
fn job_on_cpu(job: &Job, comm: &Comm) -> Option<Job> {
    let is_chosen = comm.ranks() > 1 || job.run.device != Device::Auto || job.run.gpu.is_some();
    let mut on_cpu = job.clone();
    on_cpu.run.device = Device::Cpu;
    Some(on_cpu).filter(|_| !is_chosen)
}

/// Carries the job out, once the leader has the lock of the workdir.
fn attempt(job: Job, options: StartOptions, comm: &Comm, started: Instant, lock: &mut Option<Lock>) -> RunEnding {
    let (mut context, mut record) = match start::start(job, options, comm, started, lock) {
        Ok(run) => run,
        Err(e) => return RunEnding::of_error(e),
    };
    let subject = go_through(&mut context, &mut record);
    // Also of a run that was stopped.
    record.remember_speeds();
    let result = subject.and_then(|subject| reporting::report(&context, &mut record, &subject));
    ending::close(context, record, result)
}

/// Returns the stages of a job, in order.
fn stages(job: &Job) -> Vec<Box<dyn Stage>> {
    let (upper, merged) = (Box::new(Derived::<UpperHalf>::default()), Box::new(Derived::<MergedRows>::default()));
    let mut stages: Vec<Box<dyn Stage>> = match &job.input {
        InputSpec::ListFile { .. } | InputSpec::List(_) => vec![Box::new(OpenedList)],
        InputSpec::Prepared(other) => {
            vec![Box::new(KeptGraph { workdir: other.clone(), reader: None }), upper, merged]
        }
        _ => vec![Box::new(FromEdges::default()), upper, merged],
    };
    stages.push(Box::new(OtherResults));
    for task in &job.tasks {
        stages.push(Box::new(AlgorithmStage(task.clone())));
    }
    stages
}

/// Opens or runs one stage after the other, and removes what is not kept. Returns the input for the report.
/// Collective.
fn go_through(context: &mut Context, record: &mut RunRecord) -> Result<Subject> {
    let (mut stages, mut made) = (stages(&context.job), Made::default());
    for stage in &mut stages {
        if made.finished.is_some() {
            stage.skip(context, record, &made);
        } else {
            stage.open_or_run(context, record, &mut made)?;
        }
    }
    let subject = made.into_subject()?;
    if context.job.keep {
        context.syncer.wait()?;
    }
    // No rank reads or writes any more.
    context.comm.barrier();
    for stage in stages.iter_mut().filter(|_| !context.job.keep) {
        stage.remove(context, record)?;
    }
    Ok(subject)
}
