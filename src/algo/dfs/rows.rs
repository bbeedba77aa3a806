//! The adjacency rows of a graph for a depth-first search, which reads one row after another in random order.
//!
//! The search copies rows while it runs. A copied row contains only the neighbours that are not reached yet. A search
//! reaches vertices of high degree first, and most entries lead to them. Once it has reached a sixteenth of the
//! vertices of a Graph500 graph, a fifth of the entries is left. A copied row is short, and its address is found by one
//! look-up.
//!
//! If rows are in memory, they are copied once few entries are left. If rows are in files that do not fit in memory,
//! rows are copied from the last one backwards until memory is full. When the copies are made again later, more rows
//! fit. Rows without a copy are prefetched from disk: the search requests the rows of the next unreached neighbours
//! together, before it waits for any of them.

use crate::algo::bits::Lookup;
use crate::error::Result;
use crate::graph::block_store::BlockLocation;
use crate::graph::block_store::BlockStore;
use crate::graph::csr::Block;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::{Budget, Buffer, prefetch, random_access, usual_access, will_need};
use crate::prepare::prepared::Graph;
use crate::process::signals;
use std::sync::atomic::AtomicU64;

/// Base-2 logarithm of the number of consecutive rows per element of [`RowHalf::of_rows`].
const SHIFT: u32 = 12;
/// Maximum number of neighbours that are requested from disk at once, for each half of a row.
const ASKED: usize = 1 << 11;
/// Number of rows that are copied between two cancellation checks.
const STRIDE: u32 = 1 << 16;
/// When memory for copies of rows is reserved, at least 1/`SPARE` of the free memory remains free.
const SPARE: u64 = 16;
/// Thresholds for copying rows. Rows are copied once 1/`FIRST` of all vertices are reached, and again whenever the
/// number of reached vertices has grown by a factor of `MORE`.
const FIRST: u32 = 16;
const MORE: u32 = 4;
/// If all rows are in memory, memory for copies is reserved for 1/`IN_MEMORY` of all row entries.
const IN_MEMORY: u64 = 3;
/// Sampling interval, in rows, for estimating how many row entries lead to unreached vertices.
const SAMPLED: u32 = 64;
/// Number of row entries that are requested from a disk at once while rows are copied.
const WINDOW: usize = 1 << 20;

/// One half of each adjacency row. The lower half of a row contains the neighbours before the row's vertex in the order
/// of vertices, the upper half the neighbours after it.
struct RowHalf<'a> {
    store: &'a BlockStore,
    blocks: Vec<Block<'a>>,
    /// For every 2^[`SHIFT`]th row, the index in `blocks` of the block that contains it.
    of_rows: Vec<u32>,
}

/// Copies of the last adjacency rows, without the neighbours that were already reached when the copies were made.
struct Copies {
    /// The first vertex whose row is copied; equal to the number of vertices if no row is copied.
    first: u32,
    /// For each vertex from `first` on, the index in `entries` at which its row begins. Then the end of the last row.
    starts: Buffer<u32>,
    /// The copied rows. They are at the end of the buffer.
    entries: Buffer<u32>,
    /// Number of reached vertices from which on the rows are copied next.
    due: u32,
    /// Whether the rows of the graph are in files that do not fit in memory.
    from_disk: bool,
}

