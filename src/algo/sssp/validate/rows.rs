//! The pass over the adjacency rows of a prepared graph that checks shortest-path trees.

use super::EdgePass;
use super::batch::{NumberedFault, TreeBatch};
use super::sum::TreeSum;
use crate::algo::WeightSource;
use crate::algo::row_parts::{RowPart, check_rows};
use crate::algo::searches::vertex_name;
use crate::algo::sssp::weights::{EdgeWeights, WeightScale};
use crate::error::Result;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::Budget;
use crate::prepare::prepared::Graph;

/// Prefetch distance, in entries of an adjacency row.
const AHEAD: usize = 16;
/// Number of row entries whose weights are computed at a time, if weights are random.
const MADE: usize = 1024;

/// The weighted edges of a prepared graph, read from the lower half of its rows.
pub struct RowPass<'a> {
    graph: &'a Graph,
    weights: EdgeWeights,
}

impl<'a> RowPass<'a> {
    /// Opens the edges of a graph. If weights are random, opens the ids from which they are drawn.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; [`crate::Error::Corrupt`]; [`crate::Error::Io`].
    pub fn new(graph: &'a Graph, weights: WeightSource, budget: &Budget) -> Result<RowPass<'a>> {
        Ok(RowPass { graph, weights: EdgeWeights::open(graph, weights, budget)? })
    }

    fn part<S: TreeSum, const W: usize>(
        &self,
        batch: &TreeBatch<'_, S, W>,
        part: &RowPart<'_>,
        buffer: &mut [u32],
    ) -> Result<(), NumberedFault> {
        let (direction, scale) = (self.graph.info.direction, self.weights.scale());
        for local in part.rows.clone() {
            let row = part.block.first_row + local as u32;
            let v = direction.vertex(row);
            let way = if row == direction.row(v, EdgeDirection::Out) { EdgeDirection::Out } else { EdgeDirection::In };
            let all = part.block.entries(local);
            let (mut first, mut seen) = (all.start, 0);
            while first < all.end {
                let entries = first..all.end.min(first + MADE);
                first = entries.end;
                let neighbours = &part.block.targets[entries.clone()];
                let weights = match self.weights.drawn(v, way) {
                    None => &self.graph.block_store.weights(part.number)[entries],
                    Some(weight) => {
                        buffer.iter_mut().zip(neighbours).for_each(|(to, &u)| *to = weight(u));
                        &buffer[..neighbours.len()]
                    }
                };
                let edges = (neighbours, weights, scale);
                seen |= match (direction, way) {
                    (Direction::Undirected, _) => check_edges::<S, W, true, true>(batch, v, edges),
                    (Direction::Directed, EdgeDirection::Out) => check_edges::<S, W, true, false>(batch, v, edges),
                    (Direction::Directed, EdgeDirection::In) => check_edges::<S, W, false, true>(batch, v, edges),
                }?;
            }
            batch.note(v, seen);
        }
        Ok(())
    }
}

impl EdgePass for RowPass<'_> {
    fn vertices(&self) -> usize {
        self.graph.info.connected as usize
    }

    fn has_wide_weights(&self) -> bool {
        self.weights.scale().kind.is_wide()
    }

    fn pass<S: TreeSum, const W: usize>(
        &self,
        batch: &TreeBatch<'_, S, W>,
        threads: usize,
    ) -> Result<Result<(), NumberedFault>> {
        let buffer = || vec![0u32; MADE];
        let found =
            check_rows(&self.graph.block_store, threads, buffer, |part, buffer| self.part(batch, part, buffer))?;
        Ok(found.map(drop))
    }

    fn name(&self, v: u32) -> String {
        vertex_name(self.graph, v)
    }
}

/// Checks the edges between vertex `v` and its `neighbours`, with their stored `weights`, against all trees. `LEAVE`
/// says whether the edges lead from `v`, and `ENTER` whether they lead to `v`. Returns a bitmap of the trees in which
/// one of the edges is a tight edge from the parent of `v`: the parent's distance plus the weight is the distance of
/// `v`.
#[inline(always)]
fn check_edges<S: TreeSum, const W: usize, const LEAVE: bool, const ENTER: bool>(
    batch: &TreeBatch<'_, S, W>,
    v: u32,
    (neighbours, weights, scale): (&[u32], &[u32], WeightScale<'_>),
) -> Result<u32, NumberedFault> {
    let mut seen = 0;
    for (entry, (&w, &weight)) in neighbours.iter().zip(weights).enumerate() {
        let weight = scale.bits(weight);
        batch.fetch(neighbours.get(entry + AHEAD).map_or(0, |&ahead| ahead));
        if LEAVE {
            let of_other = batch.edge(v, w, weight)?;
            if of_other != 0 {
                batch.note(w, of_other);
            }
        }
        if ENTER {
            seen |= batch.edge(w, v, weight)?;
        }
    }
    Ok(seen)
}
