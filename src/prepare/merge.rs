//! Merges out-rows and in-rows into rows of all neighbours, for tasks that ignore the direction of edges.
//!
//! Both rows of a vertex ascend without repeats, so one pass over the two merges them. It reads 4 bytes for each
//! directed edge and writes 4 bytes for each undirected edge; edges in both directions become one. With weights it
//! reads and writes twice as much.

use super::blocks::Built;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::formats::Watch;
use crate::graph::catalogue::Catalogue;
use crate::graph::degrees::{DegreeCounter, Degrees};
use crate::graph::direction::{Direction, Way};
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::stored;
use crate::graph::weights::stored::{self as stored_weights, GraphWeights};
use crate::memory::Budget;
use crate::store::sync::Syncer;
use rayon::prelude::*;
use std::cmp::Ordering::{Equal, Greater, Less};
use std::path::Path;

/// Builds the blocks of rows of all neighbours.
pub struct Merge<'a> {
    /// Lower half of a directed graph; all its blocks must be local to this rank.
    pub arcs: &'a Catalogue,
    /// Layout of the blocks to build.
    pub layout: &'a Layout,
    /// True for each block that must be built.
    pub wanted: &'a [bool],
    /// Array that receives the degrees of the rows in the blocks that are built.
    pub degrees: &'a Degrees,
    /// Folder to which blocks are written.
    pub folder: &'a Path,
    /// Key of the undirected graph, for its files.
    pub key: u64,
    /// Weights of the undirected graph, if edges have some. Of two directed edges between the same vertices the smaller
    /// weight stays.
    pub weights: Option<GraphWeights>,
    /// Budget of host memory.
    pub budget: &'a Budget,
    /// Thread that makes the written blocks durable in the background.
    pub syncer: &'a Syncer,
}

/// Returns the most bytes that merging a block of `rows` rows with at most `entries` entries takes; `weighted` says
/// whether edges have weights.
pub fn block_bytes(rows: u64, entries: u64, weighted: bool) -> u64 {
    let words = if weighted { 2 } else { 1 };
    4 * (rows + words * entries) + DegreeCounter::bytes(u64::MAX)
}

/// Returns the most bytes that merging any block of `layout` takes.
pub fn largest_block(layout: &Layout, weighted: bool) -> u64 {
    let blocks = (0..layout.blocks()).map(|b| layout.block(b));
    blocks.map(|block| block_bytes(block.len() as u64, block.bound, weighted)).max().unwrap_or(0)
}

impl Merge<'_> {
    /// Builds all wanted blocks on the current thread pool, as many at a time as memory allows. `watch` advances by the
    /// entries that are read.
    ///
    /// # Errors
    /// Errors of memory and disk, and a stop that `watch` reports.
    pub fn build(&self, watch: &dyn Watch) -> Result<Built> {
        let mut built = Built::default();
        let bytes_of = |b: usize| {
            let block = self.layout.block(b);
            block_bytes(block.len() as u64, block.bound, self.weights.is_some())
        };
        let mut blocks = (0..self.layout.blocks()).filter(|&b| self.wanted[b]).peekable();
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
            let done = round.into_par_iter().map(|b| self.block(b, watch)).collect::<Result<Vec<Built>>>()?;
            for one in done {
                built.entries += one.entries;
                built.bytes += one.bytes;
            }
        }
        Ok(built)
    }

    fn block(&self, b: usize, watch: &dyn Watch) -> Result<Built> {
        let rows = self.layout.block(b).rows;
        let path = || stored::path(self.folder, Half::Lower, b);
        failpoint::hit("merge.block").map_err(|e| Error::io("write", path(), e))?;
        let mut lengths = Vec::with_capacity((rows.end - rows.start) as usize);
        let most = self.layout.block(b).bound as usize;
        let mut targets = Vec::with_capacity(most);
        let mut weights = Vec::with_capacity(if self.weights.is_some() { most } else { 0 });
        let first = |vertex: u64| Direction::Directed.row(vertex as u32, Way::Out);
        let arcs = first(rows.start)..first(rows.end);
        let mut read = 0;
        let mut ends = |of: [&[u32]; 2], length: usize| {
            read += of[0].len() + of[1].len();
            lengths.push(length as u32);
        };
        if self.weights.is_some() {
            let mut arcs = self.arcs.weighted_rows(arcs);
            while let (Some((_, out, of_out)), Some((_, into, of_into))) = (arcs.next(), arcs.next()) {
                let before = targets.len();
                merge_weighted((out, of_out), (into, of_into), &mut targets, &mut weights);
                ends([out, into], targets.len() - before);
            }
        } else {
            let mut arcs = self.arcs.rows(arcs);
            while let (Some((_, out)), Some((_, into))) = (arcs.next(), arcs.next()) {
                let before = targets.len();
                merge(out, into, &mut targets);
                ends([out, into], targets.len() - before);
            }
        }
        self.degrees.counter(Direction::Undirected).rows(rows.start as u32, lengths.iter().copied(), &targets);
        let pending = stored::write(self.folder, self.key, self.layout, b, &[(&lengths, &targets)])?;
        let mut bytes = self.syncer.push(pending).bytes;
        if let Some(of_graph) = self.weights {
            let path = || stored_weights::path(self.folder, Half::Lower, b);
            failpoint::hit("weights.block").map_err(|e| Error::io("write", path(), e))?;
            let pending = stored_weights::write(self.folder, of_graph, Half::Lower, self.layout, b, &[&weights])?;
            bytes += self.syncer.push(pending).bytes;
        }
        watch.wrote(bytes);
        watch.advance(read as u64)?;
        Ok(Built { entries: targets.len() as u64, bytes })
    }
}

