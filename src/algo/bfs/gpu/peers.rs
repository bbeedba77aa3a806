//! A search by the GPUs of several ranks of a machine. `kernels/bfs_peers.cuh` has the method; here is how they come to know each other's
//! memory, and how the parents come together.
#![allow(unsafe_code)] // kernel launches

use super::twins::{MOST_GPUS, Meeting, Peers, Search, SharedSearch};
use super::{GpuSearch, PEERS, room};
use crate::comm::Comm;
use crate::error::Result;
use crate::gpu::{self, Grid, Kernel, PeerMemory, Workspace, slice_bytes};
use crate::graph::catalogue::Catalogue;
use crate::graph::direction::Direction;
use crate::memory::{bytes_of, numbers_of};
use std::time::Duration;

/// Byte offsets in the arena of a GPU: of both bitmaps, of its barriers and of the parents.
type Offsets = [u64; 4];

/// The other GPUs that search with this one.
pub(super) struct Beside<'a> {
    comm: &'a Comm,
    peers: Peers,
    /// The address of the parents on the GPU of rank 0.
    gathered: u64,
    meet: Kernel,
    gather: Kernel,
}

impl<'a> Beside<'a> {
    /// Has GPUs of all ranks know each other's memory, each by its own search; there is nothing on any rank if one has none. Collective.
    pub fn join(memory: PeerMemory<'a>, mine: Option<&GpuSearch<'_>>) -> Option<Result<Beside<'a>>> {
        let offsets = mine.map(|search| {
            let addresses =
                [search.search.reached[0], search.search.reached[1], search.meeting.address(), search.search.parents];
            addresses.map(|address| address - search.gpu.workspace.arena.words().address())
        });
        let told = memory.comm.all_gather(offsets.as_ref().map_or(&[][..], |offsets| bytes_of(offsets)));
        let all: Option<Vec<Offsets>> = told.iter().map(|told| offsets_of(told)).collect();
        mine.zip(all).map(|(search, all)| Beside::of(memory, &all, &search.gpu.workspace))
    }

    /// Returns true if the parents come to this GPU.
    pub fn leads(&self) -> bool {
        self.comm.leads()
    }

    fn of(memory: PeerMemory<'a>, all: &[Offsets], workspace: &Workspace) -> Result<Beside<'a>> {
        let comm = memory.comm;
        let mut peers = Peers { rank: comm.rank() as u32, gpus: comm.ranks() as u32, ..Peers::default() };
        let mut gathered = 0;
        for (rank, offsets) in all.iter().enumerate() {
            let [even, odd, meeting, parents] =
                offsets.map(|at| memory.span(rank, at, 0, workspace.arena.words()).address());
            peers.reached[rank] = [even, odd];
            peers.meetings[rank] = meeting;
            if rank == 0 {
                gathered = parents;
            }
        }
        let kernel = |name| workspace.kernel(&PEERS, name);
        Ok(Beside { comm, peers, gathered, meet: kernel("bfs_meet")?, gather: kernel("bfs_gather")? })
    }

    /// Returns a search of this GPU as the kernels of several know it.
    pub fn shared(&self, search: Search) -> SharedSearch {
        SharedSearch { search, peers: self.peers }
    }

    /// Queues that this GPU waits until all have come so far.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn meet(&self, workspace: &Workspace, search: Search) -> Result<()> {
        let grid = Grid { blocks: 1, threads: 1, shared: 0 };
        // SAFETY: the argument matches the kernel's; ranks keep the memory that it names until all have searched.
        unsafe { workspace.queue.launch(&self.meet, grid, (self.shared(search),)) }
    }

    /// Brings the parents of all vertices to the GPU of rank 0, after a search that took this GPU so long. Returns the longest of all.
    /// Collective.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn gather(&self, workspace: &Workspace, search: Search, vertices: u64, took: Duration) -> Result<Duration> {
        let mut longest = [took.as_nanos() as u64];
        // GPUs that are behind still claim vertices of others.
        self.comm.all_max(&mut longest);
        if !self.comm.leads() {
            let arguments = (self.shared(search), vertices as u32, self.gathered);
            let queue = &workspace.queue;
            // SAFETY: the arguments match the kernel's; the parents of rank 0 are as many, and nobody uses those of this rank's vertices.
            unsafe { queue.launch(&self.gather, queue.grid(vertices), arguments)? };
            queue.finish()?;
        }
        self.comm.barrier();
        Ok(Duration::from_nanos(longest[0]))
    }
}

fn offsets_of(told: &[u8]) -> Option<Offsets> {
    numbers_of(told).try_into().ok()
}

/// Returns the GPU memory of all ranks, if these search a graph with these halves together: each has a GPU of its own of one machine, reaches the
/// others' and has room for all rows. Says otherwise why the GPU of rank 0 searches alone. Collective, on ranks that have a GPU.
pub fn together<'a>(peers: &'a gpu::Peers, workspace: &Workspace, halves: [&Catalogue; 2]) -> Option<PeerMemory<'a>> {
    let comm = peers.comm();
    if comm.ranks() == 1 {
        return None;
    }
    let alone = |why: &str| {
        if comm.leads() {
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
        return alone("there are too many");
    }
    let is_here = halves.iter().all(|half| half.is_local());
    if !comm.all(is_here && least_bytes(halves) <= workspace.arena.bytes()) {
        return alone("not all GPUs have room for all rows");
    }
    Some(memory)
}

/// Returns the bytes of GPU memory with which a search is shared.
fn least_bytes(halves: [&Catalogue; 2]) -> u64 {
    let direction: Direction = halves[0].layout.direction();
    let vertices = halves[0].layout.rows() >> direction.shift();
    let rows: u64 = halves.iter().map(|half| slice_bytes::<u32>(half.edges())).sum();
    room::least_bytes(vertices, halves[0].edges(), direction) + rows + slice_bytes::<Meeting>(1)
}
