//! Cost of a task: memory, disk space, number of bytes that ranks exchange, and time.

use crate::graph::direction::Direction;
use crate::graph::order::DegreeRuns;
use crate::results::OutputFormat;

/// Page size in bytes. Sizes of files on disk are rounded up to a multiple of the page size.
const PAGE: u64 = 4096;

/// Size of a graph. Each number is exact or an upper bound, depending on what is known when the cost of a task is
/// estimated.
#[derive(Debug, Clone, Copy)]
pub struct GraphSize<'a> {
    /// Number of vertices with at least one edge.
    pub vertices: u64,
    /// Whether the edges are directed.
    pub direction: Direction,
    /// Number of edges, without self-loops and repeated edges.
    pub edges: u64,
    /// Number of rows in each result column of the graph.
    pub column_rows: u64,
    /// Number of input ids that the graph maps to vertices.
    pub ids: u64,
    /// Whether the input's ids are sparse. If so, results are written in the order of a stored list of ids.
    pub sparse: bool,
    /// Upper bound on the number of entries in a row of the lower half (the neighbours with smaller ids).
    pub longest_row: u64,
    /// Upper bound on the number of neighbours in a row, counting both the lower and the upper half, in one direction
    /// of edges.
    pub longest_whole_row: u64,
    /// Upper bound on the number of blocks in which the rows of neighbours are stored.
    pub blocks: u64,
    /// Number of neighbours in the longest row that is copied to a GPU; `None` until it is known.
    pub gpu_row: Option<u64>,
    /// Host memory, in bytes, that reading the input again takes, including the list of sparse ids; 0 if there is no
    /// input.
    pub reading: u64,
    /// Vertex degrees of the graph, or of a graph that is probably similar.
    pub degrees: &'a DegreeRuns,
}

/// Size of a linked list.
#[derive(Debug, Clone, Copy)]
pub struct ListSize {
    /// Number of elements of the list.
    pub length: u64,
    /// Host memory, in bytes, that reading the list takes.
    pub reading: u64,
}

impl GraphSize<'_> {
    /// Returns the total size, in bytes, of the files with the rows of neighbours. Each edge is an entry of two rows.
    /// An entry has 4 bytes, or 8 with the edge weight.
    pub fn rows_bytes(&self, weighted: bool) -> u64 {
        let entry = if weighted { 8 } else { 4 };
        2 * entry * self.edges
    }

    /// Returns the total number of neighbours in all rows in one direction of edges.
    pub fn entries(&self) -> u64 {
        // An undirected edge is in the rows of both ends.
        if self.direction == Direction::Directed { self.edges } else { 2 * self.edges }
    }

    /// Returns the disk space, in bytes, for a result column of numbers, the list of sparse ids, and the checkpoints:
    /// one for each trial, and one that is being written. A checkpoint has `checkpoint` bytes. A number has `width`
    /// bytes in binary form, and at most `digits` digits as text.
    pub fn column_and_checkpoints(
        &self,
        resources: &RankResources,
        (width, digits): (u64, u64),
        checkpoint: u64,
    ) -> u64 {
        let ids = if self.sparse { 8 * self.column_rows + PAGE } else { 0 };
        let column = resources.format.row_bytes(width, digits) * self.column_rows + 2 * PAGE;
        column + ids + (u64::from(resources.trials) + 1) * (checkpoint + PAGE)
    }

    /// Returns an upper bound on the number of neighbours in the rows of one of `ranks` ranks. Ranges of `chunk`
    /// vertices are assigned to the ranks round-robin. Vertices are sorted by descending degree, so the first rank has
    /// the most neighbours.
    pub fn entries_of_rank(&self, chunk: u64, ranks: usize) -> u64 {
        let (all, ranks) = (self.entries(), ranks as u64);
        if ranks <= 1 {
            return all;
        }
        let own_before = |v: u64| v / (chunk * ranks) * chunk + (v % (chunk * ranks)).min(chunk);
        let own = |(degree, first, end): (u32, u64, u64)| u64::from(degree) * (own_before(end) - own_before(first));
        // Degrees count repeated edges, which may be half of all edges.
        let with_repeats = self.degrees.iter().map(own).sum::<u64>();
        let more_than_others = chunk * self.longest_whole_row;
        with_repeats.min(all.div_ceil(ranks) + more_than_others).min(all)
    }
}

