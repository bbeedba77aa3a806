//! A prepared graph, with statistics of its input and of its stored blocks.

use super::dictionary::{self, Dictionary};
use super::names::NameList;
use super::order;
use super::weight_list::WeightValues;
use crate::error::{Error, Result};
use crate::graph::bins::Bin;
use crate::graph::{
    BlockStore, DegreeRuns, DegreeSummary, Direction, FirstId, GraphWeights, Half, HalfPacked, InputId, Layout, Packer,
    RawId, degrees, pack_half,
};
use crate::memory::Budget;
use crate::process::signals;
use crate::store::map::Mapped;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Results of the first pass over the input; kept in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputInfo {
    /// Number of edges in the input, loops and repeats included.
    pub edges: u64,
    /// Number of loops (edges from a vertex to itself) in the input.
    pub loops: u64,
    /// Smallest dense id that has a loop. A graph kept by an earlier version may have loops but not this id.
    #[serde(default)]
    pub first_loop: Option<u64>,
    /// Upper bound of the number of edges without loops and repeats.
    pub distinct_at_most: u64,
    /// Number of vertices: the number that the input declares, or else the largest id + 1. With sparse ids it is the
    /// number of different ids.
    pub vertices: u64,
    /// Whether the input declares its number of vertices, so that ids without an edge are vertices as well.
    #[serde(default)]
    pub declared: bool,
    /// Largest raw id of a vertex; `None` if there is no vertex.
    #[serde(default)]
    pub largest: Option<u64>,
    /// True if the formats of all input files count from 1. Raw ids are then one less than the ids in the files.
    #[serde(default)]
    pub counts_from_one: bool,
    /// Id that this job gives the vertex whose raw id is 0. It is not in the manifest, because each job that reads a
    /// kept graph sets its own.
    #[serde(skip)]
    pub first_id: FirstId,
    /// Length of the map from dense ids to vertices: the largest id + 1, or the number of different sparse ids.
    pub ids: u64,
    /// Number of vertices that have an edge other than a loop.
    pub connected: u64,
    /// Number of different degrees of vertices.
    pub runs: u64,
    /// Histogram of the vertices by their degree in the input. Repeated edges count, loops do not, and isolated
    /// vertices are left out.
    #[serde(default)]
    pub degrees: Vec<Bin>,
    /// Whether the graph keeps the direction of edges, which it does if a task reads the direction.
    #[serde(default)]
    pub direction: Direction,
    /// Description of the edges' weights, if a task reads them.
    #[serde(default)]
    pub weights: Option<GraphWeights>,
    /// True if ids are sparse. They are then looked up in the file `graph/ids`.
    pub sparse: bool,
    /// True if ids are strings. Raw ids are then places in the list of strings in the file `graph/names`.
    #[serde(default)]
    pub names: bool,
    /// Checksum of the input's bytes.
    pub checksum: u64,
    /// Hash that identifies the input's files. It is the key of the files `graph/ids` and `graph/names`.
    pub identity: u64,
    /// Hash of the input's contents and of the settings with which it is read. All later stages depend on it.
    pub content: u64,
    /// Size of the input in bytes.
    pub bytes: u64,
    /// Name of the input, for messages.
    pub source: String,
}

impl InputInfo {
    /// Returns the number of vertices for which a result column has a value. With sparse ids these are the vertices
    /// that occur in the input; else all vertices, isolated ones included.
    pub fn rows(&self) -> u64 {
        if self.sparse { self.ids } else { self.vertices }
    }

    /// Returns the number of unused rows at the start of a NumPy column. They make the id of a vertex the index of its
    /// row.
    pub fn rows_before(&self) -> u64 {
        if self.sparse { 0 } else { self.first_id.0 }
    }

    /// Returns the largest id of a vertex, in the form that users know; `None` if there is no vertex, or if
    /// ids are strings.
    pub fn largest_id(&self) -> Option<InputId> {
        self.largest.filter(|_| !self.names).map(|largest| self.first_id.input(RawId(largest)))
    }

    /// Returns the layout of the lower half of rows, for vertices with the degrees in `runs`.
    pub fn layout(&self, runs: &DegreeRuns) -> Layout {
        Layout::new(runs, self.edges - self.loops, self.direction)
    }

