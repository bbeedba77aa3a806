//! A prepared graph, with information about its input and its stored blocks.

use super::dictionary::{self, Dictionary};
use super::names::NameList;
use super::order;
use super::weight_list::WeightValues;
use crate::error::{Error, Result};
use crate::formats::Halves;
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

/// Results of the first pass over the input; stored in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputInfo {
    /// Number of edges in the input, including self-loops and duplicates.
    pub edges: u64,
    /// Number of self-loops in the input.
    pub loops: u64,
    /// Smallest dense id that has a self-loop. Manifests of earlier versions lack it, so it may be `None` although
    /// there are self-loops.
    #[serde(default)]
    pub first_loop: Option<u64>,
    /// Upper bound on the number of edges without self-loops and duplicates.
    pub distinct_at_most: u64,
    /// Number of vertices: the number that the input declares, or else the largest id + 1. With sparse ids it is the
    /// number of distinct ids.
    pub vertices: u64,
    /// Whether the input declares its number of vertices, so that ids without an edge are vertices, too.
    #[serde(default)]
    pub declared: bool,
    /// How many files list only one direction of each edge. Manifests of earlier versions lack it.
    #[serde(default)]
    pub halves: Halves,
    /// Largest raw id of a vertex; `None` if there is no vertex.
    #[serde(default)]
    pub largest: Option<u64>,
    /// Whether the formats of all input files have 1-based ids. Raw ids are then one less than the ids in the files.
    #[serde(default)]
    pub counts_from_one: bool,
    /// Id, in this job, of the vertex with the raw id 0. It is not in the manifest, because each job that reads a kept
    /// graph sets its own.
    #[serde(skip)]
    pub first_id: FirstId,
    /// Number of dense ids: the largest id + 1, or with sparse ids the number of distinct ids.
    pub ids: u64,
    /// Number of vertices that have an edge other than a self-loop.
    pub connected: u64,
    /// Number of distinct degrees.
    pub runs: u64,
    /// Histogram of the vertices by degree in the input, including duplicate edges and excluding self-loops. Isolated
    /// vertices are omitted.
    #[serde(default)]
    pub degrees: Vec<Bin>,
    /// Whether the graph is directed, which it is if a task needs the direction of edges.
    #[serde(default)]
    pub direction: Direction,
    /// Description of the edges' weights; `None` if no task reads weights.
    #[serde(default)]
    pub weights: Option<GraphWeights>,
    /// Whether ids are sparse. They are then looked up in the file `graph/ids`.
    pub sparse: bool,
    /// Whether ids are strings. A raw id is then the index of a string in the list in the file `graph/names`.
    #[serde(default)]
    pub names: bool,
    /// Checksum of the contents of the input.
    pub checksum: u64,
    /// Hash that identifies the input's files. It is the key of the files `graph/ids` and `graph/names`.
    pub identity: u64,
    /// Hash of the settings with which the input was read; 0 in manifests of earlier versions.
    #[serde(default)]
    pub reading: u64,
    /// Hash of the input's contents and of the settings with which it is read. All later stages depend on it.
    pub content: u64,
    /// Size of the input in bytes.
    pub bytes: u64,
    /// Name of the input, for messages.
    pub source: String,
}

impl InputInfo {
    /// Returns the number of values in a result column. With sparse ids, there is a value for each id that occurs in
    /// the input. Otherwise there is a value for each vertex, including isolated ones.
    pub fn rows(&self) -> u64 {
        if self.sparse { self.ids } else { self.vertices }
    }

    /// Returns the number of unused elements at the start of a NumPy column. These make the index of a value equal to
    /// the id of its vertex.
    pub fn rows_before(&self) -> u64 {
        if self.sparse { 0 } else { self.first_id.0 }
    }

    /// Returns the largest input id (the id that users write and see) of a vertex; `None` if there is no vertex, or if
    /// ids are strings.
    pub fn largest_id(&self) -> Option<InputId> {
        self.largest.filter(|_| !self.names).map(|largest| self.first_id.input(RawId(largest)))
    }

    /// Returns the layout of the lower half of the rows (neighbours with smaller ids). `runs` contains the degrees of
    /// the vertices.
    pub fn layout(&self, runs: &DegreeRuns) -> Layout {
        Layout::new(runs, self.edges - self.loops, self.direction)
    }

    /// Returns the layout of the upper half of the rows (neighbours with larger ids). `runs` contains the degrees of
    /// the vertices.
    pub fn upper_layout(&self, runs: &DegreeRuns) -> Layout {
        Layout::upper(runs, self.edges - self.loops, self.direction)
    }
}

/// Returns a message for users that says whether ids in results and job files are 0-based or 1-based, for an input with
/// 1-based ids. Returns `None` for other inputs, because their ids do not change.
pub fn numbering(counts_from_one: bool, first_id: FirstId) -> Option<&'static str> {
    match (counts_from_one, first_id) {
        (false, _) => None,
        (true, FirstId(0)) => {
            Some("ids count from 0: node 1 of the file is 0 (first_id = 1 in [input] keeps the file's ids)")
        }
        (true, _) => Some("ids count from 1, as in the file"),
    }
}

