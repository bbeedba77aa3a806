//! The stages of a job, and the results that they pass on.

use crate::algo::{ByInput, InputRef};
use crate::config::Job;
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::job::context::Context;
use crate::job::plan::{Plan, limits};
use crate::job::run_record::RunRecord;
use crate::job::state::finished::FinishedInput;
use crate::job::state::record::GraphRecord;
use crate::list::List;
use crate::prepare::prepared::Graph;

/// A stage of a job. If an earlier run stored the result of the stage, the stage opens that result; otherwise it
/// computes the result. The methods are collective: all ranks call them together.
pub(crate) trait Stage {
    /// Returns the names of the stage's steps in the report and the manifest, in order. The list is empty if the job
    /// does not need the stage.
    fn steps(&self, _job: &Job, _results: &StageResults) -> Vec<&'static str> {
        Vec::new()
    }

    /// Opens the result that an earlier run stored, or computes what is missing. Returns true if nothing was missing.
    ///
    /// # Errors
    /// Errors of the input, of memory limits, of the disk and of the stage; [`Error::Stopped`].
    fn ensure(&mut self, context: &mut Context, record: &mut RunRecord, results: &mut StageResults) -> Result<bool>;

    /// Removes files of the stage that are not needed after the job. It is not called if the job keeps its graph.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn remove(&mut self, _context: &Context, _record: &mut RunRecord) -> Result<()> {
        Ok(())
    }

    /// Adds the steps of the stage to the report, as completed by an earlier run.
    fn skip(&self, context: &Context, record: &mut RunRecord, results: &StageResults) {
        record.skipped(&self.steps(&context.job, results));
    }

    /// Runs the stage. If an earlier run has already stored the whole result, adds the steps of the stage to the
    /// report, as completed by that run.
    ///
    /// # Errors
    /// Errors of [`Self::ensure`].
    fn run(&mut self, context: &mut Context, record: &mut RunRecord, results: &mut StageResults) -> Result<()> {
        if self.ensure(context, record, results)? {
            self.skip(context, record, results);
        }
        Ok(())
    }
}

/// The results that the stages of a job have produced so far.
#[derive(Default)]
pub(crate) struct StageResults {
    /// The graph or list that tasks compute on.
    pub(crate) input: Option<ByInput<Box<Graph>, List>>,
    /// The plan of the job, if a stage made one. Error messages about memory suggest the limit from the plan that is
    /// enough for all tasks.
    pub(crate) plan: Option<Plan>,
    /// The input of the job if an earlier run completed the whole job, otherwise `None`.
    pub(crate) finished: Option<FinishedInput>,
}

impl StageResults {
    /// Returns the graph, once a stage has opened or built it.
    ///
    /// # Errors
    /// [`Error::internal`] before that.
    pub(crate) fn graph(&mut self) -> Result<&mut Graph> {
        match &mut self.input {
            Some(ByInput::Graph(graph)) => Ok(graph),
            _ => Err(Error::internal("use the graph", "no stage made it")),
        }
    }

    /// Returns the graph or list that tasks compute on, once a stage has opened it.
    ///
    /// # Errors
    /// [`Error::internal`] before that.
    pub(crate) fn input(&self) -> Result<InputRef<'_>> {
        match &self.input {
            Some(ByInput::Graph(graph)) => Ok(ByInput::Graph(graph)),
            Some(ByInput::List(list)) => Ok(ByInput::List(list)),
            None => Err(Error::internal("use the input", "no stage opened it")),
        }
    }

    /// Returns whether the graph of `job` is directed.
    pub(crate) fn direction(&self, job: &Job) -> Direction {
        if let Some(ByInput::Graph(graph)) = &self.input { graph.info.direction } else { job.direction() }
    }

    /// Returns a task's error. If the error suggests a memory limit and a plan is known, replaces that limit by the
    /// one that is enough for all tasks.
    pub(crate) fn name_limit(&self, error: Error) -> Error {
        if let Some(plan) = &self.plan { limits::name_limit(plan, error) } else { error }
    }

    /// Returns the input for the report, after all stages have run.
    ///
    /// # Errors
    /// [`Error::internal`] if no stage opened the input.
    pub(crate) fn into_finished_input(self) -> Result<FinishedInput> {
        match (self.finished, self.input) {
            (Some(finished_input), _) => Ok(finished_input),
            (None, Some(ByInput::Graph(graph))) => {
                let Graph { info, stored, block_store, upper, merged, .. } = *graph;
                // Freed in the background, because freeing gigabytes takes a while.
                let free = move || drop((block_store, upper, merged));
                let _ = std::thread::Builder::new().name("graph".into()).spawn(free);
                Ok(ByInput::Graph(Box::new(GraphRecord { info, stored })))
            }
            (None, Some(ByInput::List(list))) => Ok(ByInput::List(list)),
            (None, None) => Err(Error::internal("report the input", "no stage opened it")),
        }
    }
}
