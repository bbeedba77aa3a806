//! A job on a list. Nothing is prepared; its tasks read the list themselves.

use crate::algo::ByInput;
use crate::error::Result;
use crate::job::input::{self, occupied};
use crate::job::plan::{self, limits};
use crate::job::ranks;
use crate::job::session::Session;
use crate::job::state::finished::{Subject, tasks_are_done};
use crate::job::state::record::Contents;
use crate::job::tasks;
use crate::list::List;

/// Computes the tasks of a job on its list, except those that are done. Collective.
///
/// # Errors
/// Errors of the tasks, of limits, and of the list.
pub(crate) fn run(session: &mut Session) -> Result<Subject> {
    let list = List::open(input::list(&session.job.input)?, session.threads)?;
    ranks::check_input(&session.comm, &list.source.name(), list.identity)?;
    let subject = Subject::List { source: list.source.name(), bytes: list.source.bytes(), length: list.length };
    if session.agreed(|| tasks_are_done(&session.job, &session.manifest, Contents::of_list(list.identity)))? {
        session.tasks().into_iter().for_each(|name| session.skipped(name));
        tracing::info!("this job is done already; --fresh runs it again");
        return Ok(subject);
    }
    occupied::check_content(&session.job, &session.manifest, list.identity, None)?;
    session.gpu.begin(&session.job, session.threads, &session.budget)?;
    session.gpu.wait()?;
    session.gpu.meet();
    let plan = plan::list::plan(&session.job, &session.machine(), &list, &session.manifest)?;
    limits::refuse(&plan)?;
    session.planned = plan.stages.clone();
    tasks::compute(session, ByInput::List(&list)).map_err(|e| limits::name_limit(&plan, e))?;
    // After this, no rank reads or writes.
    session.comm.barrier();
    Ok(subject)
}
