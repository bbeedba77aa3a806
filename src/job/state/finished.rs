//! Jobs that have nothing left to do: their graph was prepared, and all their tasks were computed on it.

use crate::config::Job;
use crate::error::Result;
use crate::job::state::manifest::Manifest;
use crate::job::state::record::{Contents, task_key};
use crate::prepare::prepared::{InputInfo, StoreInfo};
use serde::{Deserialize, Serialize};

/// A graph on which nothing is left to compute.
#[derive(Serialize, Deserialize)]
pub struct Finished {
    /// The facts about the input.
    pub info: InputInfo,
    /// The facts about the graph.
    pub stored: StoreInfo,
}

/// The input of a job that is done, for its report.
pub enum Subject {
    /// A graph.
    Graph(Box<Finished>),
    /// A list.
    List {
        /// The file, or the generator in words.
        source: String,
        /// Bytes of the file.
        bytes: u64,
        /// Elements.
        length: u64,
    },
}

impl Finished {
    /// Returns the graph's figures if the manifest says that all of the job's tasks are done on a graph of these contents, there are
    /// some, and their files are whole.
    ///
    /// # Errors
    /// None in practice; see [`task_key`].
    pub fn of(job: &Job, manifest: &Manifest, info: InputInfo) -> Result<Option<Finished>> {
        let info = InputInfo { first_id: job.first_id, ..info };
        let Some(stored) = manifest.found::<StoreInfo>("sort", info.content) else { return Ok(None) };
        Ok(tasks_are_done(job, manifest, Contents::of(&info))?.then_some(Finished { info, stored }))
    }
}

/// Returns true if the manifest says that all of the job's tasks are done on these contents, there are some, and their files are whole.
///
/// # Errors
/// None in practice; see [`task_key`].
pub fn tasks_are_done(job: &Job, manifest: &Manifest, contents: Contents) -> Result<bool> {
    let mut keys = job.tasks.iter().map(|task| task_key(&**task, contents).map(|key| (task, key)));
    let done = keys.try_fold(true, |done, one| one.map(|(task, key)| done && manifest.is_done(job, &**task, key)))?;
    Ok(done && !job.tasks.is_empty())
}
