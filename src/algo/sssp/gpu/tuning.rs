//! Tuning of a search on a GPU: sizes of its parts, and widths of buckets to use instead of those that follow from the
//! graph.

/// If a round has more than this many tasks, Moore's algorithm lets far tasks wait. It is twice what a block takes at a
/// time. Cliques of 16,384 vertices (SSCA#2) took 0.92 ms on an H100 with this value, and 0.96 ms with 384.
const MANY: u32 = 256;

/// Settings of a search that do not affect any answer. Tests use them to reach in small graphs what otherwise happens
/// only in large ones.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Fraction of all adjacency entries that a search pushes along before it sets a cap (a distance beyond which
    /// vertices pull). `None` to derive it from the graph, as for all widths.
    pub threshold: Option<f64>,
    /// Width of buckets while few edges are queued, in mean weights.
    pub coarse: Option<f64>,
    /// Width of buckets otherwise, in mean weights.
    pub fine: Option<f64>,
    /// Width of all buckets together that are still pushed once a cap is set, in mean weights.
    pub reach: Option<f64>,
    /// If a round has more than this many tasks, Moore's algorithm lets tasks beyond `reach` wait.
    pub many: u32,
    /// Maximum length of a row, in entries, in a deep graph. In deep graphs a step follows several edges, one after the
    /// other.
    pub short: u32,
    /// Number of edges that a step follows in a deep graph.
    pub hops: u32,
    /// Maximum number of blocks of threads.
    pub blocks: u32,
    /// Maximum number of steps in a launch.
    pub steps: u32,
    /// Maximum number of entries in a queue and in a pile.
    pub queued: u64,
    /// Whether to keep rows in host memory even if they fit GPU memory.
    pub rows_on_host: bool,
    /// Maximum number of 32-bit words in a piece of neighbours that is copied at a time.
    pub piece: u64,
    /// Position that the first entry is given. Tests set it to reach positions beyond 32 bits.
    pub first_entry: u64,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            threshold: None,
            coarse: None,
            fine: None,
            reach: None,
            many: MANY,
            short: 32,
            hops: 8,
            blocks: u32::MAX,
            steps: 1 << 16,
            queued: u64::MAX,
            rows_on_host: false,
            piece: 1 << 26,
            first_entry: 0,
        }
    }
}
