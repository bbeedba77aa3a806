//! Copies from host memory to a GPU. Several threads copy through pinned memory (which the GPU accesses directly), at
//! the full speed of the link to the GPU.
//!
//! On the machine measured, copies from pageable memory ran at 9 GB/s. Pinning the source would take longer than
//! copying it through a small buffer that stays pinned; 16 threads move 43 GB/s in this way.
#![allow(unsafe_code)] // pinned memory, and copies from it that go on while the host does

use super::arena::DeviceSlice;
use super::device::Device;
use super::lane::Lane;
use super::queue::{Event, Queue};
use crate::error::{Error, Result};
use crate::memory::{Budget, Buffer, Process};
use crate::process::threads::pool;
use cudarc::driver::sys;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::fs::File;
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Pinned host memory, which copies and kernels on the GPU access directly. It owns a buffer, or pins memory that was
/// allocated elsewhere.
#[derive(Debug)]
pub struct Pinned<M: Deref<Target = [u8]> = Buffer<u8>> {
    device: Device,
    memory: M,
}

impl Pinned {
    /// Allocates `bytes` bytes of host memory, all zero, and pins them.
    ///
    /// # Errors
    /// [`Error::Limit`] if the budget or the operating system refuses; [`Error::Lost`].
    pub fn new(device: &Device, bytes: usize, budget: &Budget) -> Result<Pinned> {
        Pinned::of(device, pages(bytes, budget)?, budget)
    }

    /// Returns the memory for writing. The caller must not write to bytes that a queued copy may still access: see the
    /// copy methods of [`Queue`].
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }
}

impl<M: Deref<Target = [u8]>> Pinned<M> {
    /// Pins `memory`, which must begin at a page boundary. If it ends within a page, the whole page is pinned.
    ///
    /// # Errors
    /// Errors of [`Pinned::new`].
    pub fn of(device: &Device, memory: M, budget: &Budget) -> Result<Pinned<M>> {
        if !memory.is_empty() {
            register(device, &memory, budget)?;
        }
        Ok(Pinned { device: device.clone(), memory })
    }

    /// Returns the address at which kernels access the pinned memory.
    pub fn address(&self) -> u64 {
        self.memory.as_ptr() as u64
    }
}

impl<M: Deref<Target = [u8]>> Drop for Pinned<M> {
    fn drop(&mut self) {
        if !self.memory.is_empty() && self.device.context().bind_to_thread().is_ok() {
            // A failure means that the context is lost, and the registration with it.
            // SAFETY: it was registered; the pages are unmapped after this.
            let _ = unsafe { sys::cuMemHostUnregister(self.memory.as_ptr().cast_mut().cast()) };
        }
    }
}

/// Pins memory that begins at a page boundary. The caller must unregister the memory before unmapping it.
fn register(device: &Device, memory: &[u8], budget: &Budget) -> Result<()> {
    device.bind()?;
    let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
    let bytes = memory.len().next_multiple_of(4096);
    // SAFETY: whole pages of a mapping. It outlives the registration, because its borrower or owner unregisters it.
    let done = unsafe { sys::cuMemHostRegister_v2(memory.as_ptr().cast_mut().cast(), bytes, flags) };
    done.result().map_err(|e| match e.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::Limit {
            limit: "host_memory",
            given: crate::size::show(budget.limit()),
            needed: format!("{} that the system lets the GPU pin", crate::size::show(memory.len() as u64)),
            purpose: "copies to and from the GPU".into(),
        },
        _ => device.driver_error("pin memory", e),
    })
}

fn pages(bytes: usize, budget: &Budget) -> Result<Buffer<u8>> {
    budget.zeroed(bytes.next_multiple_of(4096), "copies to and from the GPU")
}

/// A 32-bit word in host memory that running kernels poll. Once it is set, they end early.
#[derive(Debug)]
pub struct StopFlag(Pinned);

impl StopFlag {
    /// Size in bytes of the pinned memory that contains the flag.
    pub const BYTES: u64 = 4096;

    /// Creates a flag that is not set.
    ///
    /// # Errors
    /// Errors of [`Pinned::new`].
    pub fn new(device: &Device, budget: &Budget) -> Result<StopFlag> {
        Pinned::new(device, Self::BYTES as usize, budget).map(StopFlag)
    }

    /// Sets or clears the flag.
    pub fn set(&mut self, stop: bool) {
        self.0.bytes_mut()[..4].copy_from_slice(&u32::from(stop).to_le_bytes());
    }

    /// Returns the address at which kernels access the flag.
    pub fn address(&self) -> u64 {
        self.0.address()
    }
}

