//! Searches on the GPU of rank 0 while all other ranks wait. One GPU is faster than the CPUs of many ranks.

use crate::algo::ChosenDevice;
use crate::algo::searches::{Engine, Search};
use crate::comm::{Comm, on_leader};
use crate::error::{Error, Result};
use crate::graph::ids::Vertex;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An engine that searches on rank 0 and sends the results to all ranks.
struct OnRank0<'a, S> {
    comm: &'a Comm,
    /// The engine on rank 0; `None` on other ranks.
    search: Option<S>,
}

/// Returns the engine for the device that the job chose. A GPU engine searches on rank 0 alone, unless `is_shared` says
/// that the GPUs of all ranks search together.
pub fn on_rank0_or<'a, T: ?Sized + 'a, R: Serialize + DeserializeOwned + 'a, S: Search<T, R> + 'a>(
    comm: &'a Comm,
    chosen: ChosenDevice<Option<S>, Engine<'a, T, R>>,
    is_shared: impl Fn(&S) -> bool,
) -> Engine<'a, T, R> {
    match chosen {
        ChosenDevice::Gpu(Some(search)) if comm.ranks() == 1 || is_shared(&search) => Box::new(search),
        ChosenDevice::Gpu(search) => Box::new(OnRank0 { comm, search }),
        ChosenDevice::Nothing => Box::new(OnRank0::<S> { comm, search: None }),
        ChosenDevice::Cpu(search) => search,
    }
}

impl<S> OnRank0<'_, S> {
    /// Calls `work` on rank 0, and returns the result on all ranks. Collective: all ranks must call it.
    fn on_leader<T: Serialize + DeserializeOwned>(&mut self, work: impl FnOnce(&mut S) -> Result<T>) -> Result<T> {
        on_leader(self.comm, || match &mut self.search {
            Some(search) => work(search),
            None => Err(Error::internal("search on rank 0", "this is another one")),
        })
    }
}

impl<T: ?Sized, R: Serialize + DeserializeOwned, S: Search<T, R>> Search<T, R> for OnRank0<'_, S> {
    fn search(&mut self, root: Vertex, tree: &mut T) -> Result<R> {
        self.on_leader(|search| search.search(root, tree))
    }

    fn repeat(&mut self, root: Vertex, tree: &mut T) -> Result<()> {
        self.on_leader(|search| search.repeat(root, tree))
    }
}
