//! Computes the sums of one unit of work of `[sums]`, from edges and their weights.

use crate::algo::WeightSource;
use crate::error::Result;
use crate::graph::block_store::BlockStore;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::graph::ids::Vertex;
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;

/// A graph with the edge weights and degrees from which `[sums]` computes its sums.
pub(super) struct WeightedEdges<'a> {
    pub(super) graph: &'a Graph,
    pub(super) degrees: &'a [u32],
    pub(super) upper: bool,
    pub(super) weights: Option<WeightSource>,
    /// Ids of the vertices, which determine random weights.
    pub(super) ids: Option<InputIds>,
}

impl WeightedEdges<'_> {
    /// Calls `each` for every edge in row `row` of `half`, with the other endpoint of the edge and its weight (1 if
    /// edges have no weights).
    fn edges(&self, half: &BlockStore, row: u32, mut each: impl FnMut(u32, u64)) {
        let direction = self.graph.info.direction;
        match (self.weights, &self.ids) {
            (None, _) => half.row(row).iter().for_each(|&v| each(v, 1)),
            (Some(WeightSource::Drawn(drawn)), Some(ids)) => {
                let is_out = direction == Direction::Undirected
                    || direction.row(direction.vertex(row), EdgeDirection::Out) == row;
                let id = |vertex: u32| ids.raw(Vertex(vertex));
                for &v in half.row(row) {
                    let [a, b] = if is_out { [direction.vertex(row), v] } else { [v, direction.vertex(row)] };
                    each(v, drawn.of(direction, id(a), id(b)).into());
                }
            }
            (Some(_), _) => {
                let (targets, weights) = half.weighted_row(row);
                targets.iter().zip(weights).for_each(|(&v, &weight)| each(v, weight.into()));
            }
        }
    }

    /// Computes the sums of unit `number` of the work: the edges in one block of rows.
    pub(super) fn unit(&self, number: u64) -> Result<SumsUnit> {
        let block = self.graph.block_store.block(number as usize);
        let mut unit = SumsUnit { number, total: 0, nanos: 0, lengths: Vec::new(), at_rows: Vec::new() };
        let direction = self.graph.info.direction;
        let upper = if self.upper { Some(self.graph.upper()?) } else { None };
        let lower = Some(&self.graph.block_store).filter(|_| upper.is_none() || self.weights.is_some());
        let lower = lower.map(|half| (half, if upper.is_some() { 2 } else { 1 }));
        let halves: Vec<(&BlockStore, u64)> = upper.map(|half| (half, 1)).into_iter().chain(lower).collect();
        for row in block.first_row..block.end_row() {
            let mut length = 0;
            for &(half, times) in &halves {
                length = 0;
                self.edges(half, row, |v, weight| {
                    let weight = weight.wrapping_mul(times);
                    let ends = [row, direction.opposite(row, v)];
                    let [a, b] = ends.map(|row| u64::from(self.degrees[row as usize]));
                    unit.total = unit.total.wrapping_add((a * b).wrapping_mul(weight));
                    let sums = [(ends[0], b), (ends[1], a)];
                    unit.at_rows.extend(sums.map(|(row, degree)| (row.into(), degree.wrapping_mul(weight))));
                    length += 1;
                });
            }
            unit.lengths.push(length);
        }
        Ok(unit)
    }
}

/// Sums of one unit of work: the total, and the sums for the rows at both endpoints of each edge.
pub(super) struct SumsUnit {
    pub(super) number: u64,
    pub(super) total: u64,
    /// Time that the unit of work took, in nanoseconds.
    pub(super) nanos: u64,
    /// Number of neighbours in each row of the unit's block.
    pub(super) lengths: Vec<u32>,
    pub(super) at_rows: Vec<(u64, u64)>,
}

impl SumsUnit {
    /// Encodes the sums of a unit of work as 64-bit words.
    pub(super) fn words(&self) -> Vec<u64> {
        let head = [self.number, self.total, self.nanos, self.lengths.len() as u64];
        let lengths = self.lengths.iter().map(|&length| length.into());
        head.into_iter().chain(lengths).chain(self.at_rows.iter().flat_map(|&(v, sum)| [v, sum])).collect()
    }

    /// Decodes the sums of a unit of work from 64-bit words. Returns `None` if they do not encode a unit.
    pub(super) fn read(words: &[u64]) -> Option<SumsUnit> {
        let (&[number, total, nanos, rows], rest) = words.split_first_chunk()?;
        let (lengths, rest) = rest.split_at_checked(rows as usize)?;
        let at_rows = rest.chunks_exact(2).map(|two| (two[0], two[1])).collect();
        Some(SumsUnit { number, total, nanos, lengths: lengths.iter().map(|&length| length as u32).collect(), at_rows })
    }
}
