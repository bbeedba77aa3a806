//! Faults in breadth-first trees: violations of the five rules of Graph500, and of one additional rule of gpugraph.
//!
//! Rule 1: the tree has no cycle, and leads to its root. Rule 2: an edge of the tree joins two consecutive levels. Rule
//! 3: the ends of every edge of the graph differ by at most one level, or both are unreached. Rule 4: the tree contains
//! every reachable vertex. Rule 5: a vertex and its parent are joined by an edge of the graph. Directed graphs have
//! weaker rules. An edge must lead from the parent to the child. The level of an edge's head may be smaller than the
//! level of the tail by any number, but larger by at most one. If the tail is unreached, the head may have any level or
//! be unreached.

use crate::error::Error;

/// A violation of a rule for breadth-first trees, with the vertices that prove it. Vertices are given by their
/// positions in the order of descending degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TreeFault {
    /// Rule 1: the parent of the root is not the root.
    Root { parent: Option<u32> },
    /// Rule 1: the parent of `vertex` is not a vertex of the graph.
    NoVertex { vertex: u32, parent: u64 },
    /// Rule 1: the chain of parents of `vertex` ends in a cycle.
    Cycle { vertex: u32 },
    /// Rule 1: the parent of `vertex` is unreached.
    LostParent { vertex: u32, parent: u32 },
    /// Rule 2: the level of `vertex` is not `above` + 1, where `above` is the level of its parent.
    Level { vertex: u32, level: u32, parent: u32, above: u32 },
    /// Rule 3: the levels at the ends of the edge from `from` to `to` differ by too much.
    Apart { from: u32, level: u32, to: u32, other: u32 },
    /// Rule 4: an edge leads from the reached vertex `from` to the unreached vertex `to`.
    NotReached { from: u32, to: u32 },
    /// Rule 5: the graph has no edge from the parent to `vertex`.
    NoEdge { vertex: u32, parent: u32 },
    /// Rule of gpugraph: the parent of `vertex` is not its first neighbour in the previous level.
    NotFirst { vertex: u32, parent: u32, first: u32 },
}

/// The index of a tree, and a fault in that tree.
pub(super) type NumberedFault = (usize, TreeFault);

impl TreeFault {
    /// Converts the fault into an error about the tree of `source`. `name` returns the name of a vertex.
    pub fn of_source(self, source: &str, name: &dyn Fn(u32) -> String) -> Error {
        let (rule, found) = match self {
            TreeFault::Root { parent: None } => (1, "the root was not reached".to_owned()),
            TreeFault::Root { parent: Some(parent) } => {
                (1, format!("the parent of the root is {} and not the root", name(parent)))
            }
            TreeFault::NoVertex { vertex, parent } => {
                (1, format!("the parent of vertex {} is {parent}, which is no vertex", name(vertex)))
            }
            TreeFault::Cycle { vertex } => (1, format!("the parents of vertex {} go round in a cycle", name(vertex))),
            TreeFault::LostParent { vertex, parent } => {
                (1, format!("the parent of vertex {} is {}, which was not reached", name(vertex), name(parent)))
            }
            TreeFault::Level { vertex, level, parent, above } => {
                let (vertex, parent) = (name(vertex), name(parent));
                (2, format!("vertex {vertex} has level {level}, its parent {parent} has {above}"))
            }
            TreeFault::Apart { from, level, to, other } => {
                (3, format!("an edge leads from {}, level {level}, to {}, level {other}", name(from), name(to)))
            }
            TreeFault::NotReached { from, to } => {
                (4, format!("an edge leads from {}, which was reached, to {}, which was not", name(from), name(to)))
            }
            TreeFault::NoEdge { vertex, parent } => {
                (5, format!("no edge leads to vertex {} from its parent {}", name(vertex), name(parent)))
            }
            TreeFault::NotFirst { vertex, parent, first } => {
                let (vertex, parent, first) = (name(vertex), name(parent), name(first));
                return Error::Validation(format!(
                    "source {source}: the parent of vertex {vertex} is {parent}, but {first} is in the same level and comes first"
                ));
            }
        };
        rule_error(source, rule, &found)
    }
}

/// Creates the error for a tree that violates the Graph500 rule with number `rule` (1 to 5). `found` says what is
/// wrong.
pub(super) fn rule_error(source: &str, rule: u32, found: &str) -> Error {
    Error::Validation(format!("source {source}: {found} (rule {rule} of Graph500)"))
}
