//! Tuning of a search on a GPU: sizes, and widths of buckets that replace the computed ones.

/// Default of [`Tuning::many`]. It is twice what a block takes at a time. Cliques of 16,384 vertices (SSCA#2) took 0.92
/// ms on an H100 with this value, and 0.96 ms with 384.
const MANY: u32 = 256;

/// Settings of a search that do not affect any answer. Tests change them to reach, in small graphs, code that otherwise
/// only large graphs reach.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Edges that are relaxed by pushing before a cap is set (a distance beyond which vertices pull), as a fraction of
    /// all row entries. If this field or one of the next three is `None`, its value is computed from the graph.
    pub threshold: Option<f64>,
    /// Width of buckets while few edges are queued, in multiples of the mean weight.
    pub coarse: Option<f64>,
    /// Width of buckets while many edges are queued, in multiples of the mean weight.
    pub fine: Option<f64>,
    /// Range of distances that are still pushed once a cap is set (a distance beyond which vertices pull), in multiples
    /// of the mean weight.
    pub reach: Option<f64>,
    /// If a round has more than this many tasks (vertices to push from), Moore's algorithm lets tasks with larger
    /// distances wait.
    pub many: u32,
    /// A graph counts as deep if its longest row has at most this many entries.
    pub short: u32,
    /// Number of edges that a step follows, one after the other, in a deep graph.
    pub hops: u32,
    /// Maximum number of blocks of threads.
    pub blocks: u32,
    /// Maximum number of steps in a launch.
    pub steps: u32,
    /// Maximum number of entries in a queue and in a pile.
    pub queued: u64,
    /// If it is set, rows are in host memory even if they fit GPU memory, and at most this many edges are near: in GPU
    /// memory as well.
    pub most_near: Option<u64>,
    /// Maximum number of neighbours (32-bit words) that are copied to the GPU at a time.
    pub piece: u64,
    /// Position assigned to the first entry of the rows. Tests set it to reach positions beyond 32 bits.
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
