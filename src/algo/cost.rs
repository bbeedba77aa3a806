//! The cost of a task: memory, disk, exchange, time.

use crate::graph::direction::Direction;
use crate::graph::order::DegreeRuns;
use crate::results::OutputFormat;

/// The size of a graph: what is known of it, or bounds of that.
#[derive(Debug, Clone, Copy)]
pub struct GraphSize<'a> {
    /// Vertices that have an edge.
    pub vertices: u64,
    /// Direction of its edges.
    pub direction: Direction,
    /// Edges of the simple graph.
    pub edges: u64,
    /// Rows of results.
    pub rows: u64,
    /// Ids that the map spans.
    pub ids: u64,
    /// True if results come in the order of a list of sparse ids.
    pub sparse: bool,
    /// Entries of the longest row of the lower half, at most.
    pub longest_row: u64,
    /// Entries of the longest row of one way, at most.
    pub longest_whole_row: u64,
    /// Blocks, at most.
    pub blocks: u64,
    /// Entries of the longest row for a GPU, once they are known.
    pub gpu_row: Option<u64>,
    /// Bytes of host memory that reading the input once more takes, with the list of sparse ids; 0 where there is no input.
    pub reading: u64,
    /// The degrees, or those of a graph that is likely like it.
    pub degrees: &'a DegreeRuns,
}

/// The size of a list.
#[derive(Debug, Clone, Copy)]
pub struct ListSize {
    /// Elements.
    pub length: u64,
    /// Bytes of host memory that reading it takes.
    pub reading: u64,
}

impl GraphSize<'_> {
    /// Returns the bytes of all rows in files, of both ways: each edge is an entry of two rows, of 4 bytes or, with its weight, 8.
    pub fn rows_bytes(&self, weighted: bool) -> u64 {
        let entry = if weighted { 8 } else { 4 };
        2 * entry * self.edges
    }

    /// Returns the entries of the rows of all vertices, of one way.
    pub fn entries(&self) -> u64 {
        // Undirected edges are in the rows of both ends.
        if self.direction == Direction::Directed { self.edges } else { 2 * self.edges }
    }

    /// Returns a bound of the entries in the rows of one of `ranks` ranks, which own chunks of so many vertices in turn. The first has most, as
    /// vertices are in the order of degree.
    pub fn entries_of_rank(&self, chunk: u64, ranks: usize) -> u64 {
        let (all, ranks) = (self.entries(), ranks as u64);
        if ranks <= 1 {
            return all;
        }
        let own_before = |v: u64| v / (chunk * ranks) * chunk + (v % (chunk * ranks)).min(chunk);
        let own = |(degree, first, end): (u32, u64, u64)| u64::from(degree) * (own_before(end) - own_before(first));
        // Degrees count repeats, which may be half of all.
        let with_repeats = self.degrees.iter().map(own).sum::<u64>();
        let more_than_others = chunk * self.longest_whole_row;
        with_repeats.min(all.div_ceil(ranks) + more_than_others).min(all)
    }
}

/// The ranks that compute: as many on each node, with as many threads each.
#[derive(Debug, Clone, Copy)]
pub struct Crew {
    /// Ranks that share the work.
    pub ranks: usize,
    /// Nodes that they are on.
    pub nodes: usize,
    /// Threads of a rank.
    pub threads: usize,
    /// True if every rank has a GPU that does the work.
    pub on_gpu: bool,
    /// Bytes of that GPU's memory that may be taken; 0 where they are not known, or no GPU does it.
    pub gpu_memory: u64,
    /// Bytes of host memory that rows take which are packed there for the GPU, if they are.
    pub packed: Option<u64>,
    /// Bytes of host memory that a rank has left for it.
    pub free: u64,
    /// Trials.
    pub trials: u32,
    /// The format of results.
    pub format: OutputFormat,
}

impl Crew {
    /// Returns the threads of all ranks.
    pub fn all_threads(&self) -> f64 {
        (self.ranks * self.threads) as f64
    }
}

/// The cost of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cost {
    /// Bytes of host memory of a rank, beside what is taken before it begins.
    pub host_memory: u64,
    /// The fewest that do.
    pub least_host_memory: u64,
    /// Bytes that it leaves on the disk, at most: results, journals and checkpoints of all trials.
    pub disk: u64,
    /// Bytes that ranks send to others, all together.
    pub exchange: u64,
    /// Bytes of files that all ranks together read in no order, so that page cache should hold them.
    pub cached: u64,
    /// Seconds of all trials, by the rates of the machine that these were measured on.
    pub seconds: f64,
    /// The kind of work, by which times of earlier runs are found: the task's name, and options that make other work.
    pub label: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::own::Own;

    /// The entries of each rank, one vertex after the other, for degrees that fall. Every second graph has each edge twice.
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
                    rows: 0,
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
                    for chunk in [1, Own::CHUNK_VERTICES] {
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
