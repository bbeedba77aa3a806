//! Jobs that have nothing left to do: their graph is prepared and all their tasks are done.

use crate::algo::{ByInput, Task};
use crate::config::Job;
use crate::job::state::manifest::Manifest;
use crate::job::state::record::{Contents, GraphRecord, task_key};
use crate::list::List;
use crate::prepare::prepared::{InputInfo, StoreInfo};
use std::sync::Arc;

/// The input of a finished job, for its report.
pub type FinishedInput = ByInput<Box<GraphRecord>, List>;

/// Returns the statistics of the graph if, according to the manifest, the job has tasks and all of them are done on a
/// graph with these contents. Their result files must be whole.
pub fn finished_graph(job: &Job, manifest: &Manifest, info: InputInfo) -> Option<GraphRecord> {
    let info = InputInfo { first_id: job.first_id, ..info };
    let stored = manifest.found::<StoreInfo>("sort", info.content)?;
    tasks_are_done(job, manifest, Contents::of(&info)).then_some(GraphRecord { info, stored })
}

/// Returns true if the job has tasks, all of them are done on these contents according to the manifest, and their
/// result files are whole.
pub fn tasks_are_done(job: &Job, manifest: &Manifest, contents: Contents) -> bool {
    let is_done = |task: &Arc<dyn Task>| manifest.is_done(job, &**task, task_key(&**task, contents));
    !job.tasks.is_empty() && job.tasks.iter().all(is_done)
}
