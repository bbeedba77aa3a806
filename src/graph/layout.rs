//! Divides rows into blocks, and blocks into bins. The division depends on the degrees alone, so it is known before any
//! row is built.
//!
//! A row of the oriented graph lists the neighbours with smaller ids than its vertex. So the row of vertex `v` of
//! degree `d` has at most `min(d, v)` entries. This upper bound on the row's length is the *bound* of the row. A block
//! ends where the sum of bounds reaches a target, which depends on the number of edges. So block boundaries depend only
//! on the input, never on limits, threads, device or ranks, and a plan can state them in advance. Blocks end only at
//! the end of a *granule*, a range of rows whose length is a small fraction of their ids. So for a graph of any size a
//! table of a few thousand elements maps rows to blocks and bins.
//!
//! A directed graph has two rows for each vertex, `2v` and `2v + 1`, which together have at most `min(d, 2v)` entries.

use super::direction::Direction;
use super::half::Half;
use super::order::DegreeRuns;
use std::ops::Range;

/// Version of the stored format. It is part of the key of every stage, and must change whenever the contents of stored
/// blocks change.
pub const FORMAT_VERSION: u64 = 1;

/// Largest target size of a block, in row entries (neighbours): 64 MiB of targets.
const MAX_BLOCK: u64 = 1 << 24;
/// Smallest target size of a block, in row entries (neighbours). With smaller blocks, the journal would contain many
/// records, each for very little work.
const MIN_BLOCK: u64 = 1 << 12;
/// Number of edges below which a graph is small. Small graphs are divided into eight blocks, so that their triangles,
/// too, are counted in several pairs of blocks. For larger graphs fewer blocks are faster: in a graph of 2^24 edges,
/// triangles were counted 1.2 to 1.6 times faster with two blocks than with eight.
const SMALL: u64 = 1 << 22;

/// Maximum number of rows in a bin, so that a row's index in its bin fits 16 bits.
pub const BIN_ROWS: u64 = 1 << 16;

/// Division of rows into granules (ranges of rows): 2^`mantissa` granules from each power of two of the row id to the
/// next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Granules {
    mantissa: u32,
}

impl Granules {
    /// Chooses the granules for row ids below `rows`: 1024 from each power of two to the next, or more if a granule
    /// would otherwise have over [`BIN_ROWS`] rows.
    fn new(rows: u64) -> Self {
        Granules { mantissa: (u64::BITS - rows.leading_zeros()).saturating_sub(BIN_ROWS.ilog2() + 1).max(10) }
    }

    /// Returns the index of the granule (range of rows) that contains row `v`. Indices ascend with rows.
    #[inline]
    fn of(self, v: u32) -> usize {
        let shift = (v | (1 << self.mantissa)).ilog2() - self.mantissa;
        ((shift as usize) << self.mantissa) + (v >> shift) as usize
    }

    /// Returns the first row of granule `g`: the inverse of [`Self::of`].
    fn start(self, g: usize) -> u64 {
        let shift = (g >> self.mantissa).saturating_sub(1);
        ((g - (shift << self.mantissa)) as u64) << shift
    }
}

/// A range of rows, with an upper bound on its number of entries (neighbours).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRange {
    /// First row of the range, and exclusive end.
    pub rows: Range<u64>,
    /// Upper bound on the number of entries of `rows`: the sum of the upper bounds on their lengths.
    pub bound: u64,
}

impl RowRange {
    /// Returns the number of rows in the range.
    pub(crate) fn len(&self) -> usize {
        (self.rows.end - self.rows.start) as usize
    }
}

/// Division of a graph's rows into blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    direction: Direction,
    cut: Granules,
    granules: Vec<RowRange>,
    blocks: Vec<Range<usize>>,
}

impl Layout {
    /// Makes the layout of the lower half of a graph with the degrees `runs`. `edges` is the number of edges in the
    /// input, without self-loops.
    pub fn new(runs: &DegreeRuns, edges: u64, direction: Direction) -> Self {
        Self::of_half(runs, Self::block_target(edges), Half::Lower, direction)
    }

    /// Makes the layout of the upper half of a graph with the degrees `runs`. In a graph of `n` vertices, vertex `v` of
    /// degree `d` has at most `min(d, n - 1 - v)` neighbours with larger ids.
    pub fn upper(runs: &DegreeRuns, edges: u64, direction: Direction) -> Self {
        Self::of_half(runs, Self::block_target(edges), Half::Upper, direction)
    }

