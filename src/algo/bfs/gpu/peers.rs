//! A search by the GPUs of several ranks of one machine. `kernels/bfs_peers.cuh` describes the method. This module
//! exchanges the memory addresses of the GPUs and gathers the parents.
#![allow(unsafe_code)] // kernel launches

use super::kernel_structs::{BfsArguments, GpuBarriers, MOST_GPUS, PeerAddresses, SharedSearch, SpreadRows};
use super::programs::{PEERS, SPREAD};
use super::spread::RowParts;
use super::{GpuSearch, buffer_sizes};
use crate::comm::Comm;
use crate::error::Result;
use crate::gpu::{self, Grid, Kernel, PeerMemory, Workspace, slice_bytes};
use crate::graph::block_store::BlockStore;
use crate::graph::direction::Direction;
use std::time::Duration;

/// GPU addresses on a rank: two bitmaps, the barriers, the parents, and each half of the rows. If a GPU stores only a
/// part of a half, the address is where the first entry of the whole half would be. It may lie outside the arena.
type Addresses = [u64; 6];

/// Access to the memory of the GPUs of all ranks, for GPUs that search together.
#[derive(Clone, Copy)]
pub struct PeerAccess<'a> {
    pub(super) memory: PeerMemory<'a>,
    /// Whether adjacency rows are spread over the GPUs, because no GPU's memory can store all rows.
    pub(super) is_spread: bool,
}

/// Links to the other GPUs that search together with this one.
pub(super) struct PeerGpus<'a> {
    /// Communicator of the ranks whose GPUs search together.
    pub comm: &'a Comm,
    peers: PeerAddresses,
    /// Address of the array on the GPU of rank 0 into which all GPUs write their parents.
    gathered: u64,
    /// Location of each GPU's part of the rows, if rows are spread over the GPUs.
    pub spread: Option<[SpreadRows; 2]>,
    barrier: Kernel,
    gather: Kernel,
}

impl<'a> PeerGpus<'a> {
    /// Exchanges the GPU addresses of all ranks. If `mine` is `None` on any rank, returns `None` on all ranks.
    /// Collective: all ranks must call it.
    pub fn join(memory: PeerMemory<'a>, mine: Option<&GpuSearch<'_>>) -> Option<Result<PeerGpus<'a>>> {
        let addresses = mine.map(|search| {
            let [even, odd] = search.search.reached;
            let [lower, upper] = search.placed.graph.halves.map(|half| half.entries);
            let addresses = [even, odd, search.memory.barriers.address(), search.search.parents, lower, upper];
            (search.gpu.workspace.arena.words(), addresses)
        });
        mine.zip(memory.exchange(addresses)).map(|(search, all)| PeerGpus::of(memory.comm, &all, search))
    }

    fn of(comm: &'a Comm, all: &[Addresses], mine: &GpuSearch<'_>) -> Result<PeerGpus<'a>> {
        let mut peers =
            PeerAddresses { rank: comm.rank() as u32, gpus: comm.ranks() as u32, ..PeerAddresses::default() };
        let mut gathered = 0;
        let mut entries = [Vec::new(), Vec::new()];
        for (rank, &[even, odd, barriers, parents, lower, upper]) in all.iter().enumerate() {
            peers.reached[rank] = [even, odd];
            peers.barriers[rank] = barriers;
            entries[0].push(lower);
            entries[1].push(upper);
            if rank == 0 {
                gathered = parents;
            }
        }
        let spread =
            mine.placed.parts.as_ref().map(|[lower, upper]| [lower.spread(&entries[0]), upper.spread(&entries[1])]);
        let program = if spread.is_some() { &SPREAD } else { &PEERS };
        let kernel = |name| mine.gpu.workspace.kernel(program, name);
        Ok(PeerGpus { comm, peers, gathered, spread, barrier: kernel("bfs_meet")?, gather: kernel("bfs_gather")? })
    }

    /// Returns the arguments of the kernels that run on several GPUs: `search`, and the addresses of the other GPUs'
    /// memory.
    pub fn shared(&self, search: BfsArguments) -> SharedSearch {
        SharedSearch { search, peers: self.peers }
    }

    /// Launches a kernel that waits at a barrier until all GPUs have reached it.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn barrier(&self, workspace: &Workspace, search: BfsArguments) -> Result<()> {
        let grid = Grid { blocks: 1, threads: 1, shared: 0 };
        // SAFETY: the argument matches the kernel's; ranks keep the memory to which it refers until all have searched.
        unsafe { workspace.queue.launch(&self.barrier, grid, (self.shared(search),)) }
    }

    /// Gathers the parents of all vertices on the GPU of rank 0. `took` is the duration of the search on this GPU.
    /// Returns the duration on the slowest GPU. Collective: all ranks must call it.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn gather(
        &self,
        workspace: &Workspace,
        search: BfsArguments,
        vertices: u64,
        took: Duration,
    ) -> Result<Duration> {
        let mut longest = [took.as_nanos() as u64];
        // Slower GPUs may still claim vertices of other GPUs.
        self.comm.all_max(&mut longest);
        if !self.comm.is_leader() {
            let arguments = (self.shared(search), vertices as u32, self.gathered);
            let queue = &workspace.queue;
            // SAFETY: the arguments match the kernel's; rank 0 has room for all parents, and no other rank writes the
            // parents of this rank's vertices.
            unsafe { queue.launch(&self.gather, queue.grid(vertices), arguments)? };
            queue.finish()?;
        }
        self.comm.barrier();
        Ok(Duration::from_nanos(longest[0]))
    }
}

