//! Ownership of vertices by ranks. The owner of a vertex is the rank that finds its parent and expands its adjacency
//! row.
//!
//! Vertices are numbered by descending degree. Blocks of consecutive vertices are assigned to the ranks round-robin, so
//! that all ranks own about the same number of vertices of every degree.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Rule that assigns an owner (a rank) to each vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OwnerRule {
    /// The owner of vertex `v` is the rank `v` modulo the number of ranks.
    Modulo,
    /// Blocks of 512 consecutive vertices are assigned to the ranks round-robin. The bits of such a block in a bitmap
    /// fill a cache line. Its adjacency rows fill at least about a page, even where degrees are smallest.
    Blocks,
}

impl OwnerRule {
    /// All owner rules, with their names in job files.
    pub const ALL: [(&str, OwnerRule); 2] = [("modulo", OwnerRule::Modulo), ("blocks", OwnerRule::Blocks)];

    /// Returns the number of vertices per block. A block consists of consecutive vertices with the same owner.
    pub fn block(self) -> usize {
        1 << self.shift()
    }

    /// Returns the base-2 logarithm of the number of vertices per block (consecutive vertices with the same owner).
    #[inline(always)]
    const fn shift(self) -> u32 {
        match self {
            OwnerRule::Modulo => 0,
            OwnerRule::Blocks => (WORDS * WORD).ilog2(),
        }
    }
}

/// Number of 64-bit bitmap words for the vertices of a block.
const WORDS: usize = 8;
/// Number of vertices per 64-bit bitmap word.
const WORD: usize = 64;

/// Assignment of vertices to the ranks that own them, from the point of view of one rank ("this rank").
///
/// The *local index* of a vertex is its position among the vertices of its owner. Its *key* combines the owner and the
/// local index. The keys of one rank are consecutive numbers, in the order of its vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VertexOwnership {
    /// Number of vertices that all ranks own together.
    pub vertices: usize,
    /// This rank: the rank whose vertices count as owned in this value.
    pub rank: usize,
    /// Number of ranks.
    pub ranks: usize,
    rule: OwnerRule,
    /// 2^64 - 1 divided by the number of ranks, rounded down. Multiplication by this number replaces a division
    /// (Robison 2005). A single rank multiplies too, so that no search pays for a branch.
    reciprocal: u64,
    /// Number of keys of each rank. It is the number of vertices of rank 0, which owns the most.
    pub stride: u32,
}

impl VertexOwnership {
    /// Returns the ownership of `vertices` vertices among `ranks` ranks, from the point of view of `rank`. In a small
    /// graph some ranks own no vertices.
    pub fn new(rule: OwnerRule, vertices: usize, rank: usize, ranks: usize) -> VertexOwnership {
        let reciprocal = u64::MAX / ranks.max(1) as u64;
        let ownership = VertexOwnership { vertices, rank, ranks, rule, reciprocal, stride: 0 };
        // Rank 0 has the most vertices.
        let stride = u32::try_from(ownership.of_rank(0).len().max(1)).unwrap_or(u32::MAX);
        VertexOwnership { stride, ..ownership }
    }

    /// Returns the ownership by blocks of 512 vertices, from the point of view of `rank`.
    pub fn blocks(vertices: usize, rank: usize, ranks: usize) -> VertexOwnership {
        VertexOwnership::new(OwnerRule::Blocks, vertices, rank, ranks)
    }

    /// Returns the ownership of a single process, which owns all vertices.
    pub fn all(vertices: usize) -> VertexOwnership {
        VertexOwnership::blocks(vertices, 0, 1)
    }

    /// Returns the same ownership from the point of view of `rank`.
    pub fn of_rank(&self, rank: usize) -> VertexOwnership {
        VertexOwnership { rank, ..*self }
    }

    /// Returns the total number of keys of all ranks. A key combines the owner and the local index of a vertex. Keys
    /// can be used only if this number fits in 32 bits.
    pub fn keys(&self) -> u64 {
        u64::from(self.stride) * self.ranks as u64
    }

    /// Returns the two constants with which GPU kernels find the owner of a vertex. The first is 2^64 divided by the
    /// number of ranks, rounded up, or 0 for a single rank. The second is the base-2 logarithm of the block size.
    pub fn division(&self) -> (u64, u32) {
        (if self.ranks <= 1 { 0 } else { self.reciprocal + 1 }, self.rule.shift())
    }

    /// Returns the number of vertices that this rank owns.
    pub fn len(&self) -> usize {
        let (block, turn) = (self.rule.block(), self.rule.block() * self.ranks);
        self.vertices / turn * block + (self.vertices % turn).saturating_sub(block * self.rank).min(block)
    }

    /// Returns the number of 64-bit words that this rank owns in a bitmap of all vertices. Call it only with
    /// [`OwnerRule::Blocks`]: with [`OwnerRule::Modulo`], the bits of a word belong to several owners.
    pub fn words(&self) -> usize {
        self.len().div_ceil(WORD)
    }

    /// Converts an index among the bitmap words that this rank owns (`own`) to the index of the same word in a bitmap
    /// of all vertices.
    #[inline(always)]
    pub fn word(&self, own: usize) -> usize {
        (own / WORDS * self.ranks + self.rank) * WORDS + own % WORDS
    }

