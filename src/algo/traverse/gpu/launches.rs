//! Launches the kernels of the steps of a search, in order.
#![allow(unsafe_code)] // kernel launches

use super::PROGRAM;
use super::clock::StepClock;
use super::kernel_structs::Owned;
use super::memory::TraverseMemory;
use super::peers::GpuOutbox;
use super::sort::PairSorter;
use crate::algo::searches::ranks::VertexOwnership;
use crate::algo::traverse::options::Strategy;
use crate::error::Result;
use crate::gpu::{DeviceSlice, Kernel, Queue, Scan, Workspace};

/// Kernels of a traversal, with the GPU arrays that they read and write.
pub(super) struct Launches {
    degrees: Kernel,
    search: Kernel,
    update: Kernel,
    take: Kernel,
    reached: Kernel,
    advance: Kernel,
    begin: Kernel,
    atomic_count: Kernel,
    atomic_ends: Kernel,
    atomic: Kernel,
    scan: Scan,
    sorter: PairSorter,
    strategy: Strategy,
    owned: Owned,
    memory: TraverseMemory,
    /// Maximum number of received pairs (a vertex and its proposed parent) that this rank processes at a time.
    most_taken: u64,
}

impl Launches {
    /// Loads the kernels of a traversal. A piece (a range of the frontier's edges that is expanded at once) has up to
    /// `piece` candidates.
    pub fn load(
        workspace: &Workspace,
        strategy: Strategy,
        piece: u64,
        memory: TraverseMemory,
        ownership: &VertexOwnership,
    ) -> Result<Launches> {
        let kernel = |name| workspace.kernel(&PROGRAM, name);
        let owned = memory.owned(ownership);
        Ok(Launches {
            degrees: kernel("traverse_degrees")?,
            search: kernel("traverse_search")?,
            update: kernel("traverse_update")?,
            take: kernel("traverse_take")?,
            reached: kernel("traverse_reached")?,
            advance: kernel("traverse_advance")?,
            begin: kernel("traverse_begin")?,
            atomic_count: kernel("traverse_atomic_count")?,
            atomic_ends: kernel("traverse_atomic_ends")?,
            atomic: kernel("traverse_atomic")?,
            scan: Scan::load(workspace)?,
            sorter: PairSorter::load(workspace, memory, ownership.keys())?,
            strategy,
            owned,
            memory,
            // After repeats are dropped, there are at most as many pairs as vertices.
            most_taken: if strategy == Strategy::Atomic { piece } else { piece.min(owned.own.into()) },
        })
    }

    /// Returns the array that contains the pairs of a piece (a range of the frontier's edges) once all kernels for this
    /// piece have run. Pairs are grouped by the rank that owns the vertex.
    pub fn outbox_pairs(&self) -> DeviceSlice<u64> {
        match self.strategy {
            Strategy::Atomic => self.sorter.input(),
            Strategy::SortUnique | Strategy::Auto => self.sorter.output(),
        }
    }

    /// Returns the addresses of this rank's outbox, the array from which other ranks read pairs.
    pub fn outbox(&self) -> GpuOutbox {
        GpuOutbox { pairs: self.outbox_pairs().address(), ends: self.memory.ends.address() }
    }

    /// Queues the start of a search from `root`, whose local index on this rank is `local_index`.
    pub fn begin(&self, queue: &Queue, local_index: u32, root: u32) -> Result<()> {
        // SAFETY: the arguments match the kernel's; `local_index` belongs to a vertex of this rank.
        unsafe { queue.launch(&self.begin, queue.grid(1), (self.owned, local_index, root)) }
    }

    /// Queues the computation of prefix sums of the degrees of the frontier's vertices. Each sum is the number of
    /// candidates before a vertex.
    pub fn number(&self, queue: &Queue, vertices: u32) -> Result<()> {
        if vertices == 0 {
            return Ok(());
        }
        let offsets = self.memory.offsets.part(0..u64::from(vertices) + 1);
        // SAFETY: the arguments match the kernel's; there is an offset for each vertex, and one for the total.
        unsafe { queue.launch(&self.degrees, queue.grid(offsets.len()), (self.owned, vertices))? };
        self.scan.launch(queue, offsets, self.memory.scratch)
    }

