//! How rows lie in blocks, and blocks in bins, known from the degrees alone, before any row is built.
//!
//! A row of the oriented graph holds the neighbours smaller than its vertex, so vertex `v` of degree `d` has at most
//! `min(d, v)` of them: its *bound*. Blocks are cut where the sum of bounds reaches a target that depends on the number
//! of edges. So the boundaries depend on the input alone, never on limits, threads, device or ranks, and a plan can
//! name them. Cuts fall between granules: row ranges that are a 1024th of their ids wide, which makes the lookup from a
//! row to its place one table of a few thousand entries at any size of graph.

use super::order::DegreeRuns;
use std::ops::Range;

/// Changes whenever stored blocks would come out otherwise; part of every stage's fingerprint.
pub const FORMAT_VERSION: u64 = 1;

/// Entries of the largest blocks: 64 MiB of targets.
const MAX_BLOCK: u64 = 1 << 24;
/// Entries of the blocks of small graphs: so small that a pair is not worth journalling.
const MIN_BLOCK: u64 = 1 << 12;
/// A graph has about this many blocks while they stay under [`MAX_BLOCK`].
const BLOCKS: u64 = 8;

/// Binary logarithm of the granules to every doubling of the row id.
const MANTISSA: u32 = 10;

/// The granule that row `v` lies in; granules ascend with rows.
#[inline]
pub fn granule(v: u32) -> usize {
    let shift = (v | (1 << MANTISSA)).ilog2() - MANTISSA;
    ((shift as usize) << MANTISSA) + (v >> shift) as usize
}

/// First row of granule `g`: the inverse of [`granule`].
fn granule_start(g: usize) -> u64 {
    let shift = (g >> MANTISSA).saturating_sub(1);
    ((g - (shift << MANTISSA)) as u64) << shift
}

/// A range of rows, and the most entries they can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// First row and one past the last.
    pub rows: Range<u64>,
    /// Sum of the rows' bounds.
    pub bound: u64,
}

impl Span {
    /// Number of rows.
    pub fn len(&self) -> usize {
        (self.rows.end - self.rows.start) as usize
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The blocks of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    granules: Vec<Span>,
    blocks: Vec<Range<usize>>,
}

impl Layout {
    /// The layout of a graph of these degrees, whose input has `edges` edges that are no loops.
    pub fn new(runs: &DegreeRuns, edges: u64) -> Self {
        Self::with_target(runs, Self::block_target(edges))
    }

    /// Entries that blocks of such a graph aim at.
    pub fn block_target(edges: u64) -> u64 {
        (edges / BLOCKS).checked_next_power_of_two().unwrap_or(MAX_BLOCK).clamp(MIN_BLOCK, MAX_BLOCK)
    }

    /// The same with blocks of about `target` entries (one granule at least).
    pub fn with_target(runs: &DegreeRuns, target: u64) -> Self {
        let granules = granules(runs);
        let blocks = group(&granules, 0..granules.len(), target);
        Layout { granules, blocks }
    }

    /// Number of rows: of vertices that are not isolated.
    pub fn rows(&self) -> u64 {
        self.granules.last().map_or(0, |g| g.rows.end)
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Sum of all rows' bounds.
    pub fn bound(&self) -> u64 {
        self.granules.iter().map(|g| g.bound).sum()
    }

    /// Rows and bound of block `b`.
    pub fn block(&self, b: usize) -> Span {
        self.span(&self.blocks[b])
    }

    /// Bins of at most `target` entries each (one granule at least), each within one block, in order of rows.
    pub fn bins(&self, target: u64) -> Bins {
        let mut bins = Bins { spans: Vec::new(), block_of: Vec::new(), of_granule: vec![0; self.granules.len()] };
        for (b, range) in self.blocks.iter().enumerate() {
            for part in group(&self.granules, range.clone(), target) {
                bins.of_granule[part.clone()].fill(bins.spans.len() as u32);
                bins.spans.push(self.span(&part));
                bins.block_of.push(b);
            }
        }
        bins
    }

    fn span(&self, granules: &Range<usize>) -> Span {
        let parts = &self.granules[granules.clone()];
        let rows = parts.first().map_or(0, |g| g.rows.start)..parts.last().map_or(0, |g| g.rows.end);
        Span { rows, bound: parts.iter().map(|g| g.bound).sum() }
    }
}

/// Blocks cut finer, for sorting in cache and within the memory limit. How fine is free: it shows in no file.
#[derive(Debug, Clone)]
pub struct Bins {
    /// The bins in order of rows.
    pub spans: Vec<Span>,
    /// The block each belongs to.
    pub block_of: Vec<usize>,
    of_granule: Vec<u32>,
}

impl Bins {
    /// Entries of the largest bin, at most.
    pub fn largest(&self) -> u64 {
        self.spans.iter().map(|s| s.bound).max().unwrap_or(0)
    }

    /// Rows of the bin with most.
    pub fn most_rows(&self) -> u64 {
        self.spans.iter().map(|s| s.len() as u64).max().unwrap_or(0)
    }

    /// The bin of row `v`.
    #[inline]
    pub fn of(&self, v: u32) -> usize {
        self.of_granule[granule(v)] as usize
    }
}

fn granules(runs: &DegreeRuns) -> Vec<Span> {
    let rows = runs.vertices();
    let mut pieces = runs.iter().peekable();
    let mut granules = Vec::new();
    let mut row = 0;
    while row < rows {
        let end = granule_start(granules.len() + 1).min(rows);
        let mut bound = 0;
        while row < end {
            let Some(&(degree, _, run_end)) = pieces.peek() else { break };
            let upto = end.min(run_end);
            bound += bounds(u64::from(degree), row..upto);
            row = upto;
            if upto == run_end {
                pieces.next();
            }
        }
        let start = granules.last().map_or(0, |g: &Span| g.rows.end);
        granules.push(Span { rows: start..end, bound });
    }
    granules
}

/// Σ min(degree, v) over rows of one degree.
fn bounds(degree: u64, rows: Range<u64>) -> u64 {
    let split = degree.clamp(rows.start, rows.end);
    // At most 2^32 rows of ids under 2^32: the product fits 64 bits only after the halving.
    let ids = u128::from(split - rows.start) * u128::from((rows.start + split).saturating_sub(1)) / 2;
    ids as u64 + (rows.end - split) * degree
}

/// Cuts a range of granules into parts of at most `target` entries, or one granule.
fn group(granules: &[Span], range: Range<usize>, target: u64) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut sum = 0;
    for g in range {
        match parts.last_mut() {
            Some(part) if sum + granules[g].bound <= target => {
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
        let mut g = 0;
        for v in 0..100_000u32 {
            assert!(granule(v) == g || granule(v) == g + 1, "granules ascend by one at {v}");
            g = granule(v);
            assert!(granule_start(g) <= u64::from(v) && u64::from(v) < granule_start(g + 1));
        }
        assert!(granule(u32::MAX) < 24 << MANTISSA);
        assert_eq!(granule_start(granule(u32::MAX) + 1), 1 << 32);
    }

    fn runs() -> impl Strategy<Value = DegreeRuns> {
        prop::collection::btree_map(1u32..5000, 1u32..3000, 0..40)
            .prop_map(|m| DegreeRuns::new(m.into_iter().rev().collect()))
    }

    proptest! {
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
