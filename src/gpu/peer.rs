//! GPU memory of other processes of this machine: ranks read blocks from each other's GPUs rather than all from the host.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::arena::{Arena, DeviceSlice};
use super::device::Device;
use crate::comm::{Comm, SharedCounters};
use cudarc::driver::sys;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
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

/// The GPU memory of other ranks, once they have met.
#[derive(Debug)]
pub struct Peers {
    comm: Comm,
    names: Option<Arc<Names>>,
    /// This rank's GPU, and the name of its arena.
    mine: OnceLock<(Device, Name)>,
    /// Opens that of every rank as soon as that has said its name.
    opening: Mutex<Option<JoinHandle<Option<Vec<Peer>>>>>,
    met: OnceLock<Option<Vec<Peer>>>,
}

impl Peers {
    /// Of all ranks of `comm`, which have not met yet. Collective.
    pub fn new(comm: Comm) -> Peers {
        let names = comm.shared_counters(1 + NAME / 8).map(|counters| Names {
            counters,
            rank: comm.rank(),
            ranks: comm.ranks(),
            in_vain: AtomicBool::new(false),
        });
        let (mine, met) = (OnceLock::new(), OnceLock::new());
        Peers { comm, names: names.map(Arc::new), mine, opening: Mutex::new(None), met }
    }

    /// Says which GPU this rank has, and the name of its arena, if it has one. Where ranks share memory, it begins to open the others' in the
    /// background: each takes a while. To be called once.
    pub fn begin(&self, mine: Option<(&Device, &Name)>) {
        mine.into_iter().for_each(|(device, name)| drop(self.mine.set((device.clone(), name.clone()))));
        let Some(names) = &self.names else { return };
        names.say(mine.map_or(&[], |(_, name)| name));
        if let Some((device, _)) = mine {
            let (names, device) = (names.clone(), device.clone());
            let open = move || {
                let others = (0..names.ranks).filter(|&rank| rank != names.rank);
                others.map(|rank| Peer::open(&device, &names.hear(rank)?)).collect()
            };
            // Without a thread nobody reaches others.
            let thread = std::thread::Builder::new().name("peers".into()).spawn(open).ok();
            *self.opening.lock().unwrap_or_else(PoisonError::into_inner) = thread;
        }
    }

    /// Has the ranks meet; later calls do nothing. Who all have a GPU, on one machine, may reach each other's from then on. The first call
    /// is collective, and comes after [`Self::begin`] on every rank.
    pub fn meet(&self) {
        self.met.get_or_init(|| {
            if self.comm.ranks() == 1 || self.comm.nodes() > 1 {
                return None;
            }
            let started = Instant::now();
            let opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner).take();
            let peers = match &self.names {
                Some(_) => {
                    opening.and_then(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                }
                None => {
                    let mine = self.mine.get();
                    let names = self.comm.all_gather(mine.map_or(&[], |(_, name)| name));
                    let others = names.iter().enumerate().filter(|&(rank, _)| rank != self.comm.rank());
                    mine.and_then(|(device, _)| others.map(|(_, name)| Peer::open(device, name)).collect())
                }
            };
            let mut failed = [u64::from(peers.is_none())];
            self.comm.all_max(&mut failed);
            tracing::debug!(reached = failed == [0], seconds = started.elapsed().as_secs_f64(), "GPUs of other ranks");
            peers.filter(|_| failed == [0])
        });
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

impl Drop for Peers {
    fn drop(&mut self) {
        self.names.iter().for_each(|names| names.in_vain.store(true, Relaxed));
        let opening = self.opening.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // Who wants to know has met.
        let _ = opening.map(JoinHandle::join);
    }
}

/// What ranks of one machine call their arenas.
struct Names {
    counters: SharedCounters,
    rank: usize,
    ranks: usize,
    /// Nobody waits for names any more.
    in_vain: AtomicBool,
}

/// The first mark: whether a name stands in those behind it.
const NAMED: u64 = 1;
const NAMELESS: u64 = 2;

impl Names {
    fn say(&self, name: &[u8]) {
        let name = name.first_chunk::<NAME>();
        let words = name.iter().flat_map(|name| name.as_chunks::<8>().0);
        for (at, word) in words.enumerate() {
            self.counters.show(1 + at, u64::from_le_bytes(*word));
        }
        self.counters.show(0, if name.is_some() { NAMED } else { NAMELESS });
    }

    /// The name of a rank's arena, once it has said whether there is one.
    fn hear(&self, rank: usize) -> Option<[u8; NAME]> {
        let go_on = || if self.in_vain.load(Relaxed) { Err(()) } else { Ok(()) };
        let said = self.counters.wait(rank, 0, 1, go_on).ok()?;
        let mut name = [0; NAME];
        for (at, word) in name.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *word = self.counters.seen(rank, 1 + at).to_le_bytes();
        }
        (said == NAMED).then_some(name)
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("rank", &self.rank).field("ranks", &self.ranks).finish_non_exhaustive()
    }
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
    pub fn span(&self, rank: usize, at: u64, words: u64, mine: DeviceSlice<u32>) -> DeviceSlice<u32> {
        match rank.cmp(&self.comm.rank()) {
            std::cmp::Ordering::Equal => mine.part(at / 4..at / 4 + words),
            std::cmp::Ordering::Less => self.peers[rank].span(at, words),
            std::cmp::Ordering::Greater => self.peers[rank - 1].span(at, words),
        }
    }
}
