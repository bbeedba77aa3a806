//! Decisions that one rank makes for others.

use super::Comm;
use crate::error::{Error, Result};
use crate::process::host;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns the result of `decide` on rank 0 to every rank: ranks may see the disk differently, and must do the same. Collective.
///
/// # Errors
/// Those of `decide`.
pub fn agreed<T: Serialize + DeserializeOwned>(comm: &Comm, decide: impl FnOnce() -> Result<T>) -> Result<T> {
    if comm.ranks() == 1 {
        return decide();
    }
    let wrong = |e| Error::internal("tell other ranks", e);
    if comm.leads() {
        let decided = decide()?;
        comm.broadcast(serde_json::to_vec(&decided).map_err(wrong)?);
        Ok(decided)
    } else {
        serde_json::from_slice(&comm.broadcast(Vec::new())).map_err(wrong)
    }
}

/// Returns true on the first rank of each node that is `concerned`: it logs a message for all ranks there. Collective.
pub fn reports_for_node(comm: &Comm, concerned: bool) -> bool {
    is_first_of(comm, concerned.then(host::name).as_deref())
}

/// Returns true on the first rank of those that have the same name, which is not empty; false without one. Collective.
pub fn is_first_of(comm: &Comm, name: Option<&str>) -> bool {
    let all = comm.all_gather(name.unwrap_or_default().as_bytes());
    name.is_some_and(|name| all.iter().position(|other| other == name.as_bytes()) == Some(comm.rank()))
}
