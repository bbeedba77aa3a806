//! The stages of a job, and what they hand on to each other.

use crate::algo::{ByInput, InputRef};
use crate::config::Job;
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::job::context::Context;
use crate::job::plan::{Plan, limits};
use crate::job::run_record::RunRecord;
use crate::job::state::finished::{Finished, Subject};
use crate::list::List;
use crate::prepare::prepared::Graph;

/// A part of a job that is opened or made as one thing. `M` is what it makes, together with what stages before it
/// made. Its methods are collective: all ranks call them together.
pub(crate) trait Stage<M = Made> {
    /// Returns the names of its steps in the report and the manifest, in order. There are none if no table of the job
    /// needs the stage.
    fn steps(&self, _job: &Job, _made: &M) -> Vec<&'static str> {
        Vec::new()
    }

    /// Opens what an earlier run left. Returns true if nothing is missing.
    ///
    /// # Errors
    /// Errors of the input, of limits and of the disk; a stop.
    fn open(&mut self, context: &mut Context, record: &mut RunRecord, made: &mut M) -> Result<bool>;

    /// Makes what is missing. A stage that makes nothing has none of its own.
    ///
    /// # Errors
    /// Errors of the stage.
    fn run(&mut self, _context: &mut Context, _record: &mut RunRecord, _made: &mut M) -> Result<()> {
        Ok(())
    }

    /// Removes files that nobody needs after the job, unless it keeps its graph.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn remove(&mut self, _context: &Context, _record: &mut RunRecord) -> Result<()> {
        Ok(())
    }

    /// Adds its steps to the report, as those of an earlier run.
    fn skip(&self, context: &Context, record: &mut RunRecord, made: &M) {
        self.steps(&context.job, made).into_iter().for_each(|name| record.skipped(name));
    }

    /// Opens what an earlier run left if nothing of it is missing, otherwise runs. Returns true if it was opened.
    ///
    /// # Errors
    /// Errors of [`Self::open`] and [`Self::run`].
    fn open_or_run(&mut self, context: &mut Context, record: &mut RunRecord, made: &mut M) -> Result<bool> {
        let is_opened = self.open(context, record, made)?;
        if is_opened {
            self.skip(context, record, made);
        } else {
            self.run(context, record, made)?;
        }
        Ok(is_opened)
    }
}

/// What the stages of a job made so far.
#[derive(Default)]
pub(crate) struct Made {
    /// The graph or list that tasks compute on.
    pub(crate) input: Option<ByInput<Box<Graph>, List>>,
    /// The plan that knows the limit that is enough for all tasks, if there is one.
    pub(crate) plan: Option<Plan>,
    /// The input of the job, once it is known that an earlier run did everything that is left.
    pub(crate) finished: Option<Subject>,
}

impl Made {
    /// Returns the graph.
    ///
    /// # Errors
    /// [`Error::internal`] before a stage made it.
    pub(crate) fn graph(&mut self) -> Result<&mut Graph> {
        match &mut self.input {
            Some(ByInput::Graph(graph)) => Ok(graph),
            _ => Err(Error::internal("use the graph", "no stage made it")),
        }
    }

    /// Returns the input of tasks.
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

    /// Returns the error of a task with the limit that is enough for all tasks, as far as a plan knows it.
    pub(crate) fn name_limit(&self, error: Error) -> Error {
        if let Some(plan) = &self.plan { limits::name_limit(plan, error) } else { error }
    }

    /// Returns the input for the report, once all stages are through.
    ///
    /// # Errors
    /// [`Error::internal`] before that.
    pub(crate) fn into_subject(self) -> Result<Subject> {
        match (self.finished, self.input) {
            (Some(subject), _) => Ok(subject),
            (None, Some(ByInput::Graph(graph))) => {
                let Graph { info, stored, catalogue, upper, merged, .. } = *graph;
                // Freeing gigabytes takes a while.
                let free = move || drop((catalogue, upper, merged));
                let _ = std::thread::Builder::new().name("graph".into()).spawn(free);
                Ok(Subject::Graph(Box::new(Finished { info, stored })))
            }
            (None, Some(ByInput::List(list))) => Ok(Subject::of_list(&list)),
            (None, None) => Err(Error::internal("report the input", "no stage opened it")),
        }
    }
}
