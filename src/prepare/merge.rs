//! Merges the out-neighbours and the in-neighbours of each vertex into one row of all neighbours, for tasks that ignore
//! the direction of edges.
//!
//! The out-neighbours of a vertex are in ascending order and without duplicates, and so are its in-neighbours. So one
//! pass over both rows merges them. The pass reads 4 bytes for each entry (neighbour) of the two rows and writes 4
//! bytes for each entry of the merged row. A neighbour in both rows becomes one entry. With weights, twice as many
//! bytes are read and written.

use super::blocks::{BlockFiles, BuiltBlocks};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::formats::Watch;
use crate::graph::{BlockStore, DegreeCounter, Degrees, Direction, EdgeDirection, Half, Layout, RowRange, stored};
use crate::memory::Budget;
use rayon::prelude::*;
use std::cmp::Ordering::{Equal, Greater, Less};

/// Builds the blocks of the undirected version of a directed graph. Its rows list all neighbours of a vertex, in either
/// direction.
pub struct Merge<'a> {
    /// Lower half of the directed graph, which must be [local](BlockStore::is_local).
    pub arcs: &'a BlockStore,
    /// For each block, whether it must be built.
    pub wanted: &'a [bool],
    /// Counters that receive the degrees of the built blocks.
    pub degrees: &'a Degrees,
    /// Destination of the blocks. Edges in both directions become one edge with the smaller weight.
    pub files: BlockFiles<'a>,
    /// Budget of host memory.
    pub budget: &'a Budget,
}

/// Returns the maximum number of bytes of memory for merging a block of `rows` rows with at most `entries` entries;
/// `weighted` says whether edges have weights.
pub fn block_bytes(rows: u64, entries: u64, weighted: bool) -> u64 {
    let words = if weighted { 2 } else { 1 };
    4 * (rows + words * entries) + DegreeCounter::bytes(u64::MAX)
}

/// Returns the maximum number of bytes of memory for merging any one block of `layout`.
pub fn largest_block(layout: &Layout, weighted: bool) -> u64 {
    let blocks = (0..layout.blocks()).map(|b| layout.block(b));
    blocks.map(|block| block_bytes(block.len() as u64, block.bound, weighted)).max().unwrap_or(0)
}

impl Merge<'_> {
    /// Builds all wanted blocks on the current thread pool, as many at a time as memory allows. `watch` advances by the
    /// number of entries that are read.
    ///
    /// # Errors
    /// Errors of memory and disk, and cancellation reported by `watch`.
    pub fn build(&self, watch: &dyn Watch) -> Result<BuiltBlocks> {
        let mut built = BuiltBlocks::default();
        let BlockFiles { layout, weights, .. } = self.files;
        let bytes_of = |b: usize| block_bytes(layout.block(b).len() as u64, layout.block(b).bound, weights.is_some());
        let mut blocks = (0..layout.blocks()).filter(|&b| self.wanted[b]).peekable();
        while blocks.peek().is_some() {
            let (mut round, mut bytes) = (Vec::new(), 0);
            let free = self.budget.free();
            while let Some(b) = blocks.next_if(|&b| {
                let fits = bytes + bytes_of(b) <= free;
                round.is_empty() || (fits && round.len() < rayon::current_num_threads())
            }) {
                bytes += bytes_of(b);
                round.push(b);
            }
            let _reserved = self.budget.reserve(bytes, "rows of all neighbours")?;
            let done = round.into_par_iter().map(|b| self.block(b, watch)).collect::<Result<Vec<BuiltBlocks>>>()?;
            for one in done {
                built.entries += one.entries;
                built.bytes += one.bytes;
            }
        }
        Ok(built)
    }

    fn block(&self, b: usize, watch: &dyn Watch) -> Result<BuiltBlocks> {
        let RowRange { rows, bound } = self.files.layout.block(b);
        let weighted = self.files.weights.is_some();
        let path = || stored::path(self.files.folder, Half::Lower, b);
        failpoint::hit("merge.block").map_err(|e| Error::io("write", path(), e))?;
        let mut lengths = Vec::with_capacity((rows.end - rows.start) as usize);
        let mut targets = Vec::with_capacity(bound as usize);
        let mut weights = Vec::with_capacity(if weighted { bound as usize } else { 0 });
        let first = |vertex: u64| Direction::Directed.row(vertex as u32, EdgeDirection::Out);
        let arcs = first(rows.start)..first(rows.end);
        let mut read = 0;
        let merge = if weighted { merge_rows::<true> } else { merge_rows::<false> };
        let mut arcs = self.arcs.weighted_rows(arcs);
        while let (Some((_, out, of_out)), Some((_, into, of_into))) = (arcs.next(), arcs.next()) {
            let before = targets.len();
            merge((out, of_out), (into, of_into), &mut targets, &mut weights);
            read += out.len() + into.len();
            lengths.push((targets.len() - before) as u32);
        }
        self.degrees.counter(Direction::Undirected).rows(rows.start as u32, lengths.iter().copied(), &targets);
        let built = self.files.write(b, &[[&lengths, &targets, &weights]])?;
        watch.wrote(built.bytes);
        watch.advance(read as u64)?;
        Ok(built)
    }
}

/// Merges two ascending rows, `a` and `b`, and appends the distinct neighbours to `targets`. Each row is a pair
/// (neighbours, weights of the edges to these neighbours). If edges are `WEIGHTED`, also appends the weights to
/// `weights`: for a neighbour in both rows, the smaller of the two weights. Otherwise weights are ignored.
pub fn merge_rows<const WEIGHTED: bool>(
    a: (&[u32], &[u32]),
    b: (&[u32], &[u32]),
    targets: &mut Vec<u32>,
    weights: &mut Vec<u32>,
) {
    let (mut i, mut j) = (0, 0);
    while let (Some(&x), Some(&y)) = (a.0.get(i), b.0.get(j)) {
        targets.push(x.min(y));
        if WEIGHTED {
            weights.push(match x.cmp(&y) {
                Less => a.1[i],
                Equal => a.1[i].min(b.1[j]),
                Greater => b.1[j],
            });
        }
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    targets.extend_from_slice(&a.0[i..]);
    targets.extend_from_slice(&b.0[j..]);
    if WEIGHTED {
        weights.extend_from_slice(&a.1[i..]);
        weights.extend_from_slice(&b.1[j..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn a_merged_row_is_the_union_with_the_smaller_weights(
            a in prop::collection::btree_map(0u32..60, any::<u32>(), 0..40),
            b in prop::collection::btree_map(0u32..60, any::<u32>(), 0..40),
        ) {
            let [a_row, b_row] = [&a, &b].map(|row| row.iter().map(|(&v, &w)| (v, w)).unzip::<u32, u32, Vec<_>, Vec<_>>());
            let (mut targets, mut weights) = (Vec::new(), Vec::new());
            merge_rows::<true>((&a_row.0, &a_row.1), (&b_row.0, &b_row.1), &mut targets, &mut weights);
            let mut unweighted = Vec::new();
            merge_rows::<false>((&a_row.0, &[]), (&b_row.0, &[]), &mut unweighted, &mut Vec::new());
            prop_assert_eq!(&unweighted, &targets);
            let mut known: BTreeMap<u32, u32> = a;
            for (v, w) in b {
                let least = known.entry(v).or_insert(w);
                *least = w.min(*least);
            }
            prop_assert!(targets.into_iter().zip(weights).eq(known));
        }
    }
}
