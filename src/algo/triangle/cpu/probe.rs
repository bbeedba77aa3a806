//! The inner loops of triangle counting, for three instruction sets. [`Isa::detect`] chooses one at run time.
#![allow(unsafe_code)] // vector instructions, behind a check that the processor has them

use crate::algo::triangle::cpu::hubs::{CHUNK_IDS, Chunk, HubBits, RowBits};
use crate::memory::prefetch_near;

/// Number of 64-bit words of a [`Marks`] bitmap. It takes 512 KiB, so that a thread's bitmap stays in its L2 cache.
pub const MARK_WORDS: usize = 1 << 16;

/// Number of vertex ids that a [`Marks`] bitmap covers, from id 0 on.
pub const MARK_IDS: u32 = (MARK_WORDS * 64) as u32;

/// A bitmap with one bit for each vertex id below [`MARK_IDS`].
pub type Marks = [u64; MARK_WORDS];

/// Instruction set for the inner loops of triangle counting. Counts do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// AVX-512 with vector instructions for population counts.
    Avx512,
    /// AVX2, with scalar instructions for population counts.
    Avx2,
    /// The baseline instructions of the compilation target.
    Plain,
}

impl Isa {
    /// Returns the best instruction set of this CPU.
    pub fn detect() -> Isa {
        [Isa::Avx512, Isa::Avx2].into_iter().find(|isa| isa.is_available()).unwrap_or(Isa::Plain)
    }

    /// Returns true if this CPU supports the instruction set.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vpopcntdq")
                    && Isa::Avx2.is_available()
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx512 | Isa::Avx2 => false,
            Isa::Plain => true,
        }
    }
}

/// Receives the words in which two bit rows have a bit in common. Implementations must be `#[inline(always)]`, so that
/// they are compiled for the instruction set of the caller.
pub trait TakeWord {
    /// Processes `both`, the bits that the words at index `word` of both bit rows have in common. At least one bit is
    /// set.
    fn word(&mut self, word: usize, both: u64);
}

/// A computation that counts bits. Implementations must be `#[inline(always)]`, so that they are compiled for the
/// instruction set of the caller.
pub trait CountBits {
    /// Result of the computation.
    type Found;

    /// Runs the computation.
    fn run(self) -> Self::Found;
}

/// An instruction set that this CPU supports, which makes it safe to call the vector loops.
#[derive(Debug, Clone, Copy)]
pub struct Prober(Isa);

impl Prober {
    /// Chooses `wanted` if this CPU supports it, otherwise the best instruction set that the CPU supports.
    pub fn new(wanted: Isa) -> Prober {
        Prober(if wanted.is_available() { wanted } else { Isa::detect() })
    }

    /// Counts for each hub `b` in `middles` the hubs that are both in row `b` of `hubs` and in `bits`. Returns the sum.
    /// `middles` must ascend.
    #[inline]
    pub fn hub_rows(self, hubs: &HubBits, bits: &RowBits, middles: &[u32]) -> u64 {
        match self.0 {
            // SAFETY: `Prober::new` found these instructions on this CPU.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { hub_rows_avx512(hubs, bits, middles) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { hub_rows_avx2(hubs, bits, middles) },
            _ => hub_rows_plain(hubs, bits, middles),
        }
    }

    /// Returns how many ids in `head` have their bits set in `marks`. All ids must be below [`MARK_IDS`].
    #[inline]
    pub fn count_marked(self, marks: &Marks, head: &[u32]) -> u64 {
        match self.0 {
            // SAFETY: `Prober::new` found these instructions on this CPU.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx2 => unsafe { count_marked_bmi2(marks, head) },
            _ => count_marked_plain(marks, head),
        }
    }

    /// Passes each word of the bit row `row` that has a bit in common with `bits` to `take`.
    #[inline]
    pub fn hub_words(self, row: &[Chunk], bits: &RowBits, take: &mut impl TakeWord) {
        match self.0 {
            // SAFETY: `Prober::new` found these instructions on this CPU.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { hub_words_avx512(row, bits, take) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { hub_words_bmi2(row, bits, take) },
            _ => hub_words_plain(row, bits, take),
        }
    }

    /// Runs `work`, compiled for the CPU's bit-count instructions if it has them.
    #[inline]
    pub fn count_bits<W: CountBits>(self, work: W) -> W::Found {
        match self.0 {
            // SAFETY: `Prober::new` found these instructions on this CPU.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx2 => unsafe { count_bits_bmi2(work) },
            _ => work.run(),
        }
    }
}

/// Sets the bits of `ids` in `marks`. All ids must be below [`MARK_IDS`].
#[inline]
pub fn mark(marks: &mut Marks, ids: &[u32]) {
    for &id in ids {
        marks[(id >> 6) as usize & (MARK_WORDS - 1)] |= 1 << (id & 63);
    }
}

