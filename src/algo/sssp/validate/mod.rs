//! Checks shortest-path trees against the rows of the graph, by the rules in `super::fault`. One pass over all edges
//! checks several trees.
//!
//! The checks trust nothing that the search reports. First they check each tree by itself (`claims`): every vertex with
//! a distance has a parent that is not farther. If a parent has the same distance as its child, the chain of parents
//! must lead to a nearer vertex (`steps`). Then one pass over the lower half of all adjacency rows reads each edge once
//! (`rows`). For each end of an edge the pass reads a line, which contains the distances of the vertex in all trees.
//! The pass checks that no edge gives a shorter path. It also checks that an edge leads from each parent to its child
//! and gives exactly the distance of the child. So each distance is the length of a path, and no path is shorter.
//!
//! The pass also checks that each parent is the first possible one, in the order of vertices.

mod batch;
mod claims;
mod rows;
mod steps;
mod sum;
#[cfg(test)]
mod tests;

use super::distances::{Distance, Distances};
use super::fault::PathFault;
use super::weights::EdgeWeights;
use crate::algo::WeightSource;
use crate::error::{Error, Result};
use crate::graph::ids::Vertex;
use crate::graph::weights::drawn::DrawnWeights;
use crate::memory::{Budget, Buffer};
use crate::prepare::prepared::Graph;
use batch::CheckedTree;
pub use batch::{NumberedFault, TreeBatch};
use claims::{TypedTree, claims};
use rows::RowPass;
pub use sum::TreeSum;

/// A shortest-path tree to check: the distances and parents that a search wrote.
#[derive(Clone, Copy)]
pub struct PathTree<'a> {
    /// Root of the search that found the tree.
    pub root: Vertex,
    /// Distance of every vertex from the root.
    pub distances: &'a Distances,
    /// Parent of every vertex; [`super::search::NONE`] for an unreached vertex.
    pub parents: &'a [u32],
}

/// Statistics of a tree that passed the checks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathFigures {
    /// Number of reached vertices, including the root.
    pub reached: u64,
    /// Largest distance of a reached vertex.
    pub max_distance: Distance,
}

/// Maximum number of trees that one pass over the edges checks.
pub const MOST: usize = 16;
/// Maximum number of trees that one pass over the edges checks if memory is short.
const SOME: usize = 4;

/// Returns the host memory, in bytes, for checking `trees` trees in one pass over a graph with `vertices` vertices
/// that have an edge. Assumes that distances are f32 or below 2^32, and that at most one tree has plateaus. With less
/// memory the check makes several passes, down to one tree per pass.
pub fn bytes(vertices: u64, trees: usize, weights: WeightSource) -> u64 {
    let lines = match trees {
        0 | 1 => 0,
        _ => 4 * width(trees) as u64,
    };
    // Floating-point weights may be too small to change a sum. Integer weights above 0 always change it.
    let adds = match weights {
        WeightSource::Drawn(DrawnWeights::Unit) => true,
        WeightSource::Drawn(DrawnWeights::Whole { least, .. }) => least > 0,
        WeightSource::Drawn(DrawnWeights::Decimal { .. }) | WeightSource::File => false,
    };
    vertices * (lines + 4 + if adds { 0 } else { 4 }) + EdgeWeights::bytes(weights, vertices)
}

fn width(trees: usize) -> usize {
    if trees > SOME { MOST } else { SOME }
}

/// Source of a graph's edges for checks of trees: the adjacency rows or the input. A pass reads each edge once. The
/// source also provides the ids of vertices for messages.
pub trait EdgePass {
    /// Returns the number of vertices in the graph.
    fn vertices(&self) -> usize;

    /// Returns true if weights may have more than 32 bits.
    fn has_wide_weights(&self) -> bool;

