//! Checks of the trees of shortest paths against the rows of the graph, by the rules of `super::fault`, for several trees in one pass over all
//! edges.
//!
//! Nothing is believed of the search. First each tree is looked at by itself (`claims`): who has a distance has a parent that is no farther,
//! and where parents have the distance of their children, they lead to one that is nearer (`steps`). Then one pass over the lower half of all
//! rows sees each edge once, with the distances that both of its ends have in all trees, a line for each end (`rows`): no edge makes a path
//! shorter, and every parent has an edge that adds up. So there is a path of every distance, and none that is shorter.
//!
//! An edge that adds up also shows whether the parent is the first of its kind.

mod claims;
mod held;
mod rows;
mod steps;
mod sum;
#[cfg(test)]
mod tests;
mod weights;

use super::distances::{Distance, Distances};
use super::fault::Fault;
use crate::algo::WeightSource;
use crate::error::{Error, Result};
use crate::graph::ids::Vertex;
use crate::graph::weights::drawn::DrawnWeights;
use crate::memory::{Budget, Buffer};
use crate::prepare::prepared::Graph;
use claims::{Of, claims};
use held::Lines;
pub use held::{Held, Wrong};
use rows::Rows;
pub use sum::Sum;
use weights::Weights;

/// The distances and parents of one search, as [`super::search::Search`] has them.
#[derive(Clone, Copy)]
pub struct Tree<'a> {
    /// The vertex that was searched from.
    pub root: Vertex,
    /// The distance of every vertex.
    pub distances: &'a Distances,
    /// The parent of every vertex; [`super::search::NONE`] for one that was not reached.
    pub parents: &'a [u32],
}

impl<'a> Tree<'a> {
    fn whole(&self) -> Option<&'a [u64]> {
        match self.distances {
            Distances::Whole(distances) => Some(distances),
            Distances::Decimal(_) => None,
        }
    }

    fn decimal(&self) -> Option<&'a [f32]> {
        match self.distances {
            Distances::Decimal(distances) => Some(distances),
            Distances::Whole(_) => None,
        }
    }
}

/// Figures of a tree that passed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Vertices reached, the root included.
    pub reached: u64,
    /// The distance of the vertices that are farthest from the root.
    pub max_distance: Distance,
}

/// Most trees of one pass.
pub const MOST: usize = 16;
/// Trees of one pass where memory is short.
const SOME: usize = 4;

/// Returns the bytes of host memory in which `trees` trees are checked at once, on a graph of `vertices` vertices that have an edge, if their
/// distances are decimals or below 2^32, and edges add something in all but one. With less, down to those for one tree, they are checked in several passes.
pub fn bytes(vertices: u64, trees: usize, weights: WeightSource) -> u64 {
    let lines = match trees {
        0 | 1 => 0,
        _ => 4 * width(trees) as u64,
    };
    // Weights above 0 of whole numbers are the only ones that always add something.
    let adds = match weights {
        WeightSource::Drawn(DrawnWeights::Unit) => true,
        WeightSource::Drawn(DrawnWeights::Whole { least, .. }) => least > 0,
        WeightSource::Drawn(DrawnWeights::Decimal { .. }) | WeightSource::File => false,
    };
    vertices * (lines + 4 + if adds { 0 } else { 4 }) + Weights::bytes(weights, vertices)
}

fn width(trees: usize) -> usize {
    if trees > SOME { MOST } else { SOME }
}

/// The edges of a graph, each once, and the names of its vertices.
pub trait EdgePass {
    /// Returns the number of vertices.
    fn vertices(&self) -> usize;

