//! Counts triangles per edge on the CPU: adds each triangle `a < b < c` to the counters of its three edges. Each edge
//! is an entry in the row of its endpoint with the larger id. The counter of the edge has the same index as this entry
//! has in its block.
//!
//! A unit (pair of blocks) changes counters of two blocks only: those of the entries `a` and `b` of row `c` in the
//! partner block, and of entry `a` of row `b` in the front block. If a block has no counters, its edges are not
//! counted.

use crate::algo::triangle::cpu::count::{HUBS, Settings};
use crate::algo::triangle::cpu::hubs::{Chunk, HubBits, RowBits};
use crate::algo::triangle::cpu::probe::{CountBits, MARK_WORDS, Marks, Prober, TakeWord, is_marked};
use crate::algo::triangle::cpu::tally::{HubEntries, Places, RowPair, Tally};
use crate::graph::block_store::BlockStore;
use crate::graph::csr::Block;
use crate::memory::prefetch_near;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Triangle counters of the edges in consecutive blocks. They have 32 bits, because no edge is in more triangles than
/// there are vertices.
#[derive(Debug)]
pub struct EdgeCounters<'a> {
    first: usize,
    blocks: Vec<&'a [AtomicU32]>,
}

impl<'a> EdgeCounters<'a> {
    /// Divides `counters` among the blocks `blocks` of `graph`. The blocks must have as many edges as there are
    /// counters.
    pub fn new(graph: &BlockStore, blocks: Range<usize>, mut counters: &'a [AtomicU32]) -> EdgeCounters<'a> {
        let first = blocks.start;
        let split = |block| {
            let (of_block, rest) = counters.split_at(graph.size(block).entries as usize);
            counters = rest;
            of_block
        };
        EdgeCounters { first, blocks: blocks.map(split).collect() }
    }

    /// Returns the counters of the edges in block `block`, or `None` if these edges are not counted.
    pub fn of(&self, block: usize) -> Option<&'a [AtomicU32]> {
        self.blocks.get(block.checked_sub(self.first)?).copied()
    }
}

/// Triangle counters of the edges in the blocks that some units (pairs of blocks) change.
#[derive(Debug, Clone, Copy)]
pub struct UnitCounters<'a> {
    /// For each front block, the counters of its edges, or `None` if these edges are not counted.
    pub fronts: &'a [Option<&'a [AtomicU32]>],
    /// Counters of the edges in the partner block, or `None` if these edges are not counted.
    pub partner: Option<&'a [AtomicU32]>,
}

/// Prefetch distance: how many hubs ahead of the current one rows of the bit matrix are prefetched.
const AHEAD: usize = 4;
/// Number of 64-bit words that are collected before the triangles they stand for are added to counters. The words of
/// one row are collected together, so this number may be exceeded by up to [`LONGEST`] words.
const WORDS: usize = 1 << 10;
/// Number of 64-bit words in the longest row of the bit matrix of hubs.
const LONGEST: usize = (HUBS / 64) as usize;

/// Returns the memory in bytes that counting per edge takes for `edges` edges, on top of the scratch memory of a count
/// with `settings`.
pub fn scratch_bytes(settings: &Settings, edges: u64, vertices: u64, max_row: u64) -> u64 {
    let hubs = u64::from(settings.hubs).min(vertices);
    let of_hubs = edges.min(hubs * hubs / 2);
    let waiting = (WORDS + LONGEST) * size_of::<HubWord>();
    let tally = of_hubs + 2 * hubs + 4 * (MARK_WORDS as u64 + max_row) + waiting as u64;
    HubBits::places_bytes(hubs as u32) + settings.threads as u64 * tally
}

/// The triangles that one thread finds, counted per edge. Edges that are in many triangles have counters in arrays of
/// the thread, which are added to the shared counters when this value is dropped, or earlier. Triangles of other edges
/// are added to the shared counters at once.
#[derive(Debug)]
pub struct Edges<'a> {
    fronts: &'a [Block<'a>],
    counters: UnitCounters<'a>,
    /// For each hub that is a neighbour of vertex `c`, the number of triangles found on the edge between the two. 16
    /// bits are enough, because there are fewer than 2^16 hubs.
    of_c: Vec<u16>,
    /// For each entry in the rows of hubs, the number of triangles on its edge, modulo 256. Whenever this number wraps
    /// to 0, 256 is added to the shared counter of the edge.
    of_hubs: Vec<u8>,
    /// For each front block, the index in `of_hubs` of its first entry.
    starts: Vec<usize>,
    /// Collected words of common hub neighbours, whose triangles are still to be added to counters.
    words: Vec<HubWord>,
    /// For each word of the bitmap of marked ids, the number of marked ids before it.
    before: Vec<u32>,
    /// For each marked entry of row `b`, the number of triangles found on its edge.
    of_b: Vec<u32>,
}

