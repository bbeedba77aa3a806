//! Faults in trees of searches by levels: the five rules of Graph500, and one of our own.
//!
//! Rule 1: the tree has no cycle, and leads to its root. Rule 2: an edge of the tree joins two consecutive levels. Rule
//! 3: so does every edge of the graph, unless its ends have the same level or both are unreached. Rule 4: the tree
//! contains every vertex that is reachable. Rule 5: an edge of the graph joins a vertex and its parent. In a directed
//! graph, the head of an edge may have any level up to one more than its tail, and only the tail may be unreached. The
//! parent is the tail of the edge to its child.

use crate::error::Error;

/// A rule that a tree breaks, and where it does. Vertices are places in the order of vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TreeFault {
    /// Rule 1: the parent of the root is not the root.
    Root { parent: Option<u32> },
    /// Rule 1: the parent is not a vertex of the graph.
    NoVertex { vertex: u32, parent: u64 },
    /// Rule 1: the parents of this vertex form a cycle.
    Cycle { vertex: u32 },
    /// Rule 1: parents lead to an unreached vertex.
    LostParent { vertex: u32, parent: u32 },
    /// Rule 2: the level is not one more than the level of the parent.
    Level { vertex: u32, level: u32, parent: u32, above: u32 },
    /// Rule 3: the levels at the ends of an edge are too far apart.
    Apart { from: u32, level: u32, to: u32, other: u32 },
    /// Rule 4: an edge leads from a reached vertex to an unreached one.
    NotReached { from: u32, to: u32 },
    /// Rule 5: no edge leads from the parent to the vertex.
    NoEdge { vertex: u32, parent: u32 },
    /// The parent is not the first of the neighbours in the previous level, as this program promises.
    NotFirst { vertex: u32, parent: u32, first: u32 },
}

impl TreeFault {
    /// Makes an error of the fault in the tree of `source`. `name` returns the name of a vertex.
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
        breaks(source, rule, &found)
    }
}

/// Makes the error for a tree that breaks a rule of Graph500.
pub(super) fn breaks(source: &str, rule: u32, found: &str) -> Error {
    Error::Validation(format!("source {source}: {found} (rule {rule} of Graph500)"))
}
