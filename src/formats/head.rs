//! The contents of a file's header, in a form that all formats share.

use crate::formats::BodyLayout;
use crate::formats::text::CountsLine;

/// Maximum length of a header in bytes, including its comments.
pub(crate) const HEAD: usize = 1 << 20;

/// The contents of a file's header. The counts are checked after the body was read.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub layout: BodyLayout,
    /// Offset of the body in the file.
    pub body: usize,
    pub vertices: Option<u64>,
    pub entries: Option<u64>,
    /// True if edges have weights or may have weights.
    pub weighted: bool,
    pub directions: Directions,
    /// The counts in the first line of a text, if the line may contain counts rather than an edge.
    pub counts: Option<CountsLine>,
    /// A remark for the log about how the start of the file is read.
    pub remark: Option<String>,
}

/// Directions in which a file lists each edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directions {
    /// The directions that the file lists: either edges are directed, or the file does not say whether they are.
    Listed,
    /// The file lists one of the two directions of each undirected edge.
    Half,
    /// The file lists both directions of each undirected edge.
    Both,
    /// The file lists both directions of each undirected edge, or only one if it has as many edges as its header
    /// declares.
    BothOrHalf,
}

impl Head {
    /// Returns a header that declares nothing, for edges without weights.
    pub fn of(layout: BodyLayout, body: usize) -> Head {
        let directions = Directions::Listed;
        Head { layout, body, vertices: None, entries: None, weighted: false, directions, counts: None, remark: None }
    }

    /// Returns true if a file with this header that lists `entries` edges contains only one direction of each
    /// undirected edge.
    pub fn is_half(&self, entries: u64) -> bool {
        match self.directions {
            Directions::Listed | Directions::Both => false,
            Directions::Half => true,
            Directions::BothOrHalf => entries > 0 && self.entries == Some(entries),
        }
    }
}
