//! Spreads the blocks of a graph over the GPUs of all ranks. Where every rank needs most blocks, each block would come from the host
//! as often as there are ranks, and the ranks of a machine share the way there. So each brings some blocks to its GPU once, and all
//! copy from there.

use super::location::copies_from_host;
use crate::error::Result;
use crate::gpu::{Beside, Workspace, slice_bytes};
use crate::graph::catalogue::Catalogue;
use crate::graph::placement::{BlockSize, DeviceBlock, Placement};
use std::time::Instant;

/// Blocks may take one part in this many of a GPU's memory.
const PART: u64 = 3;

/// Brings the blocks of `graph` to the GPUs of all ranks, each of which calls this with nothing given out of its arena. Returns where
/// they lie; `None`, on all ranks alike, where a GPU would have less than `least` bytes left. Collective.
///
/// # Errors
/// [`crate::Error::Lost`], those of reading blocks.
pub fn spread(gpu: &mut Workspace, graph: &Catalogue, least: u64, beside: Beside<'_>) -> Result<Option<Placement>> {
    let comm = beside.comm;
    let sizes: Vec<BlockSize> = (0..graph.len()).map(|block| graph.size(block)).collect();
    let ranks = shared_out(&sizes, comm.ranks());
    let bytes = |rank| Placement::bytes(sizes.iter().zip(&ranks).filter(|&(_, &of)| of == rank).map(|(&size, _)| size));
    let most = (0..comm.ranks() as u32).map(bytes).max().unwrap_or(0);
    if most > gpu.arena.bytes() / PART || gpu.arena.bytes() - most < least {
        return Ok(None);
    }
    let started = Instant::now();
    // Every arena begins with it.
    let mine = gpu.arena.take_planned::<u32>(most / 4)?;
    let placement = Placement::new(&sizes, &ranks, |rank, at, words| beside.span(rank as usize, at, words, mine));
    let of_mine = (0..graph.len()).filter(|&block| ranks[block] == comm.rank() as u32);
    let parts = of_mine.flat_map(|block| {
        let DeviceBlock { offsets, targets } = placement.of(block);
        copies_from_host(graph, block, (0, offsets), (0, targets))
    });
    gpu.uploader.upload(&parts.collect::<Vec<_>>(), &|| Ok(()))?.wait()?;
    tracing::debug!(seconds = started.elapsed().as_secs_f64(), "blocks spread over GPUs");
    // All are there.
    comm.barrier();
    Ok(Some(placement))
}

/// Returns the rank of each block: consecutive blocks, and nearly as many bytes for each rank.
fn shared_out(sizes: &[BlockSize], ranks: usize) -> Vec<u32> {
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
