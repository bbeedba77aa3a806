//! Packs (compresses) rows in memory while they are built. Several blocks can be packed at the same time, in any order.

use super::chunk::{WORDS, most_words, pack};
use super::{BlockOffsets, PackedBlock, PackedRows};
use crate::error::{Error, Result};
use crate::memory::{Budget, Buffer, Reservation};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const PURPOSE: &str = "packed rows of whole neighbours";

/// Maximum number of neighbours of a row that are packed at a time.
const PART: usize = 1 << 12;
/// Minimum and maximum number of bytes by which a block extends its reservation for chunks. Between these limits, the
/// extension is an eighth of the bytes reserved so far.
const STEP: std::ops::RangeInclusive<usize> = 64 << 10..=4 << 20;

/// Collects the packed rows of one half of a graph, block by block.
pub struct Packer {
    budget: Budget,
    blocks: usize,
    /// Address space for the chunks of all blocks, as large as the memory limit. Each block is copied to its own range,
    /// so several threads can write at once.
    chunks: Buffer<AtomicU32>,
    state: Mutex<PackerState>,
    /// Number of blocks whose packing has begun and is not complete.
    begun: Arc<BlocksInProgress>,
}

#[derive(Debug, Default)]
struct BlocksInProgress {
    count: Mutex<usize>,
    changed: Condvar,
}

/// Guard that counts one block as in progress until it is dropped.
#[derive(Debug)]
struct InProgressGuard(Arc<BlocksInProgress>);

impl Drop for InProgressGuard {
    fn drop(&mut self) {
        *self.0.count.lock() -= 1;
        self.0.changed.notify_all();
    }
}

struct PackerState {
    done: Vec<BlockOffsets>,
    /// Number of words of `chunks` that are assigned to blocks. `reserved` is the memory reserved for these words.
    words: usize,
    reserved: Reservation,
    /// Complete blocks that have no range of `chunks` yet, because an earlier block is incomplete or memory is short.
    waiting: BTreeMap<usize, BlockPacker>,
}

