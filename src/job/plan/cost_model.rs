//! Rates of preparation, for estimates of time where no job has run on such a machine yet ([`crate::job::plan::speeds`]). Each
//! algorithm has rates of its own ([`crate::algo::Cost`]).
//!
//! Those of a CPU were measured in release builds on one core of a Zen 3 server with AVX2: CPU time, Kronecker
//! and uniform graphs of 2^16 to 2^22 vertices with 3 to 64 edges each; those of a GPU on an H200 with 16 cores, scales
//! 22 to 29; the input in page cache. `gpugraph run` logs the same rates for any machine. Good to a factor of two there.

use crate::formats::{Format, Input, Packing};

/// Nanoseconds of a thread for each edge: looks into tables that fit the caches, and what each doubling of the ids beyond
/// so many takes on top.
const INGEST: Growing = Growing { cached: 8.5, doubling: 1.0, ids: 1 << 19 };
const PARTITION: Growing = Growing { cached: 18.0, doubling: 5.0, ids: 1 << 18 };
const SORT: Growing = Growing { cached: 18.0, doubling: 1.5, ids: 1 << 20 };
/// The part that partition and sort take longer by where edges have weights, by the CPU alone: scale 20, 16 edges each, Graph500's files.
pub(crate) const WEIGHTED: f64 = 1.6;
/// The upper half of rows, by the CPU alone.
const TRANSPOSE: Growing = Growing { cached: 12.0, doubling: 1.0, ids: 1 << 20 };
/// Edges a second and thread.
const DICTIONARY: f64 = 5e6;
/// Edges a second and GPU. They go there in 8 bytes each.
const INGEST_ON_GPU: f64 = 32e9 / 8.0;
const PARTITION_ON_GPU: f64 = 5.4e9 / 2.0;
const SORT_ON_GPU: f64 = 5.4e9 / 1.35;
/// Ids a second and thread.
const RELABEL: f64 = 200e6;
/// Edges a second and thread that a generator makes.
const GENERATED: f64 = 40e6;
/// Bytes a second and thread of text, and of packed files, of which one thread unpacks each.
const TEXT: f64 = 300e6;
const UNPACKED: f64 = 60e6;
/// Bytes a second of a node's spill files, written or read.
const SPILL: f64 = 1e9;
/// Bytes a second that a node sends to others: four fifths of 100 Gbit/s. Not measured.
const NETWORK: f64 = 10e9;

/// Name of the stage that makes the upper half of rows.
pub(crate) const TRANSPOSE_STAGE: &str = "transpose";

/// Name of the stage that makes rows of all neighbours.
pub(crate) const MERGE_STAGE: &str = "merge";
/// Nanoseconds of a thread for each edge that is merged. Not measured yet.
const MERGE: f64 = 8.0;

/// Time that grows with tables as they outgrow caches.
struct Growing {
    cached: f64,
    doubling: f64,
    ids: u64,
}

impl Growing {
    /// Returns the nanoseconds of one thread with tables of `ids` ids.
    fn nanoseconds(&self, ids: f64) -> f64 {
        self.cached + self.doubling * (ids / self.ids as f64).log2().max(0.0)
    }
}

/// The ranks that prepare: as many on each node, with as many threads each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Preparers {
    pub(crate) ranks: usize,
    pub(crate) nodes: usize,
    /// Of a rank.
    pub(crate) threads: usize,
    /// True if every rank has a GPU that prepares.
    pub(crate) on_gpu: bool,
}

impl Preparers {
    /// All threads.
    fn threads(&self) -> f64 {
        (self.ranks * self.threads) as f64
    }

    /// Seconds of all for `edges` edges, by what one takes a thread with tables of `ids` ids, and the rate of a GPU.
    fn preparing(&self, edges: u64, ids: u64, thread: &Growing, gpu: f64) -> f64 {
        match self.on_gpu {
            true => edges as f64 / gpu / self.ranks as f64,
            false => edges as f64 * thread.nanoseconds(ids as f64) / 1e9 / self.threads(),
        }
    }

    /// The first pass.
    pub(crate) fn ingest(&self, edges: u64, ids: u64, bytes: u64, input: &Input) -> f64 {
        self.preparing(edges, ids, &INGEST, INGEST_ON_GPU) + self.parsing(bytes, input)
    }

    /// Sorting sparse ids, which one rank does for all.
    pub(crate) fn dictionary(&self, edges: u64) -> f64 {
        edges as f64 / DICTIONARY / self.threads as f64
    }

