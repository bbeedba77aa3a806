//! `gpugraph run`: carries out a job, and continues where an earlier run stopped.

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

/// Runs `job` to its end on all ranks of `comm`, and returns the report on each of them. Collective.
///
/// # Errors
/// Any error of this crate. Durable results stay, and the same call continues from them. Other ranks may be left
/// waiting, so the caller must end all ranks.
pub fn run(job: Job, options: StartOptions, comm: &Comm) -> Result<Report> {
    let started = Instant::now();
    ranks::check_alike(&job, comm)?;
    let (on_cpu, mut lock) = (job_on_cpu(&job, comm), None);
    let mut ending = attempt(job, options, comm, started, &mut lock);
    if let (RunEnding::Failed(e @ Error::GpuFull(_)), Some(job)) = (&ending, on_cpu) {
        // Finished stages stay finished.
        tracing::warn!("going on on the CPU: {e}");
        ending = attempt(job, StartOptions::default(), comm, started, &mut lock);
    }
    lock.iter().for_each(|lock| ending.leave_page(lock.workdir()));
    ending.into_result()
}

/// Returns the same job for the CPU, to be used if other processes fill the GPU. `None` if the user chose a device,
/// or with several ranks.
fn job_on_cpu(job: &Job, comm: &Comm) -> Option<Job> {
    let is_chosen = comm.ranks() > 1 || job.run.device != Device::Auto || job.run.gpu.is_some();
    let mut on_cpu = job.clone();
    on_cpu.run.device = Device::Cpu;
    Some(on_cpu).filter(|_| !is_chosen)
}

/// Runs the job once, after the leader has locked the workdir.
fn attempt(job: Job, options: StartOptions, comm: &Comm, started: Instant, lock: &mut Option<Lock>) -> RunEnding {
    let (mut context, mut record) = match start::start(job, options, comm, started, lock) {
        Ok(run) => run,
        Err(e) => return RunEnding::of_error(e),
    };
    let subject = go_through(&mut context, &mut record);
    // A stopped run also has stages whose times are known.
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

/// Opens or runs one stage after the other, and removes files that the job does not keep. Returns the input for the
/// report. Collective.
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
    // After this, no rank reads or writes files of the graph.
    context.comm.barrier();
    for stage in stages.iter_mut().filter(|_| !context.job.keep) {
        stage.remove(context, record)?;
    }
    Ok(subject)
}
