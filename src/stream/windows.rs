//! Windows of vertices. A window is all rows of consecutive vertices, from both halves of the graph, in GPU memory. If
//! all rows fit, there is one window. Otherwise windows follow each other in two slots (buffers): while kernels work on
//! one, the other is filled.

use super::batch::{RowBatch, Segment, largest};
use super::loader::ResidentRows;
use super::passes::{self, RowPart};
use crate::error::{Error, Result};
use crate::gpu::{DeviceSlice, Queue, Workspace, slice_bytes};
use crate::graph::direction::Direction;
use crate::graph::{BlockStore, Placement};
use crate::process::signals;
use std::ops::Range;

/// Number of slots (buffers in GPU memory for one window each).
const SLOTS: u64 = 2;

/// All rows of some vertices in GPU memory, as passed to kernels. The memory layout must match `VertexRows` in
/// `kernels/row_parts.cuh`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct VertexRows {
    parts: u64,
    counts: [u32; 2],
    shift: u32,
}

const _: () = assert!(size_of::<VertexRows>() == 24, "the kernels have a static_assert of the same size");

/// Callback that receives the vertices of a window and their rows, and queues work on the rows.
pub type Visit<'v> = &'v mut dyn FnMut(&Queue, Range<u32>, VertexRows) -> Result<()>;

/// The rows of a graph, divided into windows.
pub struct Windows<'g> {
    halves: [&'g BlockStore; 2],
    direction: Direction,
    vertices: u32,
    /// The rows of all vertices, if they fit in GPU memory.
    resident: Option<VertexRows>,
}

/// Returns the minimum number of bytes of GPU memory for windows of a graph. `blocks` is an upper bound on the number
/// of blocks in a half, and `longest` an upper bound on the number of entries of a vertex.
pub fn least_bytes(blocks: u64, longest: u64) -> u64 {
    // Each segment of a window needs memory for its entries and for the row starts of at least one vertex.
    let segments = 4.min(2 * blocks);
    SLOTS * (slice_bytes::<RowPart>(2 * blocks) + 2 * segments * slice_bytes::<u32>(2) + slice_bytes::<u32>(longest))
}

/// Returns the number of bytes of GPU memory for all rows of these halves and their [`RowPart`]s.
pub fn resident_bytes(halves: [&BlockStore; 2]) -> u64 {
    let sizes = halves.iter().flat_map(|half| (0..half.len()).map(|b| half.size(b)));
    slice_bytes::<RowPart>(halves.iter().map(|half| half.len() as u64).sum()) + Placement::bytes(sizes)
}

/// Returns an upper bound on [`resident_bytes`] for halves of `rows` rows and `edges` edges each, in up to `blocks`
/// blocks.
pub fn most_resident_bytes(rows: u64, edges: u64, blocks: u64) -> u64 {
    // The size of each array of a block is rounded up.
    let half = 4 * (rows + blocks + edges) + 2 * blocks * slice_bytes::<u8>(1);
    2 * half + 2 * slice_bytes::<RowPart>(blocks)
}

impl<'g> Windows<'g> {
    /// Makes the windows of a graph of `vertices` vertices. Copies all rows to GPU memory now, if they fit.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], which names `purpose`, if the rows do not fit and the graph is [not
    /// local](BlockStore::is_local); [`crate::Error::Lost`], [`crate::Error::Stopped`]; errors of reading blocks.
    pub fn new(
        workspace: &mut Workspace,
        halves: [&'g BlockStore; 2],
        vertices: u32,
        purpose: &str,
    ) -> Result<Windows<'g>> {
        let mut windows = Windows { halves, direction: halves[0].layout.direction(), vertices, resident: None };
        let mark = workspace.arena.mark();
        windows.resident = windows.place(workspace)?;
        if windows.resident.is_none() {
            workspace.arena.reset(mark);
            if halves.iter().any(|half| !half.is_local()) {
                workspace.arena.check_size(mark + resident_bytes(halves), purpose)?;
            }
        }
        Ok(windows)
    }

    /// Copies all rows of the graph to GPU memory. Returns `None` if they do not fit.
    fn place(&self, workspace: &mut Workspace) -> Result<Option<VertexRows>> {
        let Some(slot) = workspace.arena.take(self.blocks()) else { return Ok(None) };
        let mut of_halves = [Vec::new(), Vec::new()];
        for (half, parts) in self.halves.iter().zip(&mut of_halves) {
            let blocks: Vec<usize> = (0..half.len()).collect();
            let Some(placed) = passes::place(workspace, half, &blocks)? else { return Ok(None) };
            *parts = placed;
        }
        self.write(&workspace.queue, slot, &of_halves).map(Some)
    }

    /// Returns the number of blocks in both halves of the graph.
    fn blocks(&self) -> u64 {
        self.halves.iter().map(|half| half.len() as u64).sum()
    }

    /// Returns the rows of all vertices in GPU memory; `None` if they do not fit.
    pub fn resident(&self) -> Option<VertexRows> {
        self.resident
    }

