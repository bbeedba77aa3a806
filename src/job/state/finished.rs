//! Finished jobs: their graph is prepared and all their tasks are complete.

use crate::algo::{ByInput, Task};
use crate::config::Job;
use crate::job::state::manifest::Manifest;
use crate::job::state::record::{Contents, GraphRecord, task_key};
use crate::list::List;
use crate::prepare::prepared::{InputInfo, StoreInfo};
use std::sync::Arc;

/// The graph or list that a finished job read, for the report of the job.
pub type FinishedInput = ByInput<Box<GraphRecord>, List>;

/// Returns the statistics of the graph if the job is finished on the input with the statistics `info`. A job is
/// finished if it has tasks, all of them are complete according to the manifest, and their result files are intact.
pub fn finished_graph(job: &Job, manifest: &Manifest, info: InputInfo) -> Option<GraphRecord> {
    let info = InputInfo { first_id: job.first_id, ..info };
    let stored = manifest.found::<StoreInfo>("sort", info.content)?;
    tasks_are_done(job, manifest, Contents::of(&info)).then_some(GraphRecord { info, stored })
}

/// Returns true if the job has tasks, all of them are complete on the graph or list `contents` according to the
/// manifest, and their result files are intact.
pub fn tasks_are_done(job: &Job, manifest: &Manifest, contents: Contents) -> bool {
    let is_done = |task: &Arc<dyn Task>| manifest.is_done(job, &**task, task_key(&**task, contents));
    !job.tasks.is_empty() && job.tasks.iter().all(is_done)
}
