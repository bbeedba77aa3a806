//! The kinds of input that algorithms compute on: graphs and lists.

use super::cost::{GraphSize, ListSize};
use super::verify::{ListResults, Results};
use crate::error::{Error, Result};
use crate::list::List;
use crate::prepare::prepared::Graph;

/// A value for a graph, or one for a list.
#[derive(Debug, Clone, Copy)]
pub enum ByInput<G, L> {
    /// Of a graph.
    Graph(G),
    /// Of a list.
    List(L),
}

/// An input of either kind.
pub type InputRef<'a> = ByInput<&'a Graph, &'a List>;

/// The size of an input of either kind.
pub type SizeRef<'a, 'b> = ByInput<&'a GraphSize<'b>, &'a ListSize>;

/// Results on an input of either kind.
pub type ResultsRef<'a, 'b> = ByInput<&'a Results<'b>, &'a ListResults<'b>>;

/// A kind of input.
pub trait Input: Sized + 'static {
    /// True for lists, which nothing is prepared of.
    const IS_LIST: bool;
    /// Its size, as far as it is known.
    type Size<'a>;
    /// Results of one task on such an input, for checks.
    type Results<'a>;

    /// Returns the input.
    ///
    /// # Errors
    /// [`Error::internal`] if it is of the other kind. A job has inputs of one kind alone.
    fn of(input: InputRef<'_>) -> Result<&Self>;

    /// Returns the size.
    ///
    /// # Errors
    /// Those of [`Self::of`].
    fn size<'a, 'b>(size: SizeRef<'a, 'b>) -> Result<&'a Self::Size<'b>>;

    /// Returns the results.
    ///
    /// # Errors
    /// Those of [`Self::of`].
    fn results<'a, 'b>(results: ResultsRef<'a, 'b>) -> Result<&'a Self::Results<'b>>;
}

impl<G, L> ByInput<G, L> {
    /// Returns the value of a graph, if this is one.
    pub fn graph(self) -> Option<G> {
        if let ByInput::Graph(graph) = self { Some(graph) } else { None }
    }

    /// Returns the value of a list, if this is one.
    pub fn list(self) -> Option<L> {
        if let ByInput::List(list) = self { Some(list) } else { None }
    }
}

fn other_kind() -> Error {
    Error::internal("compute a task", "its input is of another kind")
}

impl Input for Graph {
    const IS_LIST: bool = false;
    type Size<'a> = GraphSize<'a>;
    type Results<'a> = Results<'a>;

    fn of(input: InputRef<'_>) -> Result<&Graph> {
        input.graph().ok_or_else(other_kind)
    }

    fn size<'a, 'b>(size: SizeRef<'a, 'b>) -> Result<&'a GraphSize<'b>> {
        size.graph().ok_or_else(other_kind)
    }

    fn results<'a, 'b>(results: ResultsRef<'a, 'b>) -> Result<&'a Results<'b>> {
        results.graph().ok_or_else(other_kind)
    }
}

impl Input for List {
    const IS_LIST: bool = true;
    type Size<'a> = ListSize;
    type Results<'a> = ListResults<'a>;

    fn of(input: InputRef<'_>) -> Result<&List> {
        input.list().ok_or_else(other_kind)
    }

    fn size<'a, 'b>(size: SizeRef<'a, 'b>) -> Result<&'a ListSize> {
        size.list().ok_or_else(other_kind)
    }

    fn results<'a, 'b>(results: ResultsRef<'a, 'b>) -> Result<&'a ListResults<'b>> {
        results.list().ok_or_else(other_kind)
    }
}
