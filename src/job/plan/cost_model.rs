//! Rates of the preparation stages. A plan estimates times from them if no job has run on such a machine yet
//! ([`crate::job::plan::speeds`]). Each algorithm has its own rates ([`crate::algo::Cost`]).
//!
//! CPU rates are CPU times in release builds on one core of a Zen 3 server with AVX2. They were measured with
//! Kronecker and uniform graphs of 2^16 to 2^22 vertices and 3 to 64 edges per vertex. GPU rates were measured on an
//! H200 with 16 cores, scales 22 to 29. The input was in page cache. `gpugraph run` logs the same rates for any
//! machine. On the measured machines the rates are accurate to a factor of two.

use crate::formats::{Format, Input, Packing};

/// Time in nanoseconds that a thread takes per edge in `ingest`.
const INGEST: CacheModel = CacheModel { cached: 8.5, doubling: 1.0, ids: 1 << 19 };
/// Time in nanoseconds that a thread takes per edge in `partition`.
const PARTITION: CacheModel = CacheModel { cached: 18.0, doubling: 5.0, ids: 1 << 18 };
/// Time in nanoseconds that a thread takes per edge in `sort`.
const SORT: CacheModel = CacheModel { cached: 18.0, doubling: 1.5, ids: 1 << 20 };
/// Factor by which partition and sort are slower on the CPU if edges have weights (measured with Graph500's files at
/// scale 20, 16 edges per vertex).
pub(crate) const WEIGHTED: f64 = 1.6;
/// Time in nanoseconds that a thread takes per edge to build the upper half of the rows.
const TRANSPOSE: CacheModel = CacheModel { cached: 12.0, doubling: 1.0, ids: 1 << 20 };
/// Edges per second that a thread processes when it builds the list of sparse ids.
const DICTIONARY: f64 = 5e6;
/// Edges per second that a GPU processes in `ingest`. Each edge requires a transfer of 8 bytes to the GPU.
const INGEST_ON_GPU: f64 = 32e9 / 8.0;
/// Edges per second that a GPU processes in `partition`.
const PARTITION_ON_GPU: f64 = 5.4e9 / 2.0;
/// Edges per second that a GPU processes in `sort`.
const SORT_ON_GPU: f64 = 5.4e9 / 1.35;
/// Ids per second that a thread orders in `relabel`.
const RELABEL: f64 = 200e6;
/// Edges per second that a thread generates.
const GENERATED: f64 = 40e6;
/// Bytes of text that a thread reads per second.
const TEXT: f64 = 300e6;
/// Bytes of compressed files that a thread reads per second. One thread decompresses each file.
const UNPACKED: f64 = 60e6;
/// Bytes of spill files that a node writes or reads per second.
const SPILL: f64 = 1e9;
/// Bytes per second that a node sends to other nodes: four fifths of 100 Gbit/s (not measured).
const NETWORK: f64 = 10e9;

/// Name of the stage that builds the upper half of the rows.
pub(crate) const TRANSPOSE_STAGE: &str = "transpose";

/// Name of the stage that builds merged rows (all neighbours).
pub(crate) const MERGE_STAGE: &str = "merge";
/// Time in nanoseconds that a thread takes per edge to merge rows (not measured yet).
const MERGE: f64 = 8.0;

/// Time that a thread takes per edge. It is `cached` nanoseconds if tables have up to `ids` ids, and `doubling`
/// nanoseconds more for each doubling of the number of ids beyond that, because the tables then no longer fit in the
/// caches.
struct CacheModel {
    cached: f64,
    doubling: f64,
    ids: u64,
}

impl CacheModel {
    /// Returns the time in nanoseconds that a thread takes per edge if tables have `ids` ids.
    fn nanoseconds(&self, ids: f64) -> f64 {
        self.cached + self.doubling * (ids / self.ids as f64).log2().max(0.0)
    }
}

/// The ranks that prepare a graph. All nodes have the same number of ranks, and all ranks the same number of threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Preparers {
    pub(crate) ranks: usize,
    pub(crate) nodes: usize,
    /// Number of threads per rank.
    pub(crate) threads: usize,
    /// True if every rank prepares on a GPU.
    pub(crate) on_gpu: bool,
}

