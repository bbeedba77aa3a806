//! Access to the GPU memory of other processes of this machine. Ranks read blocks from each other's GPUs, so that not
//! every rank must copy all blocks from the host.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::arena::{Arena, DeviceSlice};
use super::device::Device;
use crate::comm::{Comm, SharedCounters};
use crate::memory::{bytes_of, numbers_of};
use cudarc::driver::sys;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Instant;

const HANDLE_BYTES: usize = 64;

/// IPC handle by which other processes of this machine open an arena (the GPU memory of a process). It is empty if the
/// driver does not support IPC handles.
pub type IpcHandle = Vec<u8>;

/// Returns the IPC handle by which other processes open `arena`.
pub fn ipc_handle(arena: &Arena) -> IpcHandle {
    let mut handle = sys::CUipcMemHandle { reserved: [0; HANDLE_BYTES] };
    if arena.device().context().bind_to_thread().is_err() {
        return IpcHandle::new();
    }
    // SAFETY: the address belongs to an allocation of this process; only `handle` is written.
    let done = unsafe { sys::cuIpcGetMemHandle(&mut handle, arena.address()) };
    match done.result() {
        Ok(()) => handle.reserved.iter().map(|&byte| byte as u8).collect(),
        Err(_) => IpcHandle::new(),
    }
}

/// The arena (all GPU memory) of another process, mapped into this process. The other process must not free its arena
/// before this value is dropped.
#[derive(Debug)]
pub struct Peer {
    device: Device,
    start: u64,
}

impl Peer {
    /// Opens the arena whose IPC handle is `name`. Returns `None` if the two GPUs can't access each other's memory.
    pub fn open(device: &Device, name: &[u8]) -> Option<Peer> {
        let name = name.first_chunk::<HANDLE_BYTES>()?;
        device.context().bind_to_thread().ok()?;
        let handle = sys::CUipcMemHandle { reserved: name.map(|byte| byte as _) };
        let mut start = 0;
        let lazily = sys::CUipcMem_flags_enum::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        // SAFETY: the context is current; only `start` is written.
        let done = unsafe { sys::cuIpcOpenMemHandle_v2(&mut start, handle, lazily) };
        done.result().ok()?;
        Some(Peer { device: device.clone(), start })
    }

    /// Returns a slice of `len` elements that starts at byte offset `at` of the other process's arena.
    pub fn span<T>(&self, at: u64, len: u64) -> DeviceSlice<T> {
        DeviceSlice::at(self.start + at, len)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if self.device.context().bind_to_thread().is_ok() {
            // A failure means that the context is lost, and the mapping with it.
            // SAFETY: opened in `open`, closed once.
            let _ = unsafe { sys::cuIpcCloseMemHandle(self.start) };
        }
    }
}

/// Connections to the GPU memory of the other ranks. [`Self::connect`] makes the memory accessible.
pub struct Peers {
    comm: Comm,
    handles: Option<Arc<Handles>>,
    /// This rank's GPU and the IPC handle of its arena.
    mine: OnceLock<(Device, IpcHandle)>,
    /// Background thread that opens the arena of every other rank as soon as that rank has published its IPC handle.
    opening: Mutex<Option<JoinHandle<Option<Vec<Peer>>>>>,
    connected: OnceLock<Option<Vec<Peer>>>,
}

impl Peers {
    /// Prepares connections between all ranks of `comm`. No memory is accessible yet. Collective.
    pub fn new(comm: Comm) -> Peers {
        let handles = comm.shared_counters(1 + HANDLE_BYTES / 8).map(|counters| Handles {
            counters,
            rank: comm.rank(),
            ranks: comm.ranks(),
            abandoned: AtomicBool::new(false),
        });
        let (mine, connected) = (OnceLock::new(), OnceLock::new());
        Peers { comm, handles: handles.map(Arc::new), mine, opening: Mutex::new(None), connected }
    }

    /// Publishes the IPC handle of this rank's arena, if the rank has a GPU. If ranks share memory, a background thread
    /// begins to open the other ranks' arenas, because opening takes a while. Each rank must call this once.
    pub fn begin(&self, mine: Option<(&Device, &IpcHandle)>) {
        mine.into_iter().for_each(|(device, name)| drop(self.mine.set((device.clone(), name.clone()))));
        let Some(handles) = &self.handles else { return };
        handles.publish(mine.map_or(&[], |(_, name)| name));
        if let Some((device, _)) = mine {
            let (handles, device) = (handles.clone(), device.clone());
            let open = move || {
                let others = (0..handles.ranks).filter(|&rank| rank != handles.rank);
                others.map(|rank| Peer::open(&device, &handles.wait_for(rank)?)).collect()
            };
            // If the thread does not start, this rank can't access the other ranks' memory.
            let thread = std::thread::Builder::new().name("peers".into()).spawn(open).ok();
            *self.opening.lock() = thread;
        }
    }