/// Source of a copy to a GPU: bytes in memory, in a file, in another process, or on a GPU.
#[derive(Debug, Clone, Copy)]
pub enum CopySource<'s> {
    /// The bytes are in the memory of this process.
    Memory(&'s [u8]),
    /// A file that contains the bytes. It is read rather than mapped, because read calls take less time than page
    /// faults on a fresh mapping.
    File {
        /// Path of the file that contains the bytes.
        path: &'s Path,
        /// Offset in the file of the first byte to copy.
        start: u64,
        /// Number of bytes to copy.
        bytes: u64,
    },
    /// The bytes are in the memory of another process of this machine.
    Process {
        /// The process whose memory contains the bytes.
        process: Process,
        /// Address in that process of the first byte to copy.
        start: u64,
        /// Number of bytes to copy.
        bytes: u64,
    },
    /// The bytes are in the memory of this GPU or of another GPU.
    Gpu(DeviceSlice<u8>),
}

impl<'s> CopySource<'s> {
    fn len(self) -> u64 {
        match self {
            CopySource::Memory(bytes) => bytes.len() as u64,
            CopySource::File { bytes, .. } | CopySource::Process { bytes, .. } => bytes,
            CopySource::Gpu(span) => span.len(),
        }
    }

    /// Returns the sub-range of the source that starts at byte `at` and has `len` bytes, or fewer at the end of the
    /// source.
    pub fn piece(self, at: u64, len: u64) -> CopySource<'s> {
        let len = len.min(self.len() - at);
        match self {
            CopySource::Memory(bytes) => CopySource::Memory(&bytes[at as usize..(at + len) as usize]),
            CopySource::File { path, start, .. } => CopySource::File { path, start: start + at, bytes: len },
            CopySource::Process { process, start, .. } => {
                CopySource::Process { process, start: start + at, bytes: len }
            }
            CopySource::Gpu(span) => CopySource::Gpu(span.part(at..at + len)),
        }
    }

    /// Copies the whole source to `to`, which must have the same length. The source must not be on a GPU.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Lost`] if another process is gone.
    pub fn read(self, to: &mut [u8]) -> Result<()> {
        match self {
            CopySource::Memory(bytes) => to.copy_from_slice(bytes),
            CopySource::File { path, start, .. } => {
                let read = File::open(path).and_then(|file| file.read_exact_at(to, start));
                read.map_err(|e| Error::io("read", path, e))?;
            }
            CopySource::Process { process, start, .. } => {
                let gone = |e| Error::Lost(format!("the memory of another rank can't be read: {e}"));
                process.read(start, to).map_err(gone)?;
            }
            CopySource::Gpu(_) => return Err(Error::internal("copy to a GPU", "the source is on a GPU already")),
        }
        Ok(())
    }
}

/// Maximum number of bytes of one copy. Starting a copy costs far less than moving this many bytes.
const SLOT: usize = 4 << 20;
/// Number of pinned buffers (slots) per copying thread. The thread fills one while the GPU copies from the others.
const SLOTS: usize = 3;
/// Number of GPU queues for copies that run at the same time as kernels. A GPU processes 8 queues at once. With more
/// queues, more copies wait behind an unrelated kernel.
const UPLOAD_QUEUES: usize = 3;
/// Maximum number of copying threads. More threads are no faster.
const MOST_THREADS: usize = 16;

/// Copies host memory to GPU memory with several threads.
#[derive(Debug)]
pub struct Uploader {
    copiers: Vec<Copier>,
    /// One GPU queue per copying thread.
    queues: Vec<Queue>,
    /// GPU queue that waits for the copies of all copying threads.
    join_queue: Queue,
    pinned: Pinned,
    slot: usize,
    pool: ThreadPool,
}

/// GPU events of one copying thread.
#[derive(Debug)]
struct Copier {
    /// One event per pinned buffer, which is complete when the copy from the buffer is complete. The events are created
    /// once, because creating one takes longer than a small copy.
    copied: Vec<Event>,
    /// Event that is complete when all work that a copying thread has queued is complete.
    done: Event,
}

impl Uploader {
    /// Returns the size in bytes of the pinned memory for `threads` copying threads. `limit` is the limit on host
    /// memory in bytes.
    pub fn bytes(threads: usize, limit: u64) -> u64 {
        (threads.clamp(1, MOST_THREADS) * SLOTS * slot(limit)) as u64
    }

    /// Allocates the host memory that the copying threads need, without pinning it.
    ///
    /// # Errors
    /// [`Error::Limit`] if the budget refuses.
    pub(super) fn memory(threads: usize, budget: &Budget) -> Result<Buffer<u8>> {
        pages(Self::bytes(threads, budget.limit()) as usize, budget)
    }

