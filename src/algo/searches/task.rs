//! The trait through which the driver runs a table of searches.

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
use std::ops::{Deref, DerefMut};

/// An engine with a graph that is ready to be searched on some device.
pub trait Search {
    /// Arrays that a search fills.
    type Tree: ?Sized;
    /// Results and statistics of one search.
    type Searched;

    /// Searches from `root`, and writes the tree. All ranks call this together. The arrays have an element for each
    /// vertex on rank 0, and none on other ranks. The reported seconds do not include copying results from a device or
    /// from other ranks into the arrays. Collective.
    ///
    /// # Errors
    /// Errors of the device and of other ranks, and a stop.
    fn search(&mut self, root: Vertex, tree: &mut Self::Tree) -> Result<Self::Searched>;

    /// Repeats a search, to measure it. The tree need not be written. Collective.
    ///
    /// # Errors
    /// Errors of [`Self::search`].
    fn repeat(&mut self, root: Vertex, tree: &mut Self::Tree) -> Result<()> {
        self.search(root, tree).map(drop)
    }
}

/// An engine that fills trees of type `T` and returns statistics of type `S`.
pub type Engine<'a, T, S> = Box<dyn Search<Tree = T, Searched = S> + 'a>;

/// The engine of the table `T`.
pub type EngineOf<'a, T> = Engine<'a, <<T as SearchTask>::Tree as Deref>::Target, <T as SearchTask>::Searched>;

/// A table of searches. The trait defines what a search is and what is kept of it.
pub trait SearchTask: Algorithm {
    /// Results and statistics of one search.
    type Searched: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// Result of one source.
    type SourceOutput: Debug + Clone + PartialEq + Serialize + DeserializeOwned;
    /// Details of the search from one source.
    type SourceDetails: SourceDetails;
    /// Arrays that a search fills on rank 0, with an element for each vertex. They are empty on other ranks.
    type Tree: DerefMut;
    /// Writer of the columns of sources.
    type Writer;

    /// Maximum number of trees that are checked together.
    const CHECKED: usize;
    /// Kernel of Graph500 to which a search belongs.
    const KERNEL: super::graph500::Kernel;

    /// Returns the keys that all tables of searches share.
    fn options(&self) -> &Options;

    /// Prepares the engine on the device that the job and all ranks choose. `spare` bytes of host memory stay free.
    /// Collective.
    ///
    /// # Errors
    /// Errors of the device and of reading the graph.
    fn engine<'a>(
        &self,
        graph: &'a Graph,
        degrees: &'a Mapped,
        run: &Run<'a>,
        spare: u64,
    ) -> Result<EngineOf<'a, Self>>;

    /// Fills the tree of a root without an edge, which reaches only itself.
    fn alone(&self, graph: &Graph, tree: &mut Self::Tree) -> Self::Searched;

    /// Allocates a tree of `vertices` vertices and touches its memory, so that timed searches cause no page faults in
    /// it.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    fn tree(&self, graph: &Graph, vertices: usize, budget: &Budget) -> Result<Self::Tree>;

    /// Returns the bytes that `trees` trees take until they are checked and written.
    fn tree_bytes(&self, vertices: u64, trees: usize) -> u64;

    /// Returns the parents in a tree.
    fn parents(tree: &Self::Tree) -> &[u32];

    /// Returns true if a search reached every vertex to which edges lead. It may reach fewer if sums of decimals became
    /// infinite.
    fn reaches_all(_searched: &Self::Searched) -> bool {
        true
    }

    /// Adds to the first search what is reported only of one search. This is not timed as part of the search.
    fn describe(_tree: &Self::Tree, _searched: &mut Self::Searched) {}

    /// Returns the seconds of a search.
    fn seconds(searched: &Self::Searched) -> f64;

    /// Returns the writer that [`Self::keep`] uses, or `None` if nothing is kept of trees. Columns are kept if `writes`
    /// is true.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Corrupt`], [`crate::Error::Io`].
    fn writer(&self, graph: &Graph, writes: bool, budget: &Budget) -> Result<Option<Self::Writer>>;

    /// Keeps what the table requests of a tree. Returns the columns that it wrote, by their paths in the workdir. May
    /// add to the results in `searched`.
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

    /// Checks several trees together, against the graph and against the figures of their searches. Every root has an
    /// edge.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] for a wrong tree.
    fn check(&self, graph: &Graph, claims: &[Claim<'_, Self::Searched, Self::Tree>], run: &Run<'_>) -> Result<()>;

    /// Returns the result of a source and the details of its search, with at most `levels` levels. `edges` is the
    /// number of traversed edges.
    fn results(
        source: InputId,
        edges: u64,
        searched: Self::Searched,
        speed: Speed,
        levels: usize,
    ) -> (Self::SourceOutput, Self::SourceDetails);
}

/// A tree of which something is to be kept.
pub struct Kept<'t, T> {
    /// Root of the search.
    pub root: Root,
    /// What the search found.
    pub tree: &'t T,
    /// Whether to write its columns.
    pub writes: bool,
}

/// A tree to check, with the figures that its search claims.
pub struct Claim<'t, S, T> {
    /// The source's id in the input.
    pub source: InputId,
    /// Root of the search.
    pub root: Vertex,
    /// Figures of the search.
    pub searched: &'t S,
    /// The tree.
    pub tree: &'t T,
}