    /// Returns true if this rank owns the word with index `at` in a bitmap of all vertices.
    #[inline(always)]
    pub fn has_word(&self, at: usize) -> bool {
        self.ranks == 1 || at / WORDS % self.ranks == self.rank
    }

    /// Returns the number of earlier blocks with the same owner as `block`.
    #[inline(always)]
    fn turn(&self, block: u32) -> u32 {
        ((u128::from(self.reciprocal) * (u128::from(block) + 1)) >> 64) as u32
    }

    /// Returns the rank that owns vertex `v`, and the local index of `v` (its position among the vertices of this
    /// rank).
    #[inline(always)]
    pub fn locate(&self, v: u32) -> (u32, u32) {
        // With constant shifts, a key takes 1.0 ns with `Modulo`, otherwise 1.4 ns.
        match self.rule {
            OwnerRule::Modulo => self.locate_by::<{ OwnerRule::Modulo.shift() }>(v),
            OwnerRule::Blocks => self.locate_by::<{ OwnerRule::Blocks.shift() }>(v),
        }
    }

    #[inline(always)]
    fn locate_by<const SHIFT: u32>(&self, v: u32) -> (u32, u32) {
        let block = v >> SHIFT;
        let turn = self.turn(block);
        (block - turn * self.ranks as u32, turn << SHIFT | v & ((1 << SHIFT) - 1))
    }

    /// Returns the rank that owns vertex `v`.
    #[inline(always)]
    pub fn owner(&self, v: u32) -> usize {
        self.locate(v).0 as usize
    }

    /// Returns true if this rank owns vertex `v`.
    #[inline(always)]
    pub fn has(&self, v: u32) -> bool {
        self.owner(v) == self.rank
    }

    /// Returns the local index of vertex `v`: its position among the vertices of its owner.
    #[inline(always)]
    pub fn local_index(&self, v: u32) -> usize {
        self.locate(v).1 as usize
    }

    /// Returns the key of vertex `v`: a number that combines its owner and its local index.
    #[inline(always)]
    pub fn key(&self, v: u32) -> u32 {
        let (rank, local_index) = self.locate(v);
        rank * self.stride + local_index
    }

    /// Returns the vertex of this rank whose local index is `local_index`.
    #[inline(always)]
    pub fn vertex(&self, local_index: u32) -> u32 {
        let shift = self.rule.shift();
        let turn = local_index >> shift;
        (turn * self.ranks as u32 + self.rank as u32) << shift | local_index & ((1 << shift) - 1)
    }

    /// Returns the range of consecutive vertices of this rank that begins at the local index `local_index`. It ends at
    /// the end of a block, or earlier, so that it has at most `most` vertices.
    pub fn run(&self, local_index: usize, most: usize) -> Range<usize> {
        let (first, block) = (self.vertex(local_index as u32) as usize, self.rule.block());
        first..first + most.min(block - local_index % block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_the_reciprocal_is_exact() {
        for ranks in [1, 2, 3, 5, 7, 64, 641, 1000, 65_535, 65_537, 131_071] {
            let ownership = VertexOwnership::new(OwnerRule::Modulo, 1 << 31, 0, ranks);
            // The ends of ranges are multiples of the divisor, about 10,000 vertices apart.
            let ends = (0..1 << 31u32).step_by(ranks * (1 + 9999 / ranks)).flat_map(|v: u32| [v.saturating_sub(1), v]);
            for v in ends.chain((1 << 31) - 1000..1 << 31) {
                assert_eq!(ownership.locate(v), (v % ranks as u32, v / ranks as u32), "{v} of {ranks}");
            }
        }
        assert!(VertexOwnership::blocks(u32::MAX as usize, 0, 3).keys() > u32::MAX.into());
    }

    #[test]
    fn every_vertex_has_one_owner_and_a_place_there_in_order() {
        for (_, rule) in OwnerRule::ALL {
            for vertices in [0, 1, 2, 63, 64, 65, 511, 512, 513, 5000, 12_345] {
                for ranks in [1, 2, 3, 8] {
                    let ownership = VertexOwnership::new(rule, vertices, 0, ranks);
                    let mut next = vec![0; ranks];
                    for v in 0..vertices as u32 {
                        let (rank, local_index) = ownership.locate(v);
                        let own = ownership.of_rank(rank as usize);
                        assert!(
                            own.has(v) && own.vertex(local_index) == v,
                            "{rule:?}: {v} of {vertices}, {ranks} ranks"
                        );
                        assert_eq!(std::mem::replace(&mut next[rank as usize], local_index + 1), local_index);
                        assert!(u64::from(own.key(v)) < own.keys());
                        assert!(own.run(local_index as usize, 600).contains(&(v as usize)));
                        if rule == OwnerRule::Blocks {
                            assert_eq!(own.word(local_index as usize / WORD), v as usize / WORD, "{v} of {vertices}");
                            assert!(own.has_word(v as usize / WORD));
                        }
                    }
                    let lengths: Vec<u32> = (0..ranks).map(|rank| ownership.of_rank(rank).len() as u32).collect();
                    assert_eq!(next, lengths, "{rule:?}: {vertices} of {ranks}");
                    assert!(lengths.iter().all(|&length| length <= ownership.stride));
                }
            }
        }
    }
}
