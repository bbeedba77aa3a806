//! A job that stays open. It first prepares its input; then tasks are added and run one at a time. Each graph or list
//! of the library is a session.

use crate::algo::{InputRef, Task};
use crate::comm::Comm;
use crate::config::{InputSpec, Job};
use crate::error::Result;
use crate::job::context::Context;
use crate::job::device::GpuSession;
use crate::job::graph::kept::KeptGraph;
use crate::job::graph::merge::MergedRows;
use crate::job::graph::transpose::UpperHalf;
use crate::job::graph::{FromEdges, named};
use crate::job::list::OpenedList;
use crate::job::plan::{Plan, limits};
use crate::job::run_record::RunRecord;
use crate::job::stage::{Stage, StageResults};
use crate::job::start::{self, StartOptions};
use crate::job::state::kept;
use crate::job::state::lock::Lock;
use crate::job::state::record::TaskRecord;
use crate::job::tasks::AlgorithmStage;
use crate::process::progress::Observer;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A job that stays open, in a process that is its only rank.
pub(crate) struct Session {
    context: Context,
    record: RunRecord,
    stage_results: StageResults,
    /// The stages that open the input or prepare it, and derive rows for tasks that need them. If the graph is in
    /// another workdir, the first stage also prevents the removal of that graph.
    stages: Vec<Box<dyn Stage + Send>>,
    /// Lock of the workdir. The session keeps it until the job is closed.
    _lock: Option<Lock>,
}

impl Session {
    /// Opens `job`, which has no tasks, and prepares its graph or opens its list. `gpu` is the GPU that the session
    /// uses during a call: `None` for the first session, and later the GPU that an earlier call opened.
    ///
    /// # Errors
    /// Errors of running the job.
    pub(crate) fn open(job: Job, gpu: &mut Option<GpuSession>, observer: Option<Observer>) -> Result<Session> {
        let comm = Comm::Solo;
        let mut lock = None;
        let (mut context, mut record) = start::start(job, StartOptions::default(), &comm, Instant::now(), &mut lock)?;
        if let Some(observer) = observer {
            record.progress.observe(observer);
        }
        swap_gpu(&mut context, gpu);
        let mut stages = input_stages(&context.job.input);
        let mut stage_results = StageResults::default();
        let opened = stages[0].run(&mut context, &mut record, &mut stage_results);
        swap_gpu(&mut context, gpu);
        opened?;
        Ok(Session { context, record, stage_results, stages, _lock: lock })
    }

    /// Returns the graph or list of the session.
    ///
    /// # Errors
    /// None occur in practice.
    pub(crate) fn input(&self) -> Result<InputRef<'_>> {
        self.stage_results.input()
    }

    /// Returns the workdir.
    pub(crate) fn workdir(&self) -> &Path {
        &self.context.job.workdir
    }

    /// Runs a task, or finds the results of an earlier run of the same task, and returns the record of the task.
    /// `gpu` is the GPU of the session, as for [`Self::open`].
    ///
    /// # Errors
    /// Errors of the task, of deriving the rows that it needs, and of memory limits; [`crate::Error::Stopped`]. The
    /// session stays open.
    pub(crate) fn compute(&mut self, task: Arc<dyn Task>, gpu: &mut Option<GpuSession>) -> Result<&TaskRecord> {
        let name = task.name();
        self.context.job.tasks = vec![Arc::clone(&task)];
        swap_gpu(&mut self.context, gpu);
        let computed = self.run(task);
        swap_gpu(&mut self.context, gpu);
        self.context.job.tasks.clear();
        computed?;
        self.record.manifest.tasks.get(name).ok_or_else(|| crate::Error::internal("find the record of a task", name))
    }

    fn run(&mut self, task: Arc<dyn Task>) -> Result<()> {
        let Session { context, record, stage_results, stages, .. } = self;
        let mut task = AlgorithmStage(task);
        if stage_results.input()?.graph().is_some() {
            let graph = stage_results.graph()?;
            kept::check_weights(graph, &context.job, None)?;
            named::check(context, record, &graph.info, &graph.folder, None, None)?;
            context.begin_gpu()?;
            context.wait_for_gpu()?;
            let machine = context.machine();
            limits::refuse(&Plan::prepared(&context.job, &machine, &context.job.workdir, graph, &record.manifest)?)?;
        } else {
            context.begin_gpu()?;
            context.wait_for_gpu()?;
        }
        for stage in &mut stages[1..] {
            if !stage.steps(&context.job, stage_results).is_empty() {
                stage.run(context, record, stage_results)?;
            }
        }
        task.run(context, record, stage_results)
    }
}

/// Returns the stages of `input`, in order: first the stage that opens or prepares the input, then the stages that
/// derive rows.
pub(crate) fn input_stages(input: &InputSpec) -> Vec<Box<dyn Stage + Send>> {
    let source: Box<dyn Stage + Send> = match input {
        input if input.is_list() => return vec![Box::new(OpenedList)],
        InputSpec::Prepared(other) => Box::new(KeptGraph { workdir: other.clone(), reader: None }),
        _ => Box::new(FromEdges::default()),
    };
    vec![source, Box::new(UpperHalf), Box::new(MergedRows)]
}

/// Exchanges the GPU of the context and the GPU of the caller. If the caller has none yet, moves the context's GPU to
/// the caller.
fn swap_gpu(context: &mut Context, gpu: &mut Option<GpuSession>) {
    match gpu {
        Some(gpu) => std::mem::swap(&mut context.gpu, gpu),
        None => *gpu = Some(std::mem::replace(&mut context.gpu, GpuSession::new(&context.job, &context.comm))),
    }
}