impl Packer {
    /// Makes a packer for one half of a graph, which has `blocks` blocks.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn new(blocks: usize, budget: &Budget) -> Result<Packer> {
        // Use the limit rather than the free memory, because packing blocks frees memory.
        let chunks = budget.addresses(budget.limit() as usize / 4, PURPOSE)?;
        let (done, waiting) = (Vec::with_capacity(blocks), BTreeMap::new());
        let state = PackerState { done, words: 0, reserved: budget.reserve(0, PURPOSE)?, waiting };
        Ok(Packer { budget: budget.clone(), blocks, chunks, state: Mutex::new(state), begun: Arc::default() })
    }

    /// Returns the budget from which the packer reserves memory.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Whether block `b` is packed completely and in this packer.
    pub(super) fn has(&self, b: usize) -> bool {
        let state = self.state.lock();
        b < state.done.len() || state.waiting.contains_key(&b)
    }

    /// Estimates how many bytes of memory a block needs until its chunks have been copied to the packer, including the
    /// copy.
    pub fn block_bytes(rows: u64, entries: u64) -> u64 {
        lists_bytes(rows) + 5 * entries
    }

    /// Begins a block with `rows` rows and about `entries` entries. If there is not enough free memory, waits until
    /// other blocks free some, or until none is in progress. Then calls `lengths`, which must append the row lengths to
    /// the list that it receives.
    ///
    /// # Errors
    /// [`Error::Limit`], and errors of `lengths`.
    pub fn begin(
        &self,
        rows: usize,
        entries: u64,
        lengths: impl FnOnce(&mut Vec<u32>) -> Result<()>,
    ) -> Result<BlockPacker> {
        let bytes = Packer::block_bytes(rows as u64, entries);
        let mut count = self.begun.count.lock();
        while *count > 0 && self.budget.free() < bytes {
            self.begun.changed.wait(&mut count);
        }
        *count += 1;
        drop(count);
        let place = InProgressGuard(self.begun.clone());
        let reserved = self.budget.reserve(lists_bytes(rows as u64), PURPOSE)?;
        let mut list = Vec::with_capacity(rows);
        lengths(&mut list)?;
        Ok(BlockPacker::new(list, reserved, place))
    }

    /// Adds block `index`, which must be complete. Blocks may be added in any order, each once.
    ///
    /// # Errors
    /// [`Error::Limit`] if there is no memory to copy the block's chunks and no other block is in progress, which might
    /// free memory. Without memory, the packer stores the block as it is, and the next call tries again to copy it.
    pub fn take(&self, index: usize, mut block: BlockPacker) -> Result<()> {
        block.end();
        let (mut placed, mut outcome) = (Vec::new(), Ok(()));
        let mut state = self.state.lock();
        state.waiting.insert(index, block);
        loop {
            let next = state.done.len();
            let Some(bytes) = state.waiting.get(&next).map(|block| 4 * block.chunks.len() as u64) else { break };
            if let Err(e) = state.reserved.grow(bytes, PURPOSE) {
                let others = *self.begun.count.lock();
                outcome = if others > 0 { Ok(()) } else { Err(e) };
                break;
            }
            placed.extend(state.waiting.remove(&next).map(|block| state.place(block)));
        }
        drop(state);
        for (at, chunks, reserved) in placed {
            let places = self.chunks[at..].iter().zip(&chunks);
            places.for_each(|(place, &word)| place.store(word, Ordering::Relaxed));
            drop((chunks, reserved));
            self.begun.changed.notify_all();
        }
        outcome
    }

    /// Returns the packed rows of all blocks, which must have been added before.
    ///
    /// # Errors
    /// [`Error::Internal`] if blocks are missing, which is a bug of the program.
    pub fn finish(self) -> Result<PackedRows> {
        let blocks = self.blocks;
        let (rows, _) = self.into_parts();
        if rows.blocks.len() != blocks {
            let missing = format!("{} of {blocks} blocks", rows.blocks.len());
            return Err(Error::internal("pack rows", missing));
        }
        Ok(rows)
    }

    /// Returns the blocks as a pair: the packed rows of the first blocks, whose chunks have been copied, and the
    /// remaining complete blocks, keyed by index.
    pub(super) fn into_parts(self) -> (PackedRows, BTreeMap<usize, BlockPacker>) {
        let PackerState { done, words, reserved, waiting } = self.state.into_inner();
        let mut chunks = self.chunks.into_plain();
        chunks.shorten(words);
        (PackedRows { blocks: done, chunks, _reserved: reserved }, waiting)
    }
}

/// Returns the size in bytes of the row lengths and row starts of a block with `rows` rows.
fn lists_bytes(rows: u64) -> u64 {
    4 * (2 * rows + 1)
}

/// Chunks of a block that must still be copied: (position in the packer's array of words, the chunks, the reservation
/// of their memory).
type PlacedChunks = (usize, Vec<u32>, Reservation);

impl PackerState {
    /// Assigns the next range of the packer's words to a block. The memory must already be reserved.
    fn place(&mut self, mut block: BlockPacker) -> PlacedChunks {
        let before = self.words;
        let kept = block.reserved.split(4 * block.starts.len() as u64);
        let BlockPacker { starts, chunks, entries, reserved, .. } = block;
        self.done.push(BlockOffsets { before: (before / WORDS) as u64, starts, entries, _reserved: kept });
        self.words += chunks.len();
        (before, chunks, reserved)
    }
}

/// Packer for the rows of one block, whose entries are appended in order.
#[derive(Debug)]
pub struct BlockPacker {
    /// Lengths of the rows after the row that is being packed.
    left: std::vec::IntoIter<u32>,
    /// Number of neighbours of the current row that are still to be appended. `row` contains the neighbours that were
    /// appended but are not in a chunk yet.
    lacks: usize,
    row: Vec<u32>,
    starts: Vec<u32>,
    chunks: Vec<u32>,
    entries: u64,
    reserved: Reservation,
    /// Number of bytes of memory reserved for the block's chunks.
    room: usize,
    /// Guard that counts this block as in progress until it is complete.
    place: Option<InProgressGuard>,
}

impl BlockPacker {
    fn new(lengths: Vec<u32>, reserved: Reservation, place: InProgressGuard) -> BlockPacker {
        let mut starts = Vec::with_capacity(lengths.len() + 1);
        starts.push(0);
        let mut packer = BlockPacker {
            left: lengths.into_iter(),
            lacks: 0,
            row: Vec::new(),
            starts,
            chunks: Vec::new(),
            entries: 0,
            reserved,
            room: 0,
            place: Some(place),
        };
        packer.begin_row();
        packer
    }

