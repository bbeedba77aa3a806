//! GPU memory of other processes of this machine: ranks read blocks from each other's GPUs rather than all from the host.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::arena::{Arena, Span};
use super::device::Device;
use crate::comm::Comm;
use cudarc::driver::sys;

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
