//! Divides the rows of a graph into batches that fit a device's memory. A batch is as many whole blocks as fit, or a
//! part of one block.

use crate::graph::{BlockSize, BlockStore};
use std::ops::Range;

/// A segment of a block: consecutive rows, or consecutive entries (neighbours) of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Index of the block that contains the segment.
    pub block: usize,
    /// Rows of the segment, relative to the block's first row.
    pub rows: Range<usize>,
    /// Range of the entries (neighbours) of these rows, relative to the block's first entry. If the row is
    /// [split](Cut::Entries), the range contains only a part of its entries.
    pub entries: Range<usize>,
    /// Whether the segment ends where its block ends.
    pub ends_block: bool,
}

impl Segment {
    /// Returns the index, in the graph, of the segment's first row.
    pub fn first_row(&self, graph: &BlockStore) -> u32 {
        graph.first_row(self.block) + self.rows.start as u32
    }
}

/// Consecutive rows that are in device memory at the same time: whole blocks, or a part of one block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowBatch {
    /// Segments in the order of their rows, from consecutive blocks. A batch that is a part of a block has only one
    /// segment.
    pub segments: Vec<Segment>,
    /// Number of rows in all segments of the batch.
    pub rows: u64,
    /// Number of entries (neighbours) in all segments of the batch.
    pub entries: u64,
}

impl RowBatch {
    fn push(&mut self, segment: Segment) {
        self.rows += segment.rows.len() as u64;
        self.entries += segment.entries.len() as u64;
        self.segments.push(segment);
    }

    fn with(&self, segment: &Segment) -> RowBatch {
        let mut longer = self.clone();
        longer.push(segment.clone());
        longer
    }

    pub(super) fn of(segment: Segment) -> RowBatch {
        let mut batch = RowBatch::default();
        batch.push(segment);
        batch
    }

    /// Returns the index, in the graph, of the batch's first row; 0 for an empty batch.
    pub fn first_row(&self, graph: &BlockStore) -> u32 {
        self.segments.first().map_or(0, |segment| segment.first_row(graph))
    }

    /// Whether the batch consists of whole blocks.
    pub fn is_whole(&self) -> bool {
        self.segments.iter().all(|segment| segment.rows.start == 0 && segment.entries.start == 0 && segment.ends_block)
    }
}

/// Positions at which a block that does not fit device memory may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// A block may be cut only between rows.
    Rows,
    /// A block may be cut between rows, and also between the entries of a row that does not fit by itself (a hub may
    /// have 10^8 neighbours).
    Entries,
}

/// Divides the blocks `blocks` of `graph` into the largest batches that `fits` accepts. Returns `None` if the smallest
/// part that `cut` allows does not fit. If the graph is [not local](BlockStore::is_local), blocks are not cut. If
/// `fits` accepts a batch, it must also accept every part of the batch.
pub fn batches(
    graph: &BlockStore,
    blocks: Range<usize>,
    cut: Cut,
    fits: impl Fn(&RowBatch) -> bool,
) -> Option<Vec<RowBatch>> {
    let mut all: Vec<RowBatch> = Vec::new();
    let mut open = RowBatch::default();
    for block in blocks {
        let BlockSize { rows, entries } = graph.size(block);
        let whole = Segment { block, rows: 0..rows as usize, entries: 0..entries as usize, ends_block: true };
        let longer = open.with(&whole);
        if fits(&longer) {
            open = longer;
            continue;
        }
        if !open.segments.is_empty() {
            all.push(std::mem::take(&mut open));
        }
        let alone = RowBatch::of(whole);
        if fits(&alone) {
            open = alone;
        } else if graph.is_local() {
            all.extend(cut_block(graph, block, cut, &fits)?);
        } else {
            return None;
        }
    }
    if !open.segments.is_empty() {
        all.push(open);
    }
    Some(all)
}