    /// Returns the layout of the upper half of rows, for vertices with the degrees in `runs`.
    pub fn upper_layout(&self, runs: &DegreeRuns) -> Layout {
        Layout::upper(runs, self.edges - self.loops, self.direction)
    }
}

/// Returns a message about the ids in results and job files, for an input whose format counts ids from 1. Returns
/// `None` for other inputs, because their ids are kept.
pub fn numbering(counts_from_one: bool, first_id: FirstId) -> Option<&'static str> {
    match (counts_from_one, first_id) {
        (false, _) => None,
        (true, FirstId(0)) => {
            Some("ids count from 0: node 1 of the file is 0 (first_id = 1 in [input] keeps the file's ids)")
        }
        (true, _) => Some("ids count from 1, as in the file"),
    }
}

/// Statistics of the stored blocks; kept in the manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoreInfo {
    /// Number of distinct edges.
    pub edges: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Whether the degrees of the simple graph are stored as well.
    #[serde(default)]
    pub degrees: bool,
    /// Whether blocks stayed in memory, so that a run that did not finish has left none in files.
    #[serde(default)]
    pub in_memory: bool,
    /// Weights stored next to the blocks, if edges have weights.
    #[serde(default)]
    pub weights: Option<GraphWeights>,
    /// Largest degree and number of wedges of the simple graph.
    pub summary: DegreeSummary,
}

/// Statistics of the upper half of rows; kept in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpperInfo {
    /// Number of entries (neighbours) of the upper half, one for each distinct edge.
    pub entries: u64,
    /// Number of blocks of the upper half.
    pub blocks: u64,
    /// Weights stored next to the blocks, if edges have weights.
    #[serde(default)]
    pub weights: Option<GraphWeights>,
}

/// A graph that is ready for algorithms.
#[derive(Debug)]
pub struct Graph {
    /// Folder of the graph's files.
    pub folder: PathBuf,
    /// Statistics of the input.
    pub info: InputInfo,
    /// Statistics of the stored blocks.
    pub stored: StoreInfo,
    /// The blocks of the lower half of rows.
    pub block_store: BlockStore,
    /// Folder and key of the files of rows and degrees.
    rows: RowFiles,
    /// The blocks of the upper half of rows, if a task needs it.
    pub(crate) upper: Option<Box<BlockStore>>,
    /// The undirected version of a directed graph, if a task ignores direction.
    pub(crate) merged: Option<Box<Graph>>,
}

/// Location and key of the files of rows and degrees.
#[derive(Debug, Clone)]
pub struct RowFiles {
    /// Folder of the files.
    pub folder: PathBuf,
    /// Key of the files.
    pub key: u64,
}

impl Graph {
    /// Opens the graph that `info` and `stored` describe; both come from the manifest of `workdir`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Io`] if its files differ from the manifest.
    pub fn open(workdir: &Path, info: InputInfo, stored: StoreInfo) -> Result<Self> {
        let folder = workdir.join("graph");
        let runs = order::read_runs(&folder, info.content)?;
        let layout = info.layout(&runs);
        let weights = stored.weights;
        Self::with_layout(workdir, info, stored, layout, weights)
    }

    /// Returns the upper half of rows: for each vertex, its neighbours with larger numbers.
    ///
    /// # Errors
    /// [`Error::Internal`] if no task of the job has said that it needs the upper half.
    pub fn upper(&self) -> Result<&BlockStore> {
        self.upper.as_deref().ok_or_else(|| Error::internal("read whole rows", "no task needs the upper half"))
    }

    /// Sets the upper half of rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if `upper` has another number of edges than the lower half.
    pub(crate) fn set_upper(&mut self, upper: BlockStore) -> Result<()> {
        if upper.edges() != self.stored.edges {
            let found = format!("{} edges in the upper half, {} in the lower", upper.edges(), self.stored.edges);
            return Err(Error::corrupt(&self.folder, crate::error::At::File, found));
        }
        self.upper = Some(Box::new(upper));
        Ok(())
    }