    /// Copies all rows of a graph to GPU memory, and returns them. The caller must ensure that they fit.
    ///
    /// # Errors
    /// Errors of [`Windows::new`].
    pub fn all_rows(
        workspace: &mut Workspace,
        halves: [&'g BlockStore; 2],
        vertices: u32,
        purpose: &str,
    ) -> Result<VertexRows> {
        let rows = Windows::new(workspace, halves, vertices, purpose)?.resident();
        rows.ok_or_else(|| Error::internal("place rows on the GPU", "less room than planned"))
    }

    /// Calls `visit` for all vertices, window by window, in order. Uses all free GPU memory meanwhile. A window's
    /// memory is reused only after the work that `visit` queued has finished.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], which names `purpose`, if the rows of a vertex do not fit GPU memory;
    /// [`crate::Error::Lost`], [`crate::Error::Stopped`]; errors of reading blocks and of `visit`.
    pub fn each(&self, workspace: &mut Workspace, purpose: &str, visit: Visit<'_>) -> Result<()> {
        if let Some(rows) = self.resident {
            signals::check()?;
            return visit(&workspace.queue, 0..self.vertices, rows);
        }
        let mark = workspace.arena.mark();
        let visited = self.stream(workspace, purpose, visit);
        // Wait until nothing uses the memory that the caller may use next.
        let finished = workspace.uploader.finish().and(workspace.queue.finish());
        workspace.arena.reset(mark);
        visited.and(finished)
    }

    fn stream(&self, workspace: &mut Workspace, purpose: &str, visit: Visit<'_>) -> Result<()> {
        let free = (workspace.arena.free() / SLOTS).saturating_sub(slice_bytes::<RowPart>(self.blocks()));
        let slot_bytes = free / slice_bytes::<u32>(1) * slice_bytes::<u32>(1);
        let mut slots = Vec::new();
        for _ in 0..SLOTS {
            let parts: DeviceSlice<RowPart> = workspace.arena.take_planned(self.blocks())?;
            slots.push((parts, workspace.arena.take_planned::<u32>(slot_bytes / 4)?));
        }
        let mut start = 0;
        for (parts_slot, slot) in slots.into_iter().cycle() {
            if start == self.vertices {
                break;
            }
            let fits = |end: usize| bytes(&self.segments(start..end as u32)) <= slot_bytes;
            let end = largest(start as usize, self.vertices as usize, fits) as u32;
            if end == start {
                let needed = SLOTS * (bytes(&self.segments(start..start + 1)) - slot_bytes);
                workspace.arena.check_size(workspace.arena.bytes() + needed, purpose)?;
            }
            let (mut copies, mut parts, mut at) = (Vec::new(), [Vec::new(), Vec::new()], 0);
            let segments = self.segments(start..end);
            for (half, segment) in &segments {
                let slot = slot.part(at..u64::MAX);
                at += ResidentRows::slot_bytes(segment) / 4;
                let graph = self.halves[*half];
                let places = ResidentRows::in_slot(slot, segment).segments(segment);
                copies.extend(places.flat_map(|(segment, place)| place.copies(graph, None, segment)));
                parts[*half].extend(RowPart::in_slot(slot, graph, segment));
            }
            let copied = workspace.uploader.upload(&copies, &signals::check)?;
            // Writing waits for the kernels on the previous window, so the slot of that window is free for the next
            // one.
            let rows = self.write(&workspace.queue, parts_slot, &parts)?;
            workspace.queue.after(&copied)?;
            visit(&workspace.queue, start..end, rows)?;
            start = end;
        }
        Ok(())
    }

    /// Returns batches with the rows of `vertices`, as pairs (index of the half, batch). Each batch contains rows of
    /// only one block. The blocks must be [local](BlockStore::is_local).
    fn segments(&self, vertices: Range<u32>) -> Vec<(usize, RowBatch)> {
        let shift = self.direction.shift();
        let rows = vertices.start << shift..vertices.end << shift;
        let of_half = |(h, half): (usize, &&'g BlockStore)| {
            let (half, rows) = (*half, rows.clone());
            half.blocks_of(rows.clone()).map(move |block| {
                let of = half.block(block);
                let within = |row: u32| (row.clamp(of.first_row, of.end_row()) - of.first_row) as usize;
                let rows = within(rows.start)..within(rows.end);
                let entries = of.offsets[rows.start] as usize..of.offsets[rows.end] as usize;
                (h, RowBatch::of(Segment { block, ends_block: rows.end == of.rows(), entries, rows }))
            })
        };
        self.halves.iter().enumerate().flat_map(of_half).collect()
    }

    /// Writes the [`RowPart`]s of both halves to `slot`, after all queued work has finished. Returns the struct that
    /// kernels get.
    fn write(&self, queue: &Queue, slot: DeviceSlice<RowPart>, parts: &[Vec<RowPart>; 2]) -> Result<VertexRows> {
        queue.write(&parts.concat(), slot)?;
        let counts = [0, 1].map(|half| parts[half].len() as u32);
        Ok(VertexRows { parts: slot.address(), counts, shift: self.direction.shift() })
    }
}

/// Returns the number of bytes that the rows of `batches` occupy in a slot (buffer in device memory).
fn bytes(batches: &[(usize, RowBatch)]) -> u64 {
    batches.iter().map(|(_, batch)| ResidentRows::slot_bytes(batch)).sum()
}