impl Preparers {
    /// Returns the total number of threads of all ranks.
    fn threads(&self) -> f64 {
        (self.ranks * self.threads) as f64
    }

    /// Returns the time in seconds in which all ranks together process `edges` edges with tables of `ids` ids. `thread`
    /// is the time that a thread takes per edge, and `gpu` the number of edges that a GPU processes per second.
    fn preparing(&self, edges: u64, ids: u64, thread: &CacheModel, gpu: f64) -> f64 {
        match self.on_gpu {
            true => edges as f64 / gpu / self.ranks as f64,
            false => edges as f64 * thread.nanoseconds(ids as f64) / 1e9 / self.threads(),
        }
    }

    /// Returns the time in seconds of the first pass over the input.
    pub(crate) fn ingest(&self, edges: u64, ids: u64, bytes: u64, input: &Input) -> f64 {
        self.preparing(edges, ids, &INGEST, INGEST_ON_GPU) + self.parsing(bytes, input)
    }

    /// Returns the time in seconds to build the list of sparse ids, which one rank does for all.
    pub(crate) fn dictionary(&self, edges: u64) -> f64 {
        edges as f64 / DICTIONARY / self.threads as f64
    }

    /// Returns the time in seconds to order the vertices by degree.
    pub(crate) fn relabel(&self, ids: u64) -> f64 {
        ids as f64 / RELABEL / self.threads()
    }

    /// Returns the time in seconds of the second pass over the input, in which all ranks together spill `spill`
    /// bytes.
    pub(crate) fn partition(&self, edges: u64, ids: u64, bytes: u64, spill: u64, input: &Input) -> f64 {
        let placing = self.preparing(edges, ids, &PARTITION, PARTITION_ON_GPU);
        placing + self.spilled(spill) + self.parsing(bytes, input)
    }

    /// Returns the time in seconds to sort bins into rows.
    pub(crate) fn sort(&self, edges: u64, ids: u64, spill: u64) -> f64 {
        self.preparing(edges, ids, &SORT, SORT_ON_GPU) + self.spilled(spill)
    }

    /// Returns the time in seconds to build the upper half of the rows of a graph with `edges` edges.
    pub(crate) fn transpose(&self, edges: u64, vertices: u64) -> f64 {
        edges as f64 * TRANSPOSE.nanoseconds(vertices as f64) / 1e9 / self.threads()
    }

    /// Returns the time in seconds to merge the rows of a directed graph with `edges` edges.
    pub(crate) fn merge(&self, edges: u64) -> f64 {
        edges as f64 * MERGE / 1e9 / self.threads()
    }

    /// Returns the time in seconds that ranks take to send `bytes` bytes in total to other ranks.
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
        if self.on_gpu && input.on_gpu().is_some() {
            return 0.0;
        }
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

    /// Compares predictions with measured times, in seconds, which are from the H200 in docs/performance.md.
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
    fn ranks_share_all_stages_but_the_dictionary() {
        let path = [PathBuf::from("edges.txt")];
        let input = Input::expected(&path, None, 1 << 30, 1 << 24).unwrap();
        for on_gpu in [false, true] {
            let seconds = |ranks, nodes| {
                let resources = Preparers { ranks, nodes, threads: 3, on_gpu };
                let ids = 1 << 24;
                let passes = resources.ingest(1 << 30, ids, 1 << 34, &input)
                    + resources.partition(1 << 30, ids, 1 << 34, 0, &input);
                let rest = resources.relabel(ids) + resources.sort(1 << 30, ids, 0);
                (passes + rest, resources.dictionary(1 << 30), resources.sort(0, ids, 1 << 30))
            };
            let (alone, eight) = (seconds(1, 1), seconds(8, 2));
            assert!((alone.0 / eight.0 - 8.0).abs() < 1e-9, "{alone:?} {eight:?}");
            assert_eq!(alone.1, eight.1);
            // Ranks of a node share its disk.
            assert!((alone.2 / eight.2 - 2.0).abs() < 1e-9, "{alone:?} {eight:?}");
        }
    }
}
