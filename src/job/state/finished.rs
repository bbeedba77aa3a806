//! Jobs that have nothing left to do: their graph is prepared and all their tasks are done.

use crate::config::Job;
use crate::error::Result;
use crate::job::state::manifest::Manifest;
use crate::job::state::record::{Contents, task_key};
use crate::list::List;
use crate::prepare::prepared::{InputInfo, StoreInfo};
use serde::{Deserialize, Serialize};

/// Statistics of a graph on which nothing is left to compute.
#[derive(Serialize, Deserialize)]
pub struct Finished {
    /// Statistics of the input.
    pub info: InputInfo,
    /// Statistics of the graph.
    pub stored: StoreInfo,
}

/// The input of a finished job, for its report.
pub enum FinishedInput {
    /// The input is a graph.
    Graph(Box<Finished>),
    /// The input is a list.
    List {
        /// The file, or a description of the generator.
        source: String,
        /// Bytes of the file.
        bytes: u64,
        /// Number of elements.
        length: u64,
    },
}

impl FinishedInput {
    /// Returns the description of a list.
    pub fn of_list(list: &List) -> FinishedInput {
        FinishedInput::List { source: list.source.name(), bytes: list.source.bytes(), length: list.length }
    }
}

impl Finished {
    /// Returns the statistics of the graph if, according to the manifest, the job has tasks and all of them are done on
    /// a graph with these contents. Their result files must be whole.
    ///
    /// # Errors
    /// None occur in practice; see [`task_key`].
    pub fn of(job: &Job, manifest: &Manifest, info: InputInfo) -> Result<Option<Finished>> {
        let info = InputInfo { first_id: job.first_id, ..info };
        let Some(stored) = manifest.found::<StoreInfo>("sort", info.content) else { return Ok(None) };
        Ok(tasks_are_done(job, manifest, Contents::of(&info))?.then_some(Finished { info, stored }))
    }
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