    /// Holds all edges against trees; returns a fault that an edge shows, the same whatever the number of threads.
    ///
    /// # Errors
    /// Those of reading; [`Error::Stopped`].
    fn pass<S: Sum, const W: usize>(&self, held: &Held<'_, S, W>, threads: usize) -> Result<Result<(), Wrong>>;

    /// Returns the input's id of a vertex, for messages.
    fn name(&self, v: u32) -> String;
}

/// Checks trees on a graph by `threads` threads; returns the figures of each in order.
///
/// # Errors
/// [`Error::Validation`] for a tree that breaks a rule; [`Error::Limit`] where one tree can't be checked; [`Error::Stopped`].
pub fn validate(
    graph: &Graph,
    weights: WeightSource,
    trees: &[Tree<'_>],
    threads: usize,
    budget: &Budget,
) -> Result<Vec<Figures>> {
    hold(&Rows::new(graph, weights, budget)?, trees, threads, budget)
}

/// Checks trees against any edges.
///
/// # Errors
/// Those of [`validate`] and of reading the edges.
pub fn hold<E: EdgePass>(edges: &E, trees: &[Tree<'_>], threads: usize, budget: &Budget) -> Result<Vec<Figures>> {
    let checks = Checks { edges, threads, budget };
    let mut figures = Vec::new();
    let mut rest = trees;
    while let [first, ..] = rest {
        let is_whole = first.whole().is_some();
        let alike = rest.iter().take_while(|tree| tree.whole().is_some() == is_whole).count();
        let some = &rest[..alike.min(MOST)];
        figures.extend(if is_whole { checks.whole(some)? } else { checks.decimal(some)? });
        rest = &rest[some.len()..];
    }
    Ok(figures)
}

/// Checks of trees, one pass after the other.
struct Checks<'a, E> {
    edges: &'a E,
    threads: usize,
    budget: &'a Budget,
}

impl<E: EdgePass> Checks<'_, E> {
    fn whole(&self, trees: &[Tree<'_>]) -> Result<Vec<Figures>> {
        let (trees, figures) = self.each(trees, Tree::whole)?;
        let is_narrow = figures.iter().all(|figures| match figures.max_distance {
            Distance::Whole(most) => most < u64::from(u32::MAX) - 1,
            Distance::Decimal(_) => false,
        });
        let narrow: fn(u64) -> u32 = |sum| u32::try_from(sum).unwrap_or(u32::MAX);
        // Longer paths are rare.
        self.together(&trees, is_narrow.then_some(narrow))?;
        Ok(figures)
    }

    fn decimal(&self, trees: &[Tree<'_>]) -> Result<Vec<Figures>> {
        let (trees, figures) = self.each(trees, Tree::decimal)?;
        self.together(&trees, Some(|sum| sum))?;
        Ok(figures)
    }

    /// Holds trees against all edges in as few passes as memory has room for: one for each tree if distances can't be narrowed.
    fn together<S: Sum, N: Sum>(&self, trees: &[Of<'_, S>], narrow: Option<fn(S) -> N>) -> Result<()> {
        let (first, ..) = match trees {
            [] => return Ok(()),
            // Its distances are where they are.
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

    /// Looks at each tree by itself.
    fn each<'t, S: Sum>(
        &self,
        trees: &[Tree<'t>],
        of: impl Fn(&Tree<'t>) -> Option<&'t [S]>,
    ) -> Result<(Vec<Of<'t, S>>, Vec<Figures>)> {
        let vertices = self.edges.vertices();
        let (mut ofs, mut figures) = (Vec::new(), Vec::new());
        for tree in trees {
            let Some(distances) = of(tree).filter(|of| of.len() == vertices && tree.parents.len() == vertices) else {
                return Err(Error::internal("check trees", "arrays of other vertices than the graph has"));
            };
            let of = Of { root: tree.root, parents: tree.parents, distances, has_plateaus: false };
            let (found, has_plateaus) = claims(of, self.threads)?.map_err(|fault| self.told(tree.root, fault))?;
            figures.push(found);
            ofs.push(Of { has_plateaus, ..of });
        }
        Ok((ofs, figures))
    }

    /// Holds trees against all edges, with their distances side by side.
    fn copied<S: Sum, N: Sum, const W: usize>(&self, trees: &[Of<'_, S>], narrow: fn(S) -> N) -> Result<()> {
        let vertices = self.edges.vertices();
        let mut distances: Buffer<N> = self.budget.zeroed(vertices * W, "distances in trees that are checked")?;
        let (lines, _) = distances.as_chunks_mut::<W>();
        let all: Vec<&[S]> = trees.iter().map(|tree| tree.distances).collect();
        claims::side_by_side(lines, &all, self.threads, narrow)?;
        self.pass::<S, N, W>(trees, lines)
    }

    fn pass<S: Sum, N: Sum, const W: usize>(&self, trees: &[Of<'_, S>], lines: &[[N; W]]) -> Result<()> {
        let mut marked = Vec::new();
        for tree in trees {
            marked.push(match tree.has_plateaus {
                true => match steps::steps(*tree, self.threads, self.budget)? {
                    Ok(steps) => Some(steps),
                    Err(fault) => return Err(self.told(tree.root, fault)),
                },
                false => None,
            });
        }
        let all = trees.iter().zip(marked);
        let all = all.map(|(tree, steps)| Lines { root: tree.root.0, parents: tree.parents, steps });
        let held = Held::new(all.collect(), lines, self.budget)?;
        let wrong = |(number, fault): Wrong| self.told(trees[number].root, fault);
        self.edges.pass(&held, self.threads)?.map_err(wrong)?;
        held.all_met(self.threads)?.map_err(wrong)
    }

    /// Returns a fault in the tree of a root as an error that names vertices as the input does.
    fn told(&self, root: Vertex, fault: Fault) -> Error {
        let name = |v: u32| self.edges.name(v);
        fault.of_source(&name(root.0), &name)
    }
}
