//! Packs rows as they are made: blocks side by side, in any order.

use super::chunk::{WORDS, pack};
use super::{Offsets, PackedRows};
use crate::error::{Error, Result};
use crate::memory::{Budget, Buffer, Reservation};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

const PURPOSE: &str = "packed rows of whole neighbours";

/// The packed rows of one half, while its blocks come.
pub struct Packer {
    budget: Budget,
    blocks: usize,
    /// Addresses for more chunks than there may be. Each block is written to a place of its own, by several threads at once.
    chunks: Buffer<AtomicU32>,
    state: Mutex<State>,
}

struct State {
    done: Vec<Offsets>,
    /// Words of chunks that have a place, and the memory reserved for them.
    words: usize,
    reserved: Reservation,
    /// Blocks that wait for one before them.
    waiting: BTreeMap<usize, BlockPacker>,
}

impl Packer {
    /// Begins a half of `blocks` blocks.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn new(blocks: usize, budget: &Budget) -> Result<Packer> {
        // What is free now is less than what may be, as blocks are freed when they are packed.
        let chunks = budget.addresses(budget.limit() as usize / 4, PURPOSE)?;
        let (done, waiting) = (Vec::with_capacity(blocks), BTreeMap::new());
        let state = State { done, words: 0, reserved: budget.reserve(0, PURPOSE)?, waiting };
        Ok(Packer { budget: budget.clone(), blocks, chunks, state: Mutex::new(state) })
    }

    /// Takes a block whose rows are all there. Blocks come in any order; each comes once.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn take(&self, index: usize, block: BlockPacker) -> Result<()> {
        let mut placed = Vec::new();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.insert(index, block);
        loop {
            let next = state.done.len();
            let Some(block) = state.waiting.remove(&next) else { break };
            placed.push((state.place(&block, &self.budget)?, block));
        }
        drop(state);
        for (at, block) in placed {
            let places = self.chunks[at..].iter().zip(&block.chunks);
            places.for_each(|(place, &word)| place.store(word, Ordering::Relaxed));
        }
        Ok(())
    }

    /// Returns the rows, once all blocks are there.
    ///
    /// # Errors
    /// Those of a mistake in the program, if some are not.
    pub fn finish(self) -> Result<PackedRows> {
        let State { done, words, reserved, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if done.len() != self.blocks {
            let missing = format!("{} of {} blocks", done.len(), self.blocks);
            return Err(Error::internal("pack rows", missing));
        }
        let mut chunks = self.chunks.into_plain();
        chunks.shorten(words);
        Ok(PackedRows { blocks: done, chunks, _reserved: reserved })
    }
}

impl State {
    /// Gives a block a place behind the others: returns the words before it.
    fn place(&mut self, block: &BlockPacker, budget: &Budget) -> Result<usize> {
        let mut starts = budget.zeroed(block.starts.len(), PURPOSE)?;
        starts.copy_from_slice(&block.starts);
        self.reserved.grow(4 * block.chunks.len() as u64, PURPOSE)?;
        let before = self.words;
        self.done.push(Offsets { before: (before / WORDS) as u64, starts, entries: block.entries });
        self.words += block.chunks.len();
        Ok(before)
    }
}

/// A block whose rows are packed one after the other.
#[derive(Debug)]
pub struct BlockPacker {
    /// Entries of the rows that are not complete, from the next one on.
    left: std::vec::IntoIter<u32>,
    /// Entries that the next row still lacks, and those that are there.
    lacks: usize,
    row: Vec<u32>,
    starts: Vec<u32>,
    chunks: Vec<u32>,
    entries: u64,
}

impl BlockPacker {
    /// Begins a block whose rows have these lengths.
    pub fn new(lengths: Vec<u32>) -> BlockPacker {
        let mut starts = Vec::with_capacity(lengths.len() + 1);
        starts.push(0);
        let mut packer = BlockPacker {
            left: lengths.into_iter(),
            lacks: 0,
            row: Vec::new(),
            starts,
            chunks: Vec::new(),
            entries: 0,
        };
        packer.begin_row();
        packer
    }

