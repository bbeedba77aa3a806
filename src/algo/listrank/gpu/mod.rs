//! Ranks a list on a GPU, in memory of the workspace's arena. The kernels are in `kernels/listrank.cu`.
//!
//! The phases are [`ListOnGpu::fill`], [`ListOnGpu::check`], [`ListOnGpu::rank`] and [`ListOnGpu::fetch`], in this
//! order. Ranks replace the successors in GPU memory.
//!
//! The list is ranked by its sublists (Wei and JáJá, IPDPS 2010; Helman and JáJá, ALENEX 1999). One element in each
//! block of 256 (64 in lists shorter than 2^28) is a splitter, at which a sublist begins. The offset of the splitter in
//! its block is a hash of the block's index, so that no flags and no table of splitters are read. Each thread walks
//! from one splitter to the next and then takes another sublist. It overwrites each successor with the index of the
//! sublist and the element's offset in it. A sublist longer than 256 elements is split into parts, each with its own
//! index, so that index and offset fit 32 bits. The list of sublists is 256 times shorter. It is ranked by pointer
//! jumping (Wyllie, 1979) on 64-bit words, which contain an index and a length and are updated atomically. A pass over
//! all elements then computes their ranks from the ranks of the sublists. Ranking takes 4.1 bytes per element, 4.3 in
//! short lists.
//!
//! Every loop ends for any input, because the check has found that successors are distinct, and the number of parts is
//! limited. A cycle is detected by the rank of the head.
//!
//! On one H200, ranking 1e9 elements in random order (without transfers) takes 86.8 ms, and 505 ms with Wyllie's
//! method. On another day it took 90.8 ms: 81.5 for the walk, 2.0 for the sublists and 7.3 for the last pass. With
//! elements in order it takes 31.0 ms. 1e8 elements take 8.8 ms, and 1e7 elements 1.12 ms. The walk is bound by one
//! random read and write of the same word per element.
//!
//! These variants are not faster, for the same 1e9 elements in random order:
//!
//! | variant | time (ms) |
//! |---|---|
//! | one splitter in 64 elements | 92.2 |
//! | one splitter in 128 elements | 92.1 |
//! | one splitter in 512 elements | 91.6 |
//! | one splitter in 1024 elements | 94.1 |
//! | two sublists at a time per thread | 95.2 |
//! | four sublists at a time per thread | 96.5 |
//! | atomic exchange instead of a read and a write | 93.0 |
//! | atomic exchange, one splitter in 1024 elements (slower in shorter lists: 9.86 ms for 1e8) | 86.9 |
//! | elements written in the order of the walk, windows for 12 MiB of cache | 147 |
//! | elements written in the order of the walk, windows for 25 or 100 MiB of cache | 145 |
//! | elements written in the order of the walk, writes of 16 bytes | 114.5 |
//! | second-level cache fetches of 32 bytes | 93.1 |
//! | second-level cache fetches of 128 bytes | 95.3 |
//!
//! "Written in the order of the walk" means to a separate array (17 bytes per element). Then the ranks are moved to
//! their final positions through windows that fit the cache. Of the 145 ms, the walk takes 73.3, the windows 9.5 and
//! the ranks 60.7. With writes of 16 bytes the walk takes 42.8. The random writes of ranks take the time that the walk
//! saves.
//!
//! To reach 75 ms, the next variant to try is this one with writes of 16 bytes and two partition passes, so that the
//! windows fit shared memory. The estimate in ms is 42.8 + 2 · 9.5 + 6.

mod buffer_sizes;
mod check;
mod index;
mod jumping;
mod ruling;
mod transfer;

pub use buffer_sizes::{GpuMethod, index_bytes, least_bytes};

use crate::algo::listrank::faults::ListFault;
use crate::algo::listrank::index::Index;
use crate::algo::listrank::rounds::{Round, Rounds};
use crate::error::{Error, Result};
use crate::gpu::{COMMON, DeviceSlice, Kernel, ProgramSource, Workspace, slice_bytes};
use buffer_sizes::{COUNTERS, FOUND, RankingBufferSizes, SEEN};

/// The GPU program of list ranking.
pub static PROGRAM: ProgramSource =
    ProgramSource { name: "listrank.cu", text: TEXT, headers: &[COMMON, ("listrank.cuh", HEADER)] };
const TEXT: &str = include_str!("../../../../kernels/listrank.cu");
const HEADER: &str = include_str!("../../../../kernels/listrank.cuh");

/// Callback that fills a buffer with the successors of consecutive elements, from the element with the given index on.
pub type SuccessorSource<'a, I> = &'a (dyn Fn(u64, &mut [I]) -> Result<()> + Sync);

/// Callback that receives the ranks of consecutive elements, from the element with the given index on.
pub type RankSink<'a, I> = &'a (dyn Fn(u64, &[I]) -> Result<()> + Sync);

/// A list in GPU memory: first its successors, then its ranks.
#[derive(Debug)]
pub struct ListOnGpu<'w, I: Index> {
    workspace: &'w mut Workspace,
    sizes: RankingBufferSizes,
    /// Number of elements of the list.
    length: u64,
    /// Number of successors that one pass of the check covers.
    seen: u64,
    /// GPU memory in which the successors are stored.
    successors: DeviceSlice<I>,
    /// GPU memory of the successors or, once the list is ranked, of the ranks.
    list: DeviceSlice<I>,
    /// GPU memory for the ranking method. For pointer jumping it includes the memory of the successors.
    extra: DeviceSlice<u8>,
    found: DeviceSlice<u64>,
    counters: DeviceSlice<u32>,
    head: Option<u64>,
    rounds: Rounds,
}

