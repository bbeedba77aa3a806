//! The contents of a file's header, in a form common to all formats.

use crate::formats::BodyLayout;
use crate::formats::text::CountsLine;

/// Maximum size of a header in bytes, including its comments.
pub(crate) const HEAD: usize = 1 << 20;

/// The contents of an edge file's header. The counts that it declares are checked after all edges have been read.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub layout: BodyLayout,
    /// Offset in the file at which the header ends and the edges begin.
    pub body: usize,
    pub vertices: Option<u64>,
    pub entries: Option<u64>,
    /// Whether the file's edges have weights, or may have weights.
    pub weighted: bool,
    pub directions: Directions,
    /// The counts (of vertices and edges) in the first line of a text file; `None` if that line can't be a line of
    /// counts.
    pub counts: Option<CountsLine>,
    /// A remark for the log about how the start of the file is interpreted.
    pub remark: Option<String>,
}

/// The directions in which a file lists each edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directions {
    /// Edges are directed, or the file does not tell whether they are. Each edge counts as listed.
    Listed,
    /// The file lists only one of the two directions of each undirected edge.
    Half,
    /// The file lists both directions of each undirected edge.
    Both,
    /// The file lists both directions of each undirected edge. But if the number of listed edges equals the number that
    /// the header declares, and the lists are not symmetric, it lists only one direction.
    BothOrHalf,
}

impl Head {
    /// Creates a header that declares nothing, for edges without weights.
    pub fn of(layout: BodyLayout, body: usize) -> Head {
        let directions = Directions::Listed;
        Head { layout, body, vertices: None, entries: None, weighted: false, directions, counts: None, remark: None }
    }

    /// Returns true if a file with this header and `entries` listed edges contains only one direction of each
    /// undirected edge. `is_symmetric` says whether it lists each edge equally often at both ends. The header of such a
    /// file may declare the number of listed edges, by mistake.
    pub fn is_half(&self, entries: u64, is_symmetric: bool) -> bool {
        match self.directions {
            Directions::Listed | Directions::Both => false,
            Directions::Half => true,
            Directions::BothOrHalf => !is_symmetric && self.entries == Some(entries),
        }
    }
}
