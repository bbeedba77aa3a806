//! The rows of all vertices, for algorithms in which every vertex reads values of its neighbours. Each rank owns a
//! range of consecutive vertices. The rows of each range have about the same number of neighbours.

mod list;

use crate::algo::team::{WorkList, team};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::block_store::{BlockStore, Unpacked};
use crate::graph::csr::Block;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::graph::half::Half;
use crate::memory::{Budget, Number, prefetch_near};
use crate::prepare::prepared::Graph;
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub(in crate::algo) use list::{Batch, VertexList};

/// Maximum number of neighbours in the rows that a step reads if every rank does the whole step on one thread. For so
/// few neighbours, starting threads and sending messages would take longer.
pub(in crate::algo) const FEW: u64 = 1 << 14;
/// Inverse of the threshold at which a search reads the rows of all remaining vertices instead of the frontier's rows.
/// It does so if the frontier's rows have more than 1/`SPARSE` of the remaining work (mainly the neighbours that are
/// still to be read).
pub(in crate::algo) const SPARSE: u64 = 8;
/// Number of steps that read few neighbours ([`FEW`]) between two checks for signals, if there are several ranks.
pub(in crate::algo) const CHECKED: u64 = 1 << 10;
/// Number of neighbours in a part (range of vertices) that a thread takes at a time, unless a single vertex has more.
const PART: u64 = 1 << 15;
/// Cost of a vertex when work is divided, in addition to one unit for each neighbour.
const VERTEX: u64 = 4;
/// Maximum number of rows that are read in arbitrary order before blocks of rows are freed.
const READ: usize = 1 << 10;
/// Prefetch distance, in neighbours of a row.
const AHEAD: usize = 32;
/// Prefetch distance, in vertices of a list. A row is prefetched in three steps, which are this many vertices apart:
/// first its start, then its entries, then the values of its neighbours.
const STEP: usize = 8;
/// Number of neighbours, in each half of a row, whose values are prefetched.
const FIRST: usize = 4;
/// Number of parts (ranges of vertices) whose rows are read from a disk together.
const GROUP: usize = 1 << 4;
/// Distance between the part (range of vertices) that is processed and the parts that are read ahead from a disk, in
/// parts.
const EARLY: usize = 1 << 6;
/// Inverse of the threshold for scattered lists. The vertices of a list are scattered if they are fewer than
/// 1/`SCATTERED` of all vertices from the first to the last of them.
const SCATTERED: usize = 16;

/// The rows of all vertices. The vertices are divided into parts: ranges of consecutive vertices that a thread takes at
/// a time.
pub(in crate::algo) struct Neighbours<'g> {
    pub halves: [&'g BlockStore; 2],
    /// Index that finds a row without a search; `None` if rows are packed (compressed) or not all on this rank.
    index: Option<Adjacency<'g>>,
    pub direction: Direction,
    /// Number of neighbours in each row.
    degrees: &'g [u32],
    /// The parts (ranges of vertices) that this rank owns.
    pub parts: Vec<Range<usize>>,
    /// First vertex that each rank owns, followed by the number of all vertices.
    pub firsts: Vec<usize>,
    /// Largest number of neighbours of any vertex.
    pub longest: u64,
    /// Whether blocks of rows are freed when they have been read, because they do not all fit in memory.
    pub releases: bool,
    /// Whether rows are in files that do not all fit in memory.
    pub on_disk: bool,
    /// Number of rows that were read in arbitrary order since blocks of rows were last freed.
    read: usize,
}

