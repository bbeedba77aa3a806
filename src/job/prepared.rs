//! A prepared graph as a job knows it: what the input held, what is stored.

use crate::error::{Error, Result};
use crate::graph::catalogue::Catalogue;
use crate::graph::degrees::Summary;
use crate::graph::layout::Layout;
use crate::prepare::order;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What the first pass told; kept in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Edges of the input, loops and repeats included.
    pub edges: u64,
    /// Loops among them.
    pub loops: u64,
    /// Edges left without loops and repeats, at most.
    pub distinct_at_most: u64,
    /// Vertices: the declared number, else the largest id + 1; of sparse ids, the different ones.
    pub vertices: u64,
    /// Length of the map: the largest id + 1, or the number of different sparse ids.
    pub ids: u64,
    /// Vertices with an edge that is no loop.
    pub connected: u64,
    /// Different degrees.
    pub runs: u64,
    /// Whether ids are looked up in `graph/ids`.
    pub sparse: bool,
    /// Checksum of the input's bytes.
    pub checksum: u64,
    /// Hash of which version of the input this was; the key of `graph/ids`.
    pub identity: u64,
    /// Hash of the input's contents and of how they are read: what all that follows depends on.
    pub content: u64,
    /// Bytes of the input.
    pub bytes: u64,
    /// Where it came from.
    pub source: String,
}

impl Facts {
    /// Rows of results per vertex: one for each sparse id, else one for each vertex, declared ones without an edge too.
    pub fn rows(&self) -> u64 {
        if self.sparse { self.ids } else { self.vertices }
    }
}

/// What the stored blocks hold; kept in the manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Distinct edges.
    pub edges: u64,
    /// Blocks they lie in.
    pub blocks: u64,
    /// Whether the degrees of the simple graph are stored, too.
    #[serde(default)]
    pub degrees: bool,
    /// Largest degree and wedges of the simple graph.
    pub summary: Summary,
}

/// A graph ready for algorithms.
#[derive(Debug)]
pub struct Graph {
    /// Where its files lie.
    pub folder: PathBuf,
    /// What the input held.
    pub facts: Facts,
    /// What the blocks hold.
    pub stored: Stored,
    /// The blocks.
    pub catalogue: Catalogue,
}

impl Graph {
    /// Opens the graph that the manifest of `workdir` says is there.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`] where its files are not as the manifest says.
    pub fn open(workdir: &Path, facts: Facts, stored: Stored) -> Result<Self> {
        let folder = workdir.join("graph");
        let runs = order::read_runs(&folder, facts.content)?;
        let layout = Layout::new(&runs, facts.edges - facts.loops);
        Self::with_layout(workdir, facts, stored, layout)
    }

    /// The same where its layout is known.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(super) fn with_layout(workdir: &Path, facts: Facts, stored: Stored, layout: Layout) -> Result<Self> {
        let folder = workdir.join("graph");
        let catalogue = Catalogue::open(&folder, facts.content, layout)?;
        if catalogue.edges() != stored.edges {
            let found = format!("{} edges in its blocks, where the manifest has {}", catalogue.edges(), stored.edges);
            return Err(Error::corrupt(&folder, crate::error::At::File, found));
        }
        Ok(Graph { folder, facts, stored, catalogue })
    }
}
