//! Violations of the rules that a depth-first tree must follow.

use crate::error::Error;

/// A violation of a rule that a depth-first tree must follow, with vertices that show it. Vertices are given by their
/// index in the order of vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DfsFault {
    /// The preorder numbers of the reached vertices are not 0, 1, 2 and so on.
    Preorder { vertex: u32 },
    /// The vertex was reached before its parent.
    Parent { vertex: u32 },
    /// The vertex was reached after its parent was finished.
    NotNested { vertex: u32, parent: u32 },
    /// The depth of the vertex is not one more than the depth of its parent.
    Depth { vertex: u32 },
    /// The vertex was not finished when its subtree ended.
    Postorder { vertex: u32 },
    /// The vertex begins a tree but should not, or should begin a tree but does not.
    Root { vertex: u32 },
    /// An edge leads from a reached vertex to an unreached one.
    NotReached { from: u32, to: u32 },
    /// An edge leads to a vertex that was reached later, but not as a descendant.
    Cross { from: u32, to: u32 },
    /// The search continued with vertex `to`, although another unvisited neighbour precedes `to` in the order of
    /// vertices.
    NotFirst { vertex: u32, to: u32 },
    /// There is no edge from the parent to the vertex.
    NoEdge { vertex: u32, parent: u32 },
    /// An edge leads to a strongly connected component that was finished later than the component of its source.
    Component { from: u32, to: u32 },
    /// An edge leads backwards in the topological order.
    Topological { from: u32, to: u32 },
}

impl DfsFault {
    /// Converts the violation to an error message. `name` returns the name of a vertex.
    pub fn error(self, name: &dyn Fn(u32) -> String) -> Error {
        Error::Validation(match self {
            DfsFault::Preorder { vertex } => {
                format!("the preorder of vertex {} is a duplicate or out of range", name(vertex))
            }
            DfsFault::Parent { vertex } => format!("the parent of vertex {} was not reached before it", name(vertex)),
            DfsFault::NotNested { vertex, parent } => {
                format!("vertex {} was reached after its parent {} was left", name(vertex), name(parent))
            }
            DfsFault::Depth { vertex } => {
                format!("the depth of vertex {} is not one more than its parent's", name(vertex))
            }
            DfsFault::Postorder { vertex } => {
                format!("the postorder of vertex {} is not that of its subtree", name(vertex))
            }
            DfsFault::Root { vertex } => {
                format!("a tree wrongly begins, or wrongly does not begin, at vertex {}", name(vertex))
            }
            DfsFault::NotReached { from, to } => {
                format!("an edge leads from {}, which was reached, to {}, which was not", name(from), name(to))
            }
            DfsFault::Cross { from, to } => {
                format!("an edge leads from {} to {}, which was reached later and not below it", name(from), name(to))
            }
            DfsFault::NotFirst { vertex, to } => {
                format!("the search went from {} to {}, where another neighbour comes first", name(vertex), name(to))
            }
            DfsFault::Component { from, to } => {
                let [from, to] = [name(from), name(to)];
                format!("an edge leads from {from} to {to}, the component of which should come first")
            }
            DfsFault::Topological { from, to } => {
                format!("an edge leads from {} to {}, which is before it in topological order", name(from), name(to))
            }
            DfsFault::NoEdge { vertex, parent } => {
                format!("no edge leads to vertex {} from its parent {}", name(vertex), name(parent))
            }
        })
    }
}