impl<'g> Neighbours<'g> {
    /// Divides the vertices into parts (ranges of vertices), and the parts among the ranks. Blocks of rows in files are
    /// freed after use if they do not all fit in the memory that `budget` has left.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if the graph was opened without the upper half.
    pub(in crate::algo) fn new(
        graph: &'g Graph,
        degrees: &'g [u32],
        comm: &Comm,
        budget: &Budget,
    ) -> Result<Neighbours<'g>> {
        let halves = [&graph.block_store, graph.upper()?];
        let releases = halves.iter().map(|half| half.bytes()).sum::<u64>() > budget.free();
        let mut rows = Neighbours {
            halves,
            index: halves.iter().all(|half| half.is_local()).then(|| Adjacency::new(halves[0], halves[1])),
            direction: graph.info.direction,
            degrees,
            parts: Vec::new(),
            firsts: Vec::new(),
            longest: 0,
            releases,
            on_disk: releases && halves.iter().all(|half| half.is_in_files()),
            read: 0,
        };
        let (mut parts, mut first, mut cost) = (Vec::new(), 0, 0);
        let vertices = graph.info.connected as usize;
        for v in 0..vertices {
            let entries = rows.entries(v);
            rows.longest = rows.longest.max(entries);
            cost += entries + VERTEX;
            if cost >= PART || v + 1 == vertices {
                parts.push(first..v + 1);
                (first, cost) = (v + 1, 0);
            }
        }
        let of_rank = |rank: usize| parts.len() * rank / comm.ranks();
        let first = |rank: usize| parts.get(of_rank(rank)).map_or(vertices, |part| part.start);
        rows.firsts = (0..=comm.ranks()).map(first).collect();
        rows.parts = parts[of_rank(comm.rank())..of_rank(comm.rank() + 1)].to_vec();
        Ok(rows)
    }

    /// Returns the range of vertices that `rank` owns.
    pub(in crate::algo) fn own(&self, rank: usize) -> Range<usize> {
        self.firsts[rank]..self.firsts[rank + 1]
    }

    /// Returns a queue of the parts (ranges of vertices) that this rank owns, each with the slice of `values` for its
    /// vertices. Threads take them one at a time.
    pub(in crate::algo) fn work<'v, T>(&self, values: &'v mut [T]) -> WorkList<(Range<usize>, &'v mut [T])> {
        WorkList::new(slices(self.parts.iter().cloned(), values))
    }

    /// Calls `visit` with each vertex that this rank owns, its element of `values`, and a state of the calling thread,
    /// on `threads` threads. Each thread creates its state by calling `state`. Each block of rows is freed once no
    /// remaining vertex needs it, unless all blocks fit in memory.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
    pub(in crate::algo) fn each_own<T: Send, S>(
        &self,
        values: &mut [T],
        threads: usize,
        state: impl Fn() -> S + Sync,
        visit: impl Fn(u32, &mut T, &mut S) + Sync,
    ) -> Result<()> {
        let (left, work) = (self.parts_of_blocks(&self.parts), self.work(values));
        team(threads, &|_| {
            let mut state = state();
            while let Some((part, values)) = work.take() {
                signals::check()?;
                (part.start as u32..).zip(values).for_each(|(v, value)| visit(v, value, &mut state));
                self.release(&part, &left);
            }
            Ok(())
        })
    }

    /// Returns the row indices of a range of consecutive vertices. A vertex has one row, or two in a directed graph.
    pub(in crate::algo) fn rows(&self, vertices: Range<usize>) -> Range<u32> {
        (vertices.start << self.direction.shift()) as u32..(vertices.end << self.direction.shift()) as u32
    }

    /// Returns the number of neighbours in the rows of vertex `v`.
    #[inline]
    pub(in crate::algo) fn entries(&self, v: usize) -> u64 {
        let rows = self.rows(v..v + 1);
        self.degrees[rows.start as usize..rows.end as usize].iter().map(|&degree| u64::from(degree)).sum()
    }

    /// Returns the number of neighbours in all rows of the graph.
    pub(in crate::algo) fn all_entries(&self) -> u64 {
        self.halves.iter().map(|half| half.edges()).sum()
    }

    /// Yields the rows of vertex `v`, each as a block that contains only this row.
    #[inline]
    pub(in crate::algo) fn of<'u>(
        &'u self,
        v: usize,
        unpacked: &'u mut [[Unpacked; 2]; 2],
    ) -> impl Iterator<Item = Block<'u>> {
        self.rows(v..v + 1).zip(unpacked).flat_map(|(row, unpacked)| self.row(row, unpacked))
    }

    /// Returns both halves of a row (smaller and larger neighbours), each as a block that contains only this row.
    #[inline]
    pub(in crate::algo) fn row<'u>(&'u self, row: u32, unpacked: &'u mut [Unpacked; 2]) -> [Block<'u>; 2] {
        let Some(index) = &self.index else {
            let ([lower, upper], [unpacked_lower, unpacked_upper]) = (self.halves, unpacked);
            return [lower.row_in_block(row, unpacked_lower), upper.row_in_block(row, unpacked_upper)];
        };
        index.views(row)
    }

    /// Returns the index of all rows, if they are in the memory of this rank.
    pub(in crate::algo) fn in_memory(&self) -> Option<&Adjacency<'g>> {
        self.index.as_ref().filter(|_| !self.releases)
    }

    /// Calls `visit` with every neighbour of vertex `v` in direction `way`.
    #[inline]
    pub(in crate::algo) fn each(
        &self,
        v: u32,
        way: EdgeDirection,
        unpacked: &mut [Unpacked; 2],
        mut visit: impl FnMut(u32),
    ) {
        for row in self.row(self.direction.row(v, way), unpacked) {
            row.row(0).iter().for_each(|&w| visit(w));
        }
    }

    /// Returns true if rows are in memory and the rows of the vertices in `list` are likely to be far from each other.
    /// The decision depends only on the first and the last vertex, and on the number of vertices.
    pub(in crate::algo) fn are_scattered(&self, list: &[u32]) -> bool {
        let span = list.first().zip(list.last()).map_or(0, |(&first, &last)| first.abs_diff(last) as usize);
        self.index.is_some() && !self.on_disk && span > SCATTERED * list.len()
    }

    /// Calls `visit` with the vertices in `list`, in order. If the vertices are scattered, prefetches the rows of later
    /// vertices, and calls `expect` with the first few neighbours of each later vertex. `expect` should prefetch the
    /// data that `visit` will read for this neighbour.
    #[inline(always)]
    pub(in crate::algo) fn each_of(
        &self,
        (list, way): (&[u32], EdgeDirection),
        expect: impl Fn(u32),
        mut visit: impl FnMut(u32),
    ) {
        let index = self.index.as_ref().filter(|_| self.are_scattered(list));
        let row = |at: usize| list.get(at).map(|&v| self.direction.row(v, way));
        for (at, &v) in list.iter().enumerate() {
            if let Some(index) = index {
                row(at + 3 * STEP).into_iter().for_each(|row| index.prefetch_starts(row));
                row(at + 2 * STEP).into_iter().for_each(|row| index.prefetch_neighbours(row));
                let halves = row(at + STEP).map_or([&[][..]; 2], |row| index.halves(row));
                halves.into_iter().flat_map(|half| half.iter().take(FIRST)).for_each(|&w| expect(w));
            }
            visit(v);
        }
    }

    /// Tells the operating system that rows are read at random, so that it reads ahead only what [`Self::read_ahead`]
    /// requests.
    pub(in crate::algo) fn expect_random_access(&mut self) {
        self.index.iter_mut().filter(|_| self.on_disk).for_each(Adjacency::expect_random_access);
    }

    /// Asks the operating system to begin to read the rows of `vertices` from the disk. Does nothing if the rows fit in
    /// memory. The vertices must ascend. For vertices up to `from`, only the upper halves of the rows are read.
    pub(in crate::algo) fn read_ahead(
        &self,
        (vertices, way): (impl Iterator<Item = u32> + Clone, EdgeDirection),
        from: u32,
    ) {
        if let Some(index) = self.index.as_ref().filter(|_| self.on_disk) {
            let row = |v| self.direction.row(v, way);
            index.read_ahead(Half::Lower, vertices.clone().filter(|&v| v > from).map(row), true);
            index.read_ahead(Half::Upper, vertices.map(row), true);
        }
    }

    /// Returns the index range of the parts (ranges of vertices) to read ahead from a disk while part `at` of `parts`
    /// parts is processed.
    pub(in crate::algo) fn ahead(&self, at: usize, parts: usize) -> Range<usize> {
        if !self.on_disk || !at.is_multiple_of(GROUP) {
            return 0..0;
        }
        let first = if at == 0 { 0 } else { at + EARLY };
        first.min(parts)..(at + EARLY + GROUP).min(parts)
    }

    /// Returns the number of neighbours of vertex `v` in direction `way`.
    #[inline]
    pub(in crate::algo) fn degree_of(&self, v: u32, way: EdgeDirection) -> u64 {
        self.degrees[self.direction.row(v, way) as usize].into()
    }

    /// Divides the vertices in `list` into parts with about the same number of neighbours in direction `way`.
    pub(in crate::algo) fn divide<'l>(&self, list: &'l [u32], way: EdgeDirection) -> Vec<&'l [u32]> {
        let (mut parts, mut first, mut cost) = (Vec::new(), 0, 0);
        for (at, &v) in list.iter().enumerate() {
            cost += self.degree_of(v, way) + VERTEX;
            if cost >= PART || at + 1 == list.len() {
                parts.push(&list[first..=at]);
                (first, cost) = (at + 1, 0);
            }
        }
        parts
    }

    /// Sends the elements of `values` for the vertices that this rank owns to all ranks, and receives the other
    /// elements. Collective.
    pub(in crate::algo) fn share<T: Number>(&self, values: &mut [T], comm: &Comm) {
        let (own, longest) = (self.own(comm.rank()), self.firsts.windows(2).map(|pair| pair[1] - pair[0]).max());
        for at in (0..longest.unwrap_or(0)).step_by(Comm::PIECE).filter(|_| comm.ranks() > 1) {
            let mine = values[own.end.min(own.start + at)..own.end.min(own.start + at + Comm::PIECE)].to_vec();
            let mut next: Vec<usize> = self.firsts.iter().map(|first| first + at).collect();
            comm.gather_each(&mine, |from, theirs: &[T]| {
                values[next[from]..next[from] + theirs.len()].copy_from_slice(theirs);
                next[from] += theirs.len();
            });
        }
    }

    /// Returns, for each block of rows in both halves, the number of `parts` (ranges of vertices) that read it. All
    /// numbers are 0 if blocks stay in memory.
    pub(in crate::algo) fn parts_of_blocks(&self, parts: &[Range<usize>]) -> [Vec<AtomicUsize>; 2] {
        let left = self.halves.map(|half| (0..half.len()).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>());
        for (half, left) in self.halves.iter().zip(&left).filter(|_| self.releases) {
            for part in parts {
                half.blocks_of(self.rows(part.clone())).for_each(|b| {
                    left[b].fetch_add(1, Relaxed);
                });
            }
        }
        left
    }

    /// Decrements the numbers in `left`, the result of [`Self::parts_of_blocks`], for the blocks of rows that `part`
    /// has read. Frees the blocks that no other part will read.
    pub(in crate::algo) fn release(&self, part: &Range<usize>, left: &[Vec<AtomicUsize>; 2]) {
        for (half, left) in self.halves.iter().zip(left).filter(|_| self.releases) {
            let done = half.blocks_of(self.rows(part.clone())).filter(|&b| left[b].fetch_sub(1, Relaxed) == 1);
            done.for_each(|b| half.release(b));
        }
    }

    /// Adds `rows` to the number of rows that were read in arbitrary order. After more than [`READ`] rows, frees all
    /// blocks of rows, unless all fit in memory.
    pub(in crate::algo) fn have_read(&mut self, rows: usize) {
        self.read += rows;
        if self.read > READ {
            for half in self.halves.iter().filter(|_| self.releases) {
                (0..half.len()).for_each(|block| half.release(block));
            }
            self.read = 0;
        }
    }
}

