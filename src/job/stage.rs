//! The stages of a job, and the results that they hand on to each other.

use crate::algo::{ByInput, InputRef};
use crate::config::Job;
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::job::context::Context;
use crate::job::plan::{Plan, limits};
use crate::job::run_record::RunRecord;
use crate::job::state::finished::{Finished, FinishedInput};
use crate::list::List;
use crate::prepare::prepared::Graph;

/// A part of a job. Its result is opened if an earlier run stored it, and otherwise made. `M` collects the results of
/// all stages. The methods are collective: all ranks call them together.
pub(crate) trait Stage<M = StageResults> {
    /// Returns the names of the stage's steps in the report and the manifest, in order. The list is empty if no table
    /// of the job needs the stage.
    fn steps(&self, _job: &Job, _made: &M) -> Vec<&'static str> {
        Vec::new()
    }

    /// Opens the result that an earlier run stored. Returns true if nothing is missing.
    ///
    /// # Errors
    /// Errors of the input, of limits and of the disk; [`Error::Stopped`].
    fn open(&mut self, context: &mut Context, record: &mut RunRecord, stage_results: &mut M) -> Result<bool>;

    /// Makes the missing parts of the result. The default does nothing, for stages that only open their result.
    ///
    /// # Errors
    /// Errors of the stage.
    fn run(&mut self, _context: &mut Context, _record: &mut RunRecord, _made: &mut M) -> Result<()> {
        Ok(())
    }

    /// Removes files of the stage that are not needed after the job. This is not called if the job keeps its graph.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn remove(&mut self, _context: &Context, _record: &mut RunRecord) -> Result<()> {
        Ok(())
    }

    /// Adds the steps of the stage to the report, as completed by an earlier run.
    fn skip(&self, context: &Context, record: &mut RunRecord, stage_results: &M) {
        self.steps(&context.job, stage_results).into_iter().for_each(|name| record.skipped(name));
    }

    /// Opens the stored result if nothing of it is missing, otherwise runs the stage. Returns true if it was opened.
    ///
    /// # Errors
    /// Errors of [`Self::open`] and [`Self::run`].
    fn open_or_run(&mut self, context: &mut Context, record: &mut RunRecord, stage_results: &mut M) -> Result<bool> {
        let is_opened = self.open(context, record, stage_results)?;
        if is_opened {
            self.skip(context, record, stage_results);
        } else {
            self.run(context, record, stage_results)?;
        }
        Ok(is_opened)
    }
}

/// The results of a job's stages so far.
#[derive(Default)]
pub(crate) struct StageResults {
    /// The graph or list that tasks compute on.
    pub(crate) input: Option<ByInput<Box<Graph>, List>>,
    /// The plan of the job, if a stage made one. Error messages name the limit in the plan that is enough for all
    /// tasks.
    pub(crate) plan: Option<Plan>,
    /// The input of the job, if an earlier run already did everything.
    pub(crate) finished: Option<FinishedInput>,
}

impl StageResults {
    /// Returns the graph that the stages made.
    ///
    /// # Errors
    /// [`Error::internal`] before a stage made it.
    pub(crate) fn graph(&mut self) -> Result<&mut Graph> {
        match &mut self.input {
            Some(ByInput::Graph(graph)) => Ok(graph),
            _ => Err(Error::internal("use the graph", "no stage made it")),
        }
    }

    /// Returns the graph or list that tasks compute on.
    ///
    /// # Errors
    /// [`Error::internal`] before a stage made it.
    pub(crate) fn input(&self) -> Result<InputRef<'_>> {
        match &self.input {
            Some(ByInput::Graph(graph)) => Ok(ByInput::Graph(graph)),
            Some(ByInput::List(list)) => Ok(ByInput::List(list)),
            None => Err(Error::internal("use the input", "no stage opened it")),
        }
    }

    /// Returns the direction of edges in the graph of `job`.
    pub(crate) fn direction(&self, job: &Job) -> Direction {
        if let Some(ByInput::Graph(graph)) = &self.input { graph.info.direction } else { job.direction() }
    }

    /// Returns a task's error. If the error names a memory limit and a plan is known, replaces that limit by the limit
    /// that is enough for all tasks.
    pub(crate) fn name_limit(&self, error: Error) -> Error {
        if let Some(plan) = &self.plan { limits::name_limit(plan, error) } else { error }
    }

    /// Returns the input for the report, after all stages.
    ///
    /// # Errors
    /// [`Error::internal`] if no stage opened the input.
    pub(crate) fn into_finished_input(self) -> Result<FinishedInput> {
        match (self.finished, self.input) {
            (Some(finished_input), _) => Ok(finished_input),
            (None, Some(ByInput::Graph(graph))) => {
                let Graph { info, stored, block_store, upper, merged, .. } = *graph;
                // Freeing gigabytes takes a while.
                let free = move || drop((block_store, upper, merged));
                let _ = std::thread::Builder::new().name("graph".into()).spawn(free);
                Ok(FinishedInput::Graph(Box::new(Finished { info, stored })))
            }
            (None, Some(ByInput::List(list))) => Ok(FinishedInput::of_list(&list)),
            (None, None) => Err(Error::internal("report the input", "no stage opened it")),
        }
    }
}
