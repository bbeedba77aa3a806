//! Searches that only rank 0 does while all others wait, because one GPU is faster than the CPUs of many ranks.

use crate::algo::Chosen;
use crate::algo::searches::{Engine, Search};
use crate::comm::{Comm, agreed};
use crate::error::{Error, Result};
use crate::graph::ids::Vertex;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An engine that only rank 0 has.
struct OnRank0<'a, S> {
    comm: &'a Comm,
    /// The engine, on rank 0.
    search: Option<S>,
}

/// Returns the chosen engine. Unless GPUs search together (`is_shared`), rank 0 alone searches on its GPU.
pub fn on_rank0_or<'a, T: ?Sized + 'a, R: Serialize + DeserializeOwned + 'a, S: Search<T, R> + 'a>(
    comm: &'a Comm,
    chosen: Chosen<Option<S>, Engine<'a, T, R>>,
    is_shared: impl Fn(&S) -> bool,
) -> Engine<'a, T, R> {
    match chosen {
        Chosen::Gpu(Some(search)) if comm.ranks() == 1 || is_shared(&search) => Box::new(search),
        Chosen::Gpu(search) => Box::new(OnRank0 { comm, search }),
        Chosen::Nothing => Box::new(OnRank0::<S> { comm, search: None }),
        Chosen::Cpu(search) => search,
    }
}

impl<S> OnRank0<'_, S> {
    /// Calls `work` on rank 0, and returns its result on all ranks. Collective.
    fn agreed<T: Serialize + DeserializeOwned>(&mut self, work: impl FnOnce(&mut S) -> Result<T>) -> Result<T> {
        agreed(self.comm, || match &mut self.search {
            Some(search) => work(search),
            None => Err(Error::internal("search on rank 0", "this is another one")),
        })
    }
}

impl<T: ?Sized, R: Serialize + DeserializeOwned, S: Search<T, R>> Search<T, R> for OnRank0<'_, S> {
    fn search(&mut self, root: Vertex, tree: &mut T) -> Result<R> {
        self.agreed(|search| search.search(root, tree))
    }

    fn repeat(&mut self, root: Vertex, tree: &mut T) -> Result<()> {
        self.agreed(|search| search.repeat(root, tree))
    }
}