impl<'a> RowHalf<'a> {
    fn new(half: &'a BlockStore, rows: u64) -> RowHalf<'a> {
        let blocks: Vec<Block<'a>> = (0..half.len()).map(|b| half.block(b)).collect();
        let mut b = 0;
        let of_rows = (0..=rows >> SHIFT).map(|part| {
            while blocks.get(b + 1).is_some_and(|next| u64::from(next.first_row) <= part << SHIFT) {
                b += 1;
            }
            b as u32
        });
        RowHalf { store: half, of_rows: of_rows.collect(), blocks }
    }

    /// Returns the index of the block that contains row `row`.
    #[inline]
    fn block_of(&self, row: u32) -> usize {
        let mut b = self.of_rows[(row >> SHIFT) as usize] as usize;
        while row >= self.blocks[b].end_row() {
            b += 1;
        }
        b
    }

    /// Returns the block that contains row `row`, and the index of the row in that block.
    #[inline]
    fn locate(&self, row: u32) -> (&Block<'a>, usize) {
        let block = &self.blocks[self.block_of(row)];
        (block, (row - block.first_row) as usize)
    }

    /// Requests data from disk for a pass over all rows from the last to the first, which is at row `row`. `asked`
    /// contains the block that was last requested, and the index of the first entry that was requested from it.
    /// Releases the pages of blocks that the pass has finished.
    fn read_ahead_of_pass(&self, row: u32, asked: &mut Option<(usize, usize)>) {
        let b = self.block_of(row);
        let block = &self.blocks[b];
        if asked.is_none_or(|(before, _)| before != b) {
            asked.iter().for_each(|&(before, _)| self.store.release(before));
            *asked = Some((b, block.targets.len()));
        }
        if let Some((_, from)) = asked {
            let wanted = (block.offsets[(row - block.first_row) as usize] as usize).saturating_sub(WINDOW);
            while *from > wanted {
                let next = from.saturating_sub(WINDOW);
                will_need(&block.targets[next..*from]);
                *from = next;
            }
        }
    }

    #[inline]
    fn row(&self, row: u32) -> &'a [u32] {
        let (block, local) = self.locate(row);
        let (first, end) = (block.offsets[local], block.offsets[local + 1]);
        &block.targets[first as usize..end as usize]
    }

    /// Prefetches the offset at which row `row` begins.
    #[inline]
    fn prefetch_offset(&self, row: u32) {
        let (block, local) = self.locate(row);
        prefetch(block.offsets, local);
    }
}

impl Copies {
    #[inline]
    fn row(&self, v: u32) -> &[u32] {
        let [first, end] = [self.starts[v as usize], self.starts[v as usize + 1]];
        &self.entries[first as usize..end as usize]
    }
}

/// The adjacency rows of a graph, with copies of some rows, as a depth-first search reads them.
pub(super) struct SearchRows<'a> {
    /// The lower halves of all rows, then the upper halves.
    halves: [RowHalf<'a>; 2],
    direction: Direction,
    /// Number of vertices that have edges.
    vertices: u32,
    /// Copies of rows, or memory reserved for them; `None` if memory is too small for copies.
    copies: Option<Copies>,
    /// Whether the kernel was advised not to read ahead in the files of rows.
    is_random: bool,
}

impl Drop for SearchRows<'_> {
    fn drop(&mut self) {
        self.drop_copies();
    }
}

/// The bitmap of reached vertices, and the vector instructions that look up vertices in it.
type Reached<'a> = (&'a [AtomicU64], Lookup);

/// The neighbours of a vertex in two halves: those before the vertex in the order of vertices, and those after it.
#[derive(Clone, Copy, Default)]
pub(super) struct Neighbours<'a>(pub [&'a [u32]; 2]);

/// Number of neighbours in a chunk of a row. The search tests one chunk at a time.
const CHUNK: usize = 64;

impl<'a> Neighbours<'a> {
    /// Returns the number of chunks of the row. Each half of the row is divided into chunks of 64 neighbours
    /// separately.
    #[inline]
    pub fn chunks(&self) -> usize {
        self.0[0].len().div_ceil(CHUNK) + self.0[1].len().div_ceil(CHUNK)
    }

    /// Returns the neighbours in the chunk at index `number`. The last chunk of each half may have fewer than 64.
    #[inline]
    pub fn chunk(&self, number: usize) -> &'a [u32] {
        let of_lower = self.0[0].len().div_ceil(CHUNK);
        let (half, number) = if number < of_lower { (self.0[0], number) } else { (self.0[1], number - of_lower) };
        &half[CHUNK * number..half.len().min(CHUNK * (number + 1))]
    }
}

