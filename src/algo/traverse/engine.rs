//! Chooses the engine of a traversal: the engine of `[bfs]`, or a level-synchronous search by all ranks.

use super::auto::Auto;
use super::cpu::CpuLevels;
use super::exchange;
use super::gpu::GpuLevels;
use super::options::{Strategy, Traverse};
use super::search::TraverseStats;
use super::walk::Traversal;
use crate::algo::ChosenDevice;
use crate::algo::searches::ranks::VertexOwnership;
use crate::algo::searches::{Engine, EngineInput};
use crate::error::{Error, Result};

/// Chooses the devices together with all ranks, and prepares traversals on them. Collective: all ranks must call it.
///
/// # Errors
/// [`Error::Limit`], [`Error::Lost`], errors of the graph; [`Error::Usage`] if there are too many vertices for 32-bit
/// keys.
pub(super) fn choose<'a>(table: &Traverse, input: EngineInput<'a, '_>) -> Result<Engine<'a, [u32], TraverseStats>> {
    if table.strategy == Strategy::Auto {
        return Ok(Box::new(Auto::new(input)?));
    }
    let EngineInput { graph, run, spare, .. } = input;
    let (comm, vertices) = (run.comm, graph.info.connected as usize);
    let ownership = VertexOwnership::new(table.owner, vertices, comm.rank(), comm.ranks());
    if ownership.keys() > u32::MAX.into() {
        return Err(Error::Usage(format!(
            "the keys of {vertices} vertices on {} ranks do not fit 32 bits: set strategy = \"auto\"",
            comm.ranks()
        )));
    }
    // The memory for links is set aside here, because links are opened only after the levels have reserved their
    // memory.
    let spare = spare + exchange::bytes(comm.ranks(), comm.nodes());
    let input = EngineInput { spare, ..input };
    let on_cpu = || CpuLevels::new(input, ownership, table.strategy);
    let on_gpu = |lease| GpuLevels::new(input, ownership, table.strategy, lease);
    match run.devices.choose(true, on_gpu, on_cpu)? {
        ChosenDevice::Cpu(levels) => Ok(Box::new(Traversal::new(comm, ownership, levels, run.budget)?)),
        ChosenDevice::Gpu(mut levels) => {
            levels.join(run.devices.peers);
            levels.keep_within(run.budget.free().saturating_sub(spare));
            Ok(Box::new(Traversal::new(comm, ownership, levels, run.budget)?))
        }
        // A rank without a GPU still owns vertices.
        ChosenDevice::Nothing => Ok(Box::new(Traversal::new(comm, ownership, on_cpu()?, run.budget)?)),
    }
}