    /// Checks all edges against the trees of `batch`. Returns a fault if an edge breaks a rule in a tree. The fault
    /// does not depend on the number of threads.
    ///
    /// # Errors
    /// Read errors; [`Error::Stopped`].
    fn pass<S: TreeSum, const W: usize>(
        &self,
        batch: &TreeBatch<'_, S, W>,
        threads: usize,
    ) -> Result<Result<(), NumberedFault>>;

    /// Returns the id of vertex `v` in the input, for messages.
    fn name(&self, v: u32) -> String;
}

/// Checks shortest-path trees against the adjacency rows of a graph, with `threads` threads. Returns the statistics of
/// each tree, in order.
///
/// # Errors
/// [`Error::Validation`] for a tree that breaks a rule; [`Error::Limit`] if memory is too small for one tree;
/// [`Error::Stopped`].
pub fn validate(
    graph: &Graph,
    weights: WeightSource,
    trees: &[PathTree<'_>],
    threads: usize,
    budget: &Budget,
) -> Result<Vec<PathFigures>> {
    check(&RowPass::new(graph, weights, budget)?, trees, threads, budget)
}

/// Checks shortest-path trees against any source of edges. The distances of all trees must have the same type. Returns
/// the statistics of each tree, in order.
///
/// # Errors
/// Errors of [`validate`]; errors of reading the edges.
pub fn check<E: EdgePass>(
    edges: &E,
    trees: &[PathTree<'_>],
    threads: usize,
    budget: &Budget,
) -> Result<Vec<PathFigures>> {
    let checks = PathChecks { edges, threads, budget };
    let mut figures = Vec::new();
    for some in trees.chunks(MOST) {
        figures.extend(match some[0].distances {
            Distances::Whole(_) => checks.whole(some)?,
            Distances::Decimal(_) => {
                checks.decimal(some, |of| if let Distances::Decimal(of) = of { Some(of) } else { None })?
            }
            Distances::Double(_) => {
                checks.decimal(some, |of| if let Distances::Double(of) = of { Some(of) } else { None })?
            }
        });
    }
    Ok(figures)
}

/// The source of edges, the threads and the memory for checks of trees.
struct PathChecks<'a, E> {
    edges: &'a E,
    threads: usize,
    budget: &'a Budget,
}

impl<E: EdgePass> PathChecks<'_, E> {
    fn whole(&self, trees: &[PathTree<'_>]) -> Result<Vec<PathFigures>> {
        let (trees, figures) = self.each(trees, |of| if let Distances::Whole(of) = of { Some(of) } else { None })?;
        let is_narrow = figures.iter().all(|figures| match figures.max_distance {
            Distance::Whole(most) => most < u64::from(u32::MAX) - 1 && !self.edges.has_wide_weights(),
            Distance::Decimal(_) | Distance::Double(_) => false,
        });
        let narrow: fn(u64) -> u32 = |sum| u32::try_from(sum).unwrap_or(u32::MAX);
        // Distances that need 64 bits are rare, so each tree is then checked in a separate pass.
        self.together(&trees, is_narrow.then_some(narrow))?;
        Ok(figures)
    }

    fn decimal<'t, S: TreeSum>(
        &self,
        trees: &[PathTree<'t>],
        of: impl Fn(&'t Distances) -> Option<&'t Buffer<S>>,
    ) -> Result<Vec<PathFigures>> {
        let (trees, figures) = self.each(trees, of)?;
        self.together(&trees, Some(|sum| sum))?;
        Ok(figures)
    }

    /// Checks trees against all edges, in as few passes as memory allows. `narrow` converts distances to a smaller
    /// type. If `narrow` is `None`, each tree is checked in a separate pass.
    fn together<S: TreeSum, N: TreeSum>(&self, trees: &[TypedTree<'_, S>], narrow: Option<fn(S) -> N>) -> Result<()> {
        let (first, ..) = match trees {
            [] => return Ok(()),
            // A single tree is checked without a copy of its distances.
            [tree] => return self.pass::<S, S, 1>(trees, tree.distances.as_chunks::<1>().0),
            more => more.split_at(more.len() / 2),
        };
        let steps = trees.iter().filter(|tree| tree.has_plateaus).count();
        let of_vertex = size_of::<N>() * width(trees.len()) + 4 + 4 * steps;
        match narrow {
            Some(narrow) if (of_vertex * self.edges.vertices()) as u64 <= self.budget.free() => match trees.len() {
                0..=SOME => self.copied::<S, N, SOME>(trees, narrow),
                _ => self.copied::<S, N, MOST>(trees, narrow),
            },
            _ => {
                self.together(first, narrow)?;
                self.together(&trees[first.len()..], narrow)
            }
        }
    }

    /// Checks each tree by itself, without edges. `of` returns the distances of a tree, or `None` if they do not have
    /// the type `S`. Returns the trees whose distances have this type, and their statistics.
    fn each<'t, S: TreeSum>(
        &self,
        trees: &[PathTree<'t>],
        of: impl Fn(&'t Distances) -> Option<&'t Buffer<S>>,
    ) -> Result<(Vec<TypedTree<'t, S>>, Vec<PathFigures>)> {
        let vertices = self.edges.vertices();
        let (mut ofs, mut figures) = (Vec::new(), Vec::new());
        for tree in trees {
            let alike = |of: &&Buffer<S>| of.len() == vertices && tree.parents.len() == vertices;
            let Some(distances) = of(tree.distances).filter(alike) else {
                return Err(Error::internal("check trees", "arrays of other vertices than the graph has"));
            };
            let of = TypedTree { root: tree.root, parents: tree.parents, distances, has_plateaus: false };
            let (found, has_plateaus) = claims(of, self.threads)?.map_err(|fault| self.to_error(tree.root, fault))?;
            figures.push(found);
            ofs.push(TypedTree { has_plateaus, ..of });
        }
        Ok((ofs, figures))
    }

    /// Copies the distances of each vertex in all trees to one place, so that they are read together. Then checks the
    /// trees against all edges.
    fn copied<S: TreeSum, N: TreeSum, const W: usize>(
        &self,
        trees: &[TypedTree<'_, S>],
        narrow: fn(S) -> N,
    ) -> Result<()> {
        let vertices = self.edges.vertices();
        let mut distances: Buffer<N> = self.budget.zeroed(vertices * W, "distances in trees that are checked")?;
        let (lines, _) = distances.as_chunks_mut::<W>();
        let all: Vec<&[S]> = trees.iter().map(|tree| tree.distances).collect();
        claims::interleave(lines, &all, self.threads, narrow)?;
        self.pass::<S, N, W>(trees, lines)
    }

    fn pass<S: TreeSum, N: TreeSum, const W: usize>(&self, trees: &[TypedTree<'_, S>], lines: &[[N; W]]) -> Result<()> {
        let mut marked = Vec::new();
        for tree in trees {
            marked.push(match tree.has_plateaus {
                true => match steps::steps(*tree, self.threads, self.budget)? {
                    Ok(steps) => Some(steps),
                    Err(fault) => return Err(self.to_error(tree.root, fault)),
                },
                false => None,
            });
        }
        let all = trees.iter().zip(marked);
        let all = all.map(|(tree, steps)| CheckedTree { root: tree.root.0, parents: tree.parents, steps });
        let batch = TreeBatch::new(all.collect(), lines, self.budget)?;
        let wrong = |(number, fault): NumberedFault| self.to_error(trees[number].root, fault);
        self.edges.pass(&batch, self.threads)?.map_err(wrong)?;
        batch.check_all_seen(self.threads)?.map_err(wrong)
    }

    /// Converts a fault in the tree of `root` into an error. The error names vertices by the ids of the input.
    fn to_error(&self, root: Vertex, fault: PathFault) -> Error {
        let name = |v: u32| self.edges.name(v);
        fault.of_source(&name(root.0), &name)
    }
}
