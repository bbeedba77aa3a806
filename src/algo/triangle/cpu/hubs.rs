//! The edges between hubs (the vertices of highest degree) as a triangular bit matrix, the *hub corner*.
//!
//! Most wedges are between hubs. Hubs have so many edges to each other that testing 512 wedges with one AND and one
//! population count is much faster than looking them up. This holds even if only one of 512 consecutive ids is a
//! neighbour, because either way one cache line is read.

use crate::graph::csr::Block;
use rayon::prelude::*;

/// Number of vertex ids that a chunk of bits covers.
pub const CHUNK_IDS: u32 = 512;

/// Bits for 512 consecutive vertex ids. A chunk fills one cache line and one AVX-512 register.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub struct Chunk(pub [u64; 8]);

/// The rows of hubs in the resident front blocks, as bits. Row `b` consists of the chunks `0 ..= b / 512`, each of
/// which covers 512 ids.
#[derive(Debug)]
pub struct HubBits {
    first: u32,
    end: u32,
    chunks: Vec<Chunk>,
    /// For each word of each chunk, the number of set bits before it in the same row. Empty unless a count needs the
    /// indices of hubs in their rows.
    before: Vec<[u16; 8]>,
}

/// Returns the number of 512-bit chunks in all rows of the bit matrix before `row`.
fn chunks_below(row: u32) -> usize {
    let (group, within) = ((row / CHUNK_IDS) as usize, (row % CHUNK_IDS) as usize);
    CHUNK_IDS as usize * group * (group + 1) / 2 + within * (group + 1)
}

impl HubBits {
    /// Returns the size in bytes of a bit matrix with the rows `0..limit`.
    pub fn bytes(limit: u32) -> u64 {
        (chunks_below(limit) * size_of::<Chunk>()) as u64
    }

    /// Creates an empty bit matrix with capacity for all rows below `limit`.
    pub fn with_limit(limit: u32) -> HubBits {
        HubBits { first: 0, end: 0, chunks: Vec::with_capacity(chunks_below(limit)), before: Vec::new() }
    }

    /// Returns the size in bytes of the array [`Self::before`] for a bit matrix with the rows `0..limit`.
    pub fn places_bytes(limit: u32) -> u64 {
        (chunks_below(limit) * size_of::<[u16; 8]>()) as u64
    }

    /// Fills the bit matrix with the rows below `limit` of the consecutive blocks `fronts`.
    pub fn set(&mut self, fronts: &[Block<'_>], limit: u32) {
        self.first = fronts.first().map_or(0, |front| front.first_row.min(limit));
        self.end = fronts.last().map_or(0, |front| front.end_row().min(limit));
        self.chunks.clear();
        self.chunks.resize(chunks_below(self.end) - chunks_below(self.first), Chunk::default());
        let mut rest = self.chunks.as_mut_slice();
        for front in fronts {
            let mut row = front.first_row;
            while row < front.end_row().min(limit) {
                // The 512 rows of a group have the same number of chunks.
                let group = row / CHUNK_IDS;
                let group_end = ((group + 1) * CHUNK_IDS).min(front.end_row()).min(limit);
                let width = group as usize + 1;
                let (these, those) = rest.split_at_mut((group_end - row) as usize * width);
                let local = (row - front.first_row) as usize;
                these.par_chunks_mut(width).enumerate().for_each(|(at, bits)| {
                    for &id in front.row(local + at) {
                        set_bit(bits, id);
                    }
                });
                (rest, row) = (those, group_end);
            }
        }
        self.before.clear();
    }

    /// Counts the set bits before each word of every row, unless that is done already. The index of a hub in its row is
    /// computed from these counts.
    pub fn count_places(&mut self) {
        if !self.before.is_empty() {
            return;
        }
        self.before.reserve_exact(self.chunks.len());
        for b in self.first..self.end {
            let mut sum = 0;
            let start = self.start(b);
            for chunk in &self.chunks[start..start + (b / CHUNK_IDS) as usize + 1] {
                self.before.push(chunk.0.map(|word| {
                    let before = sum;
                    sum += word.count_ones() as u16;
                    before
                }));
            }
        }
    }

    /// Returns for each word of all rows the number of set bits before it in the same row. [`Self::count_places`] must
    /// have been called.
    #[inline]
    pub fn before(&self) -> &[u16] {
        self.before.as_flattened()
    }

    /// Returns the index in [`Self::before`] of the first word of row `b`.
    #[inline]
    pub fn first_word(&self, b: u32) -> u32 {
        8 * self.start(b) as u32
    }

    /// Returns the range of hubs whose rows are in the bit matrix.
    pub fn rows(&self) -> std::ops::Range<u32> {
        self.first..self.end
    }

    /// Returns the bits of the row of hub `b`, which must be in [`rows`](Self::rows).
    #[inline]
    pub fn row(&self, b: u32) -> &[Chunk] {
        let start = self.start(b);
        &self.chunks[start..start + (b / CHUNK_IDS) as usize + 1]
    }

    /// Returns the index of the first chunk of row `b` in the bit matrix.
    #[inline]
    fn start(&self, b: u32) -> usize {
        chunks_below(b) - chunks_below(self.first)
    }
}

#[inline]
fn set_bit(chunks: &mut [Chunk], id: u32) {
    let chunk = &mut chunks[(id / CHUNK_IDS) as usize];
    chunk.0[(id % CHUNK_IDS / 64) as usize] |= 1 << (id % 64);
}

/// The neighbours of one vertex that are hubs, as bits. Chunks of 512 ids without such a neighbour are left out.
#[derive(Debug, Default)]
pub struct RowBits {
    /// Indices of the chunks that contain a neighbour, ascending.
    pub places: Vec<u16>,
    /// Bits of the chunks that contain a neighbour, in the order of `places`.
    pub chunks: Vec<Chunk>,
}

impl RowBits {
    /// Returns the memory in bytes that the bits of one row take, if all hubs are below `limit`.
    pub fn bytes(limit: u32) -> u64 {
        u64::from(limit.div_ceil(CHUNK_IDS)) * (size_of::<Chunk>() + size_of::<u16>()) as u64
    }

    /// Creates an empty row of bits with capacity for hubs below `limit`.
    pub fn with_limit(limit: u32) -> RowBits {
        let chunks = limit.div_ceil(CHUNK_IDS) as usize;
        RowBits { places: Vec::with_capacity(chunks), chunks: Vec::with_capacity(chunks) }
    }

    /// Replaces the contents of the row by the hubs with the ids `hubs`, which ascend.
    #[inline]
    pub fn set(&mut self, hubs: &[u32]) {
        self.places.clear();
        self.chunks.clear();
        let mut rest = hubs;
        while let Some(&id) = rest.first() {
            let place = id / CHUNK_IDS;
            let mut chunk = Chunk::default();
            let mut taken = 0;
            for &id in rest.iter().take_while(|&&id| id / CHUNK_IDS == place) {
                chunk.0[(id % CHUNK_IDS / 64) as usize] |= 1 << (id % 64);
                taken += 1;
            }
            self.places.push(place as u16);
            self.chunks.push(chunk);
            rest = &rest[taken..];
        }
    }
}