    /// Advances to the next row that has entries.
    fn begin_row(&mut self) {
        while let Some(length) = self.left.next() {
            self.lacks = length as usize;
            if length > 0 {
                return;
            }
            self.end_row();
        }
    }

    fn end_row(&mut self) {
        self.starts.push((self.chunks.len() / WORDS) as u32);
    }

    /// Appends the next neighbours of the block's rows, row after row.
    ///
    /// # Errors
    /// [`Error::Validation`] if there are more entries than the row lengths allow; [`Error::Limit`].
    pub fn append(&mut self, mut entries: &[u32]) -> Result<()> {
        self.entries += entries.len() as u64;
        while !entries.is_empty() {
            if self.lacks == 0 {
                return Err(Error::Validation("rows of a block have more entries than they should".into()));
            }
            let (here, later) = entries.split_at(self.lacks.min(entries.len()).min(PART));
            entries = later;
            self.lacks -= here.len();
            self.make_room(4 * most_words(self.row.len() + here.len()))?;
            let ends = self.lacks == 0;
            if self.row.is_empty() {
                let left = pack(here, ends, &mut self.chunks);
                self.row.extend_from_slice(&here[here.len() - left..]);
            } else {
                self.row.extend_from_slice(here);
                let left = pack(&self.row, ends, &mut self.chunks);
                self.row.drain(..self.row.len() - left);
            }
            if ends {
                self.end_row();
                self.begin_row();
            }
        }
        Ok(())
    }

    /// Reserves memory for `more` bytes of chunks (packed neighbours) in addition to the existing chunks.
    fn make_room(&mut self, more: usize) -> Result<()> {
        let needed = 4 * self.chunks.len() + more;
        if needed > self.room {
            let step = (self.room / 8).clamp(*STEP.start(), *STEP.end());
            let grown = (needed - self.room).next_multiple_of(step);
            self.reserved.grow(grown as u64, PURPOSE)?;
            self.room += grown;
        }
        Ok(())
    }

    /// Completes the block and frees the memory that it no longer needs.
    fn end(&mut self) {
        self.left = Vec::new().into_iter();
        self.row = Vec::new();
        let needed = 4 * (self.starts.len() + self.chunks.len()) as u64;
        self.reserved.shrink(self.reserved.bytes().saturating_sub(needed));
        self.place = None;
    }

