//! Ranks a list on a GPU, in memory of the arena. `kernels/listrank.cu` has the kernels.
//!
//! Phases follow each other: [`ListOnGpu::fill`], [`ListOnGpu::check`], [`ListOnGpu::rank`], [`ListOnGpu::fetch`]. Ranks are written over the
//! successors.
//!
//! A list is ranked by its sublists (Wei and JáJá, IPDPS 2010; Helman and JáJá, ALENEX 1999). Of every 256 places (64 in lists below 2^28)
//! one is a splitter, at a place that a hash of the block's number says, so that neither flags nor a table of splitters is read. Each
//! thread walks from a splitter to the next, takes another, and so on, and writes the number of the sublist and the place in it over the
//! successor. Sublists longer than 256 go on under a fresh number, so that both fit 32 bits. The list of sublists, 256 times shorter, is
//! ranked by pointer jumping (Wyllie, 1979) on words of 64 bits, which hold a number and a length and change as one. A stream over
//! all elements then looks their sublists' ranks up. It takes 4.1 bytes an element, 4.3 in short lists.
//!
//! Every loop ends for any input: the check says before that successors are distinct, and numbers of parts run out. A cycle is noticed by
//! the rank of the head.
//!
//! On one H200, 1e9 elements in random order, ranking alone: 86.8 ms as a job (Wyllie 505), 90.8 on another day, of which the walk takes
//! 81.5, the sublists 2.0 and the stream 7.3 (in order 31.0). 1e8 take 8.8 ms, 1e7 take 1.12. The walk is bound by one random read and write of the same word for each
//! element. What did not pay, on the same 1e9:
//!
//! * Other spacing: one splitter in 64 92.2 ms, 128 92.1, 512 91.6, 1024 94.1.
//! * More than one sublist in flight in a thread: two 95.2, four 96.5. An atomic exchange for read and write: 93.0, and 86.9 with one
//!   splitter in 1024, but slower in shorter lists (1e8: 9.86).
//! * Elements written down in the order of the walk, apart from the list (17 bytes an element), and ranks brought to their places
//!   through windows that the cache holds: 145 (walk 73.3, windows 9.5, ranks 60.7), 114.5 with writes of 16 bytes (walk 42.8). Windows
//!   for 12, 25 and 100 MiB of cache: 147, 145, 145. Ranks put in place by random writes undo what the walk saves.
//! * Fetches of 32 or 128 bytes by the second-level cache: 93.1, 95.3.
//!
//! To come to 75 ms, the next to try would be that walk with writes of 16 bytes and two passes of partition, so that the windows fit shared
//! memory: by estimate 42.8 + 2 · 9.5 + 6.

mod check;
mod cycle;
mod fault;
mod index;
mod jumping;
mod room;
mod ruling;
mod transfer;

pub use fault::Fault;
pub use index::Index;
pub use room::{Method, index_bytes, least_bytes};

use crate::algo::listrank::rounds::{Round, Rounds};
use crate::error::{Error, Result};
use crate::gpu::{COMMON, DeviceSlice, Kernel, ProgramSource, Workspace, slice_bytes};
use room::{COUNTERS, FOUND, Room, SEEN};

/// The program of list ranking.
pub static PROGRAM: ProgramSource = ProgramSource {
    name: "listrank.cu",
    text: include_str!("../../../../kernels/listrank.cu"),
    headers: &[
        COMMON,
        ("listrank.cuh", include_str!("../../../../kernels/listrank.cuh")),
        ("listrank_cycle.cuh", include_str!("../../../../kernels/listrank_cycle.cuh")),
    ],
};

/// Is asked between steps: an error ends the phase.
pub type GoOn<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// Writes the successors of the elements from an index on into all of a slot.
pub type Source<'a, I> = &'a (dyn Fn(u64, &mut [I]) -> Result<()> + Sync);

/// Takes the ranks of the elements from an index on.
pub type Take<'a, I> = &'a (dyn Fn(u64, &[I]) -> Result<()> + Sync);

/// A list in GPU memory: successors, then ranks.
#[derive(Debug)]
pub struct ListOnGpu<'w, I: Index> {
    workspace: &'w mut Workspace,
    room: Room,
    /// Number of elements.
    length: u64,
    /// Successors that a pass of the check looks for.
    seen: u64,
    /// The place of successors.
    successors: DeviceSlice<I>,
    /// The successors, or the ranks once they are computed.
    list: DeviceSlice<I>,
    /// All memory of the method, including the successors where it works on words.
    extra: DeviceSlice<u8>,
    found: DeviceSlice<u64>,
    counters: DeviceSlice<u32>,
    head: Option<u64>,
    rounds: Rounds,
}

impl<'w, I: Index> ListOnGpu<'w, I> {
    /// Takes room for a list of `length` elements in the arena of `workspace`, all of which it may use.
    ///
    /// # Errors
    /// [`Error::Limit`] naming the fewest bytes if GPU memory does not do; [`Error::Usage`] if the method does not take so many elements;
    /// [`Error::Lost`].
    pub fn new(workspace: &'w mut Workspace, length: u64, method: Method) -> Result<Self> {
        Self::with_spacing(workspace, length, method, room::spacing(length), SEEN)
    }

