//! The forest on a GPU. `kernels/components.cu` describes the method.
#![allow(unsafe_code)] // kernel launches

use super::forest::Forest;
use crate::algo::Lease;
use crate::algo::searches::gpu::fetch;
use crate::error::Result;
use crate::gpu::{COMMON, CopySource, DeviceSlice, Kernel, ProgramSource, Queue, slice_bytes};
use crate::graph::block_store::BlockStore;
use crate::graph::direction::Direction;
use crate::graph::placement::BlockSize;
use crate::memory::bytes_of;
use crate::process::signals;
use crate::stream::passes::{self, ROW_PARTS, RowPart};

static PROGRAM: ProgramSource = ProgramSource {
    name: "components.cu",
    text: include_str!("../../../kernels/components.cu"),
    headers: &[COMMON, ROW_PARTS],
};

/// All GPU programs that components launch.
pub static PROGRAMS: [&ProgramSource; 1] = [&PROGRAM];

/// Purpose of the GPU memory, which error messages name.
const PURPOSE: &str = "[components] on this graph";
/// Number of blocks that stream between checkpoints. They have about 4 GiB.
const STREAMED: u64 = 64;

/// Returns the least bytes of GPU memory for a graph of `vertices` vertices with edges.
pub(super) fn least_bytes(vertices: u64) -> u64 {
    (state_bytes(vertices) + passes::least_bytes()).next_multiple_of(1 << 20)
}

/// Returns true if `bytes` bytes of GPU memory, in addition to the blocks, are enough for blocks of these sizes that
/// may not be cut.
pub(super) fn takes_uncut(vertices: u64, sizes: &[BlockSize], bytes: u64) -> bool {
    let longest = sizes.iter().map(|size| size.entries + size.rows).max().unwrap_or(0);
    state_bytes(vertices) + passes::uncut_bytes(longest) <= bytes
}

fn state_bytes(vertices: u64) -> u64 {
    slice_bytes::<u32>(vertices) + 2 * slice_bytes::<u32>(1)
}

/// A forest in GPU memory.
pub(super) struct GpuForest<'a> {
    gpu: Lease<'a>,
    kernels: Kernels,
    parents: DeviceSlice<u32>,
    /// Number of the first vertices that are known to be in the tree of vertex 0, and a place for the next such number.
    known: [DeviceSlice<u32>; 2],
    direction: Direction,
    /// The blocks of this rank with their rows, in order, if all fit in GPU memory.
    resident: Option<Vec<(usize, RowPart)>>,
}

struct Kernels {
    first: Kernel,
    flatten: Kernel,
    join: Kernel,
}

