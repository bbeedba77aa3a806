//! Adjacency rows in memory. Each row entry (a weight and a neighbour) is packed into a word. Words have 32 bits if all
//! entries and all row offsets fit in 32 bits, and 64 bits otherwise.

use super::packing::EntryPacking;
use crate::error::{Error, Result};
use crate::memory::{Budget, Buffer, Plain, prefetch_near};
use std::ops::Range;

/// An integer type of 32 or 64 bits that stores either a row entry (a weight and a neighbour) or a row offset. Words
/// that store entries compare like the entries, by weight and then by neighbour.
pub trait Word: Plain + Copy + Ord + Into<u64> + TryFrom<u64> + Send + Sync {
    /// Packs a weight and a neighbour into a word. The neighbour takes the lower `bits` bits.
    fn of(weight: u32, neighbour: u32, bits: u32) -> Self;
    /// Unpacks a word whose neighbour takes `bits` bits. Returns the weight in the upper 32 bits, the neighbour in the
    /// lower 32 bits.
    fn entry(self, bits: u32) -> u64;
    /// Returns the row offset that the word stores.
    #[inline(always)]
    fn position(self) -> usize {
        let place: u64 = self.into();
        place as usize
    }
}

impl Word for u64 {
    #[inline(always)]
    fn of(weight: u32, neighbour: u32, _bits: u32) -> u64 {
        u64::from(weight) << 32 | u64::from(neighbour)
    }

    #[inline(always)]
    fn entry(self, _bits: u32) -> u64 {
        self
    }
}

impl Word for u32 {
    #[inline(always)]
    fn of(weight: u32, neighbour: u32, bits: u32) -> u32 {
        weight << bits | neighbour
    }

    #[inline(always)]
    fn entry(self, bits: u32) -> u64 {
        u64::from(self >> bits) << 32 | u64::from(self & ((1 << bits) - 1))
    }
}

/// Returns the number of bits for a neighbour in a 32-bit word, or `None` if some entry or row offset does not fit in
/// 32 bits.
pub fn short_bits(vertices: u64, entries: u64, largest: u32) -> Option<u32> {
    let packing = EntryPacking::of(vertices, largest);
    let fit = packing.bytes <= size_of::<u32>() && packing.neighbour_bits < u32::BITS && entries < 1 << u32::BITS;
    fit.then_some(packing.neighbour_bits)
}

/// Returns the memory, in bytes, for the words of `entries` row entries and for the offsets of all rows.
pub fn bytes(vertices: u64, entries: u64, largest: u32) -> u64 {
    let size = if short_bits(vertices, entries, largest).is_some() { 4 } else { 8 };
    size * (vertices + 1 + entries)
}

/// Returns the offsets of consecutive rows with the given lengths (prefix sums of the lengths), followed by the end of
/// the last row.
///
/// # Errors
/// [`crate::Error::Limit`].
pub fn starts<W: Word>(lengths: &[u32], budget: &Budget) -> Result<Buffer<W>> {
    let mut starts: Buffer<W> = budget.zeroed(lengths.len() + 1, "places of rows (4 or 8 bytes a vertex)")?;
    let mut end = 0;
    for (start, &length) in starts.iter_mut().skip(1).zip(lengths) {
        end += u64::from(length);
        *start =
            W::try_from(end).map_err(|_| Error::internal("sort rows by weight", "more entries than words count"))?;
    }
    Ok(starts)
}

/// The adjacency rows of all vertices in memory, one word per entry.
pub struct Words<W> {
    /// Row offsets: the index in `words` of the first word of each row, followed by the end of the last row.
    starts: Buffer<W>,
    words: Buffer<W>,
    bits: u32,
}

impl<W: Word> Words<W> {
    /// Allocates rows with the given lengths. In each word, a neighbour takes `bits` bits.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(lengths: &[u32], bits: u32, budget: &Budget) -> Result<Words<W>> {
        let starts: Buffer<W> = starts(lengths, budget)?;
        let words = budget.zeroed(starts[lengths.len()].position(), "rows sorted by weight (4 or 8 bytes an entry)")?;
        Ok(Words { starts, words, bits })
    }

    /// Returns the row offsets, and a mutable slice of the words of all rows.
    pub fn parts(&mut self) -> (&[W], &mut [W]) {
        (&self.starts, &mut self.words)
    }

    /// Borrows the row offsets and words as slices.
    #[inline(always)]
    pub fn slices(&self) -> RowSlices<'_, W> {
        RowSlices { starts: &self.starts, words: &self.words, bits: self.bits }
    }
}

