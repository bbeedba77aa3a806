//! From host memory to a GPU at the link's speed: through pinned memory, by several threads.
//!
//! Copies from ordinary memory run at 9 GB/s on the machine measured. Pinning what is to be copied would take longer than
//! copying it through a little memory that stays pinned: with 16 threads that moves 43 GB/s.
#![allow(unsafe_code)] // pinned memory, and copies from it that go on while the host does

use super::arena::DeviceSlice;
use super::device::Device;
use super::lane;
use super::queue::{Event, Queue};
use crate::error::{Error, Result};
use crate::memory::{Budget, Buffer, Process};
use cudarc::driver::sys;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Host memory that the GPU copies from and to by itself.
#[derive(Debug)]
pub struct Pinned {
    device: Device,
    memory: Buffer<u8>,
}

impl Pinned {
    /// `bytes` bytes, zero.
    ///
    /// # Errors
    /// [`Error::Limit`] where the budget or the system refuses, [`Error::Lost`].
    pub fn new(device: &Device, bytes: usize, budget: &Budget) -> Result<Pinned> {
        Pinned::of(device, pages(bytes, budget)?, budget)
    }

    /// `memory`, which is whole pages of `budget`.
    fn of(device: &Device, mut memory: Buffer<u8>, budget: &Budget) -> Result<Pinned> {
        device.context().bind_to_thread().map_err(|e| device.lost("take a thread", e))?;
        let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
        // SAFETY: the buffer is this struct's own and is unregistered before it is unmapped.
        let done = unsafe { sys::cuMemHostRegister_v2(memory.as_mut_ptr().cast(), memory.len(), flags) };
        done.result().map_err(|e| match e.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::Limit {
                limit: "host_memory",
                given: crate::size::show(budget.limit()),
                needed: format!("{} that the system lets the GPU pin", crate::size::show(memory.len() as u64)),
                purpose: "copies to and from the GPU".into(),
            },
            _ => device.lost("pin memory", e),
        })?;
        Ok(Pinned { device: device.clone(), memory })
    }

    /// The memory. The GPU may be working on parts of it: see the copies of [`Queue`].
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// Where kernels see it.
    pub fn address(&self) -> u64 {
        self.memory.as_ptr() as u64
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.device.context().bind_to_thread().is_ok() {
            // A failure means that the context is lost, and the registration with it.
            // SAFETY: registered in `new`; the pages are unmapped after this.
            let _ = unsafe { sys::cuMemHostUnregister(self.memory.as_mut_ptr().cast()) };
        }
    }
}

fn pages(bytes: usize, budget: &Budget) -> Result<Buffer<u8>> {
    budget.zeroed(bytes.next_multiple_of(4096), "copies to and from the GPU")
}

/// A word in host memory that running kernels look at: whether to end early.
#[derive(Debug)]
pub struct StopFlag(Pinned);

impl StopFlag {
    /// Bytes of pinned memory.
    pub const BYTES: u64 = 4096;

    /// A flag that is not set.
    ///
    /// # Errors
    /// As [`Pinned::new`].
    pub fn new(device: &Device, budget: &Budget) -> Result<StopFlag> {
        Pinned::new(device, Self::BYTES as usize, budget).map(StopFlag)
    }

    /// Tells kernels to end, or to run on.
    pub fn set(&mut self, stop: bool) {
        self.0.bytes_mut()[..4].copy_from_slice(&u32::from(stop).to_le_bytes());
    }

    /// Where kernels see it.
    pub fn address(&self) -> u64 {
        self.0.address()
    }
}

