//! The betweenness search from one source on CPUs: levels and counts of shortest paths, then dependencies.
//!
//! The search does not store the levels of vertices. An unreached vertex has the count 0, and its reached neighbours
//! are all in the last level. So the count of a vertex in the next level is the sum of the counts of all its
//! in-neighbours. In the backward pass, each vertex sums the *shares* of all its out-neighbours. The share of a vertex
//! is (1 + dependency) / count, and 0 until the dependency is computed.

use super::arithmetic::Count;
use super::level::{self, Unpacked, Workers};
use crate::algo::bits::{is_set, set_alone};
use crate::algo::round::agree;
use crate::algo::rows::{CHECKED, FEW, Neighbours, SPARSE};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::direction::EdgeDirection::{self, In, Out};
use crate::memory::{Budget, Buffer, prefetch_near, word_cells};
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Inverse of the threshold for pulling, used instead of [`SPARSE`] if path counts have the same sum in any order of
/// additions. A push can then count paths while it finds the next level. The value is multiplied by the number of
/// ranks, because in a push every rank reads the rows of the whole level.
const DENSE: u64 = 2;

/// Returns the host memory, in bytes, for a betweenness search in a graph with `vertices` vertices.
pub(super) fn bytes(vertices: u64) -> u64 {
    28 * vertices + 3 * 8 * vertices.div_ceil(64)
}

/// Arrays of a betweenness search on CPUs, and the rows of the graph.
pub(super) struct Search<'g, C> {
    rows: Neighbours<'g>,
    /// The vertices that the search has reached, level by level, ascending within each level.
    order: Buffer<u32>,
    /// Bitmap of the vertices that the search has reached.
    reached: Buffer<AtomicU64>,
    /// Bitmap of the vertices found so far for the next level.
    found: Buffer<AtomicU64>,
    /// Bitmap of the indices in `order`, the list of reached vertices, at which a level begins.
    starts: Buffer<AtomicU64>,
    /// Number of shortest paths to each vertex.
    paths: Buffer<C>,
    /// Share of each vertex, which it adds to the sum of each predecessor: (1 + dependency) / (number of shortest
    /// paths).
    shares: Buffer<C>,
    /// One sum per vertex: of the path counts of its predecessors while the search counts paths, and of the shares of
    /// its successors in the backward pass.
    sums: Buffer<C>,
    extent: Extent,
}

/// Extent of a search from one source: how many vertices it reached, and how far away they are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    /// Number of vertices that the source reaches.
    pub reached: usize,
    /// Largest distance from the source to a vertex.
    pub depth: u64,
}

