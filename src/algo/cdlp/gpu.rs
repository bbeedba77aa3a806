//! Iterations of label propagation on a GPU. `kernels/cdlp.cu` describes the method.
#![allow(unsafe_code)] // kernel launches

use super::labels::{FEW, Labels};
use crate::algo::Lease;
use crate::algo::searches::gpu::fetch;
use crate::error::Result;
use crate::gpu::{COMMON, CopySource, DeviceSlice, Grid, Kernel, ProgramSource, constant, slice_bytes};
use crate::memory::bytes_of;
use crate::process::signals;
use crate::stream::passes::ROW_PARTS;
use crate::stream::windows::{self, Windows};
use std::ops::Range;

pub(super) static PROGRAM: ProgramSource = ProgramSource { name: "cdlp.cu", text: TEXT, headers: &[COMMON, ROW_PARTS] };
const TEXT: &str = include_str!("../../../kernels/cdlp.cu");

/// Purpose of the GPU memory that label propagation allocates, for error messages.
const PURPOSE: &str = "[cdlp] on this graph";
/// Maximum numbers of neighbours of a vertex whose labels a warp (first element) or a thread block (second element)
/// counts in a table in shared memory.
const MOST: [u64; 2] = [constant(TEXT, "WARP_MOST") as u64, constant(TEXT, "BLOCK_MOST") as u64];
/// For each element of [`MOST`], the number of threads per block in the kernel for vertices with more neighbours.
const THREADS: [u32; 2] = [constant(TEXT, "MANY_THREADS"), constant(TEXT, "HUB_THREADS")];

/// Returns the minimum GPU memory, in bytes, for label propagation in a graph of `vertices` vertices with `entries`
/// neighbours in all rows. Each half of the rows is stored in at most `blocks` blocks, and each vertex has at most
/// `longest` neighbours.
pub(super) fn least_bytes(vertices: u64, entries: u64, (blocks, longest): (u64, u64)) -> u64 {
    let lists = slice_bytes::<u32>(entries / MOST[0]) + slice_bytes::<u32>(entries / MOST[1]);
    let state = 2 * slice_bytes::<u32>(vertices) + slice_bytes::<u8>(vertices) + slice_bytes::<u64>(2);
    (state + lists + windows::least_bytes(blocks, longest)).next_multiple_of(1 << 20)
}

/// Arguments of the label-propagation kernels: GPU addresses of the labels before and after an iteration, of the marks
/// and of the counts. The memory layout must match `Labels` in the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
struct LabelsOnGpu {
    before: u64,
    after: u64,
    marked: u64,
    changed: u64,
    differ: u32,
}

const _: () = assert!(size_of::<LabelsOnGpu>() == 40, "the kernels have a static_assert of the same size");

/// Labels of all vertices in GPU memory, and the state of label propagation.
pub(super) struct GpuLabels<'a> {
    gpu: Lease<'a>,
    kernels: Kernels,
    /// Label of each vertex that has an edge.
    labels: DeviceSlice<u32>,
    /// Labels before the last iteration. The next iteration overwrites them with its labels.
    other: DeviceSlice<u32>,
    /// A byte for each vertex, which is 1 if the label of a neighbour has changed.
    marked: DeviceSlice<u8>,
    /// Two elements: the number of vertices whose label changed in the last iteration, and the number of neighbours in
    /// the rows of these vertices.
    changed: DeviceSlice<u64>,
    /// Number of neighbours in the rows of the vertices whose label changed in the last iteration; `None` if unknown.
    last_changed: Option<u64>,
    /// Whether every vertex still has its own id as label.
    differ: bool,
    /// Number of neighbours in all rows.
    entries: u64,
    /// For each element of [`MOST`], the vertices with more neighbours than this element but not more than the next
    /// one.
    long: [LongRows; 2],
    windows: Windows<'a>,
}

/// Ascending list of the vertices with many neighbours, which a kernel for long rows processes.
struct LongRows {
    vertices: Vec<u32>,
    on_gpu: DeviceSlice<u32>,
}

struct Kernels {
    few: Kernel,
    long: [Kernel; 2],
    mark_few: Kernel,
    mark_many: Kernel,
}

