//! A prepared graph, with figures of its input and of what is stored.

use super::dictionary::{self, Dictionary};
use super::order;
use crate::error::{Error, Result};
use crate::graph::bins::Bin;
use crate::graph::catalogue::Catalogue;
use crate::graph::degrees;
use crate::graph::degrees::DegreeSummary;
use crate::graph::direction::Direction;
use crate::graph::half::Half;
use crate::graph::ids::{FirstId, InputId, RawId};
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::packed::{HalfPacked, Packer, pack_half};
use crate::graph::weights::stored::GraphWeights;
use crate::memory::Budget;
use crate::process::signals;
use crate::store::map::Mapped;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The findings of the first pass over the input; kept in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputInfo {
    /// Edges of the input, loops and repeats included.
    pub edges: u64,
    /// Loops among them.
    pub loops: u64,
    /// The smallest dense id that has a loop. A graph that an earlier version kept may have loops and no such id.
    #[serde(default)]
    pub first_loop: Option<u64>,
    /// Upper bound of the edges that are neither loops nor repeats.
    pub distinct_at_most: u64,
    /// Vertices: the number that the input declares, else the largest id + 1; with sparse ids, the number of different ones.
    pub vertices: u64,
    /// True if the input declares its vertices, so that one without an edge is a vertex as well.
    #[serde(default)]
    pub declared: bool,
    /// The largest raw id of a vertex; `None` if there is no vertex.
    #[serde(default)]
    pub largest: Option<u64>,
    /// True if every file of the input is of a format that counts from 1. Raw ids are one less than the file's then.
    #[serde(default)]
    pub counts_from_one: bool,
    /// The id that this job gives the vertex whose raw id is 0. Each job that reads a kept graph has its own, so it is not kept.
    #[serde(skip)]
    pub first_id: FirstId,
    /// Length of the map: the largest id + 1, or the number of different sparse ids.
    pub ids: u64,
    /// Vertices with an edge that is not a loop.
    pub connected: u64,
    /// Number of different degrees.
    pub runs: u64,
    /// Vertices by their degrees in the input: repeats count, loops do not, and isolated ones are left out.
    #[serde(default)]
    pub degrees: Vec<Bin>,
    /// Direction of the edges, which is kept if a task reads it.
    #[serde(default)]
    pub direction: Direction,
    /// The weights of the edges, if a task reads them.
    #[serde(default)]
    pub weights: Option<GraphWeights>,
    /// True if ids are sparse, and looked up in `graph/ids`.
    pub sparse: bool,
    /// Checksum of the input's bytes.
    pub checksum: u64,
    /// Hash of the identity of the input's files; the key of `graph/ids`.
    pub identity: u64,
    /// Hash of the input's contents and of how they are read, on which all later stages depend.
    pub content: u64,
    /// Bytes of the input.
    pub bytes: u64,
    /// Name of the input, for messages.
    pub source: String,
}

impl InputInfo {
    /// Returns the number of vertices that a column has a value for: those whose sparse ids occur, else all, isolated ones included.
    pub fn rows(&self) -> u64 {
        if self.sparse { self.ids } else { self.vertices }
    }

    /// Returns the rows that a NumPy column has before that of the first vertex, so that a vertex's id is its index.
    pub fn rows_before(&self) -> u64 {
        if self.sparse { 0 } else { self.first_id.0 }
    }

    /// Returns the largest id of a vertex, as users know it.
    pub fn largest_id(&self) -> Option<InputId> {
        self.largest.map(|largest| self.first_id.input(RawId(largest)))
    }

    /// Returns the layout of the lower half of rows of vertices of these degrees.
    pub fn layout(&self, runs: &DegreeRuns) -> Layout {
        Layout::new(runs, self.edges - self.loops, self.direction)
    }

    /// Returns the layout of the upper half of rows.
    pub fn upper_layout(&self, runs: &DegreeRuns) -> Layout {
        Layout::upper(runs, self.edges - self.loops, self.direction)
    }
}

/// Says how ids in results and job files relate to those of an input that counts from 1; `None` for other inputs, whose ids are kept.
pub fn numbering(counts_from_one: bool, first_id: FirstId) -> Option<&'static str> {
    match (counts_from_one, first_id) {
        (false, _) => None,
        (true, FirstId(0)) => {
            Some("ids count from 0: node 1 of the file is 0 (first_id = 1 in [input] keeps the file's)")
        }
        (true, _) => Some("ids count from 1, as in the file"),
    }
}

/// Figures of the stored blocks; kept in the manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoreInfo {
    /// Distinct edges.
    pub edges: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// True if the degrees of the simple graph are stored as well.
    #[serde(default)]
    pub degrees: bool,
    /// The weights that are stored beside the blocks.
    #[serde(default)]
    pub weights: Option<GraphWeights>,
    /// Largest degree and wedges of the simple graph.
    pub summary: DegreeSummary,
}

/// Figures of the upper half of rows; kept in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpperInfo {
    /// Its entries: one for each distinct edge.
    pub entries: u64,
    /// Number of its blocks.
    pub blocks: u64,
    /// The weights that are stored beside them.
    #[serde(default)]
    pub weights: Option<GraphWeights>,
}

/// A graph that is ready for algorithms.
#[derive(Debug)]
pub struct Graph {
    /// The folder of its files.
    pub folder: PathBuf,
    /// Figures of the input.
    pub info: InputInfo,
    /// Figures of the stored blocks.
    pub stored: StoreInfo,
    /// The blocks of the lower half of rows.
    pub catalogue: Catalogue,
    /// The folder and the key of blocks and degrees.
    rows: Rows,
    /// The blocks of the upper half, if a task needs it.
    pub(crate) upper: Option<Box<Catalogue>>,
    /// The same graph without direction, if it keeps that and a task does not take it.
    pub(crate) merged: Option<Box<Graph>>,
}