    /// Waits until all ranks have opened each other's arenas. If all ranks have GPUs of one machine, they can then
    /// access each other's memory. The first call is collective and must follow [`Self::begin`] on every rank. Later
    /// calls do nothing.
    pub fn connect(&self) {
        self.connected.get_or_init(|| {
            if self.comm.ranks() == 1 || self.comm.nodes() > 1 {
                return None;
            }
            let started = Instant::now();
            let opening = self.opening.lock().take();
            let peers = match &self.handles {
                Some(_) => {
                    opening.and_then(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                }
                None => {
                    let mine = self.mine.get();
                    let handles = self.comm.all_gather(mine.map_or(&[], |(_, name)| name));
                    let others = handles.iter().enumerate().filter(|&(rank, _)| rank != self.comm.rank());
                    mine.and_then(|(device, _)| others.map(|(_, name)| Peer::open(device, name)).collect())
                }
            };
            let reached = self.comm.all(peers.is_some());
            tracing::debug!(reached, seconds = started.elapsed().as_secs_f64(), "GPUs of other ranks");
            peers.filter(|_| reached)
        });
    }

    /// Returns true if [`Self::connect`] was called.
    pub fn is_connected(&self) -> bool {
        self.connected.get().is_some()
    }

    /// Returns the GPU memory of the other ranks. Returns `None` before [`Self::connect`], in a job of one rank, or if
    /// any rank can't access another rank's memory.
    pub fn reachable(&self) -> Option<PeerMemory<'_>> {
        let peers = self.connected.get()?.as_deref()?;
        Some(PeerMemory { comm: &self.comm, peers })
    }

    /// Returns the communicator of all ranks.
    pub fn comm(&self) -> &Comm {
        &self.comm
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.handles.iter().for_each(|handles| handles.abandoned.store(true, Relaxed));
        let opening = self.opening.get_mut().take();
        // A rank that needs the opened arenas has called `connect` already.
        let _ = opening.map(JoinHandle::join);
    }
}

/// IPC handles of the arenas of one machine's ranks, which the ranks exchange through counters in shared memory.
struct Handles {
    counters: SharedCounters,
    rank: usize,
    ranks: usize,
    /// Set to true to make threads stop waiting for IPC handles.
    abandoned: AtomicBool,
}

/// Value of a rank's first counter once the rank has written its IPC handle to the other counters.
const PUBLISHED: u64 = 1;
/// Value of a rank's first counter if the rank has no IPC handle.
const NO_HANDLE: u64 = 2;

impl Handles {
    fn publish(&self, name: &[u8]) {
        let name = name.first_chunk::<HANDLE_BYTES>();
        let words = name.iter().flat_map(|name| name.as_chunks::<8>().0);
        for (at, word) in words.enumerate() {
            self.counters.publish(1 + at, u64::from_le_bytes(*word));
        }
        self.counters.publish(0, if name.is_some() { PUBLISHED } else { NO_HANDLE });
    }

    /// Waits until a rank has published the IPC handle of its arena, and returns the handle.
    fn wait_for(&self, rank: usize) -> Option<[u8; HANDLE_BYTES]> {
        let check_cancelled = || if self.abandoned.load(Relaxed) { Err(()) } else { Ok(()) };
        let published = self.counters.wait(rank, 0, 1, check_cancelled).ok()?;
        let mut name = [0; HANDLE_BYTES];
        for (at, word) in name.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *word = self.counters.read(rank, 1 + at).to_le_bytes();
        }
        (published == PUBLISHED).then_some(name)
    }
}

/// Access to the GPU memory of the other ranks. All ranks have GPUs of one machine that can access each other's memory.
#[derive(Clone, Copy)]
pub struct PeerMemory<'a> {
    /// Communicator of all ranks.
    pub comm: &'a Comm,
    /// Arenas of the other ranks, in the order of ranks.
    pub peers: &'a [Peer],
}

impl PeerMemory<'_> {
    /// Exchanges GPU addresses. `mine` contains all GPU memory of this rank, and addresses in it. Returns the addresses
    /// of each rank, converted to those at which this rank's GPU accesses the same memory; `None` if any rank passes
    /// `None`. Collective.
    pub fn exchange<const N: usize>(&self, mine: Option<(DeviceSlice<u32>, [u64; N])>) -> Option<Vec<[u64; N]>> {
        // An address that only serves as a base may lie outside the memory.
        let offsets = mine.map(|(arena, addresses)| addresses.map(|at| at.wrapping_sub(arena.address())));
        let offsets = self.comm.all_gather(offsets.as_ref().map_or(&[], |offsets| bytes_of(offsets)));
        let of_rank = |(rank, offsets): (usize, &Vec<u8>)| {
            let start = self.span(rank, 0, 0, mine?.0).address();
            let offsets: [u64; N] = numbers_of(offsets).try_into().ok()?;
            Some(offsets.map(|offset| start.wrapping_add(offset)))
        };
        offsets.iter().enumerate().map(of_rank).collect()
    }

    /// Returns `words` 32-bit words of the GPU memory of rank `rank`, from byte offset `at` on. `mine` is the whole GPU
    /// memory of this rank.
    pub fn span(&self, rank: usize, at: u64, words: u64, mine: DeviceSlice<u32>) -> DeviceSlice<u32> {
        match rank.cmp(&self.comm.rank()) {
            std::cmp::Ordering::Equal => mine.part(at / 4..at / 4 + words),
            std::cmp::Ordering::Less => self.peers[rank].span(at, words),
            std::cmp::Ordering::Greater => self.peers[rank - 1].span(at, words),
        }
    }
}
