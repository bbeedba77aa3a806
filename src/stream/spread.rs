//! Spreads the blocks of a graph over the GPUs of all ranks. If every rank needs most blocks, each block would
//! otherwise be copied from the host once for each rank, over a link that the ranks of a machine share. Instead each
//! rank copies some blocks to its GPU once, and all ranks copy them from there.

use super::location::copies_from_host;
use crate::error::Result;
use crate::gpu::{PeerMemory, Workspace, slice_bytes};
use crate::graph::catalogue::Catalogue;
use crate::graph::placement::{BlockSize, DeviceBlock, Placement};
use std::time::Instant;

/// Blocks take at most a GPU's memory divided by this number.
const PART: u64 = 3;

/// Copies the blocks of `graph` to the GPUs of all ranks, and returns their placement. Each rank must call it before
/// anything is taken from its arena. Returns `None` on all ranks if a GPU would have less than `least` bytes left, or
/// if blocks would take too large a part of it. Collective.
///
/// # Errors
/// [`crate::Error::Lost`], and errors of reading blocks.
pub fn spread(gpu: &mut Workspace, graph: &Catalogue, least: u64, peers: PeerMemory<'_>) -> Result<Option<Placement>> {
    let comm = peers.comm;
    let sizes: Vec<BlockSize> = (0..graph.len()).map(|block| graph.size(block)).collect();
    let ranks = assign_ranks(&sizes, comm.ranks());
    let bytes = |rank| Placement::bytes(sizes.iter().zip(&ranks).filter(|&(_, &of)| of == rank).map(|(&size, _)| size));
    let most = (0..comm.ranks() as u32).map(bytes).max().unwrap_or(0);
    if most > gpu.arena.bytes() / PART || gpu.arena.bytes() - most < least {
        return Ok(None);
    }
    let started = Instant::now();
    // The slice begins at the start of every rank's arena.
    let mine = gpu.arena.take_planned::<u32>(most / 4)?;
    let placement = Placement::new(&sizes, &ranks, |rank, at, words| peers.span(rank as usize, at, words, mine));
    let of_mine = (0..graph.len()).filter(|&block| ranks[block] == comm.rank() as u32);
    let parts = of_mine.flat_map(|block| {
        let DeviceBlock { offsets, targets } = placement.of(block);
        copies_from_host(graph, block, (0, offsets), (0, targets))
    });
    gpu.uploader.upload(&parts.collect::<Vec<_>>(), &|| Ok(()))?.wait()?;
    tracing::debug!(seconds = started.elapsed().as_secs_f64(), "blocks spread over GPUs");
    // After the barrier all blocks are in place.
    comm.barrier();
    Ok(Some(placement))
}

/// Assigns each block to a rank. Each rank gets consecutive blocks with nearly the same number of bytes.
fn assign_ranks(sizes: &[BlockSize], ranks: usize) -> Vec<u32> {
    let bytes = |size: &BlockSize| slice_bytes::<u32>(size.rows + 1) + slice_bytes::<u32>(size.entries);
    let all = sizes.iter().map(bytes).sum::<u64>().max(1);
    let mut before = 0;
    let rank = |size| {
        let middle = before + bytes(size) / 2;
        before += bytes(size);
        (u128::from(middle) * ranks as u128 / u128::from(all)) as u32
    };
    sizes.iter().map(rank).collect()
}
