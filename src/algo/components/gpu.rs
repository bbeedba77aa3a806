//! The forest of weakly connected components on a GPU. `kernels/components.cu` describes the method.
#![allow(unsafe_code)] // kernel launches

use super::forest::Forest;
use super::merge::{Turn, turns};
use crate::algo::Lease;
use crate::algo::searches::gpu::fetch;
use crate::error::Result;
use crate::gpu::{COMMON, CopySource, DeviceSlice, Kernel, PeerMemory, ProgramSource, Queue, slice_bytes};
use crate::graph::block_store::BlockStore;
use crate::graph::placement::BlockSize;
use crate::memory::bytes_of;
use crate::process::signals;
use crate::stream::passes::{self, ROW_PARTS, RowPart};
use std::ops::Range;

pub(super) static PROGRAM: ProgramSource = ProgramSource {
    name: "components.cu",
    text: include_str!("../../../kernels/components.cu"),
    headers: &[COMMON, ROW_PARTS],
};

/// Purpose of the GPU memory for weakly connected components, as named in error messages.
const PURPOSE: &str = "[components] on this graph";
/// Number of blocks of rows (about 4 GiB) that are streamed to the GPU between two checkpoints.
const STREAMED: u64 = 64;

/// Returns the minimum GPU memory, in bytes, for the weakly connected components of a graph with `vertices` vertices
/// that have edges.
pub(super) fn least_bytes(vertices: u64) -> u64 {
    (state_bytes(vertices) + passes::least_bytes()).next_multiple_of(1 << 20)
}

/// Returns true if `bytes` bytes of GPU memory are enough for the forest and for streaming blocks of these sizes one
/// after another, each in one piece. The memory of the blocks themselves is not counted.
pub(super) fn takes_uncut(vertices: u64, sizes: &[BlockSize], bytes: u64) -> bool {
    let longest = sizes.iter().map(|size| size.entries + size.rows).max().unwrap_or(0);
    state_bytes(vertices) + passes::uncut_bytes(longest) <= bytes
}

fn state_bytes(vertices: u64) -> u64 {
    slice_bytes::<u32>(vertices) + 2 * slice_bytes::<u32>(1)
}

/// A forest over the vertices of a graph in GPU memory.
pub(super) struct GpuForest<'a> {
    gpu: Lease<'a>,
    trees: Trees,
    /// This rank's blocks of rows in GPU memory, in order: the index and the rows of each. `None` if they do not all
    /// fit in GPU memory.
    resident: Option<Vec<(usize, RowPart)>>,
    /// Access to the memory of the other ranks' GPUs, if all GPUs can access each other's memory.
    peers: Option<PeerMemory<'a>>,
    /// Whether ranks send each other the trees that they joined along the first edge of each row. They do if the blocks
    /// of every rank fit in its GPU's memory.
    shares: bool,
}

impl<'a> GpuForest<'a> {
    /// Copies `forest` to the GPU, unless `is_new` says that every tree has only one vertex. Also copies the rows in
    /// `blocks`, which this rank will process, if all of them fit.
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
        let begin = workspace.kernel(&PROGRAM, "components_begin")?;
        let names = ["components_first", "components_flatten", "components_join", "components_merge"];
        let [first, flatten, join, merge] = workspace.kernels(&PROGRAM, names)?;
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
        let placed = passes::place(workspace, graph, blocks)?;
        let resident = placed.map(|parts| blocks.iter().copied().zip(parts).collect());
        workspace.queue.finish()?;
        let shift = graph.layout.direction().shift();
        let trees = Trees { first, flatten, join, merge, parents, known: [known, next], shift };
        Ok(GpuForest { gpu, trees, resident, peers: None, shares: false })
    }

    /// Gives each rank access to the forests on the GPUs of all ranks, through `peers`. Collective.
    pub(super) fn reach(&mut self, peers: Option<PeerMemory<'a>>) {
        self.peers = peers;
        self.shares = peers.is_some_and(|memory| memory.comm.all(self.resident.is_some()));
    }

    /// Returns the number of blocks of rows that this rank should process between two checkpoints. Returns `u64::MAX`
    /// if all rows of this rank are in GPU memory.
    pub(super) fn blocks_at_once(&self) -> u64 {
        if self.resident.is_some() { u64::MAX } else { STREAMED }
    }

    /// Joins trees along the edges in this rank's blocks of rows, in order. `of_ranks[r]` contains the block indices of
    /// rank `r`. The blocks of this rank must be among those that were passed to [`Self::new`]. Collective if the GPUs
    /// of all ranks can access each other's memory.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Lost`], errors of reading blocks, [`crate::Error::Stopped`].
    pub(super) fn join(&mut self, graph: &BlockStore, of_ranks: &[Vec<usize>], rank: usize) -> Result<()> {
        let blocks = &of_ranks[rank];
        let places = self.peers.filter(|_| self.shares).map(|memory| (memory.comm, self.places(memory)));
        let (workspace, trees) = (&mut *self.gpu.workspace, &mut self.trees);
        match &self.resident {
            Some(parts) => {
                let wanted = parts.iter().filter(|(b, _)| blocks.binary_search(b).is_ok());
                let parts: Vec<RowPart> = wanted.map(|&(_, part)| part).collect();
                trees.join_first(&workspace.queue, &parts)?;
                trees.flatten(&workspace.queue, true)?;
                // Once every rank knows the trees that all ranks joined along first edges, most other edges join
                // nothing.
                if let Some((comm, places)) = places {
                    workspace.queue.finish()?;
                    comm.barrier();
                    for (other, blocks) in of_ranks.iter().enumerate().filter(|&(other, _)| other != rank) {
                        let [parents, _] = places[other];
                        for &b in blocks {
                            trees.merge(&workspace.queue, parents, None, vertices_of(graph, b))?;
                        }
                    }
                    trees.flatten(&workspace.queue, true)?;
                }
                trees.join_others(&workspace.queue, &parts)?;
            }
            None => passes::stream(workspace, graph, blocks, PURPOSE, &mut |queue, part| {
                trees.join_first(queue, &[part])?;
                trees.flatten(queue, true)?;
                trees.join_others(queue, &[part])
            })?,
        }
        trees.flatten(&workspace.queue, false)?;
        workspace.queue.finish()
    }

    /// Returns two GPU addresses for each rank: of its array of parents, and of its counter of vertices that are known
    /// to be in the tree of vertex 0. Collective.
    fn places(&self, memory: PeerMemory<'_>) -> Vec<[u64; 2]> {
        let mine = [self.trees.parents.address(), self.trees.known[0].address()];
        memory.exchange(Some((self.gpu.workspace.arena.words(), mine))).unwrap_or_default()
    }

    /// Joins the forests of all ranks into the forest of rank 0 and returns true, if the GPUs of the ranks can access
    /// each other's memory. Otherwise returns false. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn merge(&mut self) -> Result<bool> {
        let Some(memory) = self.peers else { return Ok(false) };
        let (comm, places) = (memory.comm, self.places(memory));
        let (queue, trees) = (&self.gpu.workspace.queue, &mut self.trees);
        // A rank that fails still waits at all barriers, so that the other ranks do not hang.
        let mut merged = Ok(());
        for turn in turns(comm.rank(), comm.ranks()) {
            if let (Turn::Takes(from), Ok(())) = (turn, &merged) {
                let [parents, known] = places[from];
                merged = trees
                    .merge(queue, parents, Some(known), 0..trees.parents.len() as u32)
                    .and_then(|()| trees.flatten(queue, true))
                    .and_then(|()| queue.finish());
            }
            comm.barrier();
        }
        merged.map(|()| true)
    }

    /// Copies the parent of each vertex from GPU memory to `forest`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn fetch(&mut self, forest: &mut Forest) -> Result<()> {
        let to = forest.parents_mut();
        fetch(&mut self.gpu.workspace.uploader, self.trees.parents, to, |[parent]| parent.into())
    }
}

