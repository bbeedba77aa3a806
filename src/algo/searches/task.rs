//! Traits that an algorithm with searches from many sources implements. [`SearchTable`] describes its searches, and
//! [`SearchTask`] the trees that they find.

use super::graph500::Graph500Kernel;
use super::results::{SearchDetails, SearchOutput, SourceDetails, SourceFigures, Speed};
use super::{Options, Root};
use crate::algo::{EdgeSource, GraphSize, RankResources, Results, Run};
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

/// An engine: a graph that is prepared for searches on some device. A search fills a tree of type `T`, and returns
/// results and statistics of type `S`.
pub trait Search<T: ?Sized, S> {
    /// Searches from `root`, and writes the result into the arrays of `tree`. On rank 0 these arrays have an element
    /// for each vertex; on other ranks they are empty. The search time that the statistics contain does not include
    /// copying results from a device or from other ranks. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of the device and of other ranks; [`crate::Error::Stopped`].
    fn search(&mut self, root: Vertex, tree: &mut T) -> Result<S>;

    /// Prepares the engine for checking trees where searches write them, such as in GPU memory. Returns false if this
    /// engine does not check trees.
    ///
    /// # Errors
    /// Errors of the device.
    fn prepare_checks(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// Checks the tree that the last search found, which began at `root` and returned `searched`. Returns true if the
    /// tree is correct, and false if the host has to check it.
    ///
    /// # Errors
    /// Errors of the device.
    fn check(&mut self, root: Vertex, searched: &S) -> Result<bool> {
        let _ = (root, searched);
        Ok(false)
    }

    /// Repeats a search to measure its energy. The engine need not write the tree. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of [`Self::search`].
    fn repeat(&mut self, root: Vertex, tree: &mut T) -> Result<()> {
        self.search(root, tree).map(drop)
    }
}

/// A boxed engine that fills trees of type `T` and returns statistics of type `S`.
pub type Engine<'a, T, S> = Box<dyn Search<T, S> + 'a>;

/// Type of the engine that the search table `T` uses.
pub type EngineOf<'a, T> = Engine<'a, <<T as SearchTable>::Tree as Deref>::Target, <T as SearchTable>::Stats>;

/// A search table in a job file: its keys, and the engine that searches. Every algorithm with searches from many
/// sources implements this trait.
pub trait SearchTable: Debug + Serialize + DeserializeOwned + Send + Sync + Sized + 'static {
    /// Name of the table in the job file.
    const NAME: &'static str;
    /// Phrase that says what the searches of the table do.
    const ABOUT: &'static str;
    /// Keys of the table.
    const KEYS: &'static [&'static dyn AnyKey];

    /// Arrays that a search fills on rank 0, with an element for each vertex. Other ranks have empty arrays.
    type Tree: DerefMut;
    /// Results and statistics that one search returns.
    type Stats: Clone + Debug + PartialEq + Serialize + DeserializeOwned;

    /// Parses the table. If there are mistakes, reports them to `diagnostics` and returns `None`.
    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Self>;

    /// Returns the values of the keys that all search tables share.
    fn options(&self) -> &Options;

    /// Returns the vertex to which the report shows paths, if the table names one.
    fn target(&self) -> Option<InputId> {
        None
    }

    /// Returns true if the searches use the weights that the input contains.
    fn reads_weights(&self) -> bool {
        false
    }

    /// Returns the CUDA programs that the engine may launch if it runs on `ranks` ranks.
    fn programs(&self, ranks: usize) -> Vec<&'static ProgramSource>;

    /// Returns the CUDA programs that the engine launches only for rare graphs, as
    /// [`Algorithm::rare_programs`](crate::algo::algorithm::Algorithm::rare_programs) does.
    fn rare_programs(&self) -> Vec<&'static ProgramSource> {
        Vec::new()
    }

    /// Returns the minimum GPU memory, in bytes, that a rank needs for a search if there are `ranks` ranks.
    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> u64;

    /// Returns true if a GPU with `bytes` bytes of memory can search an undirected graph whose adjacency rows are
    /// packed (compressed) in host memory.
    fn takes_packed(&self, _vertices: u64, _edges: u64, _bytes: u64) -> bool {
        false
    }

    /// Returns the estimated cost of the searches, without the cost of trees, checks and result columns.
    fn search_cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> SearchCost;

    /// Prepares the engine for the device that all ranks choose together. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of the device and of reading the graph.
    fn engine<'a>(&self, input: EngineInput<'a, '_>) -> Result<EngineOf<'a, Self>>;
}

/// The graph from which an engine is prepared, and the resources for it.
#[derive(Clone, Copy)]
pub struct EngineInput<'a, 'r> {
    /// The graph, with both halves (smaller and larger neighbours) of its rows.
    pub graph: &'a Graph,
    /// Degrees of all vertices, or of all rows if the graph is directed.
    pub degrees: &'a [u32],
    /// Resources that the job lends for the trial: ranks, threads, memory, devices.
    pub run: &'r Run<'a>,
    /// Host memory in bytes that the engine must leave free for other uses.
    pub spare: u64,
}

/// Estimated cost of the searches of a table, without the cost of trees, checks and result columns.
pub struct SearchCost {
    /// Host memory of a rank in bytes, as a pair: the most that searches can use, and the least with which they run.
    pub bytes: [u64; 2],
    /// Size in bytes of the files that searches write if memory is too small.
    pub file: u64,
    /// Size in bytes of the files that searches read in random order.
    pub cached: u64,
    /// Number of bytes that all ranks together send in one search.
    pub sent: u64,
    /// Estimated time in nanoseconds, as a pair: the time to prepare a trial, and the time of a search from one source.
    pub nanoseconds: [f64; 2],
    /// Label under which search times are recorded. Time estimates use the times of earlier runs with the same label.
    pub label: String,
}