    /// Goes on to the next row that has entries.
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

    /// Appends the next entries, of rows one after the other.
    ///
    /// # Errors
    /// [`Error::Validation`] if there are more than all rows have.
    pub fn append(&mut self, mut entries: &[u32]) -> Result<()> {
        self.entries += entries.len() as u64;
        while !entries.is_empty() {
            if self.lacks == 0 {
                return Err(Error::Validation("rows of a block have more entries than they should".into()));
            }
            let (here, later) = entries.split_at(self.lacks.min(entries.len()));
            entries = later;
            self.lacks -= here.len();
            if self.lacks > 0 || !self.row.is_empty() {
                self.row.extend_from_slice(here);
            }
            if self.lacks == 0 {
                pack(if self.row.is_empty() { here } else { &self.row }, &mut self.chunks);
                self.row.clear();
                self.end_row();
                self.begin_row();
            }
        }
        Ok(())
    }

    /// Returns true if all rows are there.
    pub fn is_complete(&self) -> bool {
        self.lacks == 0 && self.left.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_in_any_order_and_entries_in_any_pieces_give_the_same_rows(
            blocks in prop::collection::vec(prop::collection::vec(prop::collection::btree_set(0u32..1000, 0..60), 1..12), 1..6),
            piece in 1usize..50,
            backwards in any::<bool>(),
        ) {
            let budget = Budget::new(1 << 30, 1).expect("room");
            let packer = Packer::new(blocks.len(), &budget).expect("room");
            let mut order: Vec<usize> = (0..blocks.len()).collect();
            if backwards {
                order.reverse();
            }
            for b in order {
                let mut block = BlockPacker::new(blocks[b].iter().map(|row| row.len() as u32).collect());
                let entries: Vec<u32> = blocks[b].iter().flatten().copied().collect();
                entries.chunks(piece).try_for_each(|piece| block.append(piece)).expect("as many as announced");
                prop_assert!(block.is_complete());
                packer.take(b, block).expect("room");
            }
            let rows = packer.finish().expect("all");
            let mut before = 0;
            for (b, block) in blocks.iter().enumerate() {
                let packed = rows.block(b);
                prop_assert_eq!(packed.before, before);
                before += packed.chunks.len() as u64 / 4;
                for (local, row) in block.iter().enumerate() {
                    let mut found = Vec::new();
                    packed.unpack(local, &mut found);
                    prop_assert_eq!(&found, &row.iter().copied().collect::<Vec<_>>());
                    prop_assert!((0..1000).all(|v| packed.contains(local, v) == row.contains(&v)));
                }
            }
            prop_assert_eq!(rows.chunks(), before);
            drop(rows);
        }
    }

    /// Memory that is taken when packing begins may be freed for it.
    #[test]
    fn memory_that_is_freed_meanwhile_is_used() {
        let budget = Budget::new(crate::memory::limit_leaving(1 << 20, 1), 1).expect("room");
        let mut taken = budget.reserve(budget.free() - 64, "other blocks").expect("room");
        let packer = Packer::new(2, &budget).expect("addresses");
        let row: Vec<u32> = (0..1000).map(|i| 1000 * i).collect();
        let block = || {
            let mut block = BlockPacker::new(vec![1000]);
            block.append(&row).map(|()| block)
        };
        assert_eq!(packer.take(0, block().expect("a row")).expect_err("too little").exit_code(), 7);
        let packer = Packer::new(2, &budget).expect("addresses");
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
        packer.take(1, BlockPacker::new(vec![0, 0])).expect("room");
        assert!(packer.finish().is_err());
        let mut block = BlockPacker::new(vec![1, 0, 2]);
        assert!(!block.is_complete());
        block.append(&[5, 6]).expect("two of three");
        assert!(!block.is_complete());
        assert!(block.append(&[7, 8]).is_err());
    }
}
