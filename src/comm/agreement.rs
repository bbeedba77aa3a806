//! Decisions that one rank makes for the others.

use super::Comm;
use crate::error::{Error, Result};
use crate::process::host;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Calls `decide` on rank 0 and returns its result on every rank, so that all ranks act alike even if they see
/// different states of the disk. Collective.
///
/// # Errors
/// Errors of `decide`, on rank 0 only; the job must then be ended on all ranks.
pub fn on_leader<T: Serialize + DeserializeOwned>(comm: &Comm, decide: impl FnOnce() -> Result<T>) -> Result<T> {
    if comm.ranks() == 1 {
        return decide();
    }
    let wrong = |e| Error::internal("send a decision to other ranks", e);
    if comm.is_leader() {
        let decided = decide()?;
        comm.broadcast(serde_json::to_vec(&decided).map_err(wrong)?);
        Ok(decided)
    } else {
        serde_json::from_slice(&comm.broadcast(Vec::new())).map_err(wrong)
    }
}

/// Returns true on at most one rank per node: the first rank of the node that passes `concerned = true`. That rank can
/// log a message for the whole node. Collective.
pub fn reports_for_node(comm: &Comm, concerned: bool) -> bool {
    is_first_of(comm, concerned.then(host::name).as_deref())
}

/// Returns true on the lowest of the ranks that pass the same `name`, which must not be empty. Returns false on all
/// other ranks, and on ranks that pass `None`. Collective.
pub fn is_first_of(comm: &Comm, name: Option<&str>) -> bool {
    let all = comm.all_gather(name.unwrap_or_default().as_bytes());
    name.is_some_and(|name| all.iter().position(|other| other == name.as_bytes()) == Some(comm.rank()))
}
