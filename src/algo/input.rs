//! The two kinds of input of algorithms: graphs and linked lists.

use super::cost::{GraphSize, ListSize};
use super::verify::{ListResults, Results};
use crate::list::List;
use crate::prepare::prepared::Graph;

/// Either a value about a graph or a value about a list.
#[derive(Debug, Clone, Copy)]
pub enum ByInput<G, L> {
    /// The value for a graph.
    Graph(G),
    /// The value for a list.
    List(L),
}

/// Reference to a graph or a list.
pub type InputRef<'a> = ByInput<&'a Graph, &'a List>;

/// Size of a graph or of a list.
pub type SizeRef<'a, 'b> = ByInput<&'a GraphSize<'b>, &'a ListSize>;

/// Stored results of a task on a graph or on a list, for checks of these results.
pub type ResultsRef<'a, 'b> = ByInput<&'a Results<'b>, &'a ListResults<'b>>;

impl<G, L> ByInput<G, L> {
    /// Returns the value about a graph, or `None` if this is a value about a list.
    pub fn graph(self) -> Option<G> {
        if let ByInput::Graph(graph) = self { Some(graph) } else { None }
    }
}

/// A kind of input: graphs or lists.
pub trait Input: Sized + 'static {
    /// True for lists, false for graphs. Lists need no preparation.
    const IS_LIST: bool;
    /// Selects one of two types: `G` for graphs, `L` for lists.
    type Of<G, L>;

    /// Returns `value` if it is about this kind of input (graph or list), and `None` otherwise.
    fn pick<G, L>(value: ByInput<G, L>) -> Option<Self::Of<G, L>>;
}

/// Size of an input of kind `I`, as far as it is known.
pub type SizeOf<'a, 'b, I> = <I as Input>::Of<&'a GraphSize<'b>, &'a ListSize>;

/// Stored results of one task on an input of kind `I`, for checks of these results.
pub type ResultsOf<'a, 'b, I> = <I as Input>::Of<&'a Results<'b>, &'a ListResults<'b>>;

impl Input for Graph {
    const IS_LIST: bool = false;
    type Of<G, L> = G;

    fn pick<G, L>(value: ByInput<G, L>) -> Option<G> {
        value.graph()
    }
}

impl Input for List {
    const IS_LIST: bool = true;
    type Of<G, L> = L;

    fn pick<G, L>(value: ByInput<G, L>) -> Option<L> {
        if let ByInput::List(list) = value { Some(list) } else { None }
    }
}