/// The place of rows: blocks and degrees.
#[derive(Debug, Clone)]
pub struct Rows {
    /// Their folder.
    pub folder: PathBuf,
    /// The key of their files.
    pub key: u64,
}

impl Graph {
    /// Opens the graph that the manifest of `workdir` describes.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`] where its files differ from the manifest.
    pub fn open(workdir: &Path, info: InputInfo, stored: StoreInfo) -> Result<Self> {
        let folder = workdir.join("graph");
        let runs = order::read_runs(&folder, info.content)?;
        let layout = info.layout(&runs);
        let weights = stored.weights;
        Self::with_layout(workdir, info, stored, layout, weights)
    }

    /// Returns the upper half of rows: the neighbours larger than each vertex.
    ///
    /// # Errors
    /// [`Error::Usage`] where no task of the job says that it needs it.
    pub fn upper(&self) -> Result<&Catalogue> {
        self.upper.as_deref().ok_or_else(|| Error::internal("read whole rows", "no task needs the upper half"))
    }

    /// Gives it its upper half.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where that has other edges.
    pub(crate) fn set_upper(&mut self, upper: Catalogue) -> Result<()> {
        if upper.edges() != self.stored.edges {
            let found = format!("{} edges in the upper half, {} in the lower", upper.edges(), self.stored.edges);
            return Err(Error::corrupt(&self.folder, crate::error::At::File, found));
        }
        self.upper = Some(Box::new(upper));
        Ok(())
    }

    /// Packs the lower half of its rows, whose memory is freed block by block, and gives it its upper half, which is packed already.
    ///
    /// # Errors
    /// A stop and [`Error::Limit`]; the lower half comes along where it was begun, and the graph has no rows any more then.
    pub(crate) fn pack(&mut self, upper: Catalogue, budget: &Budget) -> Result<(), (Error, Option<Box<HalfPacked>>)> {
        let packer = Packer::new(self.catalogue.len(), budget).map_err(|e| (e, None))?;
        let layout = self.catalogue.layout.clone();
        let lower = std::mem::replace(&mut self.catalogue, Catalogue::in_memory(layout, Vec::new(), Vec::new(), true));
        match pack_half(lower, packer, signals::check) {
            Ok(lower) => self.catalogue = lower,
            Err((e, begun)) => return Err((e, Some(begun))),
        }
        self.set_upper(upper).map_err(|e| (e, None))
    }

    /// Maps the sorted ids of the input, where these are sparse: u64s, one for each dense id.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn sparse_ids(&self) -> Result<Option<Mapped>> {
        let list = || Dictionary::list(&dictionary::path(&self.folder), self.info.identity);
        self.info.sparse.then(list).transpose()
    }

    /// Opens the degrees of the simple graph, in the order of vertices.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`] where they are not stored.
    pub fn degrees(&self) -> Result<Mapped> {
        degrees::open(&self.rows.folder, self.rows.key)
    }

    /// Opens the graph with a layout that is known already, and with `weights`, if somebody reads them.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn with_layout(
        workdir: &Path,
        info: InputInfo,
        stored: StoreInfo,
        layout: Layout,
        weights: Option<GraphWeights>,
    ) -> Result<Self> {
        let folder = workdir.join("graph");
        let catalogue = Catalogue::open(&folder, info.content, Half::Lower, layout)?;
        let catalogue = catalogue.with_weights(&folder, Half::Lower, weights)?;
        if catalogue.edges() != stored.edges {
            let found = format!("{} edges in its blocks, where the manifest has {}", catalogue.edges(), stored.edges);
            return Err(Error::corrupt(&folder, crate::error::At::File, found));
        }
        Ok(Graph::new(folder, info, stored, catalogue))
    }

    /// Returns a graph of these blocks, whose files are in `folder`.
    pub(crate) fn new(folder: PathBuf, info: InputInfo, stored: StoreInfo, catalogue: Catalogue) -> Self {
        let rows = Rows { folder: folder.clone(), key: info.content };
        Graph { folder, info, stored, catalogue, rows, upper: None, merged: None }
    }

    /// Opens the same graph without direction, whose rows are at `rows` in blocks of this layout, with `weights` if somebody reads them.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub(crate) fn without_direction(&self, rows: Rows, layout: Layout, weights: Option<GraphWeights>) -> Result<Graph> {
        let blocks = layout.blocks() as u64;
        let catalogue = Catalogue::open(&rows.folder, rows.key, Half::Lower, layout)?;
        let catalogue = catalogue.with_weights(&rows.folder, Half::Lower, weights)?;
        let summary = DegreeSummary::of(degrees::open(&rows.folder, rows.key)?.body_as_u32()?);
        let stored = StoreInfo { edges: catalogue.edges(), blocks, degrees: true, weights, summary };
        let info = InputInfo { direction: Direction::Undirected, ..self.info.clone() };
        Ok(Graph { rows, ..Graph::new(self.folder.clone(), info, stored, catalogue) })
    }

    /// Returns the graph that a task computes on which takes direction, or does not.
    pub(crate) fn for_task(&self, takes_direction: bool) -> &Graph {
        self.merged.as_deref().filter(|_| !takes_direction).unwrap_or(self)
    }
}