impl<'a> Edges<'a> {
    /// Creates a tally, in which all counts are zero, for a graph whose rows have at most `max_row` entries.
    pub fn new(fronts: &'a [Block<'a>], counters: UnitCounters<'a>, hubs: u32, max_row: usize) -> Edges<'a> {
        let of_front = |front: &Block<'_>| {
            let rows = hubs.saturating_sub(front.first_row).min(front.rows() as u32);
            front.offsets[rows as usize] as usize
        };
        let (mut entries, mut starts) = (0, Vec::with_capacity(fronts.len()));
        for front in fronts {
            starts.push(entries);
            entries += of_front(front);
        }
        Edges {
            fronts,
            counters,
            of_c: vec![0; hubs as usize],
            of_hubs: vec![0; entries],
            starts,
            words: Vec::with_capacity(WORDS + LONGEST),
            before: vec![0; MARK_WORDS],
            of_b: vec![0; max_row],
        }
    }

    /// Counts the triangles whose corner `b` is one of the hubs in `entries`. `FRONT` is true if edges of the front
    /// block are counted, and `PARTNER` if edges of the partner block are counted. Hub bits and the numbers of bits
    /// before each word are rarely in a near cache, so they are prefetched.
    fn hubs<const FRONT: bool, const PARTNER: bool>(
        &mut self,
        prober: Prober,
        hubs: &HubBits,
        bits: &RowBits,
        entries: HubEntries<'_>,
    ) -> u64 {
        let front = self.fronts[entries.front];
        let partner = self.counters.partner.unwrap_or_default();
        let places = hubs.before();
        let mut all = 0;
        for (at, &b) in entries.middles.iter().enumerate() {
            if let Some(&later) = entries.middles.get(at + AHEAD) {
                let row = hubs.row(later);
                bits.places.iter().for_each(|&place| prefetch_near(row, usize::from(place)));
            }
            let row = front.offsets[(b - front.first_row) as usize];
            let bits_of_b = hubs.row(b);
            let mut pair = HubPair {
                row,
                bits: bits_of_b,
                first_place: hubs.first_word(b),
                places,
                closed: 0,
                words: &mut self.words,
            };
            prober.hub_words(bits_of_b, bits, &mut pair);
            let closed = pair.closed;
            if PARTNER && closed > 0 {
                partner[entries.start + at].fetch_add(closed, Relaxed);
            }
            all += u64::from(closed);
            if self.words.len() >= WORDS || at + 1 == entries.middles.len() {
                prober.count_bits(AddWords::<FRONT, PARTNER> { tally: self, places, front: entries.front });
            }
        }
        all
    }

    #[inline(always)]
    fn in_front(&self, front: usize, entry: usize, triangles: u32) {
        if let Some(counters) = self.counters.fronts[front] {
            counters[entry].fetch_add(triangles, Relaxed);
        }
    }

    #[inline(always)]
    fn in_partner(&self, entry: usize, triangles: u32) {
        if let Some(counters) = self.counters.partner {
            counters[entry].fetch_add(triangles, Relaxed);
        }
    }
}

/// A 64-bit word with the hubs that are neighbours of both `b` and `c`.
#[derive(Debug, Clone, Copy)]
struct HubWord {
    both: u64,
    /// The word of row `b` that contains the same 64 hubs.
    row_bits: u64,
    /// Index of the first entry of row `b` in the front block.
    row: u32,
    /// Index of this word in the array [`HubBits::before`].
    place: u32,
    /// Id of the hub that the lowest bit of this word stands for.
    first: u32,
}

/// Row `b` of a hub, and the words in which it has neighbours in common with a row `c`.
struct HubPair<'t> {
    /// Index of the first entry of row `b` in the front block.
    row: u32,
    /// Hub bits of row `b`.
    bits: &'t [Chunk],
    /// The array [`HubBits::before`]; `first_place` is the index in it of the first word of row `b`.
    places: &'t [u16],
    first_place: u32,
    /// Number of triangles found so far.
    closed: u32,
    words: &'t mut Vec<HubWord>,
}

impl TakeWord for HubPair<'_> {
    #[inline(always)]
    fn word(&mut self, word: usize, both: u64) {
        let (row_bits, place) = (self.bits[word / 8].0[word % 8], self.first_place + word as u32);
        prefetch_near(self.places, place as usize);
        self.closed += both.count_ones();
        self.words.push(HubWord { both, row_bits, row: self.row, place, first: 64 * word as u32 });
    }
}

/// Adds the triangles of all collected words to the counters of edges whose endpoint is a hub.
struct AddWords<'t, 'a, const FRONT: bool, const PARTNER: bool> {
    tally: &'t mut Edges<'a>,
    /// The array [`HubBits::before`]: for each word of the bit matrix, the number of bits before it in its row.
    places: &'t [u16],
    /// Index of the front block that contains row `b`.
    front: usize,
}

impl<const FRONT: bool, const PARTNER: bool> CountBits for AddWords<'_, '_, FRONT, PARTNER> {
    type Found = ();