    /// Returns the target number of entries (neighbours) of a block, for a graph with `edges` edges.
    pub fn block_target(edges: u64) -> u64 {
        let part = edges / if edges < SMALL { 8 } else { 2 };
        part.checked_next_power_of_two().unwrap_or(MAX_BLOCK).clamp(MIN_BLOCK, MAX_BLOCK)
    }

    /// Makes the layout of the lower half of an undirected graph. Blocks have at most `target` entries, except that a
    /// granule (range of rows that is never divided) with more entries is a block of its own.
    #[cfg(test)]
    pub(crate) fn with_target(runs: &DegreeRuns, target: u64) -> Self {
        Self::of_half(runs, target, Half::Lower, Direction::Undirected)
    }

    /// Makes the layout of one half of a graph. Blocks have at most `target` entries, except that a granule (range of
    /// rows that is never divided) with more entries is a block of its own.
    pub fn of_half(runs: &DegreeRuns, target: u64, half: Half, direction: Direction) -> Self {
        let cut = Granules::new(direction.rows(runs.vertices()));
        let granules = granules(runs, cut, half, direction);
        let blocks = group(&granules, 0..granules.len(), target, u64::MAX);
        Layout { direction, cut, granules, blocks }
    }

    /// Returns the direction of the graph: a vertex has one row in an undirected graph, and two in a directed one.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the number of rows of the graph. Only isolated vertices have none.
    pub fn rows(&self) -> u64 {
        self.granules.last().map_or(0, |g| g.rows.end)
    }

    /// Returns the number of blocks into which the rows are divided.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the layout of the undirected graph that this directed graph becomes if the two rows of each vertex are
    /// merged. The merged row is in the block that contained the vertex's out-row. A block that contained only an
    /// in-row becomes empty.
    pub fn merged(&self) -> Layout {
        let mut granules: Vec<RowRange> = Vec::new();
        // For each granule of the directed layout, the number of granules of the merged layout before it.
        let mut before = Vec::with_capacity(self.granules.len() + 1);
        for RowRange { rows, bound } in &self.granules {
            before.push(granules.len());
            let vertices = rows.start.div_ceil(2)..rows.end.div_ceil(2);
            match granules.last_mut() {
                Some(last) if vertices.is_empty() => last.bound += bound,
                _ => granules.push(RowRange { rows: vertices, bound: *bound }),
            }
        }
        before.push(granules.len());
        let blocks = self.blocks.iter().map(|block| before[block.start]..before[block.end]).collect();
        Layout { direction: Direction::Undirected, cut: self.cut, granules, blocks }
    }

    /// Returns an upper bound on the total number of entries: the sum of the upper bounds on all row lengths.
    pub fn bound(&self) -> u64 {
        self.granules.iter().map(|g| g.bound).sum()
    }

    /// Returns an upper bound on the length of any row. If a row has `n` entries, its vertex has degree at least `n`,
    /// and so have the `n` vertices before it in the order. Half of these have ids of at least `n` / 2, so their bounds
    /// sum to at least `n`² / 4.
    pub fn longest_row(&self) -> u64 {
        2 * (self.bound().isqrt() + 1)
    }

    /// Returns the index of the block that contains row `v`.
    pub fn block_of(&self, v: u32) -> usize {
        let granule = self.cut.of(v);
        self.blocks.partition_point(|block| block.end <= granule)
    }

    /// Returns the rows of block `b`, and an upper bound on its number of entries.
    pub fn block(&self, b: usize) -> RowRange {
        self.span(&self.blocks[b])
    }

    /// Divides the blocks into bins, in the order of rows. A bin has at most [`BIN_ROWS`] rows and `target` entries,
    /// except that a granule with more entries is a bin of its own.
    pub fn bins(&self, target: u64) -> Bins {
        let of_granule = vec![0; self.granules.len()];
        let mut bins =
            Bins { direction: self.direction, cut: self.cut, spans: Vec::new(), block_of: Vec::new(), of_granule };
        for (b, range) in self.blocks.iter().enumerate() {
            for part in group(&self.granules, range.clone(), target, BIN_ROWS) {
                bins.of_granule[part.clone()].fill(bins.spans.len() as u32);
                bins.spans.push(self.span(&part));
                bins.block_of.push(b);
            }
        }
        bins
    }

    fn span(&self, granules: &Range<usize>) -> RowRange {
        let parts = &self.granules[granules.clone()];
        let start = self.granules.get(granules.start).map_or(self.rows(), |g| g.rows.start);
        let rows = start..parts.last().map_or(start, |g| g.rows.end);
        RowRange { rows, bound: parts.iter().map(|g| g.bound).sum() }
    }
}

