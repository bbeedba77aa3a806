//! The input that a graph was prepared from. It is read again to find out whether vertices that the job's tables name
//! have self-loops, which rows do not contain.

use crate::algo::sources::{self, NamedVertex};
use crate::config::{InputSpec, Job};
use crate::error::Result;
use crate::formats::Input;
use crate::job::state::kept;
use crate::prepare::order;
use crate::prepare::partition::changed;
use crate::prepare::prepared::{Graph, InputInfo};
use crate::prepare::relabel::vertex;

/// Returns the vertices that the tables of `job` name.
pub(crate) fn named(job: &Job) -> Vec<NamedVertex> {
    job.tasks.iter().flat_map(|task| task.named_vertices()).collect()
}

/// Opens the input of a graph: that of `job`, or that of the job that kept the graph.
///
/// # Errors
/// [`crate::Error::Input`] if it is gone, or if its size has changed.
pub(crate) fn open(job: &Job, info: &InputInfo) -> Result<Input> {
    let spec = match &job.input {
        InputSpec::Prepared(other) => kept::input_of(other)?,
        own => own.clone(),
    };
    let input = super::open(&spec)?;
    if input.bytes() == info.bytes { Ok(input) } else { Err(changed(&input.name())) }
}

/// Opens the input of the kept graph `graph` if `job` will read it again; `None` if not, or if it can't be opened.
pub(crate) fn of_kept(job: &Job, graph: &Graph) -> Option<Input> {
    let Graph { folder, info, .. } = graph;
    // Lists of ids include ids with only self-loops.
    if info.loops == 0 || info.declared || info.sparse || info.names {
        return None;
    }
    let ids = sources::dense(&named(job), folder, info).ok()?;
    let order = order::map(folder, info.content).ok()?;
    let map = order.ids().ok()?;
    ids.into_iter().any(|id| vertex(map, id).is_none()).then(|| open(job, info).ok()).flatten()
}