/// The ranks that compute a task, and the resources of each rank. Every node has the same number of ranks, and every
/// rank the same number of threads.
#[derive(Debug, Clone, Copy)]
pub struct RankResources {
    /// Number of ranks that share the work of the task.
    pub ranks: usize,
    /// Number of nodes on which the ranks run.
    pub nodes: usize,
    /// Number of threads of each rank.
    pub threads: usize,
    /// Whether every rank computes on a GPU.
    pub on_gpu: bool,
    /// GPU memory, in bytes, that each rank may allocate; 0 if unknown or if ranks compute on CPUs.
    pub gpu_memory: u64,
    /// Host memory, in bytes, that each rank uses for packed (compressed) rows that the GPU reads; `None` if rows are
    /// not packed.
    pub packed: Option<u64>,
    /// Host memory, in bytes, that each rank has left for the task.
    pub free: u64,
    /// Number of trials: how often the task runs.
    pub trials: u32,
    /// File format in which the task writes result columns.
    pub format: OutputFormat,
}

impl RankResources {
    /// Returns the number of threads of all ranks together.
    pub fn all_threads(&self) -> f64 {
        (self.ranks * self.threads) as f64
    }
}

/// Cost of a task in memory, disk space, data that ranks exchange, and time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cost {
    /// Host memory of a rank, in bytes, that the task takes in addition to the memory that is in use before the task
    /// begins.
    pub host_memory: u64,
    /// Smallest host memory in bytes with which a rank can run the task.
    pub least_host_memory: u64,
    /// Upper bound on the disk space in bytes that remains in use after the task: results, journals and checkpoints of
    /// all trials.
    pub disk: u64,
    /// Number of bytes that all ranks together send to other ranks during the task.
    pub exchange: u64,
    /// Total size, in bytes, of the files that the ranks read in random order. The task is fast if these files fit the
    /// page cache.
    pub cached: u64,
    /// Estimated time of all trials of the task in seconds, from rates that were measured on one machine.
    pub seconds: f64,
    /// Label under which the times of earlier runs are stored: the name of the task, and the options that affect its
    /// speed.
    pub label: String,
}

impl Cost {
    /// Returns the cost of a task with the label `label` that needs exactly `host_memory` bytes of host memory and
    /// nothing else.
    pub fn of(label: &str, host_memory: u64) -> Cost {
        Cost { host_memory, least_host_memory: host_memory, label: label.into(), ..Cost::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::searches::ranks::OwnerRule;

    /// Compares [`GraphSize::entries_of_rank`] with the number of neighbours per rank, summed vertex by vertex. Degrees
    /// descend. In every second graph, each edge occurs twice.
    #[test]
    fn no_rank_has_more_entries_than_the_bound() {
        let hubs = (0..512).map(|_| 4000u32).chain((0..4000).map(|_| 512));
        let falling = (0..5000u32).map(|v| 1 + 40_000 / (v + 1));
        let even = (0..3000).map(|_| 8);
        for degrees in [hubs.collect::<Vec<_>>(), falling.collect(), even.collect(), vec![1, 1], Vec::new()] {
            for repeats in [1, 2] {
                let runs = degrees.chunk_by(|a, b| a == b).map(|run| (repeats * run[0], run.len() as u32));
                let runs = DegreeRuns::new(runs.collect());
                let sum: u64 = degrees.iter().map(|&degree| u64::from(degree)).sum();
                let size = GraphSize {
                    vertices: degrees.len() as u64,
                    direction: Direction::Undirected,
                    edges: sum.div_ceil(2),
                    column_rows: 0,
                    ids: 0,
                    sparse: false,
                    longest_row: 0,
                    longest_whole_row: degrees.first().copied().unwrap_or(0).into(),
                    blocks: 1,
                    gpu_row: None,
                    reading: 0,
                    degrees: &runs,
                };
                for ranks in [1, 2, 3, 8] {
                    for chunk in [1, OwnerRule::Blocks.block()] {
                        let of_rank = |rank: usize| -> u64 {
                            let own = degrees.iter().enumerate().filter(|(v, _)| v / chunk % ranks == rank);
                            own.map(|(_, &degree)| u64::from(degree)).sum()
                        };
                        let most = (0..ranks).map(of_rank).max().unwrap_or(0);
                        let bound = size.entries_of_rank(chunk as u64, ranks);
                        assert!(most <= bound && bound <= size.entries(), "{most} {bound}, {ranks} ranks, {chunk}");
                        assert!(repeats == 2 || bound <= most + 1, "{bound} for {most}, {ranks} ranks, {chunk}");
                    }
                }
            }
        }
    }
}
