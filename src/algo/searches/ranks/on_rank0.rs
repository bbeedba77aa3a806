//! Searches that only rank 0 does while all others wait, because one GPU is faster than the CPUs of many ranks.

use crate::comm::{Comm, agreed};
use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An engine that only rank 0 has.
pub struct OnRank0<'a, S> {
    /// Communicator of all ranks.
    pub comm: &'a Comm,
    /// The engine, on rank 0.
    pub search: Option<S>,
}

impl<S> OnRank0<'_, S> {
    /// Calls `work` on rank 0, and returns its result on all ranks. Collective.
    ///
    /// # Errors
    /// Errors of `work`, on all ranks.
    pub fn agreed<T: Serialize + DeserializeOwned>(&mut self, work: impl FnOnce(&mut S) -> Result<T>) -> Result<T> {
        agreed(self.comm, || match &mut self.search {
            Some(search) => work(search),
            None => Err(Error::internal("search on rank 0", "this is another one")),
        })
    }
}