    /// Takes room as [`Self::new`] does, for one splitter in 2^`shift` places (more where numbers would not fit), and for passes of the
    /// check that look for `seen` successors each: a multiple of 32, at most 2^27. Tests reach all that long lists do in short ones by it.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn with_spacing(
        workspace: &'w mut Workspace,
        length: u64,
        method: Method,
        shift: u32,
        seen: u64,
    ) -> Result<Self> {
        workspace.arena.reset(0);
        let room = Room::of::<I>(length, method, shift).ok_or_else(|| too_long::<I>(length))?;
        workspace.arena.holds(room.bytes::<I>(length), "[listrank] on this list")?;
        let arena = &mut workspace.arena;
        let (found, counters) = (arena.take_planned(FOUND)?, arena.take_planned(COUNTERS)?);
        let all: DeviceSlice<u8> = arena.take_planned(room.bytes::<I>(length) - room::small_bytes())?;
        let list_bytes = slice_bytes::<I>(length);
        // Pointer jumping makes words of the successors from the start of all on, and needs these at the end.
        let (list, extra) = match room.method {
            Method::Wyllie => (all.part(all.len() - list_bytes..all.len()), all),
            Method::RulingSet => (all, all.part(list_bytes..all.len())),
        };
        let list = DeviceSlice::at(list.address(), length);
        let (successors, head, rounds) = (list, None, Rounds::default());
        Ok(ListOnGpu { workspace, room, length, seen, successors, list, extra, found, counters, head, rounds })
    }

    /// Returns the bytes of GPU memory that the list takes, with all that ranking needs.
    pub fn bytes(&self) -> u64 {
        self.room.bytes::<I>(self.length)
    }

    /// Returns the first element, once [`Self::check`] has found that there is one.
    pub fn head(&self) -> Option<u64> {
        self.head
    }

    /// Returns the rounds of [`Self::rank`], and forgets them.
    pub fn rounds(&self) -> Vec<Round> {
        self.rounds.take()
    }

    /// Copies all successors to the GPU. `source` is called by many threads and in any order; all ones stand for no successor.
    ///
    /// # Errors
    /// The first of `source` or `go_on`; [`Error::Lost`].
    pub fn fill(&mut self, source: Source<'_, I>, go_on: GoOn<'_>) -> Result<()> {
        (self.head, self.list) = (None, self.successors);
        transfer::fill(self, source, go_on)
    }

    /// Checks that every successor is an element or the end, that no two are the same element, and that one element has none. The faults
    /// that were found are in the order of [`Fault`]; without any the list has a head. A cycle is found by [`Self::rank`].
    ///
    /// # Errors
    /// Those of `go_on`; [`Error::Lost`].
    pub fn check(&mut self, go_on: GoOn<'_>) -> Result<Vec<Fault>> {
        self.head = None;
        if self.length == 0 { Ok(Vec::new()) } else { check::check(self, go_on) }
    }

    /// Ranks the list, which [`Self::check`] has looked at: each successor is replaced by the number of elements behind the element.
    /// Returns the fault if some elements form a cycle; the successors are lost then, and [`Self::cycle`] needs them again.
    ///
    /// # Errors
    /// Those of `go_on`; [`Error::Lost`].
    pub fn rank(&mut self, go_on: GoOn<'_>) -> Result<Option<Fault>> {
        if self.length == 0 {
            return Ok(None);
        }
        let head = self.head.take().ok_or_else(|| Error::internal("rank a list", "it was not checked"))?;
        let in_list = match self.room.method {
            Method::Wyllie => jumping::jump(self, head, go_on)?,
            Method::RulingSet => ruling::rank(self, head, go_on)?,
        };
        Ok((in_list != self.length).then_some(Fault::Cycle { in_list }))
    }

    /// Returns the smallest element that is on a cycle. The list has been filled and checked since it was ranked, and stays as it is.
    ///
    /// # Errors
    /// Those of `go_on`; [`Error::Lost`].
    pub fn cycle(&mut self, go_on: GoOn<'_>) -> Result<Option<u64>> {
        if self.length == 0 {
            return Ok(None);
        }
        let head = self.head.ok_or_else(|| Error::internal("look for a cycle", "the list was not checked"))?;
        cycle::smallest(self, head, go_on)
    }

    /// Copies all ranks to the host. `take` is called by many threads and in any order.
    ///
    /// # Errors
    /// The first of `take` or `go_on`; [`Error::Lost`].
    pub fn fetch(&mut self, take: Take<'_, I>, go_on: GoOn<'_>) -> Result<()> {
        transfer::fetch(self, take, go_on)
    }

    /// Returns a part of the method's memory from byte `at` on, and the byte after it.
    fn span<T>(&self, at: u64, len: u64) -> (DeviceSlice<T>, u64) {
        (DeviceSlice::at(self.extra.address() + at, len), at + slice_bytes::<T>(len))
    }

    fn kernel(&self, name: &'static str) -> Result<Kernel> {
        self.workspace.kernel(&PROGRAM, name)
    }
}

fn too_long<I: Index>(length: u64) -> Error {
    let bits = 32 * I::WORDS;
    Error::Usage(format!(
        "a GPU does not rank {length} elements with indices of {bits} bits by this method: set method = \"ruling-set\" or run.device = \"cpu\""
    ))
}
