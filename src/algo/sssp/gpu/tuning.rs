//! Tuning parameters of a search on a GPU: sizes, and bucket widths that override the computed ones.

/// Default of [`Tuning::many`]. It is twice the number of tasks that a block claims at a time. Cliques of 16,384
/// vertices (SSCA#2) took 0.92 ms on an H100 with this value, and 0.96 ms with 384.
const MANY: u32 = 256;

/// Parameters of a search that do not change any result. Tests change them to reach, in small graphs, code that
/// otherwise only large graphs reach.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Fraction of all row entries that are relaxed by pushing before a cap is set. The cap is a distance beyond which
    /// vertices pull. If this field or one of the next three is `None`, its value is computed from the
    /// graph.
    pub threshold: Option<f64>,
    /// Width of buckets while few edges are queued, in multiples of the mean weight.
    pub coarse: Option<f64>,
    /// Width of buckets while many edges are queued, in multiples of the mean weight.
    pub fine: Option<f64>,
    /// Range of distances that are still pushed once a cap is set (a distance beyond which vertices pull), in multiples
    /// of the mean weight.
    pub reach: Option<f64>,
    /// Number of tasks (vertices to push from) in a round above which Moore's algorithm defers tasks with larger
    /// distances.
    pub many: u32,
    /// Maximum row length in a deep graph: a graph counts as deep if no row has more entries.
    pub short: u32,
    /// In a deep graph, maximum number of edges that a step follows along a path from a vertex.
    pub hops: u32,
    /// Maximum number of thread blocks.
    pub blocks: u32,
    /// Maximum number of steps in a launch.
    pub steps: u32,
    /// Maximum number of entries in a queue and in a pile.
    pub queued: u64,
    /// If this is set, rows stay in host memory even if they fit in GPU memory, and at most this many edges are near
    /// edges, which are in GPU memory as well.
    pub most_near: Option<u64>,
    /// Maximum number of neighbours (32-bit words) that are copied to the GPU at a time.
    pub piece: u64,
    /// Index assigned to the first entry of the rows. Tests set it to reach indices that need more than 32 bits.
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
            most_near: None,
            piece: 1 << 26,
            first_entry: 0,
        }
    }
}
