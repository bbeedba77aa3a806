//! Faults in shortest-path trees, and their error messages.
//!
//! A tree is correct if four rules hold. No edge gives a shorter path. The distance of a child is the distance of its
//! parent plus the weight of an edge between them. Every chain of parents ends at the root. No edge leads from a
//! reached vertex to an unreached one. In addition, gpugraph promises that each parent is the first possible one in the
//! order of vertices.

use super::distances::Distance;
use crate::error::Error;

/// A violation of a rule for shortest-path trees, with the vertices that prove it. Vertices are given by their
/// positions in the order of descending degree. `above` is the distance of a parent, or of the tail of an edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PathFault {
    /// Fault: the parent of the root is not the root.
    Root { parent: Option<u32> },
    /// Fault: the root is not at distance 0.
    RootDistance { distance: Distance },
    /// Fault: the parent of `vertex` is not a vertex of the graph.
    NoVertex { vertex: u32, parent: u64 },
    /// Fault: `vertex` has a distance, but no parent.
    NoParent { vertex: u32, distance: Distance },
    /// Fault: `vertex` has a parent, but no distance.
    NoDistance { vertex: u32, parent: u32 },
    /// Fault: the parent of `vertex` is unreached.
    LostParent { vertex: u32, parent: u32 },
    /// Fault: the chain of parents of `vertex` ends in a cycle.
    Cycle { vertex: u32 },
    /// Fault: the parent of `vertex` is farther from the root than `vertex` itself.
    Farther { vertex: u32, distance: Distance, parent: u32, above: Distance },
    /// Fault: the edge from `from` to `to` gives a path to `to` that is shorter than the distance of `to`.
    Shorter { from: u32, above: Distance, weight: Distance, to: u32, distance: Distance },
    /// Fault: an edge leads from the reached vertex `from` to the unreached vertex `to`.
    NotReached { from: u32, to: u32 },
    /// Fault: no edge from the parent to `vertex` is tight. An edge is tight if the parent's distance plus its weight
    /// is the distance of `vertex`.
    NotTight { vertex: u32, distance: Distance, parent: u32, above: Distance },
    /// Fault: `parent` is not the first vertex, in the order of vertices, that qualifies as the parent of `vertex`.
    NotFirst { vertex: u32, parent: u32, first: u32 },
}

impl PathFault {
    /// Converts the fault into an error about the tree of `source`, the input id of the root. `name` returns the input
    /// id of a vertex.
    pub fn of_source(self, source: &str, name: &dyn Fn(u32) -> String) -> Error {
        let found = match self {
            PathFault::Root { parent: None } => "the root was not reached".to_owned(),
            PathFault::Root { parent: Some(parent) } => {
                format!("the parent of the root is {} and not the root", name(parent))
            }
            PathFault::RootDistance { distance } => format!("the root is at distance {distance} and not 0"),
            PathFault::NoVertex { vertex, parent } => {
                format!("the parent of vertex {} is {parent}, which is no vertex", name(vertex))
            }
            PathFault::NoParent { vertex, distance } => {
                format!("vertex {} is at distance {distance} and has no parent", name(vertex))
            }
            PathFault::NoDistance { vertex, parent } => {
                format!("vertex {} has parent {} and no distance", name(vertex), name(parent))
            }
            PathFault::LostParent { vertex, parent } => {
                format!("the parent of vertex {} is {}, which was not reached", name(vertex), name(parent))
            }
            PathFault::Cycle { vertex } => format!("the parents of vertex {} go round in a cycle", name(vertex)),
            PathFault::Farther { vertex, distance, parent, above } => {
                let (vertex, parent) = (name(vertex), name(parent));
                format!("vertex {vertex} is at distance {distance}, its parent {parent} at {above}")
            }
            PathFault::Shorter { from, above, weight, to, distance } => {
                let (from, to) = (name(from), name(to));
                format!(
                    "an edge of weight {weight} leads from {from}, distance {above}, to {to}, distance {distance}, and makes a shorter path"
                )
            }
            PathFault::NotReached { from, to } => {
                format!("an edge leads from {}, which was reached, to {}, which was not", name(from), name(to))
            }
            PathFault::NotTight { vertex, distance, parent, above } => {
                let (vertex, parent) = (name(vertex), name(parent));
                format!(
                    "no edge from {parent}, distance {above}, to its child {vertex}, distance {distance}, adds up to that"
                )
            }
            PathFault::NotFirst { vertex, parent, first } => {
                let (vertex, parent, first) = (name(vertex), name(parent), name(first));
                format!("the parent of vertex {vertex} is {parent}, but {first} qualifies and comes first")
            }
        };
        Error::Validation(format!("source {source}: {found}"))
    }
}
