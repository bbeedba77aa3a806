//! Chooses the widths of buckets for a search on a GPU, from the graph and the method.

use super::device_graph::SsspDeviceGraph;
use super::tuning::Tuning;
use crate::algo::sssp::options::Method;
use crate::formats::WeightType;

/// Number of edges that are relaxed by pushing before a cap is set (a distance beyond which vertices pull), as a
/// fraction of all row entries. Scale 24 of Graph500 with weights from 1 to 255 took 1.77 ms per search on an H100 with
/// this value, 1.82 ms with four times the value, and 1.84 ms with a quarter of it.
const THRESHOLD: f64 = 1.0 / 1024.0;
/// Minimum ratio of the longest row to the mean row length in a graph with hubs.
const CORE: f64 = 64.0;
/// Width of a bucket while few edges are queued, in graphs with hubs, in multiples of the mean weight.
const COARSE: f64 = 1.0 / 16.0;
/// Width of a bucket while many edges are queued, in graphs with hubs, in multiples of the mean weight. With integer
/// weights from 1 to 255, a bucket covers a single distance.
const FINE: f64 = 1.0 / 128.0;
/// Width of the range of distances that is still pushed once a cap is set (a distance beyond which vertices pull), in
/// graphs with hubs, in multiples of the mean weight. With integer weights from 1 to 255, the range has four distances.
/// Scale 26 of Graph500 took 4.58 ms per search on an H200 with this value, 4.74 ms with five distances, and 4.99 ms
/// with three.
const REACH: f64 = 1.0 / 32.0;
/// Value that replaces [`REACH`] for floating-point weights. Scale 24 of Graph500 took 2.07 ms per search with this
/// value, 2.14 ms with 1/50, and 2.55 ms with 1/100.
const REACH_OF_DECIMALS: f64 = 1.0 / 64.0;
/// Width of a bucket in graphs without hubs, in multiples of the mean weight divided by the mean row length.
const NEAR: f64 = 4.0;
/// Width of a bucket in deep graphs without hubs, where a step follows several edges, in multiples of the mean weight
/// divided by the mean row length. A grid of 4096 x 4096 vertices took 27 ms on an H100 with this value, and 33 ms with
/// half of it. It took 25 ms with twice the value, but relaxed twice as many edges.
const NEAR_IF_DEEP: f64 = 64.0;
/// Difference between the distance of a task (a vertex to push from) and the smallest distance of all tasks, above
/// which the task waits in Moore's algorithm, in multiples of the mean weight. Cliques of 16,384 vertices (SSCA#2) took
/// 0.92 ms on an H100 with the value 3, and 0.94 ms with 2.
const WAITS: f64 = 3.0;

/// Widths of buckets, in the encoding of distances. `threshold` is the number of edges that are relaxed by pushing
/// before a cap is set (a distance beyond which vertices pull). `reach` is the width of the range of distances that is
/// still pushed afterwards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Widths {
    pub threshold: u64,
    pub coarse: u64,
    pub fine: u64,
    pub reach: u64,
}

/// Computes the bucket widths for a graph. A width that `tuning` sets overrides the computed one.
pub(super) fn widths(placed: &SsspDeviceGraph, kind: WeightType, method: Method, tuning: &Tuning) -> Widths {
    let rows = f64::from(placed.graph.vertices.max(1));
    let mean_row = (placed.entries as f64 / rows).max(1.0);
    let has_core = f64::from(placed.longest) >= CORE * mean_row && method == Method::Auto;
    let near = if placed.longest <= tuning.short { NEAR_IF_DEEP } else { NEAR } / mean_row;
    let reach = match kind {
        WeightType::F32 | WeightType::F64 => REACH_OF_DECIMALS,
        WeightType::U32 | WeightType::U64 => REACH,
    };
    let [coarse, fine, reach] = if has_core { [COARSE, FINE, reach] } else { [near, near, near] };
    let reach = if method == Method::Moore { WAITS } else { reach };
    let threshold = tuning.threshold.or(if has_core { Some(THRESHOLD) } else { None });
    let width = |configured: Option<f64>, otherwise: f64| {
        let width = configured.unwrap_or(otherwise) * placed.mean;
        match kind {
            WeightType::U32 | WeightType::U64 => (width.round() as u64).max(1),
            WeightType::F32 => u64::from((width as f32).max(f32::MIN_POSITIVE).to_bits()),
            WeightType::F64 => width.clamp(f64::MIN_POSITIVE, f64::MAX).to_bits(),
        }
    };
    Widths {
        threshold: threshold.map_or(u64::MAX, |part| (part * placed.entries as f64) as u64),
        coarse: width(tuning.coarse, coarse),
        fine: width(tuning.fine, fine),
        reach: width(tuning.reach, reach),
    }
}
