//! A table of searches, as their driver knows it.

use super::results::{SourceDetails, Speed};
use super::{Options, Root};
use crate::algo::{Algorithm, Run};
use crate::error::Result;
use crate::graph::ids::{InputId, Vertex};
use crate::memory::Budget;
use crate::prepare::prepared::Graph;
use crate::results::Output;
use crate::store::map::Mapped;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// A table of searches: what a search is, and what is kept of it.
pub trait SearchTask: Algorithm {
    /// Figures of one search.
    type Searched: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// The result of one source.
    type SourceOutput: Debug + Clone + PartialEq + Serialize + DeserializeOwned;
    /// How the search from one source went.
    type SourceDetails: SourceDetails;
    /// The arrays that a search fills on rank 0, with an element for each vertex; empty on other ranks.
    type Tree;
    /// A graph that is ready to be searched.
    type Engine<'a>;
    /// The means to write columns of sources.
    type Writer;

    /// Most trees that are checked together.
    const CHECKED: usize;
    /// The kernel of Graph500 that a search is.
    const KERNEL: super::graph500::Kernel;

    /// Returns the keys that all tables of searches share.
    fn options(&self) -> &Options;

    /// Gets what searches ready on the device that the job and all ranks choose. `spare` bytes of host memory stay free. Collective.
    ///
    /// # Errors
    /// Those of the device and of the graph.
    fn engine<'a>(&self, graph: &'a Graph, degrees: &'a Mapped, run: &Run<'a>, spare: u64) -> Result<Self::Engine<'a>>;

    /// Searches from a vertex. Collective.
    ///
    /// # Errors
    /// Those of the device and of other ranks, and a stop.
    fn search(engine: &mut Self::Engine<'_>, root: Vertex, tree: &mut Self::Tree) -> Result<Self::Searched>;

    /// Searches once more for its own sake: the tree may be left as it is. Collective.
    ///
    /// # Errors
    /// Those of [`Self::search`].
    fn repeat(engine: &mut Self::Engine<'_>, root: Vertex, tree: &mut Self::Tree) -> Result<()>;

    /// Fills the tree of a vertex without an edge, which reaches itself alone.
    fn alone(&self, graph: &Graph, tree: &mut Self::Tree) -> Self::Searched;

    /// Makes a tree of `vertices` vertices, whose memory was touched: that is no business of the searches that are timed.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    fn tree(&self, graph: &Graph, vertices: usize, budget: &Budget) -> Result<Self::Tree>;

    /// Returns the bytes that `trees` trees take until they are checked and written.
    fn tree_bytes(&self, vertices: u64, trees: usize) -> u64;

    /// Returns the parents in a tree.
    fn parents(tree: &Self::Tree) -> &[u32];

    /// Returns true if a search reaches all that edges lead to: a sum of decimals may be infinite before.
    fn reaches_all(_searched: &Self::Searched) -> bool {
        true
    }

    /// Adds to the first search what is told of one alone. Its time is no part of the search's.
    fn describe(_tree: &Self::Tree, _searched: &mut Self::Searched) {}

    /// Returns the seconds of a search.
    fn seconds(searched: &Self::Searched) -> f64;

    /// Returns what [keeps](Self::keep) something of each tree; `None` if nothing is kept. Columns are, if `writes`.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Corrupt`], [`crate::Error::Io`].
    fn writer(&self, graph: &Graph, writes: bool, budget: &Budget) -> Result<Option<Self::Writer>>;

    /// Keeps of a tree what the table asks for: returns the columns that it wrote, by their paths in the workdir, and may add to the figures.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`], [`crate::Error::Limit`], a stop.
    fn keep(
        &self,
        writer: &Self::Writer,
        kept: Kept<'_, Self::Tree>,
        searched: &mut Self::Searched,
        run: &mut Run<'_>,
    ) -> Result<BTreeMap<String, Output>>;

    /// Checks trees together, against the graph and against the figures of their searches. All have a vertex as their root.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] for one that is wrong.
    fn check(&self, graph: &Graph, claims: &[Claim<'_, Self::Searched, Self::Tree>], run: &Run<'_>) -> Result<()>;

    /// Returns the result of a source, and how the search from it went, with `levels` levels at most. It traversed `edges` edges.
    fn results(
        source: InputId,
        edges: u64,
        searched: Self::Searched,
        speed: Speed,
        levels: usize,
    ) -> (Self::SourceOutput, Self::SourceDetails);
}

/// A tree to keep something of.
pub struct Kept<'t, T> {
    /// The source.
    pub root: Root,
    /// The findings of the search.
    pub tree: &'t T,
    /// True if its columns are written.
    pub writes: bool,
}

/// A tree to check, and what its search says of it.
pub struct Claim<'t, S, T> {
    /// The source's id in the input.
    pub source: InputId,
    /// The vertex that was searched from.
    pub root: Vertex,
    /// The figures of the search.
    pub searched: &'t S,
    /// The tree.
    pub tree: &'t T,
}
