//! Distributes the blocks of a graph over the GPUs of all ranks. This is faster if every rank needs most blocks:
//! otherwise each block would be copied from the host once for each rank, over a link that the ranks share. Instead
//! each rank copies some blocks to its GPU once, and all ranks copy them from there.

use super::location::copies_from_host;
use crate::error::Result;
use crate::gpu::{PeerMemory, Workspace};
use crate::graph::{BlockSize, BlockStore, DeviceBlock, Placement, assign_ranks};
use std::time::Instant;

/// Divisor: blocks may occupy at most 1/`PART` of a GPU's memory.
const PART: u64 = 3;

/// Copies the blocks of `graph` to the GPUs of all ranks, and returns their addresses. Must be called before anything
/// is allocated from the arena. Returns `None` on all ranks if the blocks would occupy more than a third of a GPU's
/// memory or leave less than `least` bytes free. Collective.
///
/// # Errors
/// [`crate::Error::Lost`], and errors of reading blocks.
pub fn spread(gpu: &mut Workspace, graph: &BlockStore, least: u64, peers: PeerMemory<'_>) -> Result<Option<Placement>> {
    let comm = peers.comm;
    let sizes: Vec<BlockSize> = (0..graph.len()).map(|block| graph.size(block)).collect();
    let parts: Vec<f64> = sizes.iter().map(|&size| Placement::bytes([size].into_iter()) as f64).collect();
    let ranks: Vec<u32> = assign_ranks(&parts, comm.ranks()).into_iter().map(|rank| rank as u32).collect();
    let bytes = |rank| Placement::bytes(sizes.iter().zip(&ranks).filter(|&(_, &of)| of == rank).map(|(&size, _)| size));
    let most = (0..comm.ranks() as u32).map(bytes).max().unwrap_or(0);
    if most > gpu.arena.bytes() / PART || gpu.arena.bytes() - most < least {
        return Ok(None);
    }
    let started = Instant::now();
    // This slice begins at the start of the arena on every rank.
    let mine = gpu.arena.take_planned::<u32>(most / 4)?;
    let placement = Placement::new(&sizes, &ranks, |rank, at, words| peers.span(rank as usize, at, words, mine));
    let of_mine = (0..graph.len()).filter(|&block| ranks[block] == comm.rank() as u32);
    let parts = of_mine.flat_map(|block| {
        let DeviceBlock { offsets, targets } = placement.of(block);
        copies_from_host(graph, block, (0, offsets), (0, targets))
    });
    gpu.uploader.upload(&parts.collect::<Vec<_>>(), &|| Ok(()))?.wait()?;
    tracing::debug!(seconds = started.elapsed().as_secs_f64(), "blocks spread over GPUs");
    // After the barrier all blocks are on their GPUs.
    comm.barrier();
    Ok(Some(placement))
}
