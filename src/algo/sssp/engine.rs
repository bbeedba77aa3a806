//! Chooses the engine for shortest-path searches: the GPU of rank 0, the threads of one process, or the threads of all
//! ranks.

use super::Sssp;
use super::cpu::CpuSearch;
use super::gpu::GpuSearch;
use super::search::{ShortestPathTree, SsspStats};
use crate::algo::searches::{Engine, EngineInput, on_rank0_or};
use crate::error::Result;

/// Prepares the engine for the device that the job requests. All ranks choose the same kind of device. Collective: all
/// ranks must call it.
///
/// # Errors
/// [`crate::Error::Limit`]; [`crate::Error::Lost`]; errors of reading the graph.
pub(super) fn choose<'a>(table: &Sssp, input: EngineInput<'a, '_>) -> Result<Engine<'a, ShortestPathTree, SsspStats>> {
    let EngineInput { graph, run, spare, .. } = input;
    let comm = run.comm;
    let leads = comm.is_leader();
    // One GPU is faster than the CPUs of many ranks, so only rank 0 searches and the others receive the results.
    let on_gpu = |lease| leads.then(|| GpuSearch::new(table, graph, lease, run.budget)).transpose();
    let on_cpus = || -> Result<Engine<'a, ShortestPathTree, SsspStats>> {
        let _spare = run.budget.reserve(spare, "distances and parents")?;
        Ok(Box::new(CpuSearch::new(table, input)?))
    };
    Ok(on_rank0_or(comm, run.devices.choose(true, on_gpu, on_cpus)?, |_| false))
}
