//! Sums of PageRank contributions. Every vertex adds up the contributions of its in-neighbours, which are in both
//! halves of its row.

use crate::algo::team::{WorkList, team};
use crate::error::Result;
use crate::graph::block_store::{BlockStore, Unpacked};
use crate::graph::csr::Block;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::{Budget, prefetch_near};
use crate::prepare::prepared::Graph;
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Number of neighbours in a range of rows that a thread processes at a time. A range has more only if a single row has
/// more.
const PART: u64 = 1 << 15;
/// Prefetch distance, in neighbours of a row. The hardware does not prefetch beyond the end of a short row, because the
/// branch there is mispredicted.
const AHEAD: usize = 48;

/// A range of consecutive rows of a block.
#[derive(Debug, Clone)]
struct RowRange {
    block: usize,
    /// Index range of the rows, relative to the first row of the block.
    rows: Range<usize>,
}

/// The rows of one half (smaller or larger neighbours) that this MPI rank processes, in ranges of about [`PART`]
/// neighbours.
struct HalfRows<'g> {
    half: &'g BlockStore,
    parts: Vec<RowRange>,
    /// Number of ranges of rows in each block.
    of_blocks: Vec<usize>,
}

impl<'g> HalfRows<'g> {
    /// Divides the rows of `half` into ranges, which are assigned to the MPI ranks round-robin.
    fn new(half: &'g BlockStore, rank: usize, ranks: usize) -> HalfRows<'g> {
        let (mut parts, mut of_blocks, mut number) = (Vec::new(), vec![0; half.len()], 0);
        for (block, of_block) in of_blocks.iter_mut().enumerate() {
            for rows in divided(half, block) {
                if number % ranks == rank {
                    parts.push(RowRange { block, rows });
                    *of_block += 1;
                }
                number += 1;
            }
        }
        HalfRows { half, parts, of_blocks }
    }
}

/// Divides the rows of a block into ranges of about [`PART`] neighbours.
fn divided(half: &BlockStore, block: usize) -> Vec<Range<usize>> {
    let size = half.size(block);
    let rows = size.rows as usize;
    let mut ranges = Vec::new();
    let mut first = 0;
    // The offsets of packed rows are not in memory, so their ranges have equal numbers of rows.
    let even = (size.rows * PART / size.entries.max(1)).clamp(1, size.rows.max(1)) as usize;
    let offsets = half.packed().is_none().then(|| half.block(block).offsets);
    while first < rows {
        let end = match offsets {
            Some(offsets) => {
                let most = u64::from(offsets[first]) + PART;
                // Empty rows take time, too, so a range has at most `PART` rows.
                let last = rows.min(first + PART as usize);
                first + offsets[first + 1..=last].partition_point(|&end| u64::from(end) <= most).max(1)
            }
            None => rows.min(first + even),
        };
        ranges.push(first..end);
        first = end;
    }
    ranges
}

/// The rows of both halves (smaller and larger neighbours) that this MPI rank processes.
pub(super) struct PullRows<'g> {
    halves: [HalfRows<'g>; 2],
    direction: Direction,
    /// Whether blocks of rows are released after they have been read, because they do not all fit in memory.
    releases: bool,
    /// Whether other MPI ranks process some of the rows.
    is_shared: bool,
}

impl<'g> PullRows<'g> {
    /// Divides the rows of a graph among `ranks` MPI ranks. Blocks of rows in files are released after use if they do
    /// not all fit in the memory that `budget` has left.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if the graph was opened without the upper half.
    pub(super) fn new(graph: &'g Graph, (rank, ranks): (usize, usize), budget: &Budget) -> Result<PullRows<'g>> {
        let halves = [&graph.block_store, graph.upper()?];
        let releases = halves.iter().map(|half| half.bytes()).sum::<u64>() > budget.free();
        let halves = halves.map(|half| HalfRows::new(half, rank, ranks));
        if releases {
            halves.iter().for_each(|HalfRows { half, .. }| (0..half.len()).for_each(|block| half.release(block)));
        }
        Ok(PullRows { halves, direction: graph.info.direction, releases, is_shared: ranks > 1 })
    }

    /// Sums the contributions to each vertex, along the rows that this MPI rank processes. Writes the results to
    /// `sums`.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn sum(&self, contributions: &[u64], sums: &mut [u64], threads: usize) -> Result<()> {
        if self.is_shared {
            sums.fill(0);
        }
        for (half, adds) in self.halves.iter().zip([self.is_shared, true]) {
            let mut work = Vec::with_capacity(half.parts.len());
            let (mut rest, mut at) = (&mut *sums, 0);
            for part in &half.parts {
                let vertices = self.vertices(half.half.first_row(part.block), &part.rows);
                let (own, after) = rest.split_at_mut(vertices.start - at).1.split_at_mut(vertices.len());
                (rest, at) = (after, vertices.end);
                work.push((part, own));
            }
            let left: Vec<AtomicUsize> = half.of_blocks.iter().map(|&parts| AtomicUsize::new(parts)).collect();
            let work = WorkList::new(work);
            team(threads, &|_| {
                let mut unpacked = Unpacked::default();
                while let Some((part, own)) = work.take() {
                    signals::check()?;
                    let block = half.half.part(part.block, part.rows.clone(), &mut unpacked);
                    pull(block, self.direction, contributions, own, adds);
                    if left[part.block].fetch_sub(1, Relaxed) == 1 && self.releases {
                        half.half.release(part.block);
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns the range of vertices whose in-rows are among the rows `rows` of a block. The block begins at row
    /// `first_row`.
    fn vertices(&self, first_row: u32, rows: &Range<usize>) -> Range<usize> {
        let vertex = |row: usize| (first_row as usize + row) >> self.direction.shift();
        vertex(rows.start)..vertex(rows.end)
    }
}

/// Sums the contributions of the in-neighbours in each in-row of `block`. `sums` has an element for each in-row. If
/// `adds` is true, adds the results to `sums`; otherwise stores them there.
fn pull(block: Block<'_>, direction: Direction, contributions: &[u64], sums: &mut [u64], adds: bool) {
    let step = 1 << direction.shift();
    // In a directed graph every second row is an in-row.
    let first = (direction.row(0, EdgeDirection::In) as usize + block.first_row as usize * (step - 1)) % step;
    let targets = block.targets;
    for (sum, ends) in sums.iter_mut().zip(block.offsets.windows(2).skip(first).step_by(step)) {
        let [start, end] = [ends[0] as usize, ends[1] as usize];
        let ahead = &targets[(start + AHEAD).min(targets.len())..(end + AHEAD).min(targets.len())];
        let found = sum_of(&targets[start..end], ahead, contributions);
        *sum = if adds { sum.wrapping_add(found) } else { found };
    }
}

/// Returns the sum of the contributions of the neighbours in `row`. Prefetches the contributions of `ahead`: neighbours
/// that are needed later. `ahead` must not be longer than `row`.
#[inline]
fn sum_of(row: &[u32], ahead: &[u32], contributions: &[u64]) -> u64 {
    let add = |sum: u64, &u: &u32| sum.wrapping_add(contributions[u as usize]);
    let (row, last) = row.split_at(ahead.len());
    let sum = row.iter().zip(ahead).fold(0, |sum, (u, &later)| {
        prefetch_near(contributions, later as usize);
        add(sum, u)
    });
    last.iter().fold(sum, add)
}
