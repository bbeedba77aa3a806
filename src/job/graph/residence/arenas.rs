//! GPU memory that preparation uses if the ranks can reach each other's GPUs. It contains the map from ids to
//! vertices, and edges that wait to be sorted.

use super::{LANES, PART};
use crate::error::{Error, Result};
use crate::gpu::{CopySource, DeviceSlice, PeerMemory, Queue, Workspace};
use crate::graph::{Bins, BlockSize, Placement};
use crate::job::context::Context;
use crate::job::graph::assignment::Assignment;
use crate::job::run_record::RunRecord;
use crate::job::state::order_writer::OrderWriter;
use crate::memory::{bytes_of, numbers_of};
use crate::prepare::partition::device_lines::DeviceLines;
use crate::prepare::partition::{LINE, gpu_plan, line_words};
use crate::prepare::prepared::InputInfo;
use crate::prepare::sort::gpu::Sorters;
use parking_lot::MutexGuard;
use std::ops::Range;

/// The GPU memory (arena) of this rank, and access to that of other ranks.
pub(super) struct Arenas<'a> {
    rank: usize,
    pub(super) mine: DeviceSlice<u32>,
    peers: Option<PeerMemory<'a>>,
}

impl Arenas<'_> {
    /// Returns `words` 32-bit words of the GPU memory of rank `rank`, starting at byte `at`.
    pub(super) fn words(&self, rank: usize, at: u64, words: u64) -> DeviceSlice<u32> {
        match self.peers {
            Some(peers) if rank != self.rank => peers.span(rank, at, words, self.mine),
            _ => self.mine.part(at / 4..at / 4 + words),
        }
    }
}

/// Locks this rank's GPU, and returns it with access to the GPU memory of all ranks. Returns `None` unless every rank
/// has a GPU and all GPUs can reach each other.
pub(super) fn gpus(context: &Context) -> Option<(MutexGuard<'_, Workspace>, Arenas<'_>)> {
    context.gpu.workspace()?;
    let peers = context.gpu.peers().reachable();
    if peers.is_none() && context.comm.ranks() > 1 {
        return None;
    }
    let workspace = context.gpu.lock()?;
    let arenas = Arenas { rank: context.comm.rank(), mine: workspace.arena.words(), peers };
    Some((workspace, arenas))
}

/// Reserves GPU memory for edges that wait to be sorted, as much as other work on the GPU leaves free.
///
/// # Errors
/// [`crate::Error::Lost`].
pub(in crate::job::graph) fn device_lines(
    context: &Context,
    assignment: &Assignment<'_>,
    bins: &Bins,
    info: &InputInfo,
) -> Result<Option<DeviceLines>> {
    let (edges, ids) = (info.edges - info.loops, info.ids);
    // Only edges that a GPU has distributed to bins can stay in GPU memory, and GPU code stores ids in 32 bits.
    let Some((mut workspace, arenas)) = gpus(context).filter(|_| ids < u32::MAX.into()) else { return Ok(None) };
    let (rank, ranks) = (context.comm.rank(), context.comm.ranks());
    let weighted = info.weights.is_some();
    let line_bytes = 4 * line_words(weighted) as u64;
    workspace.arena.reset(0);
    let arena = &workspace.arena;
    let each = edges / ranks as u64;
    let Assignment { layout, ref mine, .. } = *assignment;
    let (placing, rows) = (gpu_plan::ample_bytes(&workspace, bins, ids, each, weighted), layout.rows());
    let bins_here = bins.block_of.iter().filter(|&&block| mine[block]).count();
    // Every lane (GPU queue) of every rank leaves a partly filled line (group of edges) at the end of each bin. A
    // sixteenth is added because ranks may receive more edges than expected.
    let lanes = workspace.uploader.shape().0;
    let ends = lanes * ranks * bins_here;
    let part = if ranks > 1 { assignment.part } else { 1.0 };
    let expected = (edges as f64 * part * 17.0 / 16.0) as u64 / LINE as u64 + (ends + 64 * ranks) as u64;
    // If all rows may fit in GPU memory, their memory takes precedence over waiting edges, because rows are moved
    // more often.
    let here = (0..layout.blocks()).filter(|&b| mine[b]);
    let sizes = here.map(|b| BlockSize { rows: layout.block(b).len() as u64, entries: 0 });
    let home = Placement::bytes(sizes) + 4 * LINE as u64 * expected;
    let largest = bins.largest().div_ceil(LINE as u64) + (lanes * ranks) as u64;
    let sorting = |lanes| Sorters::ample_bytes(bins, rows, largest, lanes, weighted);
    let (sorting, sorting_home) = (sorting(lanes), sorting(lanes.min(LANES)) + home);
    let stays = !context.job.keep && !context.job.tasks.is_empty() && !weighted;
    let stays = stays && home <= arena.bytes() / PART && sorting_home <= arena.free();
    let room = arena.free().saturating_sub(placing.max(if stays { sorting_home } else { sorting }));
    let lines = expected.min(room / line_bytes);
    let taken = workspace.arena.take_last(lines * line_bytes).map_or(0, |(at, _)| at);
    let all = context.comm.all_gather(bytes_of(&[taken, lines]));
    let lines_of = |rank: usize| {
        let place: Vec<u64> = numbers_of(&all[rank]);
        arenas.words(rank, place[0], place[1] * line_bytes / 4)
    };
    let of_all: Vec<DeviceSlice<u32>> = (0..ranks).map(lines_of).collect();
    tracing::debug!(lines, expected, "room for edges on the GPU");
    let queue = Queue::new(&workspace.device)?;
    Ok(Some(DeviceLines::new(&of_all, line_words(weighted), rank, queue)))
}