/// Prefetches the first four cache lines of `head`, the beginning of an adjacency row.
#[inline]
pub fn prefetch(head: &[u32]) {
    head.chunks(16).take(4).for_each(|line| prefetch_near(line, 0));
}

/// Returns true if the bit of `id` is set in `marks`. `id` must be below [`MARK_IDS`]. The mask on the word index costs
/// nothing and avoids the bounds check.
#[inline(always)]
pub fn is_marked(marks: &Marks, id: u32) -> bool {
    marks[(id >> 6) as usize & (MARK_WORDS - 1)] >> (id & 63) & 1 != 0
}

#[inline(always)]
fn count_marked_plain(marks: &Marks, head: &[u32]) -> u64 {
    // Use several sums, so that no addition waits for the previous one.
    let mut sums = [0u64; 4];
    let (quads, rest) = head.as_chunks::<4>();
    for quad in quads {
        for (sum, &id) in sums.iter_mut().zip(quad) {
            *sum += u64::from(is_marked(marks, id));
        }
    }
    sums.iter().sum::<u64>() + rest.iter().filter(|&&id| is_marked(marks, id)).count() as u64
}

#[cfg(target_arch = "x86_64")]
// AVX2 is left out, because the compiler would vectorise the lookups and move each vector element separately.
#[target_feature(enable = "popcnt,bmi1,bmi2")]
fn count_marked_bmi2(marks: &Marks, head: &[u32]) -> u64 {
    count_marked_plain(marks, head)
}

#[inline(always)]
fn hub_words_plain(row: &[Chunk], bits: &RowBits, take: &mut impl TakeWord) {
    for (&place, chunk) in bits.places.iter().zip(&bits.chunks) {
        let Some(partner) = row.get(usize::from(place)) else { break };
        for (word, (x, y)) in partner.0.iter().zip(&chunk.0).enumerate() {
            if x & y != 0 {
                take.word(usize::from(place) * 8 + word, x & y);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,bmi1,bmi2")]
fn hub_words_bmi2(row: &[Chunk], bits: &RowBits, take: &mut impl TakeWord) {
    hub_words_plain(row, bits, take);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
fn hub_words_avx512(row: &[Chunk], bits: &RowBits, take: &mut impl TakeWord) {
    use std::arch::x86_64::*;
    let load = |chunk: &Chunk| {
        // SAFETY: a chunk is 64 bytes at an address divisible by 64.
        unsafe { _mm512_load_si512(chunk.0.as_ptr().cast()) }
    };
    for (&place, chunk) in bits.places.iter().zip(&bits.chunks) {
        let Some(partner) = row.get(usize::from(place)) else { break };
        let mut words = _mm512_test_epi64_mask(load(partner), load(chunk));
        while words != 0 {
            let word = words.trailing_zeros() as usize & 7;
            take.word(usize::from(place) * 8 + word, partner.0[word] & chunk.0[word]);
            words &= words - 1;
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,bmi1,bmi2")]
fn count_bits_bmi2<W: CountBits>(work: W) -> W::Found {
    work.run()
}

/// Compares the bit rows of the hubs `middles` with `bits`, chunk by chunk. Calls `each` with every two chunks that
/// cover the same 512 ids, one from the row of a hub and one from `bits`.
#[inline(always)]
fn each_chunk(hubs: &HubBits, bits: &RowBits, middles: &[u32], mut each: impl FnMut(&Chunk, &Chunk)) {
    let mut reach = 0;
    for &b in middles {
        let row = hubs.row(b);
        while bits.places.get(reach).is_some_and(|&place| u32::from(place) <= b / CHUNK_IDS) {
            reach += 1;
        }
        for (&place, chunk) in bits.places[..reach].iter().zip(&bits.chunks) {
            each(&row[usize::from(place)], chunk);
        }
    }
}

#[inline(always)]
fn hub_rows_plain(hubs: &HubBits, bits: &RowBits, middles: &[u32]) -> u64 {
    let mut sum = 0;
    each_chunk(hubs, bits, middles, |row, chunk| {
        sum += row.0.iter().zip(&chunk.0).map(|(x, y)| u64::from((x & y).count_ones())).sum::<u64>();
    });
    sum
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
fn hub_rows_avx2(hubs: &HubBits, bits: &RowBits, middles: &[u32]) -> u64 {
    hub_rows_plain(hubs, bits, middles)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
fn hub_rows_avx512(hubs: &HubBits, bits: &RowBits, middles: &[u32]) -> u64 {
    use std::arch::x86_64::*;
    let load = |chunk: &Chunk| {
        // SAFETY: a chunk is 64 bytes at an address divisible by 64.
        unsafe { _mm512_load_si512(chunk.0.as_ptr().cast()) }
    };
    let mut sum = _mm512_setzero_si512();
    each_chunk(hubs, bits, middles, |row, chunk| {
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_and_si512(load(row), load(chunk))));
    });
    _mm512_reduce_add_epi64(sum) as u64
}
