//! Counts the edges that a search traverses. The speed of a search is measured in traversed edges per second (TEPS).
//!
//! As the number of traversed edges, Graph500 counts the input edges in the component of the root. Its reference code
//! (version 3) adds up the row lengths of reached vertices and divides the sum by two. These rows include repeated
//! edges but no self-loops, so the degrees in the input give the same number.

use super::NONE;
use crate::algo::Run;
use crate::algo::edges::each_edge;
use crate::error::Result;
use crate::formats::Input;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::graph::ids::RawId;
use crate::graph::order::DegreeRuns;
use crate::memory::Budget;
use crate::prepare::order;
use crate::prepare::partition::changed;
use crate::prepare::prepared::Graph;
use crate::prepare::relabel::vertex;
use crate::process::signals;
use crate::store::map::as_u64;
use rayon::prelude::*;

/// Counter of the input edges in the connected components of a graph.
pub struct ComponentEdges<'a> {
    graph: &'a Graph,
    runs: DegreeRuns,
    /// Root and number of input edges of each component counted so far.
    counted: Vec<(u32, u64)>,
}

impl<'a> ComponentEdges<'a> {
    /// Creates a counter for the components of `graph`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] and [`crate::Error::Io`] from reading the degrees.
    pub fn new(graph: &'a Graph) -> Result<ComponentEdges<'a>> {
        Ok(ComponentEdges { graph, runs: order::read_runs(&graph.folder, graph.info.content)?, counted: Vec::new() })
    }

    /// Returns the number of input edges between the vertices that a search from `root` reached. Repeated edges count,
    /// self-loops do not. In a directed graph, returns the number of distinct edges that leave reached vertices.
    /// `parents` contains [`NONE`] for unreached vertices. `is_whole` is true if no edge leads from a reached vertex to
    /// an unreached one.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] and [`crate::Error::Io`] from reading degrees. If `is_whole` is false, also the errors
    /// of reading the input again.
    pub fn edges(&mut self, root: u32, parents: &[u32], is_whole: bool, run: &Run<'_>) -> Result<u64> {
        let direction = self.graph.info.direction;
        if direction == Direction::Directed {
            let degrees = self.graph.degrees()?;
            let degrees = degrees.body_as_u32()?;
            let leave = |v: usize| u64::from(degrees[direction.row(v as u32, EdgeDirection::Out) as usize]);
            let reached = parents.par_iter().enumerate().filter(|&(_, &parent)| parent != NONE);
            return Ok(reached.map(|(v, _)| leave(v)).sum());
        }
        if !is_whole {
            return self.within(parents, run);
        }
        // In an undirected graph, two searches that have a reached vertex in common reach the same component.
        let known = self.counted.iter().find(|&&(other, _)| parents[other as usize] != NONE);
        if let Some(&(_, edges)) = known {
            return Ok(edges);
        }
        let edges = self.ends(parents) / 2;
        self.counted.push((root, edges));
        Ok(edges)
    }

    /// Returns the sum of the degrees of all reached vertices.
    fn ends(&self, parents: &[u32]) -> u64 {
        let reached = |first: u64, end: u64| {
            parents[first as usize..end as usize]
                .par_iter()
                .with_min_len(1 << 14)
                .filter(|&&parent| parent != NONE)
                .count()
        };
        self.runs.iter().map(|(degree, first, end)| u64::from(degree) * reached(first, end) as u64).sum()
    }

    /// Returns the number of input edges with both ends reached, even if other edges lead from reached to unreached
    /// vertices. If another job prepared the graph, the input is not available. Then edges to unreached vertices are
    /// assumed to occur once in the input.
    fn within(&self, parents: &[u32], run: &Run<'_>) -> Result<u64> {
        if let Some(open) = run.input {
            return self.within_input(&open()?, parents, (run.threads, run.budget));
        }
        let is_reached = |v: u32| parents[v as usize] != NONE;
        let mut leaving = 0;
        for number in 0..self.graph.block_store.len() {
            signals::check()?;
            let block = self.graph.block_store.block(number);
            for row in 0..block.rows() {
                let is_inside = is_reached(block.first_row + row as u32);
                leaving += block.row(row).iter().filter(|&&v| is_reached(v) != is_inside).count() as u64;
            }
            self.graph.block_store.release(number);
        }
        Ok((self.ends(parents) - leaving) / 2)
    }

    fn within_input(&self, input: &Input, parents: &[u32], (threads, budget): (usize, &Budget)) -> Result<u64> {
        let Graph { folder, info, .. } = self.graph;
        let order = order::map(folder, info.content)?;
        let (map, list) = (order.ids()?, self.graph.sparse_ids()?);
        let list = list.as_ref().map(|list| as_u64(list.body()).unwrap_or_default());
        let is_reached = |id: u64| {
            RawId(id).dense(list).and_then(|dense| vertex(map, dense)).is_some_and(|v| parents[v.index()] != NONE)
        };
        let _reading = budget.reserve(input.scratch_bytes(threads), "reading the input again")?;
        let (counts, scan) = each_edge(input, vec![0u64; threads], |count, [u, v]| {
            *count += u64::from(u != v && is_reached(u) && is_reached(v));
            Ok(())
        })?;
        match scan.checksum == info.checksum {
            true => Ok(counts.into_iter().sum()),
            false => Err(changed(&input.name())),
        }
    }
}