/// Returns true if ranks gather the map from ids to vertices in the memory of their GPUs instead of in host memory.
/// This is possible only for jobs that store neither the graph nor results per vertex; others need the map in host
/// memory.
pub(in crate::job::graph) fn maps_on_gpus(context: &Context) -> bool {
    context.gpu.peers().reachable().is_some()
        && !context.job.carries_weights()
        && !context.job.keep
        && !context.job.tasks.is_empty()
        && !context.job.needs_order()
}

/// Gathers the map from ids to vertices in the memory of every GPU. Returns `None` if the degree order is already
/// complete, or if a GPU has too little memory; then every rank has the complete map in host memory. Collective.
///
/// # Errors
/// [`crate::Error::Lost`], and errors of storing the order.
pub(in crate::job::graph) fn map_on_gpus(
    context: &Context,
    record: &mut RunRecord,
    ordered: &mut OrderWriter,
    bins: &Bins,
    info: &InputInfo,
) -> Result<Option<DeviceSlice<u32>>> {
    if ordered.order().whole {
        return Ok(None);
    }
    let each = (info.edges - info.loops) / context.comm.ranks() as u64;
    let fits = gpus(context).is_some_and(|(workspace, _)| {
        gpu_plan::ample_bytes(&workspace, bins, info.ids, each, info.weights.is_some()) <= workspace.arena.bytes()
            && info.ids < u32::MAX.into()
    });
    if !context.comm.all(fits) {
        ordered.complete(&context.comm);
        record.store_order(ordered, info.content)?;
        return Ok(None);
    }
    let nobody = || Error::internal("gather the map on GPUs", "no GPU, although one was found");
    let (mut workspace, arenas) = gpus(context).ok_or_else(nobody)?;
    let Workspace { arena, uploader, queue, .. } = &mut *workspace;
    arena.reset(0);
    // The map must be at the start of every arena, because ranks compute its addresses in other arenas from that.
    let map = arena.take_planned::<u32>(info.ids)?;
    arena.protect(map.bytes());
    let share = |rank| context.comm.share_of(rank, info.ids as usize);
    let part = |of: Range<usize>| map.part(of.start as u64..of.end as u64);
    let mine = share(context.comm.rank());
    let upload = (CopySource::Memory(bytes_of(&ordered.order().map[mine.clone()])), part(mine).as_bytes());
    uploader.upload(&[upload], &|| Ok(()))?.wait()?;
    context.comm.barrier();
    for rank in (0..context.comm.ranks()).filter(|&rank| rank != context.comm.rank()) {
        let there = share(rank);
        queue.copy(arenas.words(rank, 4 * there.start as u64, there.len() as u64), part(there))?;
    }
    queue.finish()?;
    // No rank may continue before all have finished copying.
    context.comm.barrier();
    Ok(Some(map))
}

/// Frees the GPU memory that was reserved for edges that wait to be sorted.
pub(in crate::job::graph) fn clear_device_lines(context: &Context) {
    if let Some((mut workspace, _)) = gpus(context) {
        workspace.arena.release_protected();
    }
}