/// Returns the vertices that have rows in block `b`.
pub(super) fn vertices_of(graph: &BlockStore, b: usize) -> Range<u32> {
    let (shift, first, rows) = (graph.layout.direction().shift(), graph.first_row(b), graph.size(b).rows as u32);
    first >> shift..(first + rows).div_ceil(1 << shift)
}

/// The trees of a forest in GPU memory, and the kernels that join them.
struct Trees {
    first: Kernel,
    flatten: Kernel,
    join: Kernel,
    merge: Kernel,
    parents: DeviceSlice<u32>,
    /// Number of consecutive vertices, beginning at 0, that are known to be in the tree of vertex 0. The first element
    /// is the current number. [`Self::flatten`] writes a new number to the second element, and swaps the two.
    known: [DeviceSlice<u32>; 2],
    /// Binary logarithm of the number of rows of a vertex: 0, or 1 if edges have direction.
    shift: u32,
}

impl Trees {
    /// Joins trees along the first edge of each row in `parts`.
    fn join_first(&self, queue: &Queue, parts: &[RowPart]) -> Result<()> {
        for &part in parts {
            let arguments = (part, self.shift, self.parents.address());
            // SAFETY: the arguments match the kernel's; the rows are in place.
            unsafe { queue.launch(&self.first, queue.grid(part.rows.into()), arguments)? };
        }
        Ok(())
    }

    /// Joins trees along all edges in the rows of `parts`, except the first edge of each row.
    fn join_others(&self, queue: &Queue, parts: &[RowPart]) -> Result<()> {
        for &part in parts {
            let arguments = (part, self.shift, self.parents.address(), self.known[0].address());
            // SAFETY: the arguments match the kernel's; the rows are in place.
            unsafe { queue.launch(&self.join, queue.grid(part.rows.into()), arguments)? };
        }
        Ok(())
    }

    /// Joins each of `vertices` to its parent in the forest of another GPU. `others` is the address of that forest's
    /// array of parents. `others_known`, if given, is the address of that GPU's counter of vertices that are known to
    /// be in the tree of vertex 0. Vertices that both GPUs know to be in this tree are then skipped.
    fn merge(&self, queue: &Queue, others: u64, others_known: Option<u64>, vertices: Range<u32>) -> Result<()> {
        let (parents, known) = (self.parents.address(), self.known[0].address());
        let arguments = (parents, others, vertices.start, vertices.end, known, others_known.unwrap_or(0));
        // SAFETY: the arguments match the kernel's. The other GPU may join trees meanwhile: a parent stays an ancestor.
        unsafe { queue.launch(&self.merge, queue.grid(vertices.len() as u64), arguments) }
    }

    /// Sets the parent of each vertex to the root of its tree. If `skips_known` is true, skips the vertices that are
    /// known to be in the tree of vertex 0 and have vertex 0 as parent.
    fn flatten(&mut self, queue: &Queue, skips_known: bool) -> Result<()> {
        let [known, next] = self.known;
        if !skips_known {
            queue.fill(known, 0)?;
        }
        queue.fill(next, 0xff)?;
        let vertices = self.parents.len();
        let arguments = (self.parents.address(), vertices as u32, known.address(), next.address());
        // SAFETY: the arguments match the kernel's.
        unsafe { queue.launch(&self.flatten, queue.grid(vertices), arguments)? };
        self.known = [next, known];
        Ok(())
    }
}
