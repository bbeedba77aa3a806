//! Chooses the engine for breadth-first searches: the GPU of a rank, the GPUs or the threads of all ranks, or the
//! threads of one process.

use crate::algo::Lease;
use crate::algo::bfs::cpu::{self, CpuSearch};
use crate::algo::bfs::gpu::{self, GpuSearch};
use crate::algo::bfs::ranks::RankedSearch;
use crate::algo::bfs::search::{BfsStats, Switch};
use crate::algo::searches::ranks::VertexOwnership;
use crate::algo::searches::{Engine, EngineInput, on_rank0_or};
use crate::error::Result;
use crate::process::signals;

/// Prepares breadth-first searches on GPUs or CPUs, as the job requests. All ranks choose the same kind of device.
/// Collective: all ranks must call it.
///
/// # Errors
/// [`crate::Error::Limit`], [`crate::Error::Lost`], errors of the graph.
pub fn choose<'a>(switches: Switches, input: EngineInput<'a, '_>) -> Result<Engine<'a, [u32], BfsStats>> {
    let EngineInput { graph, run, .. } = input;
    let comm = run.comm;
    let leads = comm.is_leader();
    // If the GPUs cannot search together, the GPU of rank 0 searches alone, because one GPU is faster than the CPUs of
    // many ranks. The other ranks take part only in this decision.
    let on_gpu = |lease: Lease<'a>| {
        let peer_access = gpu::peer_access(run.devices.peers, &lease.workspace, [&graph.block_store, graph.upper()?]);
        let switch = switch(switches, gpu::SWITCH);
        let searches = leads || peer_access.is_some();
        let search = searches.then(|| GpuSearch::new(graph, lease, switch, run.budget, &signals::check, peer_access));
        search.transpose()
    };
    let on_cpu = || on_cpu(switches, input);
    Ok(on_rank0_or(comm, run.devices.choose(true, on_gpu, on_cpu)?, GpuSearch::is_shared))
}

/// Values of the keys `alpha` and `beta` in the job file. `None` selects the default of the device.
pub type Switches = [Option<f64>; 2];

/// Returns the thresholds at which a search changes direction. `otherwise` contains the defaults of the device.
fn switch([alpha, beta]: Switches, otherwise: Switch) -> Switch {
    Switch { alpha: alpha.unwrap_or(otherwise.alpha), beta: beta.unwrap_or(otherwise.beta) }
}

/// Prepares breadth-first searches on the CPUs of all ranks. Collective: all ranks must call it.
fn on_cpu<'a>(switches: Switches, input: EngineInput<'a, '_>) -> Result<Engine<'a, [u32], BfsStats>> {
    let EngineInput { graph, run, .. } = input;
    let bytes = (graph.block_store.bytes() + graph.upper()?.bytes()) / run.comm.ranks() as u64;
    // All ranks must use the same options.
    let on_disk = run.comm.any(bytes > run.budget.free());
    let otherwise = if on_disk { cpu::ON_DISK } else { cpu::IN_MEMORY };
    let (switch, own) = (switch(switches, otherwise), VertexOwnership::all(graph.info.connected as usize));
    match run.comm.ranks() {
        1 => Ok(Box::new(CpuSearch::new(input, own, switch, on_disk)?)),
        _ => Ok(Box::new(RankedSearch::new(input, switch, on_disk)?)),
    }
}
