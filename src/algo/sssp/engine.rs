//! Choice of the engine: the GPU of a rank, the threads of one process, or the threads of all ranks.

use super::Distances;
use super::Sssp;
use super::cpu::{CpuSearch, Resources};
use super::edges::Edges;
use super::gpu::GpuSearch;
use super::ranks::RankedSearch;
use super::search::{Search, Searched};
use crate::algo::searches::OnRank0;
use crate::algo::{Chosen, Run};
use crate::error::Result;
use crate::graph::ids::Vertex;
use crate::prepare::prepared::Graph;
use crate::process::signals;
use crate::store::map::Mapped;

/// Prepares the engine on the device that the job and all ranks choose. `spare` bytes of host memory stay free.
/// Collective.
///
/// # Errors
/// [`crate::Error::Limit`], [`crate::Error::Lost`], errors of reading the graph.
pub(super) fn choose<'a>(
    table: &Sssp,
    graph: &'a Graph,
    degrees: &'a Mapped,
    run: &Run<'a>,
    spare: u64,
) -> Result<Box<dyn Search + 'a>> {
    let comm = run.comm;
    let leads = comm.leads();
    // One GPU is faster than the CPUs of many ranks, so the other ranks only receive the result.
    let on_gpu = |lease| {
        let search = leads.then(|| {
            let edges = Edges::new(graph, table.weights, run.budget)?;
            GpuSearch::new(graph, &edges, lease, table.method, run.budget, &signals::check)
        });
        search.transpose()
    };
    let on_cpus = || -> Result<Box<dyn Search + 'a>> {
        let _spare = run.budget.reserve(spare, "distances and parents")?;
        let resources = Resources { threads: run.threads, budget: run.budget, units: run.units };
        match comm.ranks() {
            1 => Ok(Box::new(CpuSearch::new(graph, table, degrees, &resources)?)),
            _ => Ok(Box::new(RankedSearch::new(comm, graph, table, degrees, &resources)?)),
        }
    };
    match run.devices.choose(true, on_gpu, on_cpus)? {
        Chosen::Gpu(Some(search)) if comm.ranks() == 1 => Ok(Box::new(search)),
        Chosen::Gpu(search) => Ok(Box::new(OnRank0 { comm, search })),
        Chosen::Nothing => Ok(Box::new(OnRank0::<GpuSearch<'_>> { comm, search: None })),
        Chosen::Cpu(search) => Ok(search),
    }
}

impl<S: Search> Search for OnRank0<'_, S> {
    fn search(&mut self, root: Vertex, distances: &mut Distances, parents: &mut [u32]) -> Result<Searched> {
        self.agreed(|search| search.search(root, distances, parents))
    }

    fn repeat(&mut self, root: Vertex, distances: &mut Distances, parents: &mut [u32]) -> Result<()> {
        self.agreed(|search| search.repeat(root, distances, parents))
    }
}