impl<'a> GpuLabels<'a> {
    /// Copies the labels to the GPU. Also copies the rows of neighbours, if all of them fit.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Lost`], errors of reading blocks.
    pub(super) fn new(labels: &Labels<'a>, mut gpu: Lease<'a>) -> Result<GpuLabels<'a>> {
        let workspace = &mut *gpu.workspace;
        let names = ["cdlp_few", "cdlp_many", "cdlp_hubs", "cdlp_mark_few", "cdlp_mark_many"];
        let [few, many, hubs, mark_few, mark_many] = workspace.kernels(&PROGRAM, names)?;
        let kernels = Kernels { few, long: [many, hubs], mark_few, mark_many };
        let vertices = labels.of.len() as u64;
        let (halves, longest) = (labels.rows.halves, labels.rows.longest);
        let (blocks, entries) = (halves.iter().map(|half| half.len() as u64).max(), labels.rows.all_entries());
        let arena = &mut workspace.arena;
        arena.reset(0);
        arena.check_size(least_bytes(vertices, entries, (blocks.unwrap_or(0), longest)), PURPOSE)?;
        let [on_gpu, other] = arena.take_all([vertices; 2])?;
        let (marked, changed) = (arena.take_planned(vertices)?, arena.take_planned(2)?);
        let mut long = |least: u64, most: u64| -> Result<LongRows> {
            let is_long = |&v: &u32| (least + 1..=most).contains(&labels.rows.entries(v as usize));
            let vertices: Vec<u32> = (0..vertices as u32).filter(is_long).collect();
            Ok(LongRows { on_gpu: arena.take_planned(vertices.len() as u64)?, vertices })
        };
        let (many, hubs) = (long(MOST[0], MOST[1])?, long(MOST[1], u64::MAX)?);
        let copies = [
            (CopySource::Memory(bytes_of(&labels.of)), on_gpu.as_bytes()),
            (CopySource::Memory(bytes_of(&many.vertices)), many.on_gpu.as_bytes()),
            (CopySource::Memory(bytes_of(&hubs.vertices)), hubs.on_gpu.as_bytes()),
        ];
        workspace.uploader.upload(&copies, &signals::check)?.wait()?;
        let windows = Windows::new(workspace, halves, vertices as u32, PURPOSE)?;
        tracing::debug!(stay = windows.resident().is_some(), "rows on the GPU");
        Ok(GpuLabels {
            gpu,
            kernels,
            labels: on_gpu,
            other,
            marked,
            changed,
            last_changed: None,
            differ: labels.differ,
            entries,
            long: [many, hubs],
            windows,
        })
    }

    /// Computes the next labels of all vertices. The labels of the previous iteration remain until [`Self::exchange`].
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Lost`], errors of reading blocks, [`crate::Error::Stopped`].
    pub(super) fn vote(&mut self) -> Result<()> {
        let only_marked =
            self.windows.resident().is_some() && self.last_changed.is_some_and(|changed| FEW * changed < self.entries);
        if only_marked {
            self.mark()?;
        }
        let GpuLabels { gpu, kernels, long, windows, .. } = self;
        let labels = LabelsOnGpu {
            before: self.labels.address(),
            after: self.other.address(),
            marked: if only_marked { self.marked.address() } else { 0 },
            changed: self.changed.address(),
            differ: self.differ.into(),
        };
        gpu.workspace.queue.fill(self.changed, 0)?;
        windows.each(&mut gpu.workspace, PURPOSE, &mut |queue, vertices, rows| {
            for ((kernel, long), threads) in kernels.long.iter().zip(&*long).zip(THREADS).rev() {
                let list = long.within(&vertices);
                let grid = Grid { blocks: list.len() as u32, threads, shared: 0 };
                // SAFETY: the arguments match the kernel's. The rows and the labels of all vertices are in place.
                unsafe { queue.launch(kernel, grid, (rows, list.address(), labels))? };
            }
            let grid = queue.grid(vertices.len() as u64);
            // SAFETY: as above.
            unsafe { queue.launch(&kernels.few, grid, (rows, vertices.start, vertices.end, labels)) }
        })
    }

    /// Marks the neighbours of all vertices whose label changed in the last iteration.
    fn mark(&mut self) -> Result<()> {
        let GpuLabels { gpu, kernels, long, windows, .. } = self;
        let (before, after, marked) = (self.other.address(), self.labels.address(), self.marked.address());
        gpu.workspace.queue.fill(self.marked, 0)?;
        windows.each(&mut gpu.workspace, PURPOSE, &mut |queue, vertices, rows| {
            for list in long.iter().map(|long| long.within(&vertices)) {
                let grid = Grid { blocks: list.len() as u32, threads: crate::gpu::THREADS, shared: 0 };
                // SAFETY: the arguments match the kernel's. The rows and the labels of all vertices are in place.
                unsafe { queue.launch(&kernels.mark_many, grid, (rows, list.address(), before, after, marked))? };
            }
            let arguments = (rows, vertices.start, vertices.end, before, after, marked);
            // SAFETY: as above.
            unsafe { queue.launch(&kernels.mark_few, queue.grid(vertices.len() as u64), arguments) }
        })
    }

    /// Completes an iteration after [`Self::vote`]: replaces the labels by the next labels. Returns the number of
    /// vertices whose label changed.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn exchange(&mut self) -> Result<u64> {
        let [changed, entries] = self.gpu.workspace.queue.read_first(self.changed)?;
        std::mem::swap(&mut self.labels, &mut self.other);
        (self.last_changed, self.differ) = (Some(entries), false);
        Ok(changed)
    }

    /// Copies the labels of all vertices from GPU memory to `to`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn fetch(&mut self, to: &mut [u32]) -> Result<()> {
        fetch(&mut self.gpu.workspace.uploader, self.labels, to, |[label]| label)
    }
}

impl LongRows {
    /// Returns those vertices in this list of vertices with many neighbours that are in the range `vertices`.
    fn within(&self, vertices: &Range<u32>) -> DeviceSlice<u32> {
        let before = |end: u32| self.vertices.partition_point(|&v| v < end) as u64;
        self.on_gpu.part(before(vertices.start)..before(vertices.end))
    }
}
