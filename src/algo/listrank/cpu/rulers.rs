//! Rulers: the elements at which sublists of a list begin. There is one in each block of 2^`shift` consecutive
//! elements.

use crate::algo::listrank::index::Index;

/// The rulers of a list: one element in each block of consecutive elements. The position of the ruler in its block is a
/// hash of the block's index, so testing whether an element is a ruler reads no memory.
#[derive(Debug, Clone, Copy)]
pub struct Rulers {
    /// Number of elements of the list.
    len: usize,
    shift: u32,
}

impl Rulers {
    /// Chooses the rulers of a list of `len` elements: one in each block of 2^`shift` elements. `shift` is at least 1.
    pub fn new(len: usize, shift: u32) -> Rulers {
        Rulers { len, shift }
    }

    /// Returns the number of blocks of the list.
    pub fn blocks(&self) -> usize {
        self.len.div_ceil(1 << self.shift)
    }

    /// Returns the number of rulers. Every block has one, except that an incomplete last block may have none.
    pub fn count(&self) -> u64 {
        let blocks = self.blocks();
        blocks as u64 - u64::from(blocks > 0 && self.of_block(blocks - 1).is_none())
    }

    /// Returns the index of the block that contains an element.
    #[inline(always)]
    pub fn block(&self, element: usize) -> usize {
        element >> self.shift
    }

    /// Returns true if `element` is the ruler of its block.
    #[inline(always)]
    pub fn contains(&self, element: usize) -> bool {
        self.place(element >> self.shift) == element
    }

    /// Returns the ruler of a block; `None` if the block is incomplete and has no ruler.
    pub fn of_block(&self, block: usize) -> Option<usize> {
        Some(self.place(block)).filter(|&place| place < self.len)
    }

    /// Returns the element that the hash selects in a block. In an incomplete last block it may be beyond the end of
    /// the list.
    #[inline(always)]
    fn place(&self, block: usize) -> usize {
        let mut hash = (block as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        (block << self.shift) + (hash >> (64 - self.shift)) as usize
    }

    /// Returns the index of the sublist that begins at `head`: if `head` is a ruler, the index of its block, otherwise
    /// the number of blocks.
    pub fn sublist<I: Index>(&self, head: I) -> usize {
        if self.contains(head.at()) { self.block(head.at()) } else { self.blocks() }
    }
}
