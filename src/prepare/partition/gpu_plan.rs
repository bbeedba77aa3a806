//! Division of a GPU's memory for partitioning. Each lane (GPU queue of one host thread) has memory for a batch of
//! edges and for the edges gathered from several batches. It also has memory for the lines (groups of 64 edges of one
//! bin) made from these edges.

use super::line::{LINE, line_words};
use super::route::Route;
use crate::gpu::{Workspace, slice_bytes, slices_bytes};
use crate::graph::Bins;
use crate::prepare::gpu::LARGEST_BATCH;

/// Minimum number of edges of a batch for which a kernel launch pays off.
const LEAST_BATCH: u64 = 2048;
/// Maximum number of edges that a lane (GPU queue of one thread) usually gathers before it makes lines (groups of 64
/// edges of one bin) from them. With more edges the runs of lines would be longer, but the thread would wait longer.
const MOST_GATHERED: u64 = 8 << 20;
/// Number of 32-bit words of the counts that kernels return.
pub(super) const COUNTS: u64 = 8;

/// Division of the GPU's memory for partitioning.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacerPlan {
    pub(super) lanes: usize,
    /// Number of edges in a batch.
    pub(super) batch: u64,
    /// Maximum number of edges that a lane (GPU queue of one thread) gathers before it makes lines from them.
    pub(super) gathered: u64,
    /// Whether edges have weights.
    pub(super) weighted: bool,
}

impl PlacerPlan {
    /// Plans memory for lanes (GPU queues of threads) with batches of at most `batch` 32-bit words, and for the map
    /// from ids to vertices unless the map is on the GPU already. Returns `None` if these do not fit GPU memory.
    pub fn new(
        workspace: &Workspace,
        route: &Route<'_, '_>,
        map: &[u32],
        map_on_gpu: bool,
        batch: u64,
    ) -> Option<PlacerPlan> {
        let (most_lanes, slot) = workspace.uploader.shape();
        let bins = route.bins().spans.len() as u64;
        let (_, of_granule) = route.bins().table();
        let tables = slice_bytes::<u32>(of_granule.len() as u64) + slice_bytes::<u32>(bins);
        let map_bytes = if map_on_gpu { 0 } else { slice_bytes::<u32>(map.len() as u64) };
        let free = workspace.arena.free().checked_sub(map_bytes + tables)?;
        if map.len() as u64 >= u64::from(u32::MAX) {
            return None;
        }
        let weighted = route.weighted();
        let (left, largest_batch, most) = largest(slot, bins, batch, weighted);
        let fits = |batch: u64, gathered: u64| {
            let lanes =
                (free / slices_bytes(lane_lengths(batch, gathered, bins, weighted))).min(most_lanes as u64) as usize;
            (lanes > 0).then_some(PlacerPlan { lanes, batch, gathered, weighted })
        };
        let halves = std::iter::successors(Some(most), |gathered| Some(gathered / 2));
        let mut plans: Vec<PlacerPlan> = Vec::new();
        for gathered in halves.take_while(|&gathered| gathered >= left + 2 * LEAST_BATCH) {
            let batch = largest_batch.min((gathered / 4).min(gathered - left) & !31).max(LEAST_BATCH);
            plans.extend(fits(batch, gathered));
        }
        // Best is the plan with all lanes that gathers the most edges. If no plan has all lanes, best is the plan with
        // the most lanes.
        let full = plans.iter().find(|plan| plan.lanes == most_lanes);
        full.or(plans.iter().max_by_key(|plan| plan.lanes)).copied()
    }
}

/// Returns the number of 32-bit words of an edge in a batch: both ends, and the weight if edges are `weighted`.
pub(super) fn edge_words(weighted: bool) -> u64 {
    if weighted { 3 } else { 2 }
}

/// Returns the number of 32-bit words of each array in a lane's GPU memory: a batch, the gathered edges, their lines,
/// the remaining edges that fill no line, the counts followed by the start of each bin's lines, and three arrays with a
/// word for each bin.
pub(super) fn lane_lengths(batch: u64, gathered: u64, bins: u64, weighted: bool) -> [u64; 8] {
    let edge = edge_words(weighted);
    let lines = (gathered / LINE as u64 + bins) * line_words(weighted) as u64;
    [edge * batch, edge * gathered, lines, edge * LINE as u64 * bins, COUNTS + bins + 1, bins, bins, bins]
}

/// Returns three numbers of edges. The first is the maximum number in the partly filled lines (groups of 64 edges) of
/// `bins` bins; it should be a small fraction of the gathered edges. The second is the size of the largest batch with
/// at most `batch` 32-bit words that fits a slot of `slot` bytes. The third is the largest useful number of gathered
/// edges.
fn largest(slot: u64, bins: u64, batch: u64, weighted: bool) -> (u64, u64, u64) {
    let left = LINE as u64 * bins;
    let batch = ((slot / 4).min(batch) / edge_words(weighted)) & !31;
    (left, batch, MOST_GATHERED.max(4 * left + batch))
}

/// Returns the number of bytes of GPU memory that all lanes (GPU queues) together need to put `edges` edges in bins at
/// full speed; `weighted` says whether edges have weights.
pub fn ample_bytes(workspace: &Workspace, bins: &Bins, ids: u64, edges: u64, weighted: bool) -> u64 {
    let (lanes, slot) = workspace.uploader.shape();
    let (count, (_, of_granule)) = (bins.spans.len() as u64, bins.table());
    let (left, batch, gathered) = largest(slot, count, LARGEST_BATCH, weighted);
    let each = edges / lanes as u64 + 2 * LEAST_BATCH;
    let (batch, gathered) = (batch.min(each), gathered.min(2 * (left + each)));
    let tables = slice_bytes::<u32>(of_granule.len() as u64) + slice_bytes::<u32>(count);
    slice_bytes::<u32>(ids) + tables + lanes as u64 * slices_bytes(lane_lengths(batch, gathered, count, weighted))
}
