//! Choices of a search: widths of buckets, by the graph and the method, and sizes.

use super::place::Placed;
use crate::algo::sssp::task::Method;
use crate::formats::WeightType;

/// Part of all entries that is pushed before a cap is set.
const THRESHOLD: f64 = 1.0 / 64.0;
/// A row that is this many times as long as the mean row, or more, makes a graph one with a core.
const CORE: f64 = 64.0;
/// Widths in graphs with a core, in mean weights.
const COARSE: f64 = 1.0 / 16.0;
const FINE: f64 = 1.0 / 128.0;
const REACH: f64 = 1.0 / 16.0;
/// Entries that a bucket's edges should reach: its width is so many mean weights, over the mean row.
const NEAR: f64 = 32.0;

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
            short: 32,
            hops: 8,
            blocks: u32::MAX,
            steps: 1 << 16,
            queued: u64::MAX,
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
    let near = NEAR / mean_row;
    let [coarse, fine, reach] = if has_core { [COARSE, FINE, REACH] } else { [near, near, near] };
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