impl<'a> SearchRows<'a> {
    /// Opens the adjacency rows of a graph, which must have both the lower and the upper halves of rows.
    ///
    /// # Errors
    /// [`crate::Error::Usage`] if the upper halves are missing.
    pub fn new(graph: &'a Graph) -> Result<SearchRows<'a>> {
        let direction = graph.info.direction;
        let rows = direction.rows(graph.info.connected);
        let halves = [&graph.block_store, graph.upper()?].map(|half| RowHalf::new(half, rows));
        Ok(SearchRows { halves, direction, vertices: graph.info.connected as u32, copies: None, is_random: false })
    }

    /// Reserves memory for copies of rows, if `budget` has enough. If the rows are in files that do not fit in memory,
    /// reserves nearly all free memory.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn reserve_copies(&mut self, budget: &Budget) -> Result<()> {
        let (stores, free) = (self.halves.each_ref().map(|half| half.store), budget.free());
        let in_files = !stores[0].is_empty() && matches!(stores[0].location(0), BlockLocation::InFile(_));
        let from_disk = in_files && stores.iter().map(|half| half.bytes()).sum::<u64>() > free;
        let purpose = "the last rows of a graph, without neighbours that are reached";
        let starts = 4 * (u64::from(self.vertices) + 1);
        let most = ((free - free / SPARE).saturating_sub(starts) / 4).min(u32::MAX.into());
        let all = stores.iter().map(|half| half.edges()).sum::<u64>() >> self.direction.shift();
        let entries = if from_disk { all.min(most) } else { all / IN_MEMORY };
        if entries > 0 && entries <= most {
            self.copies = Some(Copies {
                first: self.vertices,
                starts: budget.zeroed(self.vertices as usize + 1, purpose)?,
                entries: budget.zeroed(entries as usize, purpose)?,
                due: self.vertices / FIRST,
                from_disk,
            });
        }
        self.is_random = from_disk;
        self.targets().filter(|_| from_disk).for_each(random_access);
        Ok(())
    }

