//! Choices of a search: widths of buckets, by the graph and the method, and sizes.

use super::place::Placed;
use crate::algo::sssp::options::Method;
use crate::formats::WeightType;

/// Part of all entries that is pushed before a cap is set. Scale 24 of Graph500 by weights from 1 to 255 took 1.77 ms a root on an H100 with this, 1.82 with
/// four times as much and 1.84 with a quarter.
const THRESHOLD: f64 = 1.0 / 1024.0;
/// A row that is this many times as long as the mean row, or more, makes a graph one with a core.
const CORE: f64 = 64.0;
/// Widths in graphs with a core, in mean weights: of buckets while few edges lead on, of others, and of all that are pushed to the cap. Of whole
/// numbers buckets are single distances, and pushing goes on for six (with 4: 2.2 ms); of decimals 2.5 for every distance pay (2.5 ms; 2.8 to 3.3 with 4.5).
const COARSE: f64 = 1.0 / 16.0;
const FINE: f64 = 1.0 / 128.0;
const REACH: f64 = 1.0 / 20.0;
const REACH_OF_DECIMALS: f64 = 1.0 / 50.0;
/// Where rows are read over the bus, less is pushed: scale 26 in 2 GiB took 145 ms with four distances, 180 with six.
const REACH_OVER_BUS: f64 = 1.0 / 32.0;
/// A bucket of other graphs is so many mean weights wide, over the mean row; of deep graphs, whose steps lead on by several edges, more. A grid of 4096 x
/// 4096 took 27 ms on an H100 with this, 33 with half and 25 with twice as much, by twice the edges.
const NEAR: f64 = 4.0;
const NEAR_IF_DEEP: f64 = 64.0;

/// The threshold of Moore's algorithm is so many mean weights beyond the nearest task, and it counts from so many tasks on: twice as many as a block goes
/// through at a time. Cliques of 16,384 vertices (SSCA#2) took 0.92 ms on an H100 with this, 0.94 with two mean weights, 0.96 from 384 tasks on.
const WAITS: f64 = 3.0;
const MANY: u32 = 256;

/// Choices on which no answer depends. Tests reach what large graphs do in small ones by them.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Part of all entries that is pushed before a cap is set; by the graph if it is not given, as are all widths.
    pub threshold: Option<f64>,
    /// Width of buckets while few edges lead on, in mean weights.
    pub coarse: Option<f64>,
    /// Width of buckets else.
    pub fine: Option<f64>,
    /// Width of all buckets that are pushed once a cap is set.
    pub reach: Option<f64>,
    /// Tasks of a round from which on Moore's algorithm lets the farther ones wait; how far they are, `reach` says.
    pub many: u32,
    /// Entries of the longest row up to which a graph is deep, so that steps lead on by several edges.
    pub short: u32,
    /// Edges that a step of a deep graph leads on by.
    pub hops: u32,
    /// Most blocks of threads.
    pub blocks: u32,
    /// Most steps of a launch.
    pub steps: u32,
    /// Most entries of a queue and of a pile.
    pub queued: u64,
    /// True if rows stay in host memory, although there may be room.
    pub rows_on_host: bool,
    /// Most words of a piece of neighbours on the way into rows.
    pub piece: u64,
    /// The place that the first entry is taken to have. Places of entries that do not fit 32 bits are reached by it.
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

/// Widths as distances, and slots that are pushed before a cap is set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Widths {
    pub threshold: u64,
    pub coarse: u64,
    pub fine: u64,
    pub reach: u64,
}

/// Returns those for a graph.
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