impl<'a> GpuForest<'a> {
    /// Copies `forest` to the GPU, unless `is_new` says that each vertex is still a tree. Copies the rows of `blocks`,
    /// which will be joined, too, if all of them fit.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Lost`], errors of reading blocks.
    pub(super) fn new(
        graph: &BlockStore,
        blocks: &[usize],
        (forest, is_new): (&Forest, bool),
        mut gpu: Lease<'a>,
    ) -> Result<GpuForest<'a>> {
        let workspace = &mut *gpu.workspace;
        let kernel = |name| workspace.kernel(&PROGRAM, name);
        let begin = kernel("components_begin")?;
        let kernels = Kernels {
            first: kernel("components_first")?,
            flatten: kernel("components_flatten")?,
            join: kernel("components_join")?,
        };
        let vertices = forest.parents().len() as u64;
        workspace.arena.reset(0);
        workspace.arena.check_size(least_bytes(vertices), PURPOSE)?;
        let [parents, known, next] = workspace.arena.take_all([vertices, 1, 1])?;
        let queue = &workspace.queue;
        queue.fill(known, 0)?;
        if is_new {
            // SAFETY: the arguments match the kernel's; the slice has an element for each vertex.
            unsafe { queue.launch(&begin, queue.grid(vertices), (parents.address(), vertices as u32))? };
        } else {
            let copy = (CopySource::Memory(bytes_of(forest.parents())), parents.as_bytes());
            workspace.uploader.upload(&[copy], &signals::check)?.wait()?;
        }
        let placed = passes::place(workspace, graph, blocks, &signals::check)?;
        let resident = placed.map(|parts| blocks.iter().copied().zip(parts).collect());
        workspace.queue.finish()?;
        let direction = graph.layout.direction();
        Ok(GpuForest { gpu, kernels, parents, known: [known, next], direction, resident })
    }

    /// Returns the number of blocks of this rank that should be joined between checkpoints.
    pub(super) fn blocks_at_once(&self) -> u64 {
        if self.resident.is_some() { u64::MAX } else { STREAMED }
    }

    /// Joins trees along the edges of `blocks`, which are in order and some of those that were given to [`Self::new`].
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Lost`], errors of reading blocks, [`crate::Error::Stopped`].
    pub(super) fn join(&mut self, graph: &BlockStore, blocks: &[usize]) -> Result<()> {
        let mut trees =
            Trees { kernels: &self.kernels, parents: self.parents, known: self.known, shift: self.direction.shift() };
        let workspace = &mut *self.gpu.workspace;
        match &self.resident {
            Some(parts) => {
                let wanted = parts.iter().filter(|(b, _)| blocks.binary_search(b).is_ok());
                let parts: Vec<RowPart> = wanted.map(|&(_, part)| part).collect();
                trees.join(&workspace.queue, &parts)?;
            }
            None => passes::stream(workspace, graph, blocks, PURPOSE, &signals::check, &mut |queue, part| {
                trees.join(queue, &[part])
            })?,
        }
        trees.flatten(&workspace.queue, false)?;
        self.known = trees.known;
        workspace.queue.finish()
    }

    /// Copies the parents to `forest`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn fetch(&mut self, forest: &mut Forest) -> Result<()> {
        let to = forest.parents_mut();
        fetch(&mut self.gpu.workspace.uploader, self.parents, 1, to, |words, to| {
            to.iter_mut().zip(words).for_each(|(slot, &parent)| *slot.get_mut() = parent);
        })
    }
}

/// The forest as the kernels are launched on it.
struct Trees<'k> {
    kernels: &'k Kernels,
    parents: DeviceSlice<u32>,
    known: [DeviceSlice<u32>; 2],
    shift: u32,
}

impl Trees<'_> {
    /// Joins trees along the edges of `parts`: first the first edge of each row, then the others.
    fn join(&mut self, queue: &Queue, parts: &[RowPart]) -> Result<()> {
        let (shift, parents) = (self.shift, self.parents.address());
        for &part in parts {
            // SAFETY: the arguments match the kernel's; the rows are in place.
            unsafe { queue.launch(&self.kernels.first, queue.grid(part.rows.into()), (part, shift, parents))? };
        }
        self.flatten(queue, true)?;
        let known = self.known[0].address();
        for &part in parts {
            // SAFETY: the arguments match the kernel's; the rows are in place.
            unsafe { queue.launch(&self.kernels.join, queue.grid(part.rows.into()), (part, shift, parents, known))? };
        }
        Ok(())
    }

    /// Makes the root of each vertex its parent, except of vertices that are known to have vertex 0 as parent if
    /// `skips_known`.
    fn flatten(&mut self, queue: &Queue, skips_known: bool) -> Result<()> {
        let [known, next] = self.known;
        if !skips_known {
            queue.fill(known, 0)?;
        }
        queue.fill(next, 0xff)?;
        let vertices = self.parents.len();
        let arguments = (self.parents.address(), vertices as u32, known.address(), next.address());
        // SAFETY: the arguments match the kernel's.
        unsafe { queue.launch(&self.kernels.flatten, queue.grid(vertices), arguments)? };
        self.known = [next, known];
        Ok(())
    }
}