/// Information about the stored blocks; stored in the manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoreInfo {
    /// Number of distinct edges.
    pub edges: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Whether the degrees of the simple graph are stored as well.
    #[serde(default)]
    pub degrees: bool,
    /// Whether the blocks are in host or GPU memory instead of files, so that they are lost if a run is interrupted.
    #[serde(default)]
    pub in_memory: bool,
    /// Weights stored next to the blocks, if edges have weights.
    #[serde(default)]
    pub weights: Option<GraphWeights>,
    /// Largest degree and number of wedges in the simple graph.
    pub summary: DegreeSummary,
}

/// Information about the stored upper half of the rows; stored in the manifest.
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
    /// Information about the input.
    pub info: InputInfo,
    /// Information about the stored blocks.
    pub stored: StoreInfo,
    /// The blocks of the lower half of the rows (for each vertex, its neighbours with smaller ids).
    pub block_store: BlockStore,
    /// Folder and key of the files of rows and degrees.
    rows: RowFiles,
    /// The blocks of the upper half of the rows (for each vertex, its neighbours with larger ids); `None` unless a task
    /// needs this half.
    pub(crate) upper: Option<Box<BlockStore>>,
    /// The undirected version of a directed graph; `None` unless a task ignores the direction of edges.
    pub(crate) merged: Option<Box<Graph>>,
}

/// Location and key of the files of rows and degrees.
#[derive(Debug, Clone)]
pub struct RowFiles {
    /// Folder of the files.
    pub folder: PathBuf,
    /// Key that is stored in the files; it identifies the contents from which they were made.
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

    /// Returns the upper half of the rows: for each vertex, its neighbours with larger ids.
    ///
    /// # Errors
    /// [`Error::Internal`] if no task of the job has declared that it needs the upper half.
    pub fn upper(&self) -> Result<&BlockStore> {
        self.upper.as_deref().ok_or_else(|| Error::internal("read whole rows", "no task needs the upper half"))
    }

    /// Sets the upper half of the rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the number of edges in `upper` differs from that in the lower half.
    pub(crate) fn set_upper(&mut self, upper: BlockStore) -> Result<()> {
        if upper.edges() != self.stored.edges {
            let found = format!("{} edges in the upper half, {} in the lower", upper.edges(), self.stored.edges);
            return Err(Error::corrupt(&self.folder, crate::error::At::File, found));
        }
        self.upper = Some(Box::new(upper));
        Ok(())
    }

    /// Packs (compresses) the lower half of the rows in memory, and sets the upper half, which must be packed already.
    /// The memory of the original lower half is freed block by block.
    ///
    /// # Errors
    /// Cancellation, or [`Error::Limit`]. If packing had begun, the lower half is returned with the error, and the
    /// graph no longer has any rows.
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

    /// Maps the file of the input's sorted ids, a u64 for each dense id, to memory. Returns `None` if ids are not
    /// sparse.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn sparse_ids(&self) -> Result<Option<Mapped>> {
        let list = || Dictionary::list(&dictionary::path(&self.folder), self.info.identity);
        self.info.sparse.then(list).transpose()
    }

    /// Maps the list of 64-bit weights, which are stored as codes next to the rows, to memory. The list is empty for
    /// 32-bit weights.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn weight_values(&self) -> Result<WeightValues> {
        WeightValues::open(&self.folder, self.stored.weights)
    }

    /// Maps the sorted list of the input's string ids to memory; `None` if ids are numbers.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn names(&self) -> Result<Option<NameList>> {
        self.info.names.then(|| NameList::open(&self.folder, self.info.identity)).transpose()
    }

    /// Maps the degrees of the simple graph, a u32 for each row, to memory.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::Io`] if degrees are not stored.
    pub fn degrees(&self) -> Result<Mapped> {
        degrees::open(&self.rows.folder, self.rows.key)
    }

    /// Opens the graph, whose rows have the layout `layout`. Also opens the weights described by `weights`, if a task
    /// reads them.
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

    /// Makes a graph from `block_store`. The graph's files are in `folder`.
    pub(crate) fn new(folder: PathBuf, info: InputInfo, stored: StoreInfo, block_store: BlockStore) -> Self {
        let rows = RowFiles { folder: folder.clone(), key: info.content };
        Graph { folder, info, stored, block_store, rows, upper: None, merged: None }
    }

    /// Opens the undirected version of this graph. Its files are at `rows`, and its blocks have the layout `layout`.
    /// Also opens the weights described by `weights`, if a task reads them.
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

    /// Returns the graph on which a task computes: the undirected version if it exists and `takes_direction` is false,
    /// otherwise this graph.
    pub(crate) fn for_task(&self, takes_direction: bool) -> &Graph {
        self.merged.as_deref().filter(|_| !takes_direction).unwrap_or(self)
    }
}