/// Interface between the driver of trials and a search table, which creates, checks, stores and reports trees.
/// [`super::tree`] implements it for all tables of level-synchronous searches.
pub trait SearchTask: SearchTable {
    /// Result of one source, for the manifest and the report.
    type SourceOutput: Debug + Clone + PartialEq + Serialize + DeserializeOwned;
    /// Statistics of the search from one source.
    type SourceDetails: SourceDetails;
    /// Type of the writer that [`Self::keep`] uses for the results of a source.
    type Writer;

    /// Graph500 kernel to which the searches belong.
    const KERNEL: Graph500Kernel;
    /// Descriptions of the two result columns that are written for each source.
    const COLUMNS: &'static [About];
    /// For each of the two result columns: the size of a value in bytes in a binary file, and the number of its digits
    /// in a text file.
    const VALUES: [(u64, u64); 2];
    /// Maximum number of trees that one pass over the graph checks.
    const CHECKED: usize;
    /// Number of trees per checking pass over the graph that the cost estimate assumes.
    const PLANNED: usize;
    /// Time to check a tree, in nanoseconds per row entry and thread, that the cost estimate assumes.
    const CHECK: f64;
    /// Journal size in bytes per source that the cost estimate assumes.
    const RECORD: u64;

    /// Fills the tree of a root that has no edge and so reaches only itself. Returns the statistics of this search.
    fn isolated(&self, graph: &Graph, tree: &mut Self::Tree) -> Self::Stats;

    /// Allocates a tree of `vertices` vertices. Touches the memory of the tree, so that timed searches cause no page
    /// faults.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    fn tree(&self, graph: &Graph, vertices: usize, budget: &Budget) -> Result<Self::Tree>;

    /// Returns the host memory in bytes for `trees` trees, including the memory for checking and writing them.
    fn tree_bytes(&self, vertices: u64, trees: usize) -> u64;

    /// Returns the parent of every vertex in a tree.
    fn parents(tree: &Self::Tree) -> &[u32];

    /// Returns true if the search reached every vertex that can be reached from the root. A search can miss some of
    /// them only if a sum of floating-point weights became infinite.
    fn reaches_all(_searched: &Self::Stats) -> bool {
        true
    }

    /// Adds to `searched` the statistics that the report contains only for the first search. The search time does not
    /// include this.
    fn describe(_tree: &Self::Tree, _searched: &mut Self::Stats) {}

    /// Returns the duration of a search in seconds.
    fn seconds(searched: &Self::Stats) -> f64;

    /// Returns the writer that [`Self::keep`] uses, or `None` if no columns and no paths are requested. `writes` says
    /// whether columns are requested.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Corrupt`], [`crate::Error::Io`].
    fn writer(&self, graph: &Graph, writes: bool, budget: &Budget) -> Result<Option<Self::Writer>>;

    /// Writes the requested results of a tree, such as columns or a path. Returns the columns that it wrote, keyed by
    /// their paths in the workdir. May add results to `searched`.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`], [`crate::Error::Limit`], [`crate::Error::Stopped`].
    fn keep(
        &self,
        writer: &Self::Writer,
        root: Root,
        searched: (&Self::Tree, &mut Self::Stats),
        run: &mut Run<'_>,
    ) -> Result<BTreeMap<String, Output>>;

    /// Checks several trees together against the graph, and checks the statistics that their searches reported against
    /// the trees. The root of each tree must have an edge.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] for a wrong tree.
    fn check(&self, graph: &Graph, claims: &[ReportedTree<'_, Self::Stats, Self::Tree>], run: &Run<'_>) -> Result<()>;

    /// Splits the return value of a search into the result of a source and the statistics of the search. `edges` is the
    /// number of traversed edges, and `levels` the maximum number of levels in the statistics.
    fn results(
        source: InputId,
        edges: u64,
        searched: Self::Stats,
        speed: Speed,
        levels: usize,
    ) -> (Self::SourceOutput, Self::SourceDetails);

    /// Returns the numbers about a source that every search algorithm reports.
    fn figures(source: &Self::SourceOutput) -> SourceFigures;

    /// Returns the result of a source as text, without the values that its journal record lacks. The check of a journal
    /// computes the same text from the record. If the two texts differ, the error message contains the text from the
    /// record.
    fn shown(source: &Self::SourceOutput) -> String;

    /// Returns an additional answer line and an additional sentence about a source, if there are any.
    fn more(_source: &Self::SourceOutput) -> Option<[String; 2]> {
        None
    }

    /// Returns the charts of all searches for the report.
    fn charts(output: &SearchOutput<Self::SourceOutput>, details: &SearchDetails<Self::SourceDetails>) -> Vec<Figure>;

    /// Checks that the numbers that a job reports about a source are possible, except the numbers that
    /// [`Self::figures`] returns.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] for an impossible number.
    fn check_source(source: &Self::SourceOutput, details: &Self::SourceDetails) -> Result<()>;

    /// Checks the result columns of all sources against the edges of the graph. Returns a sentence that says what was
    /// checked.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] for a wrong tree; read errors; [`crate::Error::Stopped`].
    fn verify_trees(
        &self,
        edges: &EdgeSource<'_>,
        results: &Results<'_>,
        sources: &[(&Self::SourceOutput, &Self::SourceDetails)],
    ) -> Result<String>;
}

/// A tree to check, with the statistics that its search reported.
pub struct ReportedTree<'t, S, T> {
    /// Input id of the source.
    pub source: InputId,
    /// Root of the search (its position in the order of vertices).
    pub root: Vertex,
    /// Statistics that the search reported.
    pub searched: &'t S,
    /// The tree to check.
    pub tree: &'t T,
}
