//! Tuning parameters of a shortest-path search on a GPU: sizes, and bucket widths that override the computed ones.

/// Default of [`Tuning::many`]. It is twice the number of tasks (vertices to push from) that a thread block claims at a
/// time. Cliques of 16,384 vertices (SSCA#2) took 0.92 ms on an H100 with this value, and 0.96 ms with 384.
const MANY: u32 = 256;

/// Parameters of a search that do not change any result. Tests change them to reach, in small graphs, code that
/// otherwise only large graphs reach.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Fraction of all row entries that are relaxed by pushing before a cap is set (a distance beyond which vertices
    /// pull). If this field or one of the next three is `None`, its value is computed from the graph.
    pub threshold: Option<f64>,
    /// Width of a bucket while few edges are queued, in multiples of the mean weight.
    pub coarse: Option<f64>,
    /// Width of a bucket while many edges are queued, in multiples of the mean weight.
    pub fine: Option<f64>,
    /// Width of the range of distances that is still pushed once a cap is set (a distance beyond which vertices pull),
    /// in multiples of the mean weight.
    pub reach: Option<f64>,
    /// Number of tasks (vertices to push from) in a round above which Moore's algorithm defers the tasks with larger
    /// distances.
    pub many: u32,
    /// Maximum row length of a deep graph, in entries. If no row has more, the graph counts as deep.
    pub short: u32,
    /// Maximum number of edges that a step follows along a path from a vertex, in a deep graph.
    pub hops: u32,
    /// Maximum number of thread blocks.
    pub blocks: u32,
    /// Maximum number of steps in a kernel launch.
    pub steps: u32,
    /// Maximum number of entries in a queue (vertices to push from) and in a pile (vertices that wait until the search
    /// comes close to their distances).
    pub queued: u64,
    /// Maximum number of near edges (the first edges of rows, which are copied to GPU memory). If this is set, rows
    /// stay in host memory even if they fit in GPU memory.
    pub most_near: Option<u64>,
    /// Maximum number of neighbours (32-bit words) that are copied to the GPU at a time.
    pub piece: u64,
    /// Index assigned to the first entry of the rows. A test sets it to reach indices that need more than 32 bits.
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
