//! A search by rank 0, which all others wait for: one GPU is faster than the CPUs of many ranks.

use crate::comm::{Comm, agreed};
use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Means to search that rank 0 alone has.
pub struct OnRank0<'a, S> {
    /// All ranks.
    pub comm: &'a Comm,
    /// The means, on rank 0.
    pub search: Option<S>,
}

impl<S> OnRank0<'_, S> {
    /// Has rank 0 do `work`, and returns its result on all ranks. Collective.
    ///
    /// # Errors
    /// Those of `work`, on all ranks.
    pub fn agreed<T: Serialize + DeserializeOwned>(&mut self, work: impl FnOnce(&mut S) -> Result<T>) -> Result<T> {
        agreed(self.comm, || match &mut self.search {
            Some(search) => work(search),
            None => Err(Error::internal("search on rank 0", "this is another one")),
        })
    }
}