/// Division of blocks into bins: ranges of rows that are small enough to be sorted in cache and within the memory
/// limit. The contents of files do not depend on the size of bins.
#[derive(Debug, Clone)]
pub struct Bins {
    direction: Direction,
    cut: Granules,
    /// Rows of each bin, and an upper bound on their number of entries, in the order of rows.
    pub spans: Vec<RowRange>,
    /// For each bin of rows, the index of the block that contains it.
    pub block_of: Vec<usize>,
    of_granule: Vec<u32>,
}

impl Bins {
    /// Returns the maximum, over all bins of rows, of the upper bound on the number of entries (neighbours).
    pub fn largest(&self) -> u64 {
        self.spans.iter().map(|s| s.bound).max().unwrap_or(0)
    }

    /// Returns the maximum number of rows in a bin.
    pub fn most_rows(&self) -> u64 {
        self.spans.iter().map(|s| s.len() as u64).max().unwrap_or(0)
    }

    /// Returns the direction of the graph: a vertex has one row in an undirected graph, and two in a directed one.
    #[inline]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns (`m`, bin of each granule), from which a GPU computes the bin of row `v` like [`Self::of`]: let `h` be
    /// the index of the highest set bit of `v`, or `m` if that is larger. Then `v` is in granule `((h - m) << m) + (v
    /// >> (h - m))`.
    pub fn table(&self) -> (u32, &[u32]) {
        (self.cut.mantissa, &self.of_granule)
    }

    /// Returns the index of the bin that contains row `v`.
    #[inline]
    pub fn of(&self, v: u32) -> usize {
        self.of_granule[self.cut.of(v)] as usize
    }
}

fn granules(runs: &DegreeRuns, cut: Granules, half: Half, direction: Direction) -> Vec<RowRange> {
    let rows = direction.rows(runs.vertices());
    let mut pieces = runs.iter().peekable();
    let mut granules = Vec::new();
    let mut row = 0;
    while row < rows {
        let end = cut.start(granules.len() + 1).min(rows);
        let mut bound = 0;
        while row < end {
            let Some(&(degree, _, run_end)) = pieces.peek() else { break };
            let run_end = direction.rows(run_end);
            let upto = end.min(run_end);
            // For the upper half, mirror the rows: the last vertex has as many neighbours with larger ids as the first
            // with smaller.
            let below = if half == Half::Lower { row..upto } else { rows - upto..rows - row };
            bound += match direction {
                Direction::Undirected => bounds(u64::from(degree), below),
                Direction::Directed => bounds_of_both(u64::from(degree), below),
            };
            row = upto;
            if upto == run_end {
                pieces.next();
            }
        }
        let start = granules.last().map_or(0, |g: &RowRange| g.rows.end);
        granules.push(RowRange { rows: start..end, bound });
    }
    granules
}

/// Returns the sum of the upper bounds on the lengths of `rows`, whose vertices all have degree `degree`: Σ
/// min(`degree`, `v`) over `v` in `rows`.
fn bounds(degree: u64, rows: Range<u64>) -> u64 {
    let split = degree.clamp(rows.start, rows.end);
    // With up to 2^32 rows and ids below 2^32, the product may not fit 64 bits before it is halved.
    let ids = u128::from(split - rows.start) * u128::from((rows.start + split).saturating_sub(1)) / 2;
    ids as u64 + (rows.end - split) * degree
}

/// Returns an upper bound on the number of entries in the rows `rows` of a directed graph, whose vertices all have
/// degree `degree`. A vertex `v` with both rows in `rows` contributes min(`degree`, 2`v`), and a vertex with one row in
/// `rows` contributes min(`degree`, `v`).
fn bounds_of_both(degree: u64, rows: Range<u64>) -> u64 {
    let both = rows.start.div_ceil(2)..rows.end / 2;
    let single = |row: u64| degree.min(row / 2);
    match rows.start % 2 {
        _ if rows.is_empty() => 0,
        1 => single(rows.start) + bounds_of_both(degree, rows.start + 1..rows.end),
        _ => {
            let split = degree.div_ceil(2).clamp(both.start, both.end);
            let below = u128::from(split - both.start) * u128::from((both.start + split).saturating_sub(1));
            let last = if rows.end % 2 == 1 { single(rows.end - 1) } else { 0 };
            below as u64 + (both.end - split) * degree + last
        }
    }
}

