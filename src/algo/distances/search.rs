//! A pass on CPUs: breadth-first searches from up to 64 sources at once. A word is a mask with one bit per source of
//! the pass.

use super::level::{self, BoundedList, Found, Words};
use crate::algo::round::agree;
use crate::algo::rows::{FEW, Neighbours};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::direction::EdgeDirection::Out;
use crate::memory::{Budget, Buffer, word_cells};
use std::mem::swap;

/// Maximum number of sources of a pass: one for each bit of a 64-bit word.
pub(super) const SOURCES: usize = 64;

/// Returns the memory, in bytes, for searches in a graph of `vertices` vertices, including the sums of distances over
/// all passes.
pub(super) fn bytes(vertices: u64) -> u64 {
    (3 * 8 + 2 * 8) * vertices + 2 * 4 * BoundedList::room(vertices as usize) as u64
}

/// Number of sources that reach a vertex, and sum and maximum of their distances. The vertex itself does not count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct VertexSums {
    /// Number of sources that reach the vertex.
    pub sources: u32,
    /// Sum of the distances from the sources that reach the vertex.
    pub total: u64,
    /// Largest distance from a source that reaches the vertex.
    pub farthest: u32,
}

impl VertexSums {
    /// Decodes the sums of distances to vertex `v`. `words` contains two 64-bit words for each vertex. The first is the
    /// sum of distances. The upper half of the second is the largest distance, and its lower half is the number of
    /// sources.
    #[inline]
    pub(super) fn of(words: &[u64], v: usize) -> VertexSums {
        let others = words[2 * v + 1];
        VertexSums { sources: others as u32, total: words[2 * v], farthest: (others >> 32) as u32 }
    }
}

/// Parameters of a step of the searches. A step finds the next level of vertices.
pub(super) struct Step<'l> {
    /// Totals of the previous level.
    pub last: &'l Found,
    /// Mask of the sources that reached any vertex in the previous level.
    pub active: u64,
    /// Distance between the sources and the vertices of the next level.
    pub distance: u64,
    /// Whether to read only the out-rows of the vertices in the previous level, because they have few neighbours,
    /// instead of the in-rows of all vertices.
    pub is_sparse: bool,
}

/// Arrays of a pass on CPUs, and the rows of the graph.
pub(super) struct Search<'g> {
    rows: Neighbours<'g>,
    /// For each vertex, the mask of the sources that have reached it.
    seen: Buffer<u64>,
    /// For each vertex, the mask of the sources that reached it in the last level.
    frontier: Buffer<u64>,
    /// For each vertex, the mask of the sources that reach it in the level that is being computed.
    next: Buffer<u64>,
    /// The vertices that any source reached in the last level: those with a nonzero element of `frontier`.
    list: BoundedList,
    /// The vertices that any source reaches in the level that is being computed: those with a nonzero element of
    /// `next`.
    found: BoundedList,
    /// Whether the array `next` may contain masks of an earlier level, and must be cleared before a push.
    is_stale: bool,
}

impl<'g> Search<'g> {
    /// Allocates the arrays of a pass. Then calls `rows`, which must divide the vertices among the ranks and return the
    /// rows.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; the error of `rows`.
    pub(super) fn new(
        vertices: usize,
        budget: &Budget,
        rows: impl FnOnce() -> Result<Neighbours<'g>>,
    ) -> Result<Search<'g>> {
        let words = || budget.zeroed(vertices, "words of 64 sources (8 bytes for each vertex)");
        let list = || BoundedList::new(vertices, budget);
        Ok(Search {
            seen: words()?,
            frontier: words()?,
            next: words()?,
            list: list()?,
            found: list()?,
            is_stale: false,
            rows: rows()?,
        })
    }

    /// Returns the number of neighbours in all out-rows. In an undirected graph, all rows are out-rows.
    pub(super) fn entries(&self) -> u64 {
        self.rows.all_entries() >> self.rows.direction.shift()
    }

    /// Finds the next level. Adds it to the masks of all vertices and to `sums`, and returns its totals. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`], on all ranks; [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn step(&mut self, step: &Step<'_>, sums: &mut [u64], (comm, threads): (&Comm, usize)) -> Result<Found> {
        if !step.is_sparse || !self.push(step.last, (comm, threads))? {
            self.pull(step.active, (comm, threads))?;
        }
        self.add(step, sums, threads)
    }

    /// Returns a 64-bit word for vertex `v`. Bit `i` is set if source `i` of the last pass reaches the vertex.
    pub(super) fn reaching(&self, v: u32) -> u64 {
        self.seen[v as usize]
    }

    /// Begins a pass from `sources`. Returns the totals of the first level, which consists of the sources.
    pub(super) fn begin(&mut self, sources: &[u32]) -> Found {
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

    /// Finds the next level by reading the in-rows of all vertices. Each rank reads the rows of the vertices that it
    /// owns. Collective.
    fn pull(&mut self, active: u64, (comm, threads): (&Comm, usize)) -> Result<()> {
        let Search { rows, seen, frontier, next, found, .. } = self;
        agree(comm, level::pull(rows, (frontier, seen), next, active, threads))?;
        rows.share(next, comm);
        // A pull does not list the vertices that the level reaches.
        found.len = usize::MAX;
        Ok(())
    }

    /// Finds the next level by reading the out-rows of the vertices in the last level. Every rank reads all of these
    /// rows. Returns false, without reading, if the last level has more vertices than a list can store.
    fn push(&mut self, last: &Found, (comm, threads): (&Comm, usize)) -> Result<bool> {
        let Search { rows, seen, frontier, next, list, found, .. } = self;
        if list.known().is_none() {
            if last.vertices > BoundedList::room(seen.len()) {
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

    /// Adds the level that is stored in `next` to the masks and the sums of all vertices in the level, and makes it the
    /// last level. Returns the totals of the level.
    fn add(&mut self, step: &Step<'_>, sums: &mut [u64], threads: usize) -> Result<Found> {
        let Search { rows, seen, frontier, next, list, found, .. } = self;
        let (active, distance) = (step.active, step.distance);
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