    /// Queues a kernel that claims the vertices in `pairs`, all of which this rank owns.
    pub fn update(&self, queue: &Queue, pairs: DeviceSlice<u64>) -> Result<()> {
        let arguments = (self.owned, pairs.address(), pairs.len() as u32);
        // SAFETY: the arguments match the kernel's; all keys belong to vertices of this rank.
        unsafe { queue.launch(&self.update, queue.grid(pairs.len()), arguments) }
    }

    /// Queues a kernel that claims the vertices of this rank in an outbox (an array of pairs) of this rank or of
    /// another rank. Only the GPU knows the number of these pairs.
    pub fn claim_from(&self, queue: &Queue, outbox: GpuOutbox) -> Result<()> {
        let arguments = (self.owned, outbox.pairs, outbox.ends);
        // SAFETY: the arguments match the kernel's; an outbox does not change until all ranks have read it, and ends
        // within its memory.
        unsafe { queue.launch(&self.take, queue.grid(self.most_taken), arguments) }
    }

    /// Queues the expansion of a piece: the candidates `first..end` of a frontier with `vertices` vertices. Also queues
    /// kernels that claim those candidates that this rank owns.
    pub fn expand(&self, queue: &Queue, clock: &mut StepClock, vertices: u32, (first, end): (u32, u32)) -> Result<()> {
        match self.strategy {
            Strategy::Atomic => self.claim(queue, vertices, (first, end))?,
            _ => return self.prune(queue, clock, vertices, (first, end)),
        }
        clock.end(queue, |steps| &mut steps.search)
    }

    fn prune(&self, queue: &Queue, clock: &mut StepClock, vertices: u32, (first, end): (u32, u32)) -> Result<()> {
        let count = end - first;
        let arguments = (self.owned, vertices, first, end, self.sorter.input().address());
        // SAFETY: the arguments match the kernel's; the array is large enough for the candidates of a piece, all of
        // which belong to the frontier.
        unsafe { queue.launch(&self.search, queue.grid(count.into()), arguments)? };
        clock.end(queue, |steps| &mut steps.search)?;
        self.sorter.sort(queue, &self.scan, count)?;
        clock.end(queue, |steps| &mut steps.sort)?;
        self.sorter.unique(queue, &self.scan, count)?;
        self.sorter.ends(queue, &self.owned)?;
        clock.end(queue, |steps| &mut steps.unique)?;
        self.claim_from(queue, self.outbox())?;
        clock.end(queue, |steps| &mut steps.update)
    }

    /// Queues kernels that claim the candidates that this rank owns, and that write all other candidates to the outbox
    /// (an array that other ranks read), grouped by rank.
    fn claim(&self, queue: &Queue, vertices: u32, (first, end): (u32, u32)) -> Result<()> {
        let grid = queue.grid((end - first).into());
        let GpuOutbox { pairs, ends } = self.outbox();
        queue.fill(self.memory.ends, 0)?;
        if self.owned.ranks > 1 {
            // SAFETY: the arguments match the kernels'; each rank has a count, which becomes the position of its first
            // pair.
            unsafe {
                queue.launch(&self.atomic_count, grid, (self.owned, vertices, first, end, ends))?;
                queue.launch(&self.atomic_ends, queue.grid(1), (self.owned, ends))?;
            }
        }
        // SAFETY: the arguments match the kernel's; all appended pairs were counted before, so the pairs of each rank
        // end where the pairs of the next rank begin.
        unsafe { queue.launch(&self.atomic, grid, (self.owned, vertices, first, end, ends, pairs)) }
    }

    /// Queues the end of a step: the vertices that the step reached become the frontier.
    pub fn advance(&self, queue: &Queue) -> Result<()> {
        let TraverseMemory { words, scratch, .. } = self.memory;
        let (count, grid) = (words.len() as u32, queue.grid(words.len()));
        // SAFETY: the arguments match the kernels'; there is a count for each word of bits.
        unsafe { queue.launch(&self.reached, grid, (self.owned, count, words.address()))? };
        self.scan.launch(queue, words, scratch)?;
        // SAFETY: as above; the frontier array is large enough for all vertices of this rank.
        unsafe { queue.launch(&self.advance, grid, (self.owned, count, words.address())) }
    }
}