/// Borrowed form of [`Words`], for loops that read many rows.
#[derive(Clone, Copy)]
pub struct RowSlices<'r, W> {
    starts: &'r [W],
    words: &'r [W],
    bits: u32,
}

impl<'r, W: Word> RowSlices<'r, W> {
    /// Returns the index range of the words that the row of vertex `v` occupies.
    #[inline(always)]
    pub fn places(&self, v: u32) -> Range<usize> {
        self.starts[v as usize].position()..self.starts[v as usize + 1].position()
    }

    /// Returns the row of vertex `v`.
    #[inline(always)]
    pub fn row(&self, v: u32) -> RowWords<'r, W> {
        RowWords { words: &self.words[self.places(v)], bits: self.bits }
    }

    /// Returns the row of each vertex in the range `vertices`, together with the vertex.
    #[inline(always)]
    pub fn rows(self, vertices: Range<u32>) -> impl Iterator<Item = (u32, RowWords<'r, W>)> {
        let starts = &self.starts[vertices.start as usize..=vertices.end as usize];
        let row =
            move |ends: &[W]| RowWords { words: &self.words[ends[0].position()..ends[1].position()], bits: self.bits };
        vertices.zip(starts.windows(2)).map(move |(v, ends)| (v, row(ends)))
    }

    /// Prefetches the row offset of vertex `v`.
    #[inline(always)]
    pub fn prefetch_start(&self, v: u32) {
        prefetch_near(self.starts, v as usize);
    }

    /// Prefetches the first entries in the row of vertex `v`. The row offset should be in a cache already.
    #[inline(always)]
    pub fn prefetch_row(&self, v: u32) {
        prefetch_near(self.words, self.starts[v as usize].position());
    }
}

/// One adjacency row in memory, as words.
#[derive(Clone, Copy)]
pub struct RowWords<'r, W> {
    words: &'r [W],
    bits: u32,
}

impl<'r, W: Word> RowWords<'r, W> {
    /// Returns the number of entries in the row.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.words.len()
    }

    /// Returns the entries of the row, each with the weight in the upper 32 bits and the neighbour in the lower 32
    /// bits.
    #[inline(always)]
    pub fn entries(self) -> impl Iterator<Item = u64> + use<'r, W> {
        self.words.iter().map(move |word| word.entry(self.bits))
    }

    /// Returns the leading entries of the row, up to the first for which `is` is false.
    #[inline(always)]
    pub fn take_while(self, is: impl Fn(u64) -> bool) -> RowWords<'r, W> {
        let count = self.entries().take_while(|&entry| is(entry)).count();
        RowWords { words: &self.words[..count], bits: self.bits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_32_bits_hold_what_fits_them() {
        let cases = [
            (1 << 20, 1 << 22, 1000, Some(20)),
            (1 << 22, (1 << 32) - 1, 1023, Some(22)),
            (1 << 22, 1 << 32, 1023, None),
            (1 << 22, 1 << 26, 1024, None),
            (1 << 31, 5, 1, Some(31)),
            (1 << 32, 5, 0, None),
            (1, 0, 0, Some(1)),
        ];
        for (vertices, entries, largest, bits) in cases {
            assert_eq!(short_bits(vertices, entries, largest), bits, "{vertices} {entries} {largest}");
            let Some(bits) = bits else { continue };
            for (weight, neighbour) in [(0, 0), (largest, vertices as u32 - 1), (0, vertices as u32 - 1), (largest, 0)]
            {
                let entry = u64::of(weight, neighbour, bits);
                assert_eq!(u32::of(weight, neighbour, bits).entry(bits), entry.entry(bits));
            }
        }
        assert_eq!([bytes(1000, 5000, 1000), bytes(1000, 5000, 1 << 30)], [4 * 6001, 8 * 6001]);
    }
}
