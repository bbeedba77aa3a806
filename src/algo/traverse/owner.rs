//! The owner of each vertex: the rank that finds its parent and expands its row.

use crate::algo::own::Own;
use serde::{Deserialize, Serialize};

/// A rule that assigns owners to vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Vertex `v` belongs to rank `v` modulo the number of ranks, as published.
    Modulo,
    /// Blocks of 512 vertices are interleaved over the ranks, as in `[bfs]`.
    Blocks,
}

impl Rule {
    /// All rules with their names in job files.
    pub const ALL: [(&str, Rule); 2] = [("modulo", Rule::Modulo), ("blocks", Rule::Blocks)];
}

/// The owners of all vertices. The *key* of a vertex encodes its owner and its place there. The keys of a rank are
/// consecutive, in the order of vertices.
#[derive(Debug, Clone, Copy)]
pub struct Owners {
    rule: Rule,
    blocks: Own,
    /// 2^64 divided by the number of ranks, rounded up, to divide by multiplication (Lemire, Kaser and Kurz 2019); 0
    /// for a single rank.
    reciprocal: u64,
    /// Number of keys of a rank.
    stride: u32,
}

impl Owners {
    /// Returns the owners among `ranks` ranks, as rank `rank` sees them; `None` if keys do not fit 32 bits.
    pub fn new(rule: Rule, vertices: usize, rank: usize, ranks: usize) -> Option<Owners> {
        let blocks = Own::of(vertices, rank, ranks);
        let reciprocal = if ranks == 1 { 0 } else { u64::MAX / ranks as u64 + 1 };
        let mut owners = Owners { rule, blocks, reciprocal, stride: 0 };
        // Rank 0 has the most vertices.
        let stride = owners.len(0).max(1);
        owners.stride = u32::try_from(stride).ok()?;
        u32::try_from(stride as u64 * ranks as u64).ok()?;
        Some(owners)
    }

    /// Returns the number of vertices.
    pub fn vertices(&self) -> usize {
        self.blocks.vertices()
    }

    /// Returns the number of this rank.
    pub fn rank(&self) -> usize {
        self.blocks.rank()
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.blocks.ranks()
    }

    /// Returns the number of keys of each rank: the number of vertices of rank 0, which has the most.
    pub fn stride(&self) -> u32 {
        self.stride
    }

    /// Returns the number of keys of all ranks.
    pub fn keys(&self) -> u64 {
        u64::from(self.stride) * self.ranks() as u64
    }

    /// Returns the reciprocal of the number of ranks, and the base-2 logarithm of the number of consecutive vertices
    /// with the same owner. Kernels find owners with these.
    pub fn division(&self) -> (u64, u32) {
        let shift = match self.rule {
            Rule::Modulo => 0,
            Rule::Blocks => Own::CHUNK_VERTICES.ilog2(),
        };
        (self.reciprocal, shift)
    }

    /// Returns the number of vertices of a rank.
    pub fn len(&self, rank: usize) -> usize {
        match self.rule {
            Rule::Modulo => self.vertices().saturating_sub(rank).div_ceil(self.ranks()),
            Rule::Blocks => self.blocks.of_rank(rank).len(),
        }
    }

    /// Returns the rank that owns a vertex, and its place there.
    #[inline(always)]
    pub fn locate(&self, v: u32) -> (u32, u32) {
        match self.rule {
            _ if self.reciprocal == 0 => (0, v),
            Rule::Modulo => {
                let place = ((u128::from(self.reciprocal) * u128::from(v)) >> 64) as u32;
                (v - place * self.ranks() as u32, place)
            }
            Rule::Blocks => (self.blocks.owner(v) as u32, self.blocks.place(v) as u32),
        }
    }

    /// Returns the key of a vertex.
    #[inline(always)]
    pub fn key(&self, v: u32) -> u32 {
        let (rank, place) = self.locate(v);
        rank * self.stride + place
    }

    /// Returns the vertex at the given place of a rank.
    #[inline(always)]
    pub fn vertex(&self, rank: usize, place: u32) -> u32 {
        match self.rule {
            Rule::Modulo => place * self.ranks() as u32 + rank as u32,
            Rule::Blocks => (self.blocks.of_rank(rank).word(place as usize / 64) * 64) as u32 + place % 64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vertex_has_one_owner_and_a_place_there_in_order() {
        for (_, rule) in Rule::ALL {
            for vertices in [0, 1, 2, 511, 512, 513, 5000, 12_345] {
                for ranks in [1, 2, 3, 8] {
                    let owners = Owners::new(rule, vertices, 0, ranks).expect("few keys");
                    let mut next = vec![0; ranks];
                    for v in 0..vertices as u32 {
                        let (rank, place) = owners.locate(v);
                        assert_eq!(owners.vertex(rank as usize, place), v, "{rule:?}: {v} of {ranks}");
                        assert_eq!(std::mem::replace(&mut next[rank as usize], place + 1), place);
                        assert!(u64::from(owners.key(v)) < owners.keys());
                    }
                    let lengths: Vec<u32> = (0..ranks).map(|rank| owners.len(rank) as u32).collect();
                    assert_eq!(next, lengths, "{rule:?}: {vertices} of {ranks}");
                    assert!(lengths.iter().all(|&length| length <= owners.stride()));
                }
            }
        }
    }

    #[test]
    fn the_last_vertices_are_divided_exactly() {
        for ranks in [2, 3, 7, 641, 65_537] {
            let owners = Owners::new(Rule::Modulo, 1 << 31, 0, ranks).expect("keys fit");
            for v in (0..1u32 << 31).step_by(99_991).chain((1 << 31) - 1000..1 << 31) {
                assert_eq!(owners.locate(v), (v % ranks as u32, v / ranks as u32));
            }
        }
        assert!(Owners::new(Rule::Blocks, u32::MAX as usize, 0, 3).is_none());
    }
}
