//! Checks breadth-first trees against the rows of the graph, by the five rules of Graph500 (`super::fault`). One pass
//! over the rows checks up to 64 trees.
//!
//! The checks trust only the parents, and compute levels from them ([`super::levels`]). Then one pass over the lower
//! half of all adjacency rows visits each edge once. For each end of an edge the pass reads a line, which contains the
//! levels of the vertex in all trees. A line has at most 64 bytes, and the two lines are compared as vectors. The
//! parent of a vertex must be the first neighbour in its row that is in the previous level. Nearly all parents come
//! before their children in the order of vertices, so the upper half of the rows is read for few vertices only.
//!
//! A tree that passes is a breadth-first tree. By rule 3 no level is larger than the distance from the root. No level
//! is smaller, because the tree leads to the root by edges of the graph. By rule 4 no reachable vertex is missing.

mod level_vector;
mod rows;
mod sums;
#[cfg(test)]
mod tests;

pub use super::levels::Tree;

use super::fault::NumberedFault;
use super::levels::{Mark, mark};
use crate::algo::searches::vertex_name;
use crate::error::{Error, Result};
use crate::memory::{Budget, Buffer};
use crate::prepare::prepared::Graph;
use rows::TreePass;

/// Number of vertices and depth of a breadth-first tree that passed the checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeFigures {
    /// Number of reached vertices, including the root.
    pub reached: u64,
    /// Largest level of a reached vertex.
    pub depth: u64,
}

/// Possible sizes of a line in bytes, in ascending order. A line contains the levels of a vertex in all trees that are
/// checked.
const LINES: [usize; 3] = [4, 16, 64];

/// Returns the host memory in bytes for checking `trees` trees of depth `depth` in one pass, on a graph with `vertices`
/// vertices that have an edge. With less memory the check takes several passes, down to one tree per pass.
pub fn bytes(vertices: u64, trees: usize, depth: u64) -> u64 {
    let mark = if depth <= u64::from(u8::DEEPEST) { 1 } else { 4 };
    vertices * line_bytes(trees.saturating_mul(mark)) as u64
}

/// Returns the size in bytes of the smallest line that has room for `marks` bytes. A line contains the levels of a
/// vertex in all trees. If no line is large enough, returns the largest size.
fn line_bytes(marks: usize) -> usize {
    LINES.into_iter().find(|&bytes| bytes >= marks).unwrap_or(LINES[2])
}

/// Checks breadth-first trees with `threads` threads. Returns the number of vertices and the depth of each tree, in
/// order. The graph must have both halves of its rows (smaller and larger neighbours).
///
/// # Errors
/// [`Error::Validation`] for a tree that breaks a rule; [`Error::Limit`] if memory is too small for the lines of one
/// tree; [`Error::Stopped`].
pub fn validate(graph: &Graph, trees: &[Tree<'_>], threads: usize, budget: &Budget) -> Result<Vec<TreeFigures>> {
    let checks = TreeChecks { graph, trees, threads, budget };
    let mut figures = vec![TreeFigures::default(); trees.len()];
    let all: Vec<usize> = (0..trees.len()).collect();
    let deep = checks.all::<1>(all, &mut figures)?;
    checks.all::<4>(deep, &mut figures)?;
    Ok(figures)
}

/// Trees to check, and the resources for the checks.
struct TreeChecks<'a> {
    graph: &'a Graph,
    trees: &'a [Tree<'a>],
    threads: usize,
    budget: &'a Budget,
}

impl TreeChecks<'_> {
    /// Checks the trees with the indices `numbers`, with levels of `BYTES` bytes each. Writes the number of vertices
    /// and the depth of each tree to `figures`. Returns the indices of the trees whose levels do not fit in `BYTES`
    /// bytes.
    fn all<const BYTES: usize>(&self, mut numbers: Vec<usize>, figures: &mut [TreeFigures]) -> Result<Vec<usize>> {
        let mut deep = Vec::new();
        while !numbers.is_empty() {
            let line = self.line(numbers.len() * BYTES);
            let some: Vec<usize> = numbers.drain(..numbers.len().min(line / BYTES)).collect();
            let too_deep = match (BYTES, line) {
                (1, 64) => self.pass::<u8, 64>(&some, figures),
                (1, 16) => self.pass::<u8, 16>(&some, figures),
                (1, _) => self.pass::<u8, 4>(&some, figures),
                (_, 64) => self.pass::<u32, 16>(&some, figures),
                (_, 16) => self.pass::<u32, 4>(&some, figures),
                (_, _) => self.pass::<u32, 1>(&some, figures),
            }?;
            if !too_deep.is_empty() {
                numbers.splice(..0, some.into_iter().filter(|number| !too_deep.contains(number)));
            }
            deep.extend(too_deep);
        }
        Ok(deep)
    }

    /// Returns the size in bytes of a line (the levels of a vertex in all trees): the smallest that has room for
    /// `marks` bytes or, if memory is too small for this size, the largest that memory allows.
    fn line(&self, marks: usize) -> usize {
        let wanted = line_bytes(marks);
        let fits = |bytes: usize| self.graph.info.connected * bytes as u64 <= self.budget.free();
        LINES.into_iter().rev().find(|&bytes| bytes <= wanted && fits(bytes)).unwrap_or(LINES[0])
    }

    /// Checks the trees with the indices `numbers` in a pass over the rows. Writes the number of vertices and the depth
    /// of each tree to `figures`. Returns the indices of the trees whose levels do not fit in numbers of type `M`. If
    /// there are such trees, no tree was checked.
    fn pass<M: Mark, const W: usize>(&self, numbers: &[usize], figures: &mut [TreeFigures]) -> Result<Vec<usize>> {
        let trees: Vec<_> = numbers.iter().map(|&number| self.trees[number]).collect();
        let vertices = self.graph.info.connected as usize;
        if trees.iter().any(|tree| tree.parents.len() != vertices) {
            return Err(Error::internal("check trees", "parents of other vertices than the graph has"));
        }
        let mut marks: Buffer<M> = self.budget.zeroed(vertices * W, "levels of trees that are checked")?;
        let (lines, _) = marks.as_chunks_mut::<W>();
        let wrong = |(tree, fault): NumberedFault| {
            let name = |v: u32| vertex_name(self.graph, v);
            fault.of_source(&name(trees[tree].root.0), &name)
        };
        let deep = mark(lines, &trees, self.threads)?.map_err(wrong)?;
        if deep.is_empty() {
            let found = TreePass::new(self.graph, &trees, lines)?.run(self.threads)?.map_err(wrong)?;
            numbers.iter().zip(found).for_each(|(&number, found)| figures[number] = found);
        }
        Ok(deep.into_iter().map(|tree| numbers[tree]).collect())
    }
}