    /// Returns an iterator over the blocks of both halves. It yields one slice per block, with the entries of all rows.
    fn targets(&self) -> impl Iterator<Item = &'a [u32]> {
        self.halves.iter().flat_map(|half| &half.blocks).map(|block| block.targets)
    }

    /// Returns true if rows should be copied, or copied again, now that `reached` vertices are reached.
    pub fn copies_are_due(&self, reached: u32) -> bool {
        self.copies.as_ref().is_some_and(|copies| copies.first > 0 && reached >= copies.due)
    }

    /// Copies as many of the last rows as fit, without the neighbours that are `reached`. The copied row of a vertex is
    /// empty if `finished` returns true for the vertex. Copying changes the division of rows into chunks. If rows are
    /// in memory, nothing is copied unless all entries with unreached neighbours fit.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub fn copy_last(&mut self, reached: Reached<'_>, finished: impl Fn(u32) -> bool) -> Result<()> {
        let Some(mut copies) = self.copies.take() else { return Ok(()) };
        copies.due = copies.due.saturating_mul(MORE).max(1);
        let fits = copies.from_disk || self.entries_left(reached) <= copies.entries.len() as u64;
        let filled = if fits { self.fill(&mut copies, reached, finished) } else { Ok(()) };
        self.copies = Some(copies);
        filled
    }

    /// Estimates how many row entries lead to unreached vertices.
    fn entries_left(&self, (seen, lookup): Reached<'_>) -> u64 {
        let of_chunk = |chunk: &[u32]| u64::from(lookup.lacking(seen, chunk).count_ones());
        let of_row = |row: Neighbours<'_>| (0..row.chunks()).map(|number| of_chunk(row.chunk(number))).sum::<u64>();
        let sampled = (0..self.vertices).step_by(SAMPLED as usize);
        u64::from(SAMPLED) * sampled.map(|v| of_row(self.original(v))).sum::<u64>()
    }

    fn fill(&self, copies: &mut Copies, (seen, lookup): Reached<'_>, finished: impl Fn(u32) -> bool) -> Result<()> {
        let Copies { first, starts, entries, from_disk, .. } = copies;
        let (mut at, mut asked) = (entries.len(), [None; 2]);
        *first = self.vertices;
        starts[self.vertices as usize] = at as u32;
        for v in (0..self.vertices).rev() {
            if v % STRIDE == 0 {
                signals::check()?;
            }
            if !finished(v) {
                if *from_disk {
                    let row = self.direction.row(v, EdgeDirection::Out);
                    self.halves.iter().zip(&mut asked).for_each(|(half, asked)| half.read_ahead_of_pass(row, asked));
                }
                let row = self.original(v);
                if row.0[0].len() + row.0[1].len() > at {
                    break;
                }
                for number in (0..row.chunks()).rev() {
                    let chunk = row.chunk(number);
                    let mut new = lookup.lacking(seen, chunk);
                    while new != 0 {
                        let place = new.ilog2();
                        new ^= 1 << place;
                        at -= 1;
                        entries[at] = chunk[place as usize];
                    }
                }
            }
            starts[v as usize] = at as u32;
            *first = v;
        }
        self.halves
            .iter()
            .zip(asked)
            .for_each(|(half, asked)| asked.into_iter().for_each(|(b, _)| half.store.release(b)));
        Ok(())
    }

    /// Frees the copied rows, and allows the kernel to read ahead in files again, because later passes read rows in
    /// order.
    pub fn drop_copies(&mut self) {
        self.copies = None;
        let was_random = std::mem::take(&mut self.is_random);
        self.targets().filter(|_| was_random).for_each(usual_access);
    }

    /// Returns the copies if they contain the row of vertex `v`.
    #[inline]
    fn copies_with(&self, v: u32) -> Option<&Copies> {
        self.copies.as_ref().filter(|copies| v >= copies.first)
    }

    /// Requests the first entries of the rows of `vertices` from disk, without waiting for them. Does nothing unless
    /// the rows are in files that do not fit in memory.
    #[inline]
    pub fn read_ahead(&self, vertices: impl Iterator<Item = u32>) {
        if let Some(copies) = self.copies.as_ref().filter(|copies| copies.from_disk) {
            for v in vertices.filter(|&v| v < copies.first) {
                let row = self.direction.row(v, EdgeDirection::Out);
                for of_row in self.halves.each_ref().map(|half| half.row(row)) {
                    will_need(&of_row[..of_row.len().min(ASKED)]);
                }
            }
        }
    }

    /// Returns the out-neighbours of vertex `v`. If the copies contain its row, reached neighbours may be missing.
    #[inline]
    pub fn of(&self, v: u32) -> Neighbours<'_> {
        if let Some(copies) = self.copies_with(v) {
            return Neighbours([&[], copies.row(v)]);
        }
        self.original(v)
    }

    /// Returns all out-neighbours of vertex `v`, from the rows of the graph.
    #[inline]
    fn original(&self, v: u32) -> Neighbours<'a> {
        let row = self.direction.row(v, EdgeDirection::Out);
        Neighbours([self.halves[0].row(row), self.halves[1].row(row)])
    }

    /// Prefetches the offset at which the row of vertex `v` begins, in both halves.
    #[inline]
    pub fn prefetch_offset(&self, v: u32) {
        if let Some(copies) = self.copies_with(v) {
            return prefetch(&copies.starts, v as usize);
        }
        let row = self.direction.row(v, EdgeDirection::Out);
        self.halves.iter().for_each(|half| half.prefetch_offset(row));
    }

    /// Prefetches the first neighbours in the row of vertex `v`. The offset of the row should be in a cache already.
    #[inline]
    pub fn fetch(&self, v: u32) {
        if let Some(copies) = self.copies_with(v) {
            return prefetch(copies.row(v), 0);
        }
        let row = self.direction.row(v, EdgeDirection::Out);
        self.halves.iter().for_each(|half| prefetch(half.row(row), 0));
    }
}