impl<'g, C: Count> Search<'g, C> {
    /// Allocates the arrays of a betweenness search. Then calls `rows`, which must divide the vertices among the ranks
    /// and return this rank's access to the rows.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; the error of `rows`.
    pub(super) fn new(
        vertices: usize,
        budget: &Budget,
        rows: impl FnOnce() -> Result<Neighbours<'g>>,
    ) -> Result<Search<'g, C>> {
        let bits = || budget.zeroed(vertices.div_ceil(64), "sets of vertices (a bit each)");
        let numbers = |purpose| budget.zeroed(vertices, purpose);
        let mut search = Search {
            order: budget.zeroed(vertices, "order of reached vertices (4 bytes each)")?,
            reached: bits()?,
            found: bits()?,
            starts: bits()?,
            paths: numbers("counts of shortest paths (8 bytes each)")?,
            shares: numbers("shares of vertices (8 bytes each)")?,
            sums: numbers("sums of a level (8 bytes for each vertex)")?,
            extent: Extent::default(),
            rows: rows()?,
        };
        search.rows.expect_random_access();
        Ok(search)
    }

    /// Computes the dependencies of all vertices on the source `root`. Returns `None` if a count of shortest paths is
    /// too large for its number type. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`], on all ranks; [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn run(&mut self, root: u32, workers: Workers<'_>) -> Result<Option<Extent>> {
        self.clear();
        if !self.count(root, workers)? {
            return Ok(None);
        }
        self.depend(workers)?;
        Ok(Some(self.extent))
    }

    /// Adds the dependency of every vertex on the source to the vertex's element of `totals`.
    ///
    /// # Errors
    /// [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn add_to(&self, totals: &mut [f64], threads: usize) -> Result<()> {
        let mut end = self.extent.reached;
        while end > 1 {
            let level = self.level_before(end);
            end = level.start;
            level::update(&self.order[level], totals, threads, |v, total| {
                (total + self.paths[v as usize].dependency(self.sums[v as usize]), false)
            })?;
        }
        Ok(())
    }

    fn clear(&mut self) {
        for &v in &self.order[..self.extent.reached] {
            self.paths[v as usize] = C::default();
            self.shares[v as usize] = C::default();
            self.sums[v as usize] = C::default();
        }
        for bits in [&mut self.reached, &mut self.found, &mut self.starts] {
            bits.iter_mut().for_each(|word| *word.get_mut() = 0);
        }
        self.extent = Extent::default();
    }

    /// Finds the levels of a search from `root`, and counts the shortest paths to every vertex. Returns false if a
    /// count is too large for its number type.
    fn count(&mut self, root: u32, workers: Workers<'_>) -> Result<bool> {
        let (direction, comm) = (self.rows.direction, workers.comm);
        self.order[0] = root;
        set_alone(&self.reached, root);
        set_alone(&self.starts, 0);
        self.paths[root as usize] = C::ONE;
        let mut level = 0..1;
        self.extent.reached = 1;
        let mut unreached = self.rows.all_entries() >> direction.shift();
        // Whether the sums for the next level are the same in any order of addition.
        let mut adds = C::ONE.sums_exactly(self.rows.longest);
        while !level.is_empty() {
            let list = &self.order[level.clone()];
            let entries = |way| list.iter().map(|&v| self.rows.degree_of(v, way)).sum::<u64>();
            let leaving = entries(Out);
            unreached -= entries(In);
            if workers.comm.ranks() == 1 || self.extent.depth.is_multiple_of(CHECKED) {
                agree(comm, signals::check())?;
            }
            let sparse = if adds { DENSE * comm.ranks() as u64 } else { SPARSE };
            let pulls = level.end > 1 && leaving > FEW.max(unreached / sparse);
            let next = if pulls {
                self.pull_level(level.end, workers)?
            } else if leaving > FEW {
                self.push_level(level.clone(), adds, workers)?
            } else {
                self.push_few(level.clone(), adds)
            };
            if !pulls && !adds && level.end > 1 {
                self.pull(next.clone(), In, workers)?;
            }
            if next.is_empty() {
                break;
            }
            set_alone(&self.starts, next.start as u32);
            let (list, sums) = (&self.order[next.clone()], &self.sums);
            let is_first = level.end == 1;
            let longest = self.rows.longest;
            let is_large = level::update(list, &mut self.paths, workers.threads, |v, _| {
                // Each vertex next to the source has one path.
                let count = if is_first { C::ONE } else { sums[v as usize] };
                (count, if adds { !count.sums_exactly(longest) } else { count.is_too_large() })
            })?;
            (self.extent.reached, self.extent.depth) = (next.end, self.extent.depth + 1);
            if is_large && !adds {
                return Ok(false);
            }
            adds &= !is_large;
            level = next;
        }
        Ok(true)
    }

    /// Backward pass: adds up the shares of the out-neighbours of every reached vertex except the source, and computes
    /// the vertex's own share.
    fn depend(&mut self, workers: Workers<'_>) -> Result<()> {
        let (mut end, mut number) = (self.extent.reached, self.extent.depth);
        while end > 1 {
            let level = self.level_before(end);
            if workers.comm.ranks() == 1 || number.is_multiple_of(CHECKED) {
                agree(workers.comm, signals::check())?;
            }
            // The vertices of the deepest level have no successors.
            if end == self.extent.reached {
                level::update(&self.order[level.clone()], &mut self.sums, workers.threads, |_, _| {
                    (C::default(), false)
                })?;
            } else {
                self.pull(level.clone(), Out, workers)?;
            }
            let (paths, sums) = (&self.paths, &self.sums);
            level::update(&self.order[level.clone()], &mut self.shares, workers.threads, |v, _| {
                let count = paths[v as usize];
                (count.share(count.dependency(sums[v as usize])), false)
            })?;
            (end, number) = (level.start, number - 1);
        }
        Ok(())
    }

    /// Returns the index range, in `order`, of the level that ends before index `end`.
    fn level_before(&self, end: usize) -> Range<usize> {
        let mut word = (end - 1) / 64;
        let mut bits = self.starts[word].load(Relaxed) & (u64::MAX >> (63 - (end - 1) % 64));
        while bits == 0 {
            word -= 1;
            bits = self.starts[word].load(Relaxed);
        }
        word * 64 + bits.ilog2() as usize..end
    }

    /// Sums values of neighbours for the vertices of a level: path counts of in-neighbours if `way` is `In`, shares of
    /// out-neighbours if it is `Out`. Ranks divide large levels among each other. Collective.
    fn pull(&mut self, level: Range<usize>, way: EdgeDirection, workers: Workers<'_>) -> Result<()> {
        let Search { rows, order, paths, shares, sums, .. } = self;
        // In the backward pass, only vertices of the next level have shares that count.
        let (values, from): (&[C], u32) = if way == In { (paths, 0) } else { (shares, order[level.end]) };
        let list = &order[level];
        let comm = workers.comm;
        let entries = |&v: &u32| rows.degree_of(v, way);
        if comm.ranks() == 1 || list.iter().map(entries).sum::<u64>() <= FEW {
            return level::pull(rows, (list, way), (values, from), sums, workers);
        }
        let own = rows.own(comm.rank());
        let [first, end] = [own.start, own.end].map(|end| list.partition_point(|&v| (v as usize) < end));
        agree(comm, level::pull(rows, (&list[first..end], way), (values, from), sums, workers).and(signals::check()))?;
        level::exchange(rows, list, sums, comm);
        Ok(())
    }

    /// Finds the next level by checking all unreached vertices. Sums the path counts of the in-neighbours of each
    /// vertex in the level. Appends the level to `order` at index `end`. Collective.
    fn pull_level(&mut self, end: usize, workers: Workers<'_>) -> Result<Range<usize>> {
        let Search { rows, reached, found, paths, sums, .. } = self;
        let comm = workers.comm;
        let is_unreached = |v: u32| !is_set(reached, v);
        let find = |v: u32| {
            found[v as usize / 64].fetch_or(1 << (v % 64), Relaxed);
        };
        agree(comm, level::pull_all(rows, paths, sums, workers.threads, (is_unreached, find)))?;
        if comm.ranks() == 1 {
            return Ok(self.collect(end));
        }
        // A word may contain vertices of two ranks.
        let words =
            |rank: usize| rows.firsts[rank] / 64..rows.firsts[rank + 1].div_ceil(64).max(rows.firsts[rank] / 64);
        let longest = (0..comm.ranks()).map(|rank| words(rank).len()).max().unwrap_or(0);
        let own = words(comm.rank());
        let mut next: Vec<usize> = (0..comm.ranks()).map(|rank| words(rank).start).collect();
        for at in (0..longest).step_by(Comm::PIECE) {
            let piece = &found[own.end.min(own.start + at)..own.end.min(own.start + at + Comm::PIECE)];
            let mine: Vec<u64> = piece.iter().map(|word| word.load(Relaxed)).collect();
            comm.gather_each(&mine, |from, words: &[u64]| {
                for &word in words {
                    found[next[from]].fetch_or(word, Relaxed);
                    next[from] += 1;
                }
            });
        }
        let next = self.collect(end);
        level::exchange(&self.rows, &self.order[next.clone()], &mut self.sums, comm);
        Ok(next)
    }

    /// Finds the next level along the rows of the vertices in `level`, with all threads. If `adds` is true, also adds
    /// up the path counts of the next level. Every rank does the same work.
    fn push_level(&mut self, level: Range<usize>, adds: bool, workers: Workers<'_>) -> Result<Range<usize>> {
        let Search { rows, order, reached, found, paths, sums, .. } = self;
        let (list, sums) = (&order[level.clone()], word_cells(sums));
        let find = |w: u32| {
            found[w as usize / 64].fetch_or(1 << (w % 64), Relaxed);
        };
        let is_new = |w: u32| !is_set(reached, w);
        if adds {
            let add = |v: u32, w: u32| {
                if is_new(w) && paths[v as usize].add_to(&sums[w as usize]) {
                    find(w);
                }
            };
            level::push(rows, list, workers, (|w| prefetch_near(sums, w as usize), add))?;
        } else {
            let visit = |_, w| {
                if is_new(w) && !is_set(found, w) {
                    find(w);
                }
            };
            level::push(rows, list, workers, (|_| (), visit))?;
        }
        rows.have_read(level.len());
        Ok(self.collect(level.end))
    }

    /// Finds the next level along the rows of the vertices in `level`, on the calling thread alone. If `adds` is true,
    /// also adds up the path counts of the next level.
    fn push_few(&mut self, level: Range<usize>, adds: bool) -> Range<usize> {
        let Search { rows, order, reached, paths, sums, .. } = self;
        let (mut end, mut unpacked) = (level.end, Unpacked::default());
        let (before, after) = order.split_at_mut(level.end);
        let list = &before[level.start..];
        rows.read_ahead((list.iter().copied(), Out), 0);
        rows.each_of(
            (list, Out),
            |_| (),
            |v| {
                rows.each(v, Out, &mut unpacked, |w| {
                    if set_alone(reached, w) {
                        after[end - level.end] = w;
                        end += 1;
                    }
                    if adds && paths[w as usize] == C::default() {
                        sums[w as usize] = sums[w as usize].plus(paths[v as usize]);
                    }
                });
            },
        );
        order[level.end..end].sort_unstable();
        rows.have_read(level.len());
        level.end..end
    }

    /// Appends the vertices that were found for the next level to `order` at index `end`, and marks them as reached.
    fn collect(&mut self, end: usize) -> Range<usize> {
        let mut next = end;
        for (number, (found, reached)) in self.found.iter_mut().zip(self.reached.iter_mut()).enumerate() {
            let mut word = std::mem::take(found.get_mut());
            *reached.get_mut() |= word;
            while word != 0 {
                self.order[next] = (64 * number) as u32 + word.trailing_zeros();
                word &= word - 1;
                next += 1;
            }
        }
        end..next
    }
}
