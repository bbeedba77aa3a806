//! A pass: searches from up to 64 sources at once, level by level.

use super::level::{self, FEW, Found, VertexList, Words};
use crate::algo::round::agree;
use crate::algo::rows::Neighbours;
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::direction::EdgeDirection::Out;
use crate::memory::{Budget, Buffer, word_cells};
use crate::process::signals;
use std::mem::swap;

/// Number of sources of a pass: the bits of a word.
pub(super) const SOURCES: usize = 64;
/// All rows are pulled along if the last level has more than one in this many of the entries and vertices that are left.
const SPARSE: u64 = 8;
/// Number of levels between two checks for signals on several ranks.
const CHECKED: u64 = 1 << 10;

/// Returns the bytes of memory that a search of `vertices` vertices takes, and the sums of all passes.
pub(super) fn bytes(vertices: u64) -> u64 {
    (3 * 8 + 2 * 8) * vertices + 2 * 4 * VertexList::room(vertices as usize) as u64
}

/// Sums over the sources that reach a vertex, without itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct VertexSums {
    /// Number of sources.
    pub sources: u32,
    /// Sum of the distances from them.
    pub total: u64,
    /// Largest of these distances.
    pub farthest: u32,
}

impl VertexSums {
    /// Returns the sums of vertex `v`. `words` has two words for each vertex: the sum of distances, and the largest
    /// distance above the number of sources.
    #[inline]
    pub(super) fn of(words: &[u64], v: usize) -> VertexSums {
        let others = words[2 * v + 1];
        VertexSums { sources: others as u32, total: words[2 * v], farthest: (others >> 32) as u32 }
    }
}

/// Arrays of a pass, the rows that it reads, and the sums of all passes.
pub(super) struct Search<'g> {
    rows: Neighbours<'g>,
    /// The sources that have reached each vertex.
    seen: Buffer<u64>,
    /// The sources that reached each vertex in the last level.
    frontier: Buffer<u64>,
    /// The sources that reach each vertex in the level that is computed.
    next: Buffer<u64>,
    /// The vertices with a word in `frontier`.
    list: VertexList,
    /// The vertices with a word in `next`.
    found: VertexList,
    /// Whether `next` may have words of a level before.
    is_stale: bool,
    /// Two words for each vertex; see [`VertexSums::of`].
    pub sums: Buffer<u64>,
}

impl<'g> Search<'g> {
    /// Makes the arrays. `rows` divides the vertices when the arrays are reserved.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; the error of `rows`.
    pub(super) fn new(
        vertices: usize,
        budget: &Budget,
        rows: impl FnOnce() -> Result<Neighbours<'g>>,
    ) -> Result<Search<'g>> {
        let words = || budget.zeroed(vertices, "words of 64 sources (8 bytes for each vertex)");
        let list = || VertexList::new(vertices, budget);
        Ok(Search {
            seen: words()?,
            frontier: words()?,
            next: words()?,
            list: list()?,
            found: list()?,
            is_stale: false,
            sums: budget.zeroed(2 * vertices, "sums of distances (16 bytes for each vertex)")?,
            rows: rows()?,
        })
    }

    /// Searches from different vertices, and adds distances to the sums of all vertices. For each level it calls `level`
    /// with the distance and the number of vertices that each source reaches there. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`], on all ranks; [`crate::Error::Addresses`] if no thread can be started. Then sums have
    /// some levels of the pass.
    pub(super) fn run(
        &mut self,
        sources: &[u32],
        (comm, threads): (&Comm, usize),
        mut level: impl FnMut(u64, &[u64]),
    ) -> Result<()> {
        let mut last = self.begin(sources);
        let mut active = u64::MAX.checked_shr((SOURCES - sources.len()) as u32).unwrap_or(0);
        let mut left = self.rows.all_entries() >> self.rows.direction.shift();
        let mut distance = 0u64;
        while last.vertices > 0 {
            if comm.ranks() == 1 || distance.is_multiple_of(CHECKED) {
                agree(comm, signals::check())?;
            }
            let is_sparse = last.leaving <= FEW.max((left + self.seen.len() as u64) / SPARSE);
            if !is_sparse || !self.push(&last, (comm, threads))? {
                self.pull(active, (comm, threads))?;
            }
            distance += 1;
            last = self.add(active, distance, threads)?;
            left = left.saturating_sub(last.full);
            active = (0..).zip(&last.counts).fold(0, |active, (bit, &count)| active | u64::from(count > 0) << bit);
            level(distance, &last.counts);
        }
        Ok(())
    }

    /// Returns the sources of the last pass that reach vertex `v`.
    pub(super) fn reaching(&self, v: u32) -> u64 {
        self.seen[v as usize]
    }

    /// Begins a pass at its sources.
    fn begin(&mut self, sources: &[u32]) -> Found {
        [&mut self.seen, &mut self.frontier, &mut self.next].into_iter().for_each(|words| words.fill(0));
        (self.list.len, self.found.len, self.is_stale) = (0, 0, false);
        for (bit, &v) in sources.iter().enumerate() {
            self.seen[v as usize] = 1 << bit;
            self.frontier[v as usize] = 1 << bit;
            self.list.push(v);
        }
        let leaving = sources.iter().map(|&v| self.rows.degree_of(v, Out)).sum();
        Found { vertices: sources.len(), leaving, ..Found::default() }
    }

    /// Finds the next level along all rows. Each rank does so for its own vertices. Collective.
    fn pull(&mut self, active: u64, (comm, threads): (&Comm, usize)) -> Result<()> {
        let Search { rows, seen, frontier, next, found, .. } = self;
        agree(comm, level::pull(rows, (frontier, seen), next, active, threads))?;
        rows.share(next, comm);
        // The vertices are not listed.
        found.len = usize::MAX;
        Ok(())
    }

    /// Finds the next level along the rows of the `last` one. Every rank does the same. Returns false if the last level
    /// has too many vertices.
    fn push(&mut self, last: &Found, (comm, threads): (&Comm, usize)) -> Result<bool> {
        let Search { rows, seen, frontier, next, list, found, .. } = self;
        if list.known().is_none() {
            if last.vertices > VertexList::room(seen.len()) {
                return Ok(false);
            }
            list.fill(frontier);
        }
        let Some(vertices) = list.known() else { return Ok(false) };
        if std::mem::take(&mut self.is_stale) {
            next.fill(0);
        }
        found.len = 0;
        if last.leaving <= FEW {
            level::push_few(rows, vertices, (frontier, seen), (next, found));
        } else {
            level::push(rows, vertices, (frontier, seen), (word_cells(next), found), (comm, threads))?;
        }
        rows.have_read(vertices.len());
        Ok(true)
    }

    /// Adds the level that was found to the words and the sums of vertices. It becomes the last level.
    fn add(&mut self, active: u64, distance: u64, threads: usize) -> Result<Found> {
        let Search { rows, seen, frontier, next, list, found, sums, .. } = self;
        let words = Words { seen: word_cells(seen), next, sums: word_cells(sums), active, distance };
        let all = words.add(rows, found.known(), threads)?;
        let known = list.known();
        known.into_iter().flatten().for_each(|&v| frontier[v as usize] = 0);
        self.is_stale = known.is_none();
        swap(frontier, next);
        swap(list, found);
        Ok(all)
    }
}
