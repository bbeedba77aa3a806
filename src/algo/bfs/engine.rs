//! What searches: the threads of one process, or those of all ranks.

use crate::algo::Run;
use crate::algo::bfs::cpu::own::Own;
use crate::algo::bfs::cpu::{self, CpuSearch};
use crate::algo::bfs::ranks::RankedSearch;
use crate::algo::bfs::search::{Search, Switch};
use crate::algo::bfs::task::Table;
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;

/// Gets what searches ready on the device that the job and all ranks choose. `spare` bytes of host memory stay free. Collective.
///
/// # Errors
/// [`crate::Error::Limit`], [`crate::Error::Lost`], those of the graph.
pub(super) fn choose<'a>(
    table: &Table,
    graph: &'a Graph,
    degrees: &'a Mapped,
    run: &Run<'a>,
    spare: u64,
) -> Result<Box<dyn Search + 'a>> {
    let comm = run.comm;
    let upper = graph.upper()?;
    let bytes = (graph.catalogue.bytes() + upper.bytes()) / comm.ranks() as u64;
    let otherwise = if comm.all(bytes <= run.budget.free()) { cpu::IN_MEMORY } else { cpu::ON_DISK };
    let switch = Switch { alpha: table.alpha.unwrap_or(otherwise.alpha), beta: table.beta.unwrap_or(otherwise.beta) };
    let means = (run.threads, spare, run.budget);
    if comm.ranks() > 1 {
        return Ok(Box::new(RankedSearch::new(comm, graph, degrees, switch, means)?));
    }
    let rows = Adjacency::new(&graph.catalogue, upper);
    let own = Own::all(graph.info.connected as usize);
    Ok(Box::new(CpuSearch::new(rows, graph.info.direction, own, degrees, switch, means)?))
}