    #[inline(always)]
    fn run(self) {
        let Edges { counters, of_c, of_hubs, starts, words, .. } = self.tally;
        let of_hubs = &mut of_hubs[starts[self.front]..];
        let shared = counters.fronts[self.front].unwrap_or_default();
        for HubWord { mut both, row_bits, row, place, first } in words.drain(..) {
            let before = row + u32::from(self.places[place as usize]);
            while both != 0 {
                let bit = both.trailing_zeros();
                if FRONT {
                    let entry = before + (row_bits & ((1 << bit) - 1)).count_ones();
                    let count = &mut of_hubs[entry as usize];
                    *count = count.wrapping_add(1);
                    if *count == 0 {
                        shared[entry as usize].fetch_add(256, Relaxed);
                    }
                }
                if PARTNER {
                    of_c[(first + bit) as usize] += 1;
                }
                both &= both - 1;
            }
        }
    }
}

/// Looks up the ids of `stream` in a bitmap of marked ids, and returns how many are marked. Calls `found` for each
/// marked id of the stream, with its index in the stream and its index among all marked ids.
struct Lookup<'t, F> {
    marks: &'t Marks,
    /// For each word of the bitmap, the number of marked ids before it.
    before: &'t [u32],
    stream: &'t [u32],
    found: F,
}

impl<F: FnMut(usize, usize)> CountBits for Lookup<'_, F> {
    type Found = u64;

    #[inline(always)]
    fn run(mut self) -> u64 {
        let mut closed = 0;
        for (in_stream, &a) in self.stream.iter().enumerate() {
            if is_marked(self.marks, a) {
                let word = (a >> 6) as usize & (MARK_WORDS - 1);
                let below = self.marks[word] & ((1 << (a & 63)) - 1);
                (self.found)(in_stream, (self.before[word] + below.count_ones()) as usize);
                closed += 1;
            }
        }
        closed
    }
}

impl Drop for Edges<'_> {
    /// Adds the counts in the rows of hubs to the shared counters.
    fn drop(&mut self) {
        let ends = self.starts.iter().skip(1).copied().chain([self.of_hubs.len()]);
        for ((&start, end), counters) in self.starts.iter().zip(ends).zip(self.counters.fronts) {
            for (&triangles, counter) in self.of_hubs[start..end].iter().zip(counters.unwrap_or_default()) {
                if triangles > 0 {
                    counter.fetch_add(triangles.into(), Relaxed);
                }
            }
        }
    }
}

impl Tally for Edges<'_> {
    const PLACES: bool = true;

    fn hub_rows(&mut self, prober: Prober, hubs: &HubBits, bits: &RowBits, entries: HubEntries<'_>) -> u64 {
        match (self.counters.fronts[entries.front].is_some(), self.counters.partner.is_some()) {
            (true, true) => self.hubs::<true, true>(prober, hubs, bits, entries),
            (true, false) => self.hubs::<true, false>(prober, hubs, bits, entries),
            (false, _) => self.hubs::<false, true>(prober, hubs, bits, entries),
        }
    }

    fn end_hub_row(&mut self, row: &[u32], start: usize) {
        for (entry, &a) in (start..).zip(row) {
            let triangles = std::mem::take(&mut self.of_c[a as usize]);
            if triangles > 0 {
                self.in_partner(entry, triangles.into());
            }
        }
    }

    fn mark(&mut self, marks: &mut Marks, ids: &[u32]) {
        for (place, &id) in (0..).zip(ids) {
            let word = (id >> 6) as usize & (MARK_WORDS - 1);
            if marks[word] == 0 {
                self.before[word] = place;
            }
            marks[word] |= 1 << (id & 63);
        }
    }

    fn marked(&mut self, prober: Prober, marks: &Marks, stream: &[u32], is_row: bool, pair: &RowPair<'_>) -> u64 {
        let start = pair.entry.start as usize;
        if is_row {
            let found = |in_row, in_head| {
                self.in_front(pair.front, pair.row + in_row, 1);
                self.in_partner(start + in_head, 1);
            };
            return prober.count_bits(Lookup { marks, before: &self.before, stream, found });
        }
        let Edges { before, of_b, counters, .. } = self;
        let found = |in_head: usize, in_row: usize| {
            of_b[in_row] += 1;
            if let Some(counters) = counters.partner {
                counters[start + in_head].fetch_add(1, Relaxed);
            }
        };
        prober.count_bits(Lookup { marks, before, stream, found })
    }

    fn triangle(&mut self, _: u32, places: Places, pair: &RowPair<'_>) {
        self.in_front(pair.front, pair.row + places.in_row, 1);
        self.in_partner(pair.entry.start as usize + places.in_head, 1);
    }

    fn closed(&mut self, triangles: u64, pair: &RowPair<'_>) {
        if triangles > 0 {
            self.in_partner((pair.entry.start + pair.entry.len) as usize, triangles as u32);
        }
    }

    fn end_row(&mut self, front: usize, row: usize, marked: usize) {
        for in_row in 0..marked {
            let triangles = std::mem::take(&mut self.of_b[in_row]);
            if triangles > 0 {
                self.in_front(front, row + in_row, triangles);
            }
        }
    }
}