/// Cuts a block that does not fit as a whole into batches. Returns `None` if the smallest part that `cut` allows does
/// not fit.
fn cut_block(graph: &BlockStore, block: usize, cut: Cut, fits: &impl Fn(&RowBatch) -> bool) -> Option<Vec<RowBatch>> {
    let offsets = graph.block(block).offsets;
    let rows = offsets.len() - 1;
    let of_rows = |rows: Range<usize>| {
        let entries = offsets[rows.start] as usize..offsets[rows.end] as usize;
        RowBatch::of(Segment { block, ends_block: rows.end + 1 == offsets.len(), entries, rows })
    };
    let mut all = Vec::new();
    let mut start = 0;
    while start < rows {
        let end = largest(start, rows, |end| fits(&of_rows(start..end)));
        if end > start {
            all.push(of_rows(start..end));
            start = end;
            continue;
        }
        let (mut from, last) = (offsets[start] as usize, offsets[start + 1] as usize);
        let of_entries = |entries: Range<usize>| {
            let ends_block = entries.end == last && start + 1 == rows;
            RowBatch::of(Segment { block, rows: start..start + 1, entries, ends_block })
        };
        while from < last {
            let end = if cut == Cut::Entries { largest(from, last, |end| fits(&of_entries(from..end))) } else { from };
            if end == from {
                return None;
            }
            all.push(of_entries(from..end));
            from = end;
        }
        if from == offsets[start] as usize {
            // Not even an empty row fits.
            return None;
        }
        start += 1;
    }
    Some(all)
}