    /// Creates an uploader with `threads` threads. `memory` must come from [`Self::memory`] for the same number of
    /// threads.
    ///
    /// # Errors
    /// Errors of [`Pinned::new`]; [`Error::Addresses`] if the operating system allows no more threads.
    pub(super) fn new(device: &Device, threads: usize, memory: Buffer<u8>, budget: &Budget) -> Result<Uploader> {
        let pinned = Pinned::of(device, memory, budget)?;
        let threads = threads.clamp(1, MOST_THREADS);
        let join_queue = Queue::new(device)?;
        let queues = (0..threads).map(|_| Queue::new(device)).collect::<Result<Vec<_>>>()?;
        let copier = |queue: &Queue| -> Result<Copier> {
            let copied = (0..SLOTS).map(|_| queue.record()).collect::<Result<_>>()?;
            Ok(Copier { done: queue.record()?, copied })
        };
        let copiers = queues.iter().map(copier).collect::<Result<_>>()?;
        let pool = pool("upload", threads)?;
        Ok(Uploader { copiers, queues, join_queue, pinned, slot: slot(budget.limit()), pool })
    }

    /// Lends the GPU queue and the pinned buffers of each copying thread, as a lane, to a caller that copies its own
    /// data.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn lanes(&mut self) -> Result<Vec<Lane<'_>>> {
        self.finish()?;
        let words = self.slot / 4;
        // SAFETY: any bytes are valid words, and pinned memory starts at a page.
        let (_, memory, _) = unsafe { self.pinned.bytes_mut().align_to_mut::<u32>() };
        let lanes = self.copiers.iter().zip(&self.queues).zip(memory.chunks_mut(SLOTS * words));
        let lanes = lanes.map(|((copier, queue), slots)| Lane::new(queue, slots.chunks_mut(words).zip(&copier.copied)));
        Ok(lanes.collect())
    }

    /// Returns the number of lanes, and the size of a pinned buffer in bytes.
    pub fn shape(&self) -> (usize, u64) {
        (self.copiers.len(), self.slot as u64)
    }

    /// Copies each source in `parts` to its destination. Returns once all host memory has been read. The returned event
    /// is complete when all copies are complete. Calls `check_cancelled` from time to time, and ends the copy if it
    /// returns an error.
    ///
    /// # Errors
    /// Errors of `check_cancelled`, and [`Error::Lost`].
    pub fn upload(
        &mut self,
        parts: &[(CopySource<'_>, DeviceSlice<u8>)],
        check_cancelled: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<Event> {
        // A piece of a copy is half a pinned buffer, so that all threads have work even for a small source.
        let slot = self.slot as u64 / 2;
        let mut pieces = Vec::new();
        for &(from, to) in parts {
            if let CopySource::Gpu(span) = from {
                self.join_queue.copy(span, to)?;
            } else {
                let starts = (0..from.len()).step_by(slot as usize);
                pieces.extend(starts.map(|at| (from.piece(at, slot), to.part(at..u64::MAX))));
            }
        }
        let next = AtomicUsize::new(0);
        let memory = self.pinned.bytes_mut().chunks_mut(SLOTS * self.slot);
        let copiers: Vec<_> = self.copiers.iter_mut().zip(memory).take(pieces.len()).collect();
        let busy = copiers.len();
        let queues = &self.queues[..self.queues.len().min(UPLOAD_QUEUES)];
        let work = |(i, (copier, memory)): (usize, (&mut Copier, &mut [u8]))| {
            copier.copy(&queues[i % queues.len()], memory, slot as usize, &pieces, &next, check_cancelled)
        };
        // All threads end before the first error is returned.
        let copiers = copiers.into_par_iter().with_max_len(1).enumerate();
        let ends: Vec<Result<()>> = self.pool.install(|| copiers.map(work).collect());
        ends.into_iter().collect::<Result<()>>()?;
        self.copiers.iter().take(busy).try_for_each(|copier| self.join_queue.after(&copier.done))?;
        self.join_queue.record()
    }

    /// Waits until all copies to the GPU are complete.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn finish(&mut self) -> Result<()> {
        self.queues.iter().try_for_each(Queue::finish)?;
        self.join_queue.finish()
    }
}

impl Drop for Uploader {
    fn drop(&mut self) {
        // A failure means that the context is lost, and all copies with it.
        let _ = self.finish();
    }
}

fn slot(limit: u64) -> usize {
    // If the memory limit is small, all pinned buffers together occupy a 32nd of it.
    let part = (limit / (32 * (MOST_THREADS * SLOTS) as u64)) as usize;
    part.clamp(64 << 10, SLOT).next_multiple_of(8192)
}

impl Copier {
    fn copy(
        &mut self,
        queue: &Queue,
        memory: &mut [u8],
        slot: usize,
        pieces: &[(CopySource<'_>, DeviceSlice<u8>)],
        next: &AtomicUsize,
        check_cancelled: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<()> {
        for turn in (0..SLOTS).cycle() {
            let Some(&(piece, to)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let (copied, slot) = (&self.copied[turn], &mut memory[turn * slot..][..piece.len() as usize]);
            check_cancelled()?;
            copied.wait()?;
            piece.read(slot)?;
            // SAFETY: the slot is not accessed until `copied` is complete, and not unpinned until the queue is
            // finished.
            unsafe { queue.upload(slot, to)? };
            queue.mark(copied)?;
        }
        queue.mark(&self.done)
    }
}