/// Returns access to the GPU memory of all ranks if their GPUs can search together. `halves` are the lower and the
/// upper half of the rows. The ranks must use different GPUs of one machine that can access each other's memory. The
/// memory of each GPU must be large enough for all rows, or for the GPU's part of them. Otherwise logs why the GPU of
/// rank 0 searches alone, and returns `None`. Collective, on ranks that have a GPU.
pub fn peer_access<'a>(
    peers: &'a gpu::Peers,
    workspace: &Workspace,
    halves: [&BlockStore; 2],
) -> Option<PeerAccess<'a>> {
    let comm = peers.comm();
    if comm.ranks() == 1 {
        return None;
    }
    let alone = |why: &str| {
        if comm.is_leader() {
            tracing::info!("the GPU of rank 0 searches alone: {why}");
        }
        None
    };
    let Some(memory) = peers.reachable() else { return alone("not all ranks have GPUs that reach each other") };
    let mut gpus = comm.all_gather(workspace.device.gpu().uuid.as_bytes());
    gpus.sort_unstable();
    gpus.dedup();
    if gpus.len() < comm.ranks() {
        return alone("ranks share GPUs");
    }
    if comm.ranks() > MOST_GPUS {
        return alone("there are too many GPUs");
    }
    if !comm.all(halves.iter().all(|half| half.is_local())) {
        return alone("not all ranks have all rows");
    }
    let has_room = |entries: [u64; 2]| comm.all(least_bytes(halves, entries) <= workspace.arena.bytes());
    if has_room(halves.map(BlockStore::edges)) {
        return Some(PeerAccess { memory, is_spread: false });
    }
    if has_room(halves.map(|half| RowParts::of(half, comm.ranks()).most())) {
        if comm.is_leader() {
            tracing::info!("rows are spread over {} GPUs: none has room for all", comm.ranks());
        }
        return Some(PeerAccess { memory, is_spread: true });
    }
    alone("GPUs have no room for all rows together")
}

/// Returns the GPU memory, in bytes, that each GPU needs for a search by several GPUs. `entries` contains the numbers
/// of row entries in the GPU's part of the lower half and of the upper half.
fn least_bytes(halves: [&BlockStore; 2], entries: [u64; 2]) -> u64 {
    let direction: Direction = halves[0].layout.direction();
    let vertices = halves[0].layout.rows() >> direction.shift();
    let rows: u64 = entries.into_iter().map(slice_bytes::<u32>).sum();
    buffer_sizes::least_bytes(vertices, halves[0].edges(), direction) + rows + slice_bytes::<GpuBarriers>(1)
}