/// Returns the largest number in `start..=most` that `fits` accepts, found by binary search. It assumes that `fits`
/// accepts `start`.
pub(super) fn largest(start: usize, most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut fit, mut too_many) = (start, most + 1);
    while too_many - fit > 1 {
        let middle = fit + (too_many - fit) / 2;
        if fits(middle) { fit = middle } else { too_many = middle }
    }
    fit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{DegreeRuns, Half, Layout, stored};
    use proptest::prelude::*;

    /// Makes a graph of `rows.len()` rows in blocks of about `target` entries. Row `v` has `min(rows[v], v)` entries.
    fn graph(rows: &[u32], target: u64) -> BlockStore {
        let folder = tempfile::tempdir().expect("a folder");
        let degree = rows.iter().copied().max().unwrap_or(0).max(1);
        let layout = Layout::with_target(&DegreeRuns::new(vec![(degree, rows.len() as u32)]), target);
        for b in 0..layout.blocks() {
            let span = layout.block(b).rows;
            let lengths: Vec<u32> = span.clone().map(|v| rows[v as usize].min(v as u32)).collect();
            let targets: Vec<u32> = lengths.iter().flat_map(|&length| 0..length).collect();
            let _ = stored::write(folder.path(), 1, &layout, b, &[(&lengths, &targets)]).expect("written");
        }
        // The blocks stay mapped when the folder is removed.
        BlockStore::open(folder.path(), 1, Half::Lower, layout).expect("whole")
    }

    fn row(graph: &BlockStore, block: usize, at: usize) -> Segment {
        let offsets = graph.block(block).offsets;
        Segment {
            block,
            rows: at..at + 1,
            entries: offsets[at] as usize..offsets[at + 1] as usize,
            ends_block: at + 2 == offsets.len(),
        }
    }

    /// Checks that batches contain every row once and in order, and that each batch is the largest that fits: whole
    /// blocks, or a part of one block.
    fn check(graph: &BlockStore, blocks: Range<usize>, fits: impl Fn(&RowBatch) -> bool) -> Result<(), TestCaseError> {
        let rows = blocks.clone().flat_map(|b| (0..graph.block(b).rows()).map(move |at| (b, at)));
        let mut rows = rows.collect::<Vec<_>>().into_iter().peekable();
        let alone = |&(b, at): &(usize, usize)| fits(&RowBatch::of(row(graph, b, at)));
        let Some(all) = batches(graph, blocks.clone(), Cut::Rows, &fits) else {
            prop_assert!(!rows.all(|at| alone(&at)), "every row fits alone");
            return Ok(());
        };
        for batch in &all {
            prop_assert!(fits(batch) && !batch.segments.is_empty());
            prop_assert!(batch.is_whole() || batch.segments.len() == 1);
            let &(b, at) = rows.peek().expect("a row that is left");
            prop_assert_eq!(batch.first_row(graph), graph.block(b).first_row + at as u32);
            let (mut count, mut entries) = (0, 0);
            for segment in &batch.segments {
                let offsets = graph.block(segment.block).offsets;
                prop_assert_eq!(segment.ends_block, segment.rows.end + 1 == offsets.len());
                let ends = [segment.rows.start, segment.rows.end].map(|at| offsets[at] as usize);
                prop_assert_eq!(ends, [segment.entries.start, segment.entries.end]);
                for at in segment.rows.clone() {
                    prop_assert_eq!(rows.next(), Some((segment.block, at)));
                }
                count += segment.rows.len() as u64;
                entries += segment.entries.len() as u64;
            }
            prop_assert_eq!((batch.rows, batch.entries), (count, entries));
            // With the next row, or the next block if the batch is whole blocks, the batch would not have fitted.
            let Some(&(b, at)) = rows.peek() else { continue };
            let end = if at > 0 { at + 1 } else { graph.block(b).rows() };
            let longer = (at..end).fold(batch.clone(), |longer, at| longer.with(&row(graph, b, at)));
            // `fits` may limit the number of segments, too: rows of the next block would be one more segment.
            let mut merged = RowBatch { segments: batch.segments.clone(), ..longer };
            merged.segments.extend((at == 0).then(|| row(graph, b, 0)));
            prop_assert!(at == 0 && !batch.is_whole() || !fits(&merged));
        }
        prop_assert_eq!(rows.next(), None);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn batches_hold_every_row_once(
            rows in prop::collection::vec(prop_oneof![4 => 0u32..20, 1 => Just(0), 1 => 0u32..400], 1..700),
            target in 1u64..3000,
            most in 1u64..6000,
            segments in 1usize..6,
        ) {
            let graph = graph(&rows, target);
            let weight = |batch: &RowBatch| 2 * batch.rows + batch.entries;
            for first in [0, graph.len() / 3] {
                check(&graph, first..graph.len(), |p| weight(p) <= most && p.segments.len() <= segments)?;
            }
            check(&graph, 0..graph.len(), |_| true)?;
        }
    }

    #[test]
    fn edge_cases_of_what_fits() {
        let graph = graph(&[50; 400], 2000);
        let all = |fits: &dyn Fn(&RowBatch) -> bool| batches(&graph, 0..graph.len(), Cut::Rows, fits);
        assert!(graph.len() > 5);
        assert_eq!(all(&|_| false), None);
        assert_eq!(batches(&graph, 2..2, Cut::Rows, |_| false), Some(Vec::new()));
        assert_eq!(all(&|_| true).map(|all| all.len()), Some(1));
        assert_eq!(all(&|p| p.segments.len() <= 1).map(|all| all.len()), Some(graph.len()));
        assert_eq!(all(&|p| p.rows <= 1).map(|all| all.len()), Some(400));
        assert_eq!(all(&|p| p.entries <= 49), None, "a row has 50");
        let parts = all(&|p| p.entries <= 60).expect("a row each");
        assert_eq!(parts.iter().filter(|part| part.segments[0].ends_block).count(), graph.len());
    }

    /// Checks that with [`Cut::Entries`] batches contain every entry once and in order, and that only a row that does
    /// not fit by itself is split.
    fn check_split(graph: &BlockStore, most: u64) -> Result<(), TestCaseError> {
        let fits = |batch: &RowBatch| batch.rows + batch.entries <= most;
        let all = batches(graph, 0..graph.len(), Cut::Entries, fits);
        let all = all.ok_or_else(|| TestCaseError::fail("a row and one entry fit"))?;
        let mut found = Vec::new();
        for batch in &all {
            prop_assert!(fits(batch));
            for segment in &batch.segments {
                let block = graph.block(segment.block);
                for at in segment.rows.clone() {
                    let row = block.offsets[at] as usize..block.offsets[at + 1] as usize;
                    let here = row.start.max(segment.entries.start)..row.end.min(segment.entries.end);
                    let vertex = block.first_row + at as u32;
                    let is_split = here != row;
                    prop_assert!(!is_split || (batch.rows == 1 && 1 + row.len() as u64 > most), "{:?}", segment);
                    found.extend(here.map(|entry| (vertex, block.targets[entry])));
                }
            }
        }
        let rows = (0..graph.len()).flat_map(|b| (0..graph.block(b).rows()).map(move |at| (b, at)));
        let expected: Vec<_> = rows
            .flat_map(|(b, at)| {
                let block = graph.block(b);
                let vertex = block.first_row + at as u32;
                block.row(at).iter().map(move |&target| (vertex, target)).collect::<Vec<_>>()
            })
            .collect();
        prop_assert_eq!(found, expected);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_row_longer_than_a_batch_is_split_and_no_entry_is_lost(
            rows in prop::collection::vec(prop_oneof![4 => 0u32..20, 1 => Just(0), 1 => 0u32..400], 1..700),
            target in 1u64..3000,
            most in 2u64..600,
        ) {
            check_split(&graph(&rows, target), most)?;
        }
    }
}