/// Groups consecutive granules (ranges of rows), those with indices in `range`, into parts of at most `target` entries
/// and `rows` rows each. A granule that exceeds a limit is a part of its own.
fn group(granules: &[RowRange], range: Range<usize>, target: u64, rows: u64) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut sum = 0;
    for g in range {
        match parts.last_mut() {
            Some(part)
                if sum + granules[g].bound <= target
                    && granules[g].rows.end - granules[part.start].rows.start <= rows =>
            {
                part.end = g + 1;
                sum += granules[g].bound;
            }
            _ => {
                parts.push(g..g + 1);
                sum = granules[g].bound;
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn granules_cover_all_rows_in_order() {
        for rows in [1, 1 << 20, 1 << 26, 1 << 29, u64::from(u32::MAX)] {
            let cut = Granules::new(rows);
            let mut g = 0;
            for v in 0..100_000u32 {
                assert!(cut.of(v) == g || cut.of(v) == g + 1, "granules ascend by one at {v}");
                g = cut.of(v);
                assert!(cut.start(g) <= u64::from(v) && u64::from(v) < cut.start(g + 1));
            }
            let last = cut.of((rows - 1) as u32);
            assert!(cut.start(last) < rows && rows <= cut.start(last + 1));
            assert!(cut.start(last + 1) - cut.start(last) <= BIN_ROWS, "{rows} rows");
            assert!(last < 1 << 20, "the table stays small");
        }
    }

    fn runs() -> impl Strategy<Value = DegreeRuns> {
        prop::collection::btree_map(1u32..5000, 1u32..3000, 0..40)
            .prop_map(|m| DegreeRuns::new(m.into_iter().rev().collect()))
    }

    proptest! {
        #[test]
        fn both_rows_of_a_vertex_have_no_more_entries_than_bound(
            runs in runs(), target in 1u64..100_000, mirrored in any::<bool>(), salt in any::<u64>(),
        ) {
            let half = if mirrored { Half::Upper } else { Half::Lower };
            let layout = Layout::of_half(&runs, target, half, Direction::Directed);
            let vertices = runs.vertices();
            prop_assert_eq!(layout.rows(), 2 * vertices);
            // Give each vertex as many neighbours as it may have in this half. A hash decides how many of them are in
            // its out-row.
            let mut entries = vec![0; layout.rows() as usize];
            for (degree, first, end) in runs.iter() {
                for v in first..end {
                    let others = if mirrored { vertices - 1 - v } else { v };
                    let all = u64::from(degree).min(2 * others);
                    let out = all.saturating_sub(others) + salt.rotate_left((v % 64) as u32) % (others.min(all) + 1);
                    let out = out.min(others).min(all);
                    entries[2 * v as usize] = out;
                    entries[2 * v as usize + 1] = all - out;
                }
            }
            for b in 0..layout.blocks() {
                let RowRange { rows, bound } = layout.block(b);
                let sum: u64 = entries[rows.start as usize..rows.end as usize].iter().sum();
                prop_assert!(sum <= bound, "{sum} entries in rows {rows:?}, {bound} at most");
            }
        }

        #[test]
        fn blocks_and_bins_partition_the_rows(runs in runs(), target in 1u64..100_000, fine in 1u64..10_000) {
            let degrees: Vec<u64> = runs.iter().flat_map(|(d, a, b)| (a..b).map(move |_| u64::from(d))).collect();
            let bound = |r: &Range<u64>| r.clone().map(|v| degrees[v as usize].min(v)).sum::<u64>();
            let layout = Layout::with_target(&runs, target);
            prop_assert_eq!(layout.rows(), degrees.len() as u64);
            let mut row = 0;
            for b in 0..layout.blocks() {
                let span = layout.block(b);
                prop_assert_eq!(span.rows.start, row);
                prop_assert_eq!(span.bound, bound(&span.rows));
                row = span.rows.end;
            }
            prop_assert_eq!(row, layout.rows());
            let bins = layout.bins(fine);
            let mut row = 0;
            for (bin, span) in bins.spans.iter().enumerate() {
                prop_assert_eq!(span.rows.start, row);
                prop_assert!(span.len() as u64 <= BIN_ROWS);
                row = span.rows.end;
                let block = layout.block(bins.block_of[bin]).rows;
                prop_assert!(block.start <= span.rows.start && span.rows.end <= block.end);
                for v in span.rows.clone() {
                    prop_assert_eq!(bins.of(v as u32), bin);
                }
            }
            prop_assert_eq!(row, layout.rows());
        }
    }
}