    /// Packs the lower half of rows in memory, and sets the upper half, which is packed already. The unpacked memory is
    /// freed block by block.
    ///
    /// # Errors
    /// A stop, or [`Error::Limit`]. If packing has begun, the lower half is returned with the error, and the graph has
    /// no rows any more.
    pub(crate) fn pack(&mut self, upper: BlockStore, budget: &Budget) -> Result<(), (Error, Option<Box<HalfPacked>>)> {
        let packer = Packer::new(self.block_store.len(), budget).map_err(|e| (e, None))?;
        let layout = self.block_store.layout.clone();
        let lower =
            std::mem::replace(&mut self.block_store, BlockStore::in_memory(layout, Vec::new(), Vec::new(), true));
        match pack_half(lower, packer, signals::check) {
            Ok(lower) => self.block_store = lower,
            Err((e, begun)) => return Err((e, Some(begun))),
        }
        self.set_upper(upper).map_err(|e| (e, None))
    }

    /// Maps the file of the input's sorted ids, which has one u64 for each dense id. Returns `None` if ids are not
    /// sparse.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn sparse_ids(&self) -> Result<Option<Mapped>> {
        let list = || Dictionary::list(&dictionary::path(&self.folder), self.info.identity);
        self.info.sparse.then(list).transpose()
    }

    /// Maps the list of weights of 64 bits, whose codes are in the rows. The list is empty for other weights.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn weight_values(&self) -> Result<WeightValues> {
        WeightValues::open(&self.folder, self.stored.weights)
    }

    /// Maps the sorted list of the input's strings; `None` if ids are numbers.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn names(&self) -> Result<Option<NameList>> {
        self.info.names.then(|| NameList::open(&self.folder, self.info.identity)).transpose()
    }

    /// Maps the degrees of the simple graph, in the order of vertices.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::Io`] if degrees are not stored.
    pub fn degrees(&self) -> Result<Mapped> {
        degrees::open(&self.rows.folder, self.rows.key)
    }

    /// Opens the graph whose rows have the layout `layout`, and opens `weights` if they are given, because a task reads
    /// them.
    ///
    /// # Errors
    /// Errors of [`Self::open`].
    pub fn with_layout(
        workdir: &Path,
        info: InputInfo,
        stored: StoreInfo,
        layout: Layout,
        weights: Option<GraphWeights>,
    ) -> Result<Self> {
        let folder = workdir.join("graph");
        let block_store = BlockStore::open(&folder, info.content, Half::Lower, layout)?;
        let block_store = block_store.with_weights(&folder, Half::Lower, weights)?;
        if block_store.edges() != stored.edges {
            let found = format!("{} edges in its blocks, but {} in the manifest", block_store.edges(), stored.edges);
            return Err(Error::corrupt(&folder, crate::error::At::File, found));
        }
        Ok(Graph::new(folder, info, stored, block_store))
    }

    /// Makes a graph from the blocks in `block_store`, whose files are in `folder`.
    pub(crate) fn new(folder: PathBuf, info: InputInfo, stored: StoreInfo, block_store: BlockStore) -> Self {
        let rows = RowFiles { folder: folder.clone(), key: info.content };
        Graph { folder, info, stored, block_store, rows, upper: None, merged: None }
    }

    /// Opens the undirected version of this graph. Its files are at `rows`, and its blocks have the layout `layout`;
    /// `weights` are given if a task reads them.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub(crate) fn without_direction(
        &self,
        rows: RowFiles,
        layout: Layout,
        weights: Option<GraphWeights>,
    ) -> Result<Graph> {
        let blocks = layout.blocks() as u64;
        let block_store = BlockStore::open(&rows.folder, rows.key, Half::Lower, layout)?;
        let block_store = block_store.with_weights(&rows.folder, Half::Lower, weights)?;
        let summary = DegreeSummary::of(degrees::open(&rows.folder, rows.key)?.body_as_u32()?);
        let edges = block_store.edges();
        let stored = StoreInfo { edges, blocks, degrees: true, in_memory: false, weights, summary };
        let info = InputInfo { direction: Direction::Undirected, ..self.info.clone() };
        Ok(Graph { rows, ..Graph::new(self.folder.clone(), info, stored, block_store) })
    }

    /// Returns the graph that a task computes on: the undirected version if there is one and `takes_direction` is
    /// false.
    pub(crate) fn for_task(&self, takes_direction: bool) -> &Graph {
        self.merged.as_deref().filter(|_| !takes_direction).unwrap_or(self)
    }
}
