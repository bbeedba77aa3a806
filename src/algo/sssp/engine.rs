//! The choice of what searches: the threads of one process, or those of rank 0 while others wait.

use super::Distances;
use super::cpu::CpuSearch;
use super::search::{Search, Searched};
use super::task::Table;
use crate::algo::Run;
use crate::comm::{Comm, agreed};
use crate::error::{Error, Result};
use crate::graph::ids::Vertex;
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;

/// Gets what searches ready on the device that the job and all ranks choose. `spare` bytes of host memory stay free. Collective.
///
/// # Errors
/// [`Error::Limit`], those of the graph.
pub(super) fn choose<'a>(
    table: &Table,
    graph: &'a Graph,
    degrees: &'a Mapped,
    run: &Run<'a>,
    spare: u64,
) -> Result<Box<dyn Search + 'a>> {
    let comm = run.comm;
    let on_cpu = || {
        let _spare = run.budget.reserve(spare, "distances and parents")?;
        CpuSearch::new(graph, (table.weights, table.method), degrees, (run.threads, run.budget))
    };
    if comm.ranks() == 1 {
        return Ok(Box::new(on_cpu()?));
    }
    let search = if comm.leads() { Some(on_cpu()?) } else { None };
    Ok(Box::new(OnRank0 { comm, search }))
}

/// A search by rank 0, which all others wait for.
struct OnRank0<'a, S> {
    comm: &'a Comm,
    search: Option<S>,
}

impl<S: Search> Search for OnRank0<'_, S> {
    fn search(&mut self, root: Vertex, distances: &mut Distances, parents: &mut [u32]) -> Result<Searched> {
        agreed(self.comm, || match &mut self.search {
            Some(search) => search.search(root, distances, parents),
            None => Err(Error::internal("search on rank 0", "this is another one")),
        })
    }

    fn repeat(&mut self, root: Vertex, distances: &mut Distances, parents: &mut [u32]) -> Result<()> {
        agreed(self.comm, || match &mut self.search {
            Some(search) => search.repeat(root, distances, parents),
            None => Err(Error::internal("search on rank 0", "this is another one")),
        })
    }
}