impl<'w, I: Index> ListOnGpu<'w, I> {
    /// Reserves memory for a list of `length` elements in the arena of `workspace`, and frees everything else in the
    /// arena.
    ///
    /// # Errors
    /// [`Error::Limit`] naming the smallest limit that works, if GPU memory is too small; [`Error::Usage`] if the
    /// method does not take so many elements; [`Error::Lost`].
    pub fn new(workspace: &'w mut Workspace, length: u64, method: GpuMethod) -> Result<Self> {
        Self::with_spacing(workspace, length, method, buffer_sizes::spacing(length), SEEN)
    }

    /// Reserves memory like [`Self::new`], with one splitter in 2^`shift` elements, or fewer if the indices of the
    /// parts of sublists would not fit the index type. Each pass of the check covers `seen` successors: a multiple of
    /// 32, at most 2^27. With these parameters, tests run the code for long lists on short ones.
    ///
    /// # Errors
    /// Errors of [`Self::new`].
    pub fn with_spacing(
        workspace: &'w mut Workspace,
        length: u64,
        method: GpuMethod,
        shift: u32,
        seen: u64,
    ) -> Result<Self> {
        workspace.arena.reset(0);
        let sizes = RankingBufferSizes::of::<I>(length, method, shift).ok_or_else(|| too_long::<I>(length))?;
        workspace.arena.check_size(sizes.bytes::<I>(length), "[listrank] on this list")?;
        let arena = &mut workspace.arena;
        let (found, counters) = (arena.take_planned(FOUND)?, arena.take_planned(COUNTERS)?);
        let all: DeviceSlice<u8> = arena.take_planned(sizes.bytes::<I>(length) - buffer_sizes::small_bytes())?;
        let list_bytes = slice_bytes::<I>(length);
        // Pointer jumping builds its words from the start of `all` on, while the successors are at the end.
        let (list, extra) = match sizes.method {
            GpuMethod::Wyllie => (all.part(all.len() - list_bytes..all.len()), all),
            GpuMethod::RulingSet => (all, all.part(list_bytes..all.len())),
        };
        let list = DeviceSlice::at(list.address(), length);
        let (successors, head, rounds) = (list, None, Rounds::default());
        Ok(ListOnGpu { workspace, sizes, length, seen, successors, list, extra, found, counters, head, rounds })
    }

    /// Returns the first element of the list, once [`Self::check`] has found it.
    pub fn head(&self) -> Option<u64> {
        self.head
    }

    /// Returns the rounds of [`Self::rank`] and clears them.
    pub fn rounds(&self) -> Vec<Round> {
        self.rounds.take()
    }

    /// Copies all successors to the GPU. Many threads call `source`, in any order, to read successors. An index whose
    /// bits are all ones means "no successor".
    ///
    /// # Errors
    /// The first error of `source`; [`Error::Stopped`], [`Error::Lost`].
    pub fn fill(&mut self, source: SuccessorSource<'_, I>) -> Result<()> {
        (self.head, self.list) = (None, self.successors);
        transfer::fill(self, source)
    }

    /// Checks that every successor is an element or the end of the list, that no two elements have the same successor,
    /// and that exactly one element has none. Returns the faults in the order of [`ListFault`]. If there are none, the
    /// list has a head. Cycles are detected by [`Self::rank`] only.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::Lost`].
    pub fn check(&mut self) -> Result<Vec<ListFault>> {
        self.head = None;
        if self.length == 0 { Ok(Vec::new()) } else { check::check(self) }
    }

    /// Replaces the successor of each element by its rank, the number of elements after it. [`Self::check`] must have
    /// checked the list. If some elements form cycles, returns the number of elements on the path from the head, or 0
    /// if that path does not end.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::Lost`].
    pub fn rank(&mut self) -> Result<Option<u64>> {
        if self.length == 0 {
            return Ok(None);
        }
        let head = self.head.take().ok_or_else(|| Error::internal("rank a list", "it was not checked"))?;
        let in_list = match self.sizes.method {
            GpuMethod::Wyllie => jumping::jump(self, head)?,
            GpuMethod::RulingSet => ruling::rank(self, head)?,
        };
        Ok(Some(in_list).filter(|&in_list| in_list != self.length))
    }

    /// Copies all ranks to the host. Many threads call `take`, in any order, with ranks.
    ///
    /// # Errors
    /// The first error of `take`; [`Error::Stopped`], [`Error::Lost`].
    pub fn fetch(&mut self, take: RankSink<'_, I>) -> Result<()> {
        transfer::fetch(self, take)
    }

    /// Returns a slice of `len` items in the memory for the ranking method, from byte `at` on, and the byte offset
    /// after it.
    fn span<T>(&self, at: u64, len: u64) -> (DeviceSlice<T>, u64) {
        (DeviceSlice::at(self.extra.address() + at, len), at + slice_bytes::<T>(len))
    }

    fn kernel(&self, name: &'static str) -> Result<Kernel> {
        self.workspace.kernel(&PROGRAM, name)
    }

    /// Returns the kernel for the index type, by its names for 32-bit and for 64-bit indices.
    fn kernel_by_width(&self, [narrow, wide]: [&'static str; 2]) -> Result<Kernel> {
        self.kernel(if I::BITS == 32 { narrow } else { wide })
    }
}

fn too_long<I: Index>(length: u64) -> Error {
    let bits = I::BITS;
    Error::Usage(format!(
        "a GPU does not rank {length} elements with indices of {bits} bits by this method: set method = \"ruling-set\" or run.device = \"cpu\""
    ))
}
