//! Tuning of a search: widths of buckets, which depend on the graph and the method, and sizes.

use super::place::Placed;
use crate::algo::sssp::options::Method;
use crate::formats::WeightType;

/// Fraction of all entries that is pushed before a cap is set. Scale 24 of Graph500 with weights from 1 to 255 took
/// 1.77 ms a root on an H100 with this value, 1.82 ms with four times the value and 1.84 ms with a quarter.
const THRESHOLD: f64 = 1.0 / 1024.0;
/// Ratio of the longest row to the mean row from which on a graph has a core.
const CORE: f64 = 64.0;
/// Widths in graphs with a core, in mean weights: of buckets while few edges lead on, of other buckets, and of all that
/// are pushed up to the cap. With whole numbers a bucket is a single distance, and pushing continues for six distances
/// (with four: 2.2 ms). With decimals, pushing continues for a width of 2.5 distances (2.5 ms; with 4.5 distances 2.8
/// to 3.3 ms).
const COARSE: f64 = 1.0 / 16.0;
const FINE: f64 = 1.0 / 128.0;
const REACH: f64 = 1.0 / 20.0;
const REACH_OF_DECIMALS: f64 = 1.0 / 50.0;
/// Reach if rows are read over the bus. Less is pushed then: scale 26 in 2 GiB took 145 ms with four distances and 180
/// ms with six.
const REACH_OVER_BUS: f64 = 1.0 / 32.0;
/// Widths of buckets in other graphs, in mean weights divided by the mean row length. In deep graphs, whose steps
/// follow several edges, buckets are wider. A grid of 4096 x 4096 took 27 ms on an H100 with this value, 33 ms with
/// half, and 25 ms with twice the value, which relaxes twice as many edges.
const NEAR: f64 = 4.0;
const NEAR_IF_DEEP: f64 = 64.0;

/// Threshold of Moore's algorithm: tasks wait if they are farther than this many mean weights beyond the nearest task,
/// and if a round has at least this many tasks. The second number is twice what a block takes at a time. Cliques of
/// 16,384 vertices (SSCA#2) took 0.92 ms on an H100 with these values, 0.94 ms with two mean weights and 0.96 ms from
/// 384 tasks on.
const WAITS: f64 = 3.0;
const MANY: u32 = 256;

/// Settings that do not affect any answer. Tests use them to reach in small graphs what otherwise happens only in large
/// ones.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Fraction of all entries that is pushed before a cap is set. If it is `None`, the graph determines it. The same
    /// holds for all widths.
    pub threshold: Option<f64>,
    /// Width of buckets while few edges lead on, in mean weights.
    pub coarse: Option<f64>,
    /// Width of buckets otherwise, in mean weights.
    pub fine: Option<f64>,
    /// Width of all buckets together that are pushed once a cap is set, in mean weights.
    pub reach: Option<f64>,
    /// Number of tasks in a round from which on Moore's algorithm lets tasks beyond `reach` wait.
    pub many: u32,
    /// Longest row of a deep graph, in entries. In deep graphs a step follows several edges.
    pub short: u32,
    /// Number of edges that a step follows in a deep graph.
    pub hops: u32,
    /// Maximum number of blocks of threads.
    pub blocks: u32,
    /// Maximum number of steps in a launch.
    pub steps: u32,
    /// Maximum number of entries in a queue and in a pile.
    pub queued: u64,
    /// True to keep rows in host memory even if they fit GPU memory.
    pub rows_on_host: bool,
    /// Maximum number of words in a piece of neighbours that is copied at a time.
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

/// Widths as distances, and the number of slots that are pushed before a cap is set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Widths {
    pub threshold: u64,
    pub coarse: u64,
    pub fine: u64,
    pub reach: u64,
}

/// Returns the widths for a graph.
pub(super) fn widths(placed: &Placed, kind: WeightType, method: Method, tuning: &Tuning) -> Widths {
    let rows = f64::from(placed.graph.vertices.max(1));
    let mean_row = (placed.entries as f64 / rows).max(1.0);
    let has_core = f64::from(placed.longest) >= CORE * mean_row && method == Method::Auto;
    let near = if placed.longest <= tuning.short { NEAR_IF_DEEP } else { NEAR } / mean_row;
    let reach = match kind {
        WeightType::F32 => REACH_OF_DECIMALS,
        WeightType::U32 if placed.on_host.is_some() => REACH_OVER_BUS,
        WeightType::U32 => REACH,
    };
    let [coarse, fine, reach] = if has_core { [COARSE, FINE, reach] } else { [near, near, near] };
    let reach = if method == Method::Moore { WAITS } else { reach };
    let threshold = tuning.threshold.or(if has_core { Some(THRESHOLD) } else { None });
    let width = |given: Option<f64>, otherwise: f64| {
        let width = given.unwrap_or(otherwise) * placed.mean;
        match kind {
            WeightType::U32 => (width.round() as u64).max(1),
            WeightType::F32 => u64::from((width as f32).max(f32::MIN_POSITIVE).to_bits()),
        }
    };
    Widths {
        threshold: threshold.map_or(u64::MAX, |part| (part * placed.entries as f64) as u64),
        coarse: width(tuning.coarse, coarse),
        fine: width(tuning.fine, fine),
        reach: width(tuning.reach, reach),
    }
}