    /// Returns the packed rows of a complete block.
    pub(super) fn rows(&self) -> PackedBlock<'_> {
        PackedBlock { starts: &self.starts, chunks: &self.chunks }
    }

    /// Whether all entries of the block's rows were appended.
    #[cfg(test)]
    fn is_complete(&self) -> bool {
        self.lacks == 0 && self.left.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn begin(packer: &Packer, lengths: &[u32]) -> BlockPacker {
        let list = |list: &mut Vec<u32>| {
            list.extend_from_slice(lengths);
            Ok(())
        };
        packer.begin(lengths.len(), 0, list).expect("room")
    }

    #[test]
    fn chunks_of_a_long_row_do_not_depend_on_its_pieces() {
        let budget = Budget::new(1 << 30, 1).expect("room");
        let row: Vec<u32> = (0..70_000u32).map(|i| 3 * i + (i % 3).pow(2) % 3).collect();
        let mut whole = Vec::new();
        pack(&row, true, &mut whole);
        for piece in [1, 7, PART - 1, PART, PART + 1, row.len()] {
            let packer = Packer::new(1, &budget).expect("room");
            let mut block = begin(&packer, &[row.len() as u32]);
            row.chunks(piece).try_for_each(|piece| block.append(piece)).expect("room");
            packer.take(0, block).expect("room");
            assert!(packer.finish().expect("one block").words() == whole, "{piece}");
        }
    }

    /// Checks that `begin` waits for memory while other blocks are in progress, and continues when they are complete.
    #[test]
    fn without_room_a_block_waits_for_those_that_are_begun() {
        let budget = Budget::new(crate::memory::limit_leaving(1 << 20, 1), 1).expect("room");
        let packer = Packer::new(2, &budget).expect("addresses");
        let (first, began) = (begin(&packer, &[0; 100]), std::sync::atomic::AtomicBool::new(false));
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let block = packer.begin(0, 1 << 20, |_| Ok(())).expect("room");
                began.store(true, Ordering::Relaxed);
                block
            });
            std::thread::sleep(std::time::Duration::from_millis(30));
            assert!(!began.load(Ordering::Relaxed));
            packer.take(0, first).expect("room");
            packer.take(1, second.join().expect("no panic")).expect("room");
        });
        assert_eq!(packer.finish().expect("all").sizes().len(), 2);
    }

    proptest! {
        #[test]
        fn blocks_in_any_order_and_entries_in_any_pieces_give_the_same_rows(
            blocks in prop::collection::vec(prop::collection::vec(prop::collection::btree_set(0u32..1000, 0..60), 1..12), 1..6),
            piece in 1usize..50,
            backwards in any::<bool>(),
        ) {
            let budget = Budget::new(1 << 30, 1).expect("room");
            let full = budget.free();
            let packer = Packer::new(blocks.len(), &budget).expect("room");
            let mut order: Vec<usize> = (0..blocks.len()).collect();
            if backwards {
                order.reverse();
            }
            for b in order {
                let lengths: Vec<u32> = blocks[b].iter().map(|row| row.len() as u32).collect();
                let mut block = begin(&packer, &lengths);
                let entries: Vec<u32> = blocks[b].iter().flatten().copied().collect();
                entries.chunks(piece).try_for_each(|piece| block.append(piece)).expect("as many as announced");
                prop_assert!(block.is_complete());
                packer.take(b, block).expect("room");
            }
            let rows = packer.finish().expect("all");
            let mut before = 0;
            for (b, block) in blocks.iter().enumerate() {
                let packed = rows.block(b);
                prop_assert_eq!(rows.blocks[b].before, before);
                before += packed.chunks.len() as u64 / 4;
                for (local, row) in block.iter().enumerate() {
                    let mut found = Vec::new();
                    packed.unpack(local, &mut found);
                    prop_assert_eq!(&found, &row.iter().copied().collect::<Vec<_>>());
                    prop_assert!((0..1000).all(|v| packed.contains(local, v) == row.contains(&v)));
                }
            }
            prop_assert_eq!(rows.chunks(), before);
            prop_assert_eq!(full - budget.free(), rows.bytes());
            drop(rows);
            prop_assert_eq!(budget.free(), full);
        }
    }

    /// Checks that packed rows use memory that is freed after packing has begun.
    #[test]
    fn memory_that_is_freed_meanwhile_is_used() {
        let budget = Budget::new(crate::memory::limit_leaving(1 << 20, 1), 1).expect("room");
        let mut taken = budget.reserve(budget.free() - 64, "other blocks").expect("room");
        let packer = Packer::new(2, &budget).expect("addresses");
        let row: Vec<u32> = (0..1000).map(|i| 1000 * i).collect();
        let block = || {
            let mut block = begin(&packer, &[1000]);
            block.append(&row).map(|()| block)
        };
        assert_eq!(block().expect_err("too little").exit_code(), 7);
        taken.shrink(1 << 19);
        [1, 0].into_iter().for_each(|b| packer.take(b, block().expect("a row")).expect("room"));
        let rows = packer.finish().expect("all");
        let mut found = Vec::new();
        rows.block(1).unpack(0, &mut found);
        assert_eq!(found, row);
    }

    #[test]
    fn a_block_that_is_missing_or_has_too_many_entries_is_refused() {
        let budget = Budget::new(1 << 30, 1).expect("room");
        let packer = Packer::new(2, &budget).expect("room");
        packer.take(1, begin(&packer, &[0, 0])).expect("room");
        assert!(packer.finish().is_err());
        let packer = Packer::new(1, &budget).expect("room");
        let mut block = begin(&packer, &[1, 0, 2]);
        assert!(!block.is_complete());
        block.append(&[5, 6]).expect("two of three");
        assert!(!block.is_complete());
        assert!(block.append(&[7, 8]).is_err());
    }
}