/// Returns the slice of `values` for each of the index ranges `ranges`, which ascend.
pub(in crate::algo) fn slices<T>(
    ranges: impl Iterator<Item = Range<usize>>,
    values: &mut [T],
) -> Vec<(Range<usize>, &mut [T])> {
    let (mut rest, mut at) = (values, 0);
    let slice = |range: Range<usize>| {
        let (own, after) = std::mem::take(&mut rest).split_at_mut(range.start - at).1.split_at_mut(range.len());
        (rest, at) = (after, range.end);
        (range, own)
    };
    ranges.map(slice).collect()
}

/// Returns the range from the first vertex of `part` to the last one. The vertices of `part` must ascend.
pub(in crate::algo) fn span(part: &[u32]) -> Range<usize> {
    part[0] as usize..part[part.len() - 1] as usize + 1
}

/// Calls `each` with the value of every neighbour in `rows`. Each element of `rows` is a block with a single row.
#[inline(always)]
pub(in crate::algo) fn each_value<'r, T: Copy>(
    rows: impl IntoIterator<Item = Block<'r>>,
    values: &[T],
    mut each: impl FnMut(T),
) {
    any_value(rows, values, |value| {
        each(value);
        false
    });
}

/// Calls `is_last` with the values of neighbours, in the order of [`each_value`], until a call returns true. Returns
/// true if one did.
#[inline(always)]
pub(in crate::algo) fn any_value<'r, T: Copy>(
    rows: impl IntoIterator<Item = Block<'r>>,
    values: &[T],
    mut is_last: impl FnMut(T) -> bool,
) -> bool {
    rows.into_iter().any(|Block { offsets, targets, .. }| {
        any_value_of(targets, offsets[0] as usize..offsets[1] as usize, values, &mut is_last)
    })
}

/// Calls `is_last` with the values of the neighbours `targets[row]`, until a call returns true. Returns true if one
/// did. Also prefetches the values of the neighbours after the row, because rows are short and the next row is likely
/// to be read next.
#[inline(always)]
pub(in crate::algo) fn any_value_of<T: Copy>(
    targets: &[u32],
    row: Range<usize>,
    values: &[T],
    mut is_last: impl FnMut(T) -> bool,
) -> bool {
    let ahead = &targets[(row.start + AHEAD).min(targets.len())..(row.end + AHEAD).min(targets.len())];
    let (row, last) = targets[row].split_at(ahead.len());
    for (&u, &later) in row.iter().zip(ahead) {
        prefetch_near(values, later as usize);
        if is_last(values[u as usize]) {
            return true;
        }
    }
    last.iter().any(|&u| is_last(values[u as usize]))
}
