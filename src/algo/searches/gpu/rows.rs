//! Row offsets of a graph in GPU memory, and adjacency rows in pinned host memory, which kernels read over the bus.
#![allow(unsafe_code)] // kernel launches

use super::{CancelCheck, PROGRAM, ROWS};
use crate::error::{Error, Result};
use crate::gpu::{CopySource, DeviceSlice, Pinned, Workspace, constant};
use crate::graph::block_store::BlockStore;
use crate::memory::{Budget, bytes_of};
use crate::stream::copies_from_host;
use rayon::prelude::*;

/// Maximum number of crossings that a [`GpuRows`] stores. A crossing is the first row that begins at or after a
/// multiple of 2^32 entries.
const MOST_CROSSINGS: usize = constant(ROWS.1, "MOST_CROSSINGS") as usize;

/// Number of bytes of rows that a thread copies to pinned memory at a time.
const PIECE: usize = 4 << 20;

/// Adjacency rows that a GPU can read. The memory layout must match `RowsOf` in `kernels/rows.cuh`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct GpuRows {
    /// GPU address of the array of row offsets, of which it contains the low 32 bits. The last element is the end of
    /// the last row.
    pub starts: u64,
    /// Address of the row entries, which are in GPU memory or in pinned host memory.
    pub entries: u64,
    crossings: u32,
    crossing: [u32; MOST_CROSSINGS],
}

const _: () = assert!(size_of::<GpuRows>() == 72);

impl GpuRows {
    /// Records `row` as the next crossing: the first row that begins at or after the next multiple of 2^32 entries.
    fn cross(&mut self, row: u32) -> Result<()> {
        let Some(crossing) = self.crossing.get_mut(self.crossings as usize) else {
            let most = MOST_CROSSINGS as u64 + 1;
            let most = format!("a GPU searches graphs of up to {most} * 2^32 edges: set run.device = \"cpu\"");
            return Err(Error::Usage(most));
        };
        *crossing = row;
        self.crossings += 1;
        Ok(())
    }
}

/// Copies the row offsets of `graph`, the lower half (smaller neighbours) or the upper half (larger neighbours) of the
/// adjacency, to the GPU. Converts offsets within a block to offsets within the half, and adds `before`. If rows are
/// packed (compressed), offsets count chunks of packed neighbours instead of entries.
///
/// # Errors
/// [`Error::Usage`] if there are more entries than a GPU can search; [`Error::Lost`]; errors of reading blocks; errors
/// of `check_cancelled`.
pub fn place_starts(
    workspace: &mut Workspace,
    graph: &BlockStore,
    starts: DeviceSlice<u32>,
    mut before: u64,
    check_cancelled: CancelCheck<'_>,
) -> Result<GpuRows> {
    let mut half = GpuRows { starts: starts.address(), crossings: (before >> 32) as u32, ..GpuRows::default() };
    let mut parts = Vec::new();
    let mut places = Vec::new();
    for b in 0..graph.len() {
        let (size, first) = (graph.size(b), u64::from(graph.first_row(b)));
        // The last row of a block ends where the first row of the next block starts.
        let words = size.rows + u64::from(b + 1 == graph.len());
        let part = starts.part(first..first + words);
        let offsets = match graph.packed() {
            Some(rows) => {
                let offsets = rows.block(b).starts;
                parts.push((CopySource::Memory(bytes_of(&offsets[..words as usize])), part.as_bytes()));
                offsets
            }
            None => {
                let [offsets, _] = copies_from_host(graph, b, (0, part), (0, DeviceSlice::default()));
                parts.push(offsets);
                graph.block(b).offsets
            }
        };
        places.push((part, before));
        let after = before + u64::from(offsets.last().copied().unwrap_or(0));
        for crossed in (before >> 32) + 1..=after >> 32 {
            let local = offsets.partition_point(|&offset| before + u64::from(offset) < crossed << 32);
            half.cross((first + local as u64) as u32)?;
        }
        before = after;
    }
    if parts.is_empty() {
        workspace.queue.fill(starts, 0)?;
    }
    let copied = workspace.uploader.upload(&parts, check_cancelled)?;
    workspace.queue.after(&copied)?;
    let kernel = workspace.kernel(&PROGRAM, "rows_rebase")?;
    for (part, before) in places.into_iter().filter(|&(_, before)| before as u32 > 0) {
        let arguments = (part.address(), part.len() as u32, before as u32);
        // SAFETY: the arguments match the kernel's, and no other block uses the slice `part`.
        unsafe { workspace.queue.launch(&kernel, workspace.queue.grid(part.len()), arguments)? };
    }
    workspace.queue.finish()?;
    Ok(half)
}

