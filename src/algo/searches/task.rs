//! The traits of a table of searches: what its searches are, and what is kept of them.

use super::graph500::Graph500Kernel;
use super::results::{SearchDetails, SearchOutput, SourceDetails, SourceFigures, Speed};
use super::{Options, Root};
use crate::algo::{Crew, EdgeSource, GraphSize, Results, Run};
use crate::chart::Figure;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::ids::{InputId, Vertex};
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::memory::Budget;
use crate::prepare::prepared::Graph;
use crate::results::Output;
use crate::results::about::About;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

/// An engine with a graph that is ready to be searched on some device. A search fills arrays of type `T`, and returns
/// results and statistics of type `S`.
pub trait Search<T: ?Sized, S> {
    /// Searches from `root`, and writes the tree. All ranks call this together. The arrays have an element for each
    /// vertex on rank 0, and none on other ranks. The reported seconds do not include copying results from a device or
    /// from other ranks into the arrays. Collective.
    ///
    /// # Errors
    /// Errors of the device and of other ranks, and a stop.
    fn search(&mut self, root: Vertex, tree: &mut T) -> Result<S>;

    /// Repeats a search, to measure it. The tree need not be written. Collective.
    ///
    /// # Errors
    /// Errors of [`Self::search`].
    fn repeat(&mut self, root: Vertex, tree: &mut T) -> Result<()> {
        self.search(root, tree).map(drop)
    }
}

/// An engine that fills trees of type `T` and returns statistics of type `S`.
pub type Engine<'a, T, S> = Box<dyn Search<T, S> + 'a>;

/// The engine of the table `T`.
pub type EngineOf<'a, T> = Engine<'a, <<T as SearchTable>::Tree as Deref>::Target, <T as SearchTable>::Searched>;

/// A table of searches: its keys, and the engine that searches. Each algorithm implements it.
pub trait SearchTable: Debug + Serialize + DeserializeOwned + Send + Sync + Sized + 'static {
    /// Name of the table.
    const NAME: &'static str;
    /// What its searches do, in a phrase.
    const ABOUT: &'static str;
    /// Keys of the table.
    const KEYS: &'static [&'static dyn AnyKey];

    /// Arrays that a search fills on rank 0, with an element for each vertex. They are empty on other ranks.
    type Tree: DerefMut;
    /// Results and statistics of one search.
    type Searched: Clone + Debug + PartialEq + Serialize + DeserializeOwned;

    /// Reads the table. Reports mistakes to `diagnostics`, and then returns `None`.
    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Self>;

    /// Returns the keys that all tables of searches share.
    fn options(&self) -> &Options;

    /// Returns the target of paths, if the table names one.
    fn target(&self) -> Option<InputId> {
        None
    }

    /// Returns true if searches read the weights of the input.
    fn reads_weights(&self) -> bool {
        false
    }

    /// Returns the programs that the engine launches on a GPU.
    fn programs(&self) -> &'static [&'static ProgramSource];

    /// Returns the smallest GPU memory in bytes that suffices for one of `ranks` ranks.
    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> u64;

    /// Returns true if a GPU with `bytes` bytes of memory can search rows that are packed in host memory. The graph is
    /// undirected.
    fn takes_packed(&self, _vertices: u64, _edges: u64, _bytes: u64) -> bool {
        false
    }

    /// Returns the cost of the searches alone.
    fn search_cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> SearchCost;

    /// Prepares the engine on the devices that the job and all ranks choose. Collective.
    ///
    /// # Errors
    /// Errors of the device and of reading the graph.
    fn engine<'a>(&self, input: EngineInput<'a, '_>) -> Result<EngineOf<'a, Self>>;
}

/// What an engine is prepared from.
#[derive(Clone, Copy)]
pub struct EngineInput<'a, 'r> {
    /// The graph, with both halves of its rows.
    pub graph: &'a Graph,
    /// The degrees of all vertices; if the graph is directed, of all rows.
    pub degrees: &'a [u32],
    /// What the job lends.
    pub run: &'r Run<'a>,
    /// Bytes of host memory that must stay free.
    pub spare: u64,
}

/// Cost of the searches of a table, without trees, checks and columns.
pub struct SearchCost {
    /// Host memory of a rank in bytes: the most that searches can use, and the smallest amount that suffices.
    pub bytes: [u64; 2],
    /// Bytes of files that searches write if memory is too small.
    pub file: u64,
    /// Bytes of files that searches read in no order.
    pub cached: u64,
    /// Bytes that all ranks together send in a search.
    pub sent: u64,
    /// Nanoseconds of the preparation of a trial, and of a search.
    pub nanoseconds: [f64; 2],
    /// Label of the kind of work.
    pub label: String,
}

/// What the driver needs of a table of searches: its trees, their checks, and what is kept and reported of them. A table
/// of searches by levels has it from [`super::tree`].
pub trait SearchTask: SearchTable {
    /// Result of one source.
    type SourceOutput: Debug + Clone + PartialEq + Serialize + DeserializeOwned;
    /// Details of the search from one source.
    type SourceDetails: SourceDetails;
    /// Writer of the columns of sources.
    type Writer;

    /// Kernel of Graph500 to which a search belongs.
    const KERNEL: Graph500Kernel;
    /// The two columns of a source.
    const COLUMNS: &'static [About];
    /// Bytes of a value of each column in binary files, and digits in text.
    const VALUES: [(u64, u64); 2];
    /// Maximum number of trees that are checked together, and how many of them a plan counts.
    const CHECKED: usize;
    /// See [`Self::CHECKED`].
    const PLANNED: usize;
    /// Nanoseconds of a thread for each entry of all rows while a tree is checked, as far as plans count them.
    const CHECK: f64;
    /// Bytes in the journal for each source.
    const RECORD: u64;

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

    /// Returns the writer that [`Self::keep`] uses, or `None` if nothing is kept of trees. Columns are written if
    /// `writes` is true.
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
        root: Root,
        searched: (&Self::Tree, &mut Self::Searched),
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

    /// Returns the figures of a source that every kind of search has.
    fn figures(source: &Self::SourceOutput) -> SourceFigures;

    /// Returns the figures of a source that its journal has as well, for messages.
    fn shown(source: &Self::SourceOutput) -> String;

    /// Returns a further line of the answer and a further sentence about a source, if there are any.
    fn more(_source: &Self::SourceOutput) -> Option<[String; 2]> {
        None
    }

    /// Returns charts of all searches.
    fn charts(output: &SearchOutput<Self::SourceOutput>, details: &SearchDetails<Self::SourceDetails>) -> Vec<Figure>;

    /// Checks that the figures of a source are possible, apart from those of [`Self::figures`].
    ///
    /// # Errors
    /// [`crate::Error::Validation`] for an impossible figure.
    fn agree(source: &Self::SourceOutput, details: &Self::SourceDetails) -> Result<()>;

    /// Checks the written columns of all sources against the edges of the graph. Returns a description of what was
    /// checked.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] for a wrong tree; errors of reading; a stop.
    fn verify_trees(
        &self,
        edges: &EdgeSource<'_>,
        results: &Results<'_>,
        sources: &[(&Self::SourceOutput, &Self::SourceDetails)],
    ) -> Result<String>;
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
