//! The edges that a search is measured by.
//!
//! Graph500 counts the edges of the input that lie in the component: the reference (version 3) adds up the lengths of the rows of what
//! was reached, which keep repeats and drop loops, and takes half of that. Input degrees count alike.

use super::NONE;
use crate::error::Result;
use crate::graph::direction::{Direction, Way};
use crate::graph::order::DegreeRuns;
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use rayon::prelude::*;

/// Counts the edges of components.
pub struct Components<'a> {
    graph: &'a Graph,
    runs: DegreeRuns,
    /// The root and the edges of each component that was counted.
    counted: Vec<(u32, u64)>,
}

impl<'a> Components<'a> {
    /// Begins with none counted.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`], [`crate::Error::Io`] of the order of vertices.
    pub fn new(graph: &'a Graph) -> Result<Components<'a>> {
        Ok(Components { graph, runs: order::read_runs(&graph.folder, graph.info.content)?, counted: Vec::new() })
    }

    /// Returns the edges of what was reached from `root` by these parents; those of the input between vertices that are reached, where repeats count and loops do not; of a
    /// directed graph, the distinct edges that leave vertices that are reached. `is_whole` says that the search reached all that edges lead to.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`], [`crate::Error::Io`] of the degrees.
    pub fn edges(&mut self, root: u32, parents: &[u32], is_whole: bool) -> Result<u64> {
        let direction = self.graph.info.direction;
        if direction == Direction::Directed {
            let degrees = self.graph.degrees()?;
            let degrees = degrees.body_as_u32()?;
            let leave = |v: usize| u64::from(degrees[direction.row(v as u32, Way::Out) as usize]);
            let reached = parents.par_iter().enumerate().filter(|&(_, &parent)| parent != NONE);
            return Ok(reached.map(|(v, _)| leave(v)).sum());
        }
        // Without direction, who reaches the root of another search reaches all that it did.
        let known = self.counted.iter().find(|&&(other, _)| is_whole && parents[other as usize] != NONE);
        if let Some(&(_, edges)) = known {
            return Ok(edges);
        }
        let reached = |first: u64, end: u64| {
            parents[first as usize..end as usize]
                .par_iter()
                .with_min_len(1 << 14)
                .filter(|&&parent| parent != NONE)
                .count()
        };
        let ends: u64 =
            self.runs.iter().map(|(degree, first, end)| u64::from(degree) * reached(first, end) as u64).sum();
        self.counted.push((root, ends / 2));
        Ok(ends / 2)
    }
}
