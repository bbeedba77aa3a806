//! The vertices that a rank owns. Ranks own chunks in turn, so that each rank has about as many hubs, and as many
//! vertices of any other degree, as the others.

/// Words of a chunk, of 64 vertices each. The bits of a chunk fill a cache line, and the rows of its vertices, where
/// degrees are smallest, fill about a page.
const CHUNK: usize = 8;
const WORD: usize = 64;

/// The vertices that one rank owns, and the number of vertices of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own {
    vertices: usize,
    rank: usize,
    ranks: usize,
    /// Fixed-point reciprocal of the number of ranks. Multiplying by it is several times as fast as dividing.
    reciprocal: u64,
}

/// Bits of the reciprocal after the binary point. Chunk numbers have 23 bits, so quotients are exact for up to 2^17
/// ranks.
const POINT: u32 = 40;

impl Own {
    /// Number of vertices in a chunk.
    pub const CHUNK_VERTICES: usize = CHUNK * WORD;

    /// Returns the ownership of a process without other ranks, which owns all vertices.
    pub fn all(vertices: usize) -> Own {
        Own::of(vertices, 0, 1)
    }

    /// Returns the vertices of one of `ranks` ranks. In a small graph a rank may own none.
    pub fn of(vertices: usize, rank: usize, ranks: usize) -> Own {
        Own { vertices, rank, ranks, reciprocal: (1u64 << POINT).div_ceil(ranks.max(1) as u64) }
    }

    /// Returns the vertices that another rank owns.
    pub fn of_rank(&self, rank: usize) -> Own {
        Own { rank, ..*self }
    }

    /// Returns the number of vertices of all ranks.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Returns the number of this rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Returns the number of words that this rank owns.
    pub fn words(&self) -> usize {
        let (words, turn) = (self.vertices.div_ceil(WORD), CHUNK * self.ranks);
        words / turn * CHUNK + (words % turn).saturating_sub(CHUNK * self.rank).min(CHUNK)
    }

    /// Returns the number of vertices that this rank owns. The last word of the graph may have fewer than 64.
    pub fn len(&self) -> usize {
        let words = self.words();
        let beyond = match words {
            0 => 0,
            _ => ((self.word(words - 1) + 1) * WORD).saturating_sub(self.vertices),
        };
        words * WORD - beyond
    }

    /// Returns the position among all words of the word at position `own` among the owned words.
    #[inline(always)]
    pub fn word(&self, own: usize) -> usize {
        (own / CHUNK * self.ranks + self.rank) * CHUNK + own % CHUNK
    }

    /// Returns true if this rank owns the word at position `at` among all words.
    #[inline(always)]
    pub fn has_word(&self, at: usize) -> bool {
        self.ranks == 1 || at / CHUNK % self.ranks == self.rank
    }

    /// Returns how many chunks the owner of a chunk owns before it.
    #[inline(always)]
    fn turn(&self, chunk: u32) -> u32 {
        ((u64::from(chunk) * self.reciprocal) >> POINT) as u32
    }

    /// Returns the rank that owns vertex `v`.
    #[inline(always)]
    pub fn owner(&self, v: u32) -> usize {
        let chunk = v / Own::CHUNK_VERTICES as u32;
        (chunk - self.turn(chunk) * self.ranks as u32) as usize
    }

    /// Returns true if this rank owns vertex `v`.
    #[inline(always)]
    pub fn has(&self, v: u32) -> bool {
        self.owner(v) == self.rank
    }

    /// Returns the position of an owned vertex among the owned vertices.
    #[inline(always)]
    pub fn place(&self, v: u32) -> usize {
        let chunk = Own::CHUNK_VERTICES as u32;
        (self.turn(v / chunk) * chunk + v % chunk) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_the_reciprocal_is_exact() {
        for ranks in [1, 2, 3, 5, 7, 64, 641, 1000, 65_535, 65_537, 131_071] {
            let own = Own::of(1 << 32, 0, ranks);
            let ends = (0..1 << 23u32).step_by(ranks).flat_map(|chunk: u32| [chunk.saturating_sub(1), chunk]);
            assert!(ends.chain([(1 << 23) - 1u32]).all(|chunk| own.turn(chunk) == chunk / ranks as u32), "{ranks}");
        }
    }

    #[test]
    fn every_vertex_has_one_owner_and_a_place_there() {
        for vertices in [0, 1, 63, 64, 65, 511, 512, 513, 5000, 12_345] {
            for ranks in [1, 2, 3, 8] {
                let mut places: Vec<Vec<bool>> =
                    (0..ranks).map(|rank| vec![false; Own::of(vertices, rank, ranks).len()]).collect();
                for v in 0..vertices as u32 {
                    let owner = Own::all(vertices).owner(v).max(Own::of(vertices, 0, ranks).owner(v));
                    let own = Own::of(vertices, owner, ranks);
                    let place = own.place(v);
                    assert!(own.has(v) && !std::mem::replace(&mut places[owner][place], true), "{v} of {vertices}");
                    assert_eq!(own.word(place / WORD), v as usize / WORD, "{v} of {vertices}, {ranks} ranks");
                }
                assert!(places.iter().flatten().all(|&taken| taken), "{vertices} vertices, {ranks} ranks");
                let most = Own::of(vertices, 0, ranks).len();
                assert!(places.iter().all(|places| places.len() <= most), "rank 0 has most");
            }
        }
    }
}