    /// Ordering vertices.
    pub(crate) fn relabel(&self, ids: u64) -> f64 {
        ids as f64 / RELABEL / self.threads()
    }

    /// The second pass, where ranks spill `spill` bytes together.
    pub(crate) fn partition(&self, edges: u64, ids: u64, bytes: u64, spill: u64, input: &Input) -> f64 {
        let placing = self.preparing(edges, ids, &PARTITION, PARTITION_ON_GPU);
        placing + self.spilled(spill) + self.parsing(bytes, input)
    }

    /// Rows from bins.
    pub(crate) fn sort(&self, edges: u64, ids: u64, spill: u64) -> f64 {
        self.preparing(edges, ids, &SORT, SORT_ON_GPU) + self.spilled(spill)
    }

    /// The upper half of rows of a graph of `edges` edges.
    pub(crate) fn transpose(&self, edges: u64, vertices: u64) -> f64 {
        edges as f64 * TRANSPOSE.nanoseconds(vertices as f64) / 1e9 / self.threads()
    }

    /// Rows of all neighbours of a graph of `edges` edges that keeps direction.
    pub(crate) fn merge(&self, edges: u64) -> f64 {
        edges as f64 * MERGE / 1e9 / self.threads()
    }

    /// Sending `bytes` bytes, of all ranks together, to other ranks.
    pub(crate) fn exchange(&self, bytes: u64) -> f64 {
        bytes as f64 / NETWORK / self.nodes as f64
    }

    fn spilled(&self, bytes: u64) -> f64 {
        bytes as f64 / SPILL / self.nodes as f64
    }

    fn parsing(&self, bytes: u64, input: &Input) -> f64 {
        let packed = input.parts().iter().filter(|part| part.packing() != Packing::Plain).count();
        let binary =
            |format: Format| matches!(format, Format::U32 | Format::U64 | Format::Graph500) || format.is_arrays();
        if input.parts().is_empty() {
            return bytes as f64 / 8.0 / GENERATED / self.threads();
        }
        match (packed, input.parts().iter().all(|part| binary(part.format()))) {
            (0, true) => 0.0,
            (0, false) => bytes as f64 / TEXT / self.threads(),
            (packed, _) => bytes as f64 / UNPACKED / self.threads().min(packed as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// Figures of an H200 in docs/performance.md, in seconds.
    #[test]
    fn a_gpu_takes_as_long_as_was_measured_within_a_factor_of_two() {
        let gpu = Preparers { ranks: 1, nodes: 1, threads: 16, on_gpu: true };
        let close = |what: &str, planned: f64, measured: f64| {
            assert!((0.5..=2.0).contains(&(planned / measured)), "{what}: {planned} planned, {measured} measured");
        };
        let edges = 10 << 29;
        let path = [PathBuf::from("s29.u32")];
        let input = Input::expected(&path, None, edges, 1 << 29).unwrap();
        close("ingest", gpu.ingest(edges, 1 << 29, input.bytes(), &input), 1.4);
        close("relabel", gpu.relabel(1 << 29), 0.3);
        close("partition", gpu.partition(edges, 1 << 29, input.bytes(), 0, &input), 2.0);
        close("sort", gpu.sort(edges, 1 << 29, 0), 1.35);
    }

    #[test]
    fn ranks_divide_what_they_share_and_a_dictionary_is_made_by_one() {
        let path = [PathBuf::from("edges.txt")];
        let input = Input::expected(&path, None, 1 << 30, 1 << 24).unwrap();
        for on_gpu in [false, true] {
            let seconds = |ranks, nodes| {
                let crew = Preparers { ranks, nodes, threads: 3, on_gpu };
                let ids = 1 << 24;
                let passes =
                    crew.ingest(1 << 30, ids, 1 << 34, &input) + crew.partition(1 << 30, ids, 1 << 34, 0, &input);
                let rest = crew.relabel(ids) + crew.sort(1 << 30, ids, 0);
                (passes + rest, crew.dictionary(1 << 30), crew.sort(0, ids, 1 << 30))
            };
            let (alone, eight) = (seconds(1, 1), seconds(8, 2));
            assert!((alone.0 / eight.0 - 8.0).abs() < 1e-9, "{alone:?} {eight:?}");
            assert_eq!(alone.1, eight.1);
            // Ranks of a node share its disk.
            assert!((alone.2 / eight.2 - 2.0).abs() < 1e-9, "{alone:?} {eight:?}");
        }
    }
}
