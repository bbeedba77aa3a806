//! A search by the GPUs of several ranks of a machine. `kernels/bfs_peers.cuh` has the method; here is how they come to know each other's
//! memory, and how the parents come together.
#![allow(unsafe_code)] // kernel launches

use super::programs::{PEERS, SPREAD};
use super::spread::{Member, Parts};
use super::twins::{MOST_GPUS, Meeting, Peers, Search, SharedSearch, Spread};
use super::{GpuSearch, room};
use crate::comm::Comm;
use crate::error::Result;
use crate::gpu::{self, Grid, Kernel, PeerMemory, Workspace, slice_bytes};
use crate::graph::catalogue::Catalogue;
use crate::graph::direction::Direction;
use crate::memory::{bytes_of, numbers_of};
use std::time::Duration;

/// Byte offsets in the arena of a GPU: of both bitmaps, of its barriers and of the parents, and of where the first entry of either half would be if
/// the rows that it has were all.
type Offsets = [u64; 6];

/// The GPU memory of ranks that search together.
#[derive(Clone, Copy)]
pub struct Together<'a> {
    pub(super) memory: PeerMemory<'a>,
    /// True if rows are spread over the GPUs, since none has room for all.
    is_spread: bool,
}

impl Together<'_> {
    /// Returns which of the GPUs this rank's is, if rows are spread over them, or are to be.
    pub(super) fn member(&self, spread: bool) -> Option<Member> {
        let comm = self.memory.comm;
        (self.is_spread || spread).then(|| Member { rank: comm.rank(), gpus: comm.ranks() })
    }
}

/// The other GPUs that search with this one.
pub(super) struct Beside<'a> {
    comm: &'a Comm,
    peers: Peers,
    /// The address of the parents on the GPU of rank 0.
    gathered: u64,
    /// Where rows lie, if they are spread over the GPUs.
    pub spread: Option<[Spread; 2]>,
    meet: Kernel,
    gather: Kernel,
}

impl<'a> Beside<'a> {
    /// Has GPUs of all ranks know each other's memory, each by its own search; there is nothing on any rank if one has none. Collective.
    pub fn join(memory: PeerMemory<'a>, mine: Option<&GpuSearch<'_>>) -> Option<Result<Beside<'a>>> {
        let offsets = mine.map(|search| {
            let [even, odd] = search.search.reached;
            let [lower, upper] = search.placed.graph.halves.map(|half| half.entries);
            let addresses = [even, odd, search.memory.meeting.address(), search.search.parents, lower, upper];
            // Rows may lie in front of the arena, as far as their first entry is another GPU's.
            addresses.map(|address| address.wrapping_sub(search.gpu.workspace.arena.words().address()))
        });
        let told = memory.comm.all_gather(offsets.as_ref().map_or(&[][..], |offsets| bytes_of(offsets)));
        let all: Option<Vec<Offsets>> = told.iter().map(|told| offsets_of(told)).collect();
        mine.zip(all).map(|(search, all)| Beside::of(memory, &all, search))
    }

    /// Waits until all ranks are here. Collective.
    pub fn wait(&self) {
        self.comm.barrier();
    }

    /// Returns true if the parents come to this GPU.
    pub fn leads(&self) -> bool {
        self.comm.leads()
    }

    fn of(memory: PeerMemory<'a>, all: &[Offsets], mine: &GpuSearch<'_>) -> Result<Beside<'a>> {
        let comm = memory.comm;
        let workspace = &mine.gpu.workspace;
        let mut peers = Peers { rank: comm.rank() as u32, gpus: comm.ranks() as u32, ..Peers::default() };
        let mut gathered = 0;
        let mut entries = [Vec::new(), Vec::new()];
        for (rank, offsets) in all.iter().enumerate() {
            let arena = memory.span(rank, 0, 0, workspace.arena.words()).address();
            let [even, odd, meeting, parents, lower, upper] = offsets.map(|at| arena.wrapping_add(at));
            peers.reached[rank] = [even, odd];
            peers.meetings[rank] = meeting;
            entries[0].push(lower);
            entries[1].push(upper);
            if rank == 0 {
                gathered = parents;
            }
        }
        let spread =
            mine.placed.parts.as_ref().map(|[lower, upper]| [lower.spread(&entries[0]), upper.spread(&entries[1])]);
        let program = if spread.is_some() { &SPREAD } else { &PEERS };
        let kernel = |name| workspace.kernel(program, name);
        Ok(Beside { comm, peers, gathered, spread, meet: kernel("bfs_meet")?, gather: kernel("bfs_gather")? })
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
/// others' and has room for all rows, or for its part of them. Says otherwise why the GPU of rank 0 searches alone. Collective, on ranks that have
/// a GPU.
pub fn together<'a>(peers: &'a gpu::Peers, workspace: &Workspace, halves: [&Catalogue; 2]) -> Option<Together<'a>> {
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
    if !comm.all(halves.iter().all(|half| half.is_local())) {
        return alone("not all ranks have all rows");
    }
    let has_room = |entries: [u64; 2]| comm.all(least_bytes(halves, entries) <= workspace.arena.bytes());
    if has_room(halves.map(Catalogue::edges)) {
        return Some(Together { memory, is_spread: false });
    }
    if has_room(halves.map(|half| Parts::of(half, comm.ranks()).most())) {
        if comm.leads() {
            tracing::info!("rows are spread over {} GPUs: none has room for all", comm.ranks());
        }
        return Some(Together { memory, is_spread: true });
    }
    alone("GPUs have no room for all rows together")
}

/// Returns the bytes of GPU memory with which a search is shared by GPUs that have so many entries of either half each.
fn least_bytes(halves: [&Catalogue; 2], entries: [u64; 2]) -> u64 {
    let direction: Direction = halves[0].layout.direction();
    let vertices = halves[0].layout.rows() >> direction.shift();
    let rows: u64 = entries.into_iter().map(slice_bytes::<u32>).sum();
    room::least_bytes(vertices, halves[0].edges(), direction) + rows + slice_bytes::<Meeting>(1)
}
