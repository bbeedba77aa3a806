//! A prepared graph, with figures of its input and of what is stored.

use super::order;
use crate::error::{Error, Result};
use crate::graph::catalogue::Catalogue;
use crate::graph::degrees;
use crate::graph::degrees::DegreeSummary;
use crate::graph::direction::Direction;
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
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
    /// Upper bound of the edges that are neither loops nor repeats.
    pub distinct_at_most: u64,
    /// Vertices: the declared number, else the largest id + 1; with sparse ids, the number of different ones.
    pub vertices: u64,
    /// Length of the map: the largest id + 1, or the number of different sparse ids.
    pub ids: u64,
    /// Vertices with an edge that is not a loop.
    pub connected: u64,
    /// Number of different degrees.
    pub runs: u64,
    /// Direction of the edges, which is kept if a task reads it.
    #[serde(default)]
    pub direction: Direction,
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
    /// Returns the rows of a column with a value for each vertex: one for each sparse id, else one for each vertex, isolated ones included.
    pub fn rows(&self) -> u64 {
        if self.sparse { self.ids } else { self.vertices }
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
    /// The blocks of the upper half, if a task needs it.
    pub(crate) upper: Option<Box<Catalogue>>,
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
        Self::with_layout(workdir, info, stored, layout)
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

    /// Opens the degrees of the simple graph, in the order of vertices.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`] where they are not stored.
    pub fn degrees(&self) -> Result<Mapped> {
        degrees::open(&self.folder, self.info.content)
    }

    /// Opens the graph with a layout that is known already.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn with_layout(workdir: &Path, info: InputInfo, stored: StoreInfo, layout: Layout) -> Result<Self> {
        let folder = workdir.join("graph");
        let catalogue = Catalogue::open(&folder, info.content, Half::Lower, layout)?;
        if catalogue.edges() != stored.edges {
            let found = format!("{} edges in its blocks, where the manifest has {}", catalogue.edges(), stored.edges);
            return Err(Error::corrupt(&folder, crate::error::At::File, found));
        }
        Ok(Graph { folder, info, stored, catalogue, upper: None })
    }
}
