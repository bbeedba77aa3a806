//! The contents of a file's header, in a form that all formats share.

/// Maximum length of a header in bytes, including its comments.
pub(crate) const HEAD: usize = 1 << 20;

/// The contents of a file's header. `L` is the layout of the body. The counts are checked after the body was read.
#[derive(Debug, Clone)]
pub(crate) struct Head<L> {
    pub layout: L,
    /// Offset of the body in the file.
    pub body: usize,
    pub vertices: Option<u64>,
    pub entries: Option<u64>,
    /// True if edges have weights or may have weights.
    pub weighted: bool,
    pub directions: Directions,
}

/// Which directions of an edge a file contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directions {
    /// The directions that the file lists: edges are directed, or the file does not say.
    Listed,
    /// One of the two directions of each undirected edge.
    Half,
    /// Both directions of each undirected edge.
    Both,
    /// Both directions of each undirected edge, or only one if the file lists as many edges as its header declares.
    BothOrHalf,
}

impl<L> Head<L> {
    /// Returns a header that declares nothing, for edges without weights.
    pub fn of(layout: L, body: usize) -> Head<L> {
        Head { layout, body, vertices: None, entries: None, weighted: false, directions: Directions::Listed }
    }

    /// Returns the same header with another layout.
    pub fn map<M>(self, layout: impl FnOnce(L) -> M) -> Head<M> {
        let Head { layout: from, body, vertices, entries, weighted, directions } = self;
        Head { layout: layout(from), body, vertices, entries, weighted, directions }
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
