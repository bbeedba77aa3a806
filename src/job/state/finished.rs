//! Jobs that have nothing left to do: their graph is prepared and all their tasks are done.

use crate::algo::ByInput;
use crate::config::Job;
use crate::error::Result;
use crate::job::state::manifest::Manifest;
use crate::job::state::record::{Contents, GraphRecord, task_key};
use crate::list::List;
use crate::prepare::prepared::{InputInfo, StoreInfo};

/// The input of a finished job, for its report.
pub type FinishedInput = ByInput<Box<GraphRecord>, List>;

/// Returns the statistics of the graph if, according to the manifest, the job has tasks and all of them are done on a
/// graph with these contents. Their result files must be whole.
///
/// # Errors
/// None occur in practice; see [`task_key`].
pub fn finished_graph(job: &Job, manifest: &Manifest, info: InputInfo) -> Result<Option<GraphRecord>> {
    let info = InputInfo { first_id: job.first_id, ..info };
    let Some(stored) = manifest.found::<StoreInfo>("sort", info.content) else { return Ok(None) };
    Ok(tasks_are_done(job, manifest, Contents::of(&info))?.then_some(GraphRecord { info, stored }))
}

/// Returns true if the job has tasks, all of them are done on these contents according to the manifest, and their
/// result files are whole.
///
/// # Errors
/// None occur in practice; see [`task_key`].
pub fn tasks_are_done(job: &Job, manifest: &Manifest, contents: Contents) -> Result<bool> {
    let mut keys = job.tasks.iter().map(|task| task_key(&**task, contents).map(|key| (task, key)));
    let done = keys.try_fold(true, |done, one| one.map(|(task, key)| done && manifest.is_done(job, &**task, key)))?;
    Ok(done && !job.tasks.is_empty())
}