/// Bytes to be copied.
#[derive(Debug, Clone, Copy)]
pub enum Source<'s> {
    /// In memory.
    Memory(&'s [u8]),
    /// `bytes` bytes of a file, from byte `start` on. Reading them is faster than touching a mapping for the first time.
    File {
        /// The file.
        path: &'s Path,
        /// Byte of the file.
        start: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// `bytes` bytes of another process, from this address on.
    Process {
        /// The process.
        process: Process,
        /// The address there.
        start: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// In the memory of a GPU, this one or another.
    Gpu(DeviceSlice<u8>),
}

impl<'s> Source<'s> {
    fn len(self) -> u64 {
        match self {
            Source::Memory(bytes) => bytes.len() as u64,
            Source::File { bytes, .. } | Source::Process { bytes, .. } => bytes,
            Source::Gpu(span) => span.len(),
        }
    }

    /// Its bytes from `at` on, `len` of them or as many as there are.
    pub fn piece(self, at: u64, len: u64) -> Source<'s> {
        let len = len.min(self.len() - at);
        match self {
            Source::Memory(bytes) => Source::Memory(&bytes[at as usize..(at + len) as usize]),
            Source::File { path, start, .. } => Source::File { path, start: start + at, bytes: len },
            Source::Process { process, start, .. } => Source::Process { process, start: start + at, bytes: len },
            Source::Gpu(span) => Source::Gpu(span.part(at..at + len)),
        }
    }

    fn read(self, to: &mut [u8]) -> Result<()> {
        match self {
            Source::Memory(bytes) => to.copy_from_slice(bytes),
            Source::File { path, start, .. } => {
                let read = File::open(path).and_then(|file| file.read_exact_at(to, start));
                read.map_err(|e| Error::io("read", path, e))?;
            }
            Source::Process { process, start, .. } => {
                let gone = |e| Error::Lost(format!("the memory of another rank can't be read: {e}"));
                process.read(start, to).map_err(gone)?;
            }
            Source::Gpu(_) => return Err(Error::internal("copy to a GPU", "what is on one passes the host")),
        }
        Ok(())
    }
}

/// Bytes copied at once, at most: far above what a copy costs to start.
const SLOT: usize = 4 << 20;
/// Slots of each thread: one is filled while others are copied from.
const SLOTS: usize = 3;
/// Copies that go on beside kernels take turns with these queues. A GPU works on 8 at once; the more there are, the more of
/// them wait behind a kernel that has nothing to do with them.
const UPLOAD_QUEUES: usize = 3;
/// More threads copy no faster.
const MOST_THREADS: usize = 16;

/// Copies host memory to the GPU.
#[derive(Debug)]
pub struct Uploader {
    lanes: Vec<Lane>,
    /// One for each lane.
    queues: Vec<Queue>,
    /// Where the lanes meet.
    meeting: Queue,
    pinned: Pinned,
    slot: usize,
    pool: ThreadPool,
}

/// What one thread copies with.
#[derive(Debug)]
struct Lane {
    /// When each slot was copied from. Made once: making an event takes longer than the copy of a small piece.
    copied: Vec<Event>,
    /// When all that was queued is done.
    done: Event,
}

impl Uploader {
    /// Bytes of pinned memory with `threads` threads and a limit of `limit` bytes.
    pub fn bytes(threads: usize, limit: u64) -> u64 {
        (threads.clamp(1, MOST_THREADS) * SLOTS * slot(limit)) as u64
    }

    /// Memory for [`Self::new`], not pinned yet.
    ///
    /// # Errors
    /// [`Error::Limit`] where the budget refuses.
    pub(super) fn memory(threads: usize, budget: &Budget) -> Result<Buffer<u8>> {
        pages(Self::bytes(threads, budget.limit()) as usize, budget)
    }

    /// With `threads` threads, and `memory` for as many.
    ///
    /// # Errors
    /// As [`Pinned::new`]; [`Error::Io`] where the system allows no more threads.
    pub(super) fn new(device: &Device, threads: usize, memory: Buffer<u8>, budget: &Budget) -> Result<Uploader> {
        let pinned = Pinned::of(device, memory, budget)?;
        let threads = threads.clamp(1, MOST_THREADS);
        let meeting = device.queue()?;
        let queues = (0..threads).map(|_| device.queue()).collect::<Result<Vec<_>>>()?;
        let lane = |queue: &Queue| -> Result<Lane> {
            let copied = (0..SLOTS).map(|_| queue.record()).collect::<Result<_>>()?;
            Ok(Lane { done: queue.record()?, copied })
        };
        let lanes = queues.iter().map(lane).collect::<Result<_>>()?;
        let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("upload {i}")).build();
        let no_threads = |e| Error::io("start threads to copy to the GPU", "threads", std::io::Error::other(e));
        let pool = pool.map_err(no_threads)?;
        Ok(Uploader { lanes, queues, meeting, pinned, slot: slot(budget.limit()), pool })
    }

    /// The threads' queues and slots, for work that brings its own data and takes results away.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn lanes(&mut self) -> Result<Vec<lane::Lane<'_>>> {
        self.finish()?;
        let words = self.slot / 4;
        // SAFETY: any bytes are words, and pinned memory starts at a page.
        let (_, memory, _) = unsafe { self.pinned.bytes_mut().align_to_mut::<u32>() };
        let lanes = self.lanes.iter().zip(&self.queues).zip(memory.chunks_mut(SLOTS * words));
        let lanes =
            lanes.map(|((lane, queue), slots)| lane::Lane::new(queue, slots.chunks_mut(words).zip(&lane.copied)));
        Ok(lanes.collect())
    }

    /// How many lanes there are, and bytes of a slot of theirs.
    pub fn shape(&self) -> (usize, u64) {
        (self.lanes.len(), self.slot as u64)
    }

    /// Copies every part to its place; returns when all of the host's was read, with what tells that all is there. `go_on` is asked
    /// between pieces.
    ///
    /// # Errors
    /// What `go_on` returned, [`Error::Lost`].
    pub fn upload(
        &mut self,
        parts: &[(Source<'_>, DeviceSlice<u8>)],
        go_on: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<Event> {
        // Small pieces, so that all threads have some of a small block.
        let slot = self.slot as u64 / 2;
        let of_host = |part: &&(Source<'_>, DeviceSlice<u8>)| !matches!(part.0, Source::Gpu(_));
        for &(from, to) in parts {
            if let Source::Gpu(span) = from {
                self.meeting.copy(span, to)?;
            }
        }
        let pieces = parts.iter().filter(of_host).flat_map(|&(from, to)| {
            let starts = (0..from.len()).step_by(slot as usize);
            starts.map(move |at| (from.piece(at, slot), to.part(at..u64::MAX)))
        });
        let pieces: Vec<_> = pieces.collect();
        let next = AtomicUsize::new(0);
        let lanes = self.lanes.iter_mut().zip(self.pinned.bytes_mut().chunks_mut(SLOTS * self.slot)).take(pieces.len());
        let lanes: Vec<(&mut Lane, &mut [u8])> = lanes.collect();
        let busy = lanes.len();
        let queues = &self.queues[..self.queues.len().min(UPLOAD_QUEUES)];
        let work = |(i, (lane, memory)): (usize, (&mut Lane, &mut [u8]))| {
            lane.copy(&queues[i % queues.len()], memory, slot as usize, &pieces, &next, go_on)
        };
        // The first error is the one that counts.
        let lanes = lanes.into_par_iter().with_max_len(1).enumerate();
        let ends: Vec<Result<()>> = self.pool.install(|| lanes.map(work).collect());
        ends.into_iter().collect::<Result<()>>()?;
        self.lanes.iter().take(busy).try_for_each(|lane| self.meeting.after(&lane.done))?;
        self.meeting.record()
    }

    /// Waits until all is there.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn finish(&mut self) -> Result<()> {
        self.queues.iter().try_for_each(Queue::finish)?;
        self.meeting.finish()
    }
}

impl Drop for Uploader {
    fn drop(&mut self) {
        // A failure means that the context is lost, and all copies with it.
        let _ = self.finish();
    }
}

fn slot(limit: u64) -> usize {
    // At small limits the copies take a 32nd.
    let part = (limit / (32 * (MOST_THREADS * SLOTS) as u64)) as usize;
    part.clamp(64 << 10, SLOT).next_multiple_of(8192)
}

impl Lane {
    fn copy(
        &mut self,
        queue: &Queue,
        memory: &mut [u8],
        slot: usize,
        pieces: &[(Source<'_>, DeviceSlice<u8>)],
        next: &AtomicUsize,
        go_on: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<()> {
        for turn in (0..SLOTS).cycle() {
            let Some(&(piece, to)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let (copied, slot) = (&self.copied[turn], &mut memory[turn * slot..][..piece.len() as usize]);
            go_on()?;
            copied.wait()?;
            piece.read(slot)?;
            // SAFETY: the slot is not touched before `copied` says so, and not unpinned before the queue is finished.
            unsafe { queue.upload(slot, to)? };
            queue.mark(copied)?;
        }
        queue.mark(&self.done)
    }
}
