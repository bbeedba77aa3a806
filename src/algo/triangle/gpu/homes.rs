//! Blocks in the memory of several ranks' GPUs. Every rank needs all fronts and some partners: from the host, that is each block
//! as often as there are ranks, and the ranks of a machine share the way there. So each brings some blocks to its GPU once,
//! and all copy from there.

use super::loader::from_host;
use crate::error::Result;
use crate::gpu::{Beside, Workspace, slice_bytes};
use crate::graph::catalogue::Catalogue;
use crate::graph::placement::{BlockSize, DeviceBlock, Placement};
use std::time::Instant;

/// Blocks may take this part of the memory of a GPU.
const PART: u64 = 3;

/// Brings the blocks of `graph` to the GPUs of all ranks, of which each calls this with nothing given out of its arena;
/// `least` bytes of it must be left. `None`, on all ranks alike, where there is no room.
///
/// # Errors
/// [`crate::Error::Lost`], those of reading blocks.
pub fn bring(gpu: &mut Workspace, graph: &Catalogue, least: u64, beside: Beside<'_>) -> Result<Option<Placement>> {
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
    let homes = Placement::new(&sizes, &ranks, |rank, at, words| beside.span(rank as usize, at, words, mine));
    let of_mine = (0..graph.len()).filter(|&block| ranks[block] == comm.rank() as u32);
    let parts = of_mine.flat_map(|block| {
        let DeviceBlock { offsets, targets } = homes.of(block);
        from_host(graph, block, (0, offsets), (0, targets))
    });
    gpu.uploader.upload(&parts.collect::<Vec<_>>(), &|| Ok(()))?.wait()?;
    tracing::debug!(seconds = started.elapsed().as_secs_f64(), "blocks brought home");
    // All are there.
    comm.barrier();
    Ok(Some(homes))
}

/// The rank of each block: consecutive ones, and nearly as many bytes for each.
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
