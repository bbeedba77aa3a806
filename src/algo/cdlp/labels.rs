//! The labels of all vertices, and one iteration of label propagation, which all ranks of the job compute together.
//!
//! Each rank computes the labels of a range of consecutive vertices, and stores a copy of all labels. The rows of each
//! range have about the same number of neighbours. A vertex keeps its label if no neighbour has changed its label. So
//! once few labels change, an iteration computes only the neighbours of changed vertices, provided that all rows stay
//! in memory.

use super::votes::{self, Votes, smallest};
use crate::algo::rows::Neighbours;
use crate::algo::team::{Parts, gathered, team};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::block_store::Unpacked;
use crate::graph::direction::Direction;
use crate::memory::{Budget, Buffer};
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;
use crate::process::signals;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Threshold for computing few vertices. If the rows of the vertices whose label changed in an iteration have less than
/// 1/`FEW` of all neighbours, the next iteration computes only the neighbours of these vertices.
pub(super) const FEW: u64 = 8;
/// Number of vertices that a thread checks for changed labels at a time.
const RANGE: usize = 1 << 12;

/// Labels of all vertices after some iterations of label propagation.
pub(super) struct Labels<'g> {
    /// Label of each vertex that has an edge. A label is the dense id of some vertex.
    pub of: Buffer<u32>,
    /// Labels before the last iteration. The next iteration overwrites them with its labels.
    other: Buffer<u32>,
    /// Bitmap of the vertices that have a neighbour whose label has changed.
    marked: Buffer<AtomicU32>,
    /// Number of neighbours in the rows of the vertices whose label changed in the last iteration; `None` if unknown.
    changed: Option<u64>,
    /// Whether every vertex still has its own id as label.
    pub differ: bool,
    pub rows: Neighbours<'g>,
}

/// Returns the memory, in bytes, for the labels of `vertices` vertices, and for counting the labels of up to `longest`
/// neighbours on each of `threads` threads.
pub(super) fn bytes(vertices: u64, longest: u64, threads: usize) -> u64 {
    8 * vertices + vertices.div_ceil(32) * 4 + threads as u64 * votes::bytes(longest)
}

impl<'g> Labels<'g> {
    /// Creates labels in which every vertex has its own id as label.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; errors of the vertex order.
    pub(super) fn new(graph: &'g Graph, degrees: &'g [u32], comm: &Comm, budget: &Budget) -> Result<Labels<'g>> {
        let vertices = graph.info.connected as usize;
        let of = InputIds::open(graph, budget)?.into_dense();
        let other = budget.zeroed(vertices, "labels of vertices (4 bytes each)")?;
        let marked = budget.zeroed(vertices.div_ceil(32), "vertices whose neighbours changed (a bit each)")?;
        let rows = Neighbours::new(graph, degrees, comm, budget)?;
        Ok(Labels { of, other, marked, changed: None, differ: true, rows })
    }

    /// Returns the memory, in bytes, that `threads` threads take to count the labels of neighbours.
    pub(super) fn counting_bytes(&self, threads: usize) -> u64 {
        threads as u64 * votes::bytes(self.rows.longest)
    }

    /// Returns the labels, and frees all other memory.
    pub(super) fn into_labels(self) -> Buffer<u32> {
        self.of
    }

    /// Sends the labels that rank 0 has loaded to all ranks of the job. Collective.
    pub(super) fn broadcast(&mut self, comm: &Comm) {
        self.differ = false;
        comm.broadcast_numbers(&mut self.of);
    }

    /// Computes the next labels of the vertices that this rank owns. The labels of the previous iteration remain until
    /// [`Self::exchange`] is called.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn vote(&mut self, threads: usize) -> Result<()> {
        let Labels { of, other, marked, changed, differ, rows } = self;
        let only_marked = !rows.releases && changed.is_some_and(|changed| FEW * changed < rows.all_entries());
        if only_marked {
            marked.iter_mut().for_each(|word| *word.get_mut() = 0);
            mark(rows, of, other, marked, threads)?;
        }
        // If all labels differ, the smallest wins. The exception is an edge in both directions, with which a label
        // has two votes.
        let smallest_wins = *differ && rows.direction == Direction::Undirected;
        let state = || (Votes::new(rows.longest), Default::default());
        rows.each_own(other, threads, state, |v, next, (votes, unpacked)| {
            let v = v as usize;
            let is_due = !only_marked || marked[v / 32].load(Relaxed) >> (v % 32) & 1 != 0;
            let rows = rows.of(v, unpacked);
            *next = match is_due {
                true if smallest_wins => smallest(rows, of, of[v]),
                true => votes.winner(rows, of, of[v]),
                false => of[v],
            };
        })
    }

    /// Completes an iteration after [`Self::vote`]: replaces the labels by the next labels, of all ranks. Returns the
    /// number of vertices whose label changed. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn exchange(&mut self, comm: &Comm, threads: usize) -> Result<u64> {
        self.rows.share(&mut self.other, comm);
        std::mem::swap(&mut self.of, &mut self.other);
        let (of, other, rows) = (&*self.of, &*self.other, &self.rows);
        let parts = Parts::new(of.len(), RANGE);
        let counted = gathered(threads, &|_| {
            let mut counts = [0, 0];
            parts.each(|range| {
                for v in range.filter(|&v| of[v] != other[v]) {
                    counts = [counts[0] + 1, counts[1] + rows.entries(v)];
                }
                Ok(())
            })?;
            Ok(counts)
        })?;
        let [vertices, entries] = counted.iter().fold([0, 0], |sums, of| [sums[0] + of[0], sums[1] + of[1]]);
        (self.changed, self.differ) = (Some(entries), false);
        Ok(vertices)
    }
}

/// Marks the neighbours of all vertices that have different labels in `labels` and `before`.
fn mark(rows: &Neighbours<'_>, labels: &[u32], before: &[u32], marked: &[AtomicU32], threads: usize) -> Result<()> {
    let parts = Parts::new(labels.len(), RANGE);
    team(threads, &|_| {
        let mut unpacked = Unpacked::default();
        parts.each(|range| {
            signals::check()?;
            for v in range.filter(|&v| labels[v] != before[v]) {
                for row in rows.rows(v..v + 1) {
                    for half in rows.halves {
                        for &u in half.unpacked_row(row, &mut unpacked) {
                            marked[u as usize / 32].fetch_or(1 << (u % 32), Relaxed);
                        }
                    }
                }
            }
            Ok(())
        })
    })
}
