//! The kinds of input that algorithms compute on: graphs and lists.

use super::cost::{GraphSize, ListSize};
use super::verify::{ListResults, Results};
use crate::error::{Error, Result};
use crate::list::List;
use crate::prepare::prepared::Graph;

/// A value for a graph, or a value for a list.
#[derive(Debug, Clone, Copy)]
pub enum ByInput<G, L> {
    /// The value for a graph.
    Graph(G),
    /// The value for a list.
    List(L),
}

/// An input of either kind.
pub type InputRef<'a> = ByInput<&'a Graph, &'a List>;

/// Size of an input of either kind.
pub type SizeRef<'a, 'b> = ByInput<&'a GraphSize<'b>, &'a ListSize>;

/// Results on an input of either kind.
pub type ResultsRef<'a, 'b> = ByInput<&'a Results<'b>, &'a ListResults<'b>>;

/// A kind of input: graphs or lists.
pub trait Input: Sized + 'static {
    /// True for lists, which need no preparation.
    const IS_LIST: bool;
    /// Size of an input, as far as it is known.
    type Size<'a>;
    /// Results of one task on an input, for checks.
    type Results<'a>;

    /// Returns the input as one of this kind.
    ///
    /// # Errors
    /// [`Error::internal`] if it is of the other kind. All inputs of a job are of one kind.
    fn of(input: InputRef<'_>) -> Result<&Self>;

    /// Returns the size of an input of this kind.
    ///
    /// # Errors
    /// Errors of [`Self::of`].
    fn size<'a, 'b>(size: SizeRef<'a, 'b>) -> Result<&'a Self::Size<'b>>;

    /// Returns the results on an input of this kind.
    ///
    /// # Errors
    /// Errors of [`Self::of`].
    fn results<'a, 'b>(results: ResultsRef<'a, 'b>) -> Result<&'a Self::Results<'b>>;
}

impl<G, L> ByInput<G, L> {
    /// Returns the value for a graph, if this is one.
    pub fn graph(self) -> Option<G> {
        if let ByInput::Graph(graph) = self { Some(graph) } else { None }
    }

    /// Returns the value for a list, if this is one.
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