/// Appends the union of two ascending rows to `to`.
pub fn merge(mut a: &[u32], mut b: &[u32], to: &mut Vec<u32>) {
    while let ([x, a_rest @ ..], [y, b_rest @ ..]) = (a, b) {
        to.push(*x.min(y));
        if x <= y {
            a = a_rest;
        }
        if y <= x {
            b = b_rest;
        }
    }
    to.extend_from_slice(a);
    to.extend_from_slice(b);
}

/// Appends the union of two ascending rows, given as neighbours and weights, to `targets` and `weights`. A neighbour in
/// both rows gets the smaller weight.
pub fn merge_weighted(a: (&[u32], &[u32]), b: (&[u32], &[u32]), targets: &mut Vec<u32>, weights: &mut Vec<u32>) {
    let (mut i, mut j) = (0, 0);
    while let (Some(&x), Some(&y)) = (a.0.get(i), b.0.get(j)) {
        targets.push(x.min(y));
        weights.push(match x.cmp(&y) {
            Less => a.1[i],
            Equal => a.1[i].min(b.1[j]),
            Greater => b.1[j],
        });
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    targets.extend_from_slice(&a.0[i..]);
    targets.extend_from_slice(&b.0[j..]);
    weights.extend_from_slice(&a.1[i..]);
    weights.extend_from_slice(&b.1[j..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        #[test]
        fn a_merged_row_is_the_union(a in prop::collection::btree_set(0u32..60, 0..40), b in prop::collection::btree_set(0u32..60, 0..40)) {
            let rows = [&a, &b].map(|row| row.iter().copied().collect::<Vec<u32>>());
            let mut merged = Vec::new();
            merge(&rows[0], &rows[1], &mut merged);
            let union: BTreeSet<u32> = a.union(&b).copied().collect();
            prop_assert!(merged.into_iter().eq(union));
        }

        #[test]
        fn of_a_neighbour_in_both_rows_the_smaller_weight_stays(
            a in prop::collection::btree_map(0u32..60, any::<u32>(), 0..40),
            b in prop::collection::btree_map(0u32..60, any::<u32>(), 0..40),
        ) {
            let [a_row, b_row] = [&a, &b].map(|row| row.iter().map(|(&v, &w)| (v, w)).unzip::<u32, u32, Vec<_>, Vec<_>>());
            let (mut targets, mut weights) = (Vec::new(), Vec::new());
            merge_weighted((&a_row.0, &a_row.1), (&b_row.0, &b_row.1), &mut targets, &mut weights);
            let mut known: BTreeMap<u32, u32> = a;
            for (v, w) in b {
                let least = known.entry(v).or_insert(w);
                *least = w.min(*least);
            }
            prop_assert!(targets.into_iter().zip(weights).eq(known));
        }
    }
}