/// Computes the offsets of whole rows on the GPU. Each offset is the sum of the row's offsets in the lower half
/// (smaller neighbours) and in the upper half (larger neighbours). The first row starts after `before` entries.
///
/// # Errors
/// [`Error::Usage`] if there are more entries than a GPU can search; [`Error::Lost`].
pub fn join_starts(
    workspace: &mut Workspace,
    halves: [DeviceSlice<u32>; 2],
    starts: DeviceSlice<u32>,
    before: u64,
) -> Result<GpuRows> {
    let found: DeviceSlice<u32> = workspace.arena.take_planned(1 + MOST_CROSSINGS as u64)?;
    let queue = &workspace.queue;
    queue.fill(found, 0)?;
    let kernel = workspace.kernel(&PROGRAM, "rows_join")?;
    let [lower, upper] = halves.map(DeviceSlice::address);
    let arguments = (lower, upper, starts.len(), starts.address(), found.address());
    // SAFETY: the arguments match the kernel's. All three slices have a word for each row and one more word.
    unsafe { queue.launch(&kernel, queue.grid(starts.len()), arguments)? };
    let crossings: [u32; 1 + MOST_CROSSINGS] = queue.read_first(found)?;
    let [count, mut rows @ ..] = crossings;
    let mut joined = GpuRows { starts: starts.address(), crossings: (before >> 32) as u32, ..GpuRows::default() };
    let known = (count as usize).min(MOST_CROSSINGS);
    rows[..known].sort_unstable();
    rows[..known].iter().try_for_each(|&row| joined.cross(row))?;
    if count as usize > known {
        joined.cross(u32::MAX)?;
    }
    Ok(joined)
}

/// Copies the row entries of one half of the adjacency (smaller or larger neighbours) to pinned host memory.
///
/// # Errors
/// [`Error::Limit`]; [`Error::Lost`]; errors of reading blocks; errors of `check_cancelled`.
pub fn pin(
    workspace: &Workspace,
    graph: &BlockStore,
    budget: &Budget,
    check_cancelled: CancelCheck<'_>,
) -> Result<Pinned> {
    let mut pinned = Pinned::new(&workspace.device, (4 * graph.edges() as usize).max(4), budget)?;
    let mut rest = pinned.bytes_mut();
    let mut pieces = Vec::new();
    for (b, _, entries) in targets(graph) {
        let (here, later) = rest.split_at_mut(4 * entries as usize);
        rest = later;
        let whole = DeviceSlice::at(0, entries);
        let [_, (from, _)] = copies_from_host(graph, b, (0, DeviceSlice::default()), (0, whole));
        let parts = here.chunks_mut(PIECE).enumerate();
        pieces.extend(parts.map(|(i, part)| (from.piece((i * PIECE) as u64, part.len() as u64), part)));
    }
    pieces
        .into_par_iter()
        .try_for_each(|(from, to): (CopySource<'_>, &mut [u8])| check_cancelled().and_then(|()| from.read(to)))?;
    Ok(pinned)
}

/// Yields `(b, before, entries)` for each block of `graph` that has row entries: the index of the block, the number of
/// entries in all earlier blocks, and the number of entries in the block.
pub fn targets(graph: &BlockStore) -> impl Iterator<Item = (usize, u64, u64)> {
    let before = (0..graph.len()).scan(0, |end, b| {
        let before = *end;
        *end += graph.size(b).entries;
        Some((b, before, graph.size(b).entries))
    });
    before.filter(|&(_, _, entries)| entries > 0)
}
