//! GPU memory of other processes of this machine: ranks read blocks from each other's GPUs rather than all from the host.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::arena::{Arena, Span};
use super::device::Device;
use crate::comm::Comm;
use cudarc::driver::sys;
use std::sync::OnceLock;
use std::time::Instant;

/// Bytes of the name of an arena.
const NAME: usize = 64;

/// By what other processes of this machine open an arena. Empty where the driver has no such names.
pub type Name = Vec<u8>;

impl Arena {
    /// Its name for other processes.
    pub fn name(&self) -> Name {
        let mut handle = sys::CUipcMemHandle { reserved: [0; NAME] };
        if self.device().context().bind_to_thread().is_err() {
            return Name::new();
        }
        // SAFETY: the address is that of an allocation of this process; the handle is written to.
        let done = unsafe { sys::cuIpcGetMemHandle(&mut handle, self.address()) };
        match done.result() {
            Ok(()) => handle.reserved.iter().map(|&byte| byte as u8).collect(),
            Err(_) => Name::new(),
        }
    }
}

/// Another process's arena. It must stay there until this is dropped.
#[derive(Debug)]
pub struct Peer {
    device: Device,
    start: u64,
}

impl Peer {
    /// Opens an arena by its name; `None` where these two GPUs can't reach each other.
    pub fn open(device: &Device, name: &[u8]) -> Option<Peer> {
        let name = name.first_chunk::<NAME>()?;
        device.context().bind_to_thread().ok()?;
        let handle = sys::CUipcMemHandle { reserved: name.map(|byte| byte as _) };
        let mut start = 0;
        let lazily = sys::CUipcMem_flags_enum::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        // SAFETY: the context is current; `start` is written to.
        let done = unsafe { sys::cuIpcOpenMemHandle_v2(&mut start, handle, lazily) };
        done.result().ok()?;
        Some(Peer { device: device.clone(), start })
    }

    /// `len` elements from byte `at` of it on.
    pub fn span<T>(&self, at: u64, len: u64) -> Span<T> {
        Span::at(self.start + at, len)
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

/// The GPU memory of other ranks, once they have met.
#[derive(Debug)]
pub struct Peers {
    comm: Comm,
    met: OnceLock<Option<Vec<Peer>>>,
}

impl Peers {
    /// Of all ranks of `comm`, which have not met yet.
    pub fn new(comm: Comm) -> Peers {
        Peers { comm, met: OnceLock::new() }
    }

    /// Has the ranks meet, each with its GPU and the name of its arena, if it has one; later calls do nothing. Who all have one, on
    /// one machine, may reach each other's from then on. The first call is collective.
    pub fn meet(&self, mine: Option<(&Device, &Name)>) {
        self.met.get_or_init(|| open_all(&self.comm, mine));
    }

    /// Whether they have met.
    pub fn have_met(&self) -> bool {
        self.met.get().is_some()
    }

    /// The others' memory, if there are several ranks, they have met, and all reach each other's.
    pub fn beside(&self) -> Option<Beside<'_>> {
        let peers = self.met.get()?.as_deref()?;
        Some(Beside { comm: &self.comm, peers })
    }

    /// All ranks.
    pub fn comm(&self) -> &Comm {
        &self.comm
    }
}

/// By rank, those of the others. Opening takes a while, so it is done once.
fn open_all(comm: &Comm, mine: Option<(&Device, &Name)>) -> Option<Vec<Peer>> {
    if comm.ranks() == 1 || comm.nodes() > 1 {
        return None;
    }
    let started = Instant::now();
    let names = comm.all_gather(mine.map_or(&[], |(_, name)| name));
    let others = names.iter().enumerate().filter(|&(rank, _)| rank != comm.rank());
    let peers: Option<Vec<Peer>> =
        mine.and_then(|(device, _)| others.map(|(_, name)| Peer::open(device, name)).collect());
    let mut failed = [u64::from(peers.is_none())];
    comm.all_max(&mut failed);
    tracing::debug!(reached = failed == [0], seconds = started.elapsed().as_secs_f64(), "GPUs of other ranks");
    peers.filter(|_| failed == [0])
}

/// Ranks that all have a GPU of one machine, and the others' GPU memory, by rank.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    /// The ranks.
    pub comm: &'a Comm,
    /// The others' arenas.
    pub peers: &'a [Peer],
}

impl Beside<'_> {
    /// `words` words of a rank's GPU memory from byte `at` on; `mine` is this rank's from its start on.
    pub fn span(&self, rank: usize, at: u64, words: u64, mine: Span<u32>) -> Span<u32> {
        match rank.cmp(&self.comm.rank()) {
            std::cmp::Ordering::Equal => mine.part(at / 4..at / 4 + words),
            std::cmp::Ordering::Less => self.peers[rank].span(at, words),
            std::cmp::Ordering::Greater => self.peers[rank - 1].span(at, words),
        }
    }
}
