//! How fast stages go, for estimates of time where no job has run on such a machine yet ([`super::speeds`]).
//!
//! Those of a processor were measured in release builds on one core of a Zen 3 server with AVX2: processor time, Kronecker
//! and uniform graphs of 2^16 to 2^22 vertices with 3 to 64 edges each; those of a GPU on an H200 with 16 cores, scales
//! 22 to 29; the input in page cache. `gpugraph run` logs the same rates for any machine. Good to a factor of two there.

use super::work::Work;
use crate::formats::{Format, Input, Packing};

/// Nanoseconds of a thread for each edge: looks into tables that fit the caches, and what each doubling of the ids beyond
/// so many takes on top.
const INGEST: Growing = Growing { cached: 8.5, doubling: 1.0, ids: 1 << 19 };
const PARTITION: Growing = Growing { cached: 18.0, doubling: 5.0, ids: 1 << 18 };
const SORT: Growing = Growing { cached: 18.0, doubling: 1.5, ids: 1 << 20 };
/// Edges a second and thread.
const DICTIONARY: f64 = 5e6;
/// Edges a second and GPU. They go there in 8 bytes each.
const INGEST_ON_GPU: f64 = 32e9 / 8.0;
const PARTITION_ON_GPU: f64 = 5.4e9 / 2.0;
const SORT_ON_GPU: f64 = 5.4e9 / 1.35;
/// Ids a second and thread.
const RELABEL: f64 = 200e6;
/// Nanoseconds of a thread, of counting: for each edge, each word of bits of hubs, each wedge that is looked up.
const EDGE: f64 = 30.0;
const CHUNK: f64 = 1.4;
const LOOKUP: f64 = 2.4;
/// The same of counts at vertices, on top: for each triangle, each edge to a hub, each other edge.
const CORNER: Growing = Growing { cached: 1.05, doubling: 0.46, ids: 1 << 16 };
const HUB_CORNERS: f64 = 59.0;
const OTHER_CORNERS: f64 = 37.0;
/// Nanoseconds of one thread for a row of results.
const ROW: f64 = 40.0;
/// Wedges a second and GPU, looks and copies included.
const PROBES_ON_GPU: f64 = 5.2e11;
/// Edges a second and thread that a generator makes.
const GENERATED: f64 = 40e6;
/// Bytes a second and thread of text, and of packed files, of which one thread unpacks each.
const TEXT: f64 = 300e6;
const UNPACKED: f64 = 60e6;
/// Bytes a second of a node's spill files, written or read.
const SPILL: f64 = 1e9;
/// Bytes a second that a node sends to others: four fifths of 100 Gbit/s. Not measured.
const NETWORK: f64 = 10e9;

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

/// Who shares the work: as many ranks on each node, with as many threads each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crew {
    pub(super) ranks: usize,
    pub(super) nodes: usize,
    /// Of a rank.
    pub(super) threads: usize,
    /// Whether every rank has a GPU that prepares.
    pub(super) prepares_on_gpu: bool,
    /// Whether every rank has a GPU that counts.
    pub(super) counts_on_gpu: bool,
}

impl Crew {
    /// All threads.
    fn threads(&self) -> f64 {
        (self.ranks * self.threads) as f64
    }

    /// Seconds of all for `edges` edges, by what one takes a thread with tables of `ids` ids, and the rate of a GPU.
    fn preparing(&self, edges: u64, ids: u64, thread: &Growing, gpu: f64) -> f64 {
        match self.prepares_on_gpu {
            true => edges as f64 / gpu / self.ranks as f64,
            false => edges as f64 * thread.nanoseconds(ids as f64) / 1e9 / self.threads(),
        }
    }

    /// The first pass.
    pub(super) fn ingest(&self, edges: u64, ids: u64, bytes: u64, input: &Input) -> f64 {
        self.preparing(edges, ids, &INGEST, INGEST_ON_GPU) + self.parsing(bytes, input)
    }

    /// Sorting sparse ids, which one rank does for all.
    pub(super) fn dictionary(&self, edges: u64) -> f64 {
        edges as f64 / DICTIONARY / self.threads as f64
    }

    /// Ordering vertices.
    pub(super) fn relabel(&self, ids: u64) -> f64 {
        ids as f64 / RELABEL / self.threads()
    }

    /// The second pass, where ranks spill `spill` bytes together.
    pub(super) fn partition(&self, edges: u64, ids: u64, bytes: u64, spill: u64, input: &Input) -> f64 {
        let placing = self.preparing(edges, ids, &PARTITION, PARTITION_ON_GPU);
        placing + self.spilled(spill) + self.parsing(bytes, input)
    }

    /// Rows from bins.
    pub(super) fn sort(&self, edges: u64, ids: u64, spill: u64) -> f64 {
        self.preparing(edges, ids, &SORT, SORT_ON_GPU) + self.spilled(spill)
    }

    /// Sending `bytes` bytes, of all ranks together, to other ranks.
    pub(super) fn exchange(&self, bytes: u64) -> f64 {
        bytes as f64 / NETWORK / self.nodes as f64
    }

    /// One trial.
    pub(super) fn counting(&self, work: &Work) -> f64 {
        if self.counts_on_gpu {
            return work.wedges / PROBES_ON_GPU / self.ranks as f64;
        }
        (EDGE * work.edges + CHUNK * work.chunks + LOOKUP * work.lookups) / 1e9 / self.threads()
    }

    /// What counts at vertices take on top of one trial, and their results in `rows` rows. On a GPU the counts are as good
    /// as free.
    pub(super) fn per_vertex(&self, work: &Work, rows: u64) -> f64 {
        let results = ROW * rows as f64 / 1e9;
        if self.counts_on_gpu {
            return results;
        }
        let corners = work.triangles * CORNER.nanoseconds(work.vertices);
        let others = HUB_CORNERS * work.hub_edges + OTHER_CORNERS * (work.edges - work.hub_edges);
        results + (corners + others) / 1e9 / self.threads()
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
    use crate::job::likely;
    use std::path::PathBuf;

    fn graph500(scale: u32, edge_factor: u64) -> Work {
        Work::of(&likely::degrees(edge_factor << scale, 1 << scale, likely::GRAPH500))
    }

    /// Processor time of one thread that README.md's machine took, within what its cores differ by.
    #[test]
    fn a_processor_takes_as_long_as_was_measured_within_a_factor_of_two() {
        let one = Crew { ranks: 1, nodes: 1, threads: 1, prepares_on_gpu: false, counts_on_gpu: false };
        // Scale, edges a vertex, counting, and the same per vertex.
        for (scale, edge_factor, counted, per_vertex) in [
            (18, 16, 0.22, 0.58),
            (18, 64, 0.73, 4.29),
            (20, 8, 0.41, 1.27),
            (20, 16, 1.10, 2.94),
            (20, 32, 2.15, 10.11),
            (21, 16, 2.87, 6.80),
            (22, 16, 7.60, 17.96),
        ] {
            let work = graph500(scale, edge_factor);
            let said = [one.counting(&work), one.counting(&work) + one.per_vertex(&work, 1 << scale)];
            for (said, measured) in said.into_iter().zip([counted, per_vertex]) {
                assert!((0.6..=1.6).contains(&(said / measured)), "{scale} x {edge_factor}: {said}, {measured}");
            }
        }
    }

    /// README.md's figures of an H200, in seconds.
    #[test]
    fn a_gpu_takes_as_long_as_was_measured_within_a_factor_of_two() {
        let gpu = Crew { ranks: 1, nodes: 1, threads: 16, prepares_on_gpu: true, counts_on_gpu: true };
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
        for (scale, edge_factor, seconds) in [(29, 10, 2.64), (26, 16, 0.34), (22, 16, 0.0146)] {
            close("counting", gpu.counting(&graph500(scale, edge_factor)), seconds);
        }
    }

    #[test]
    fn ranks_divide_what_they_share_and_a_dictionary_is_made_by_one() {
        let path = [PathBuf::from("edges.txt")];
        let input = Input::expected(&path, None, 1 << 30, 1 << 24).unwrap();
        let work = graph500(24, 64);
        for gpu in [false, true] {
            let seconds = |ranks, nodes| {
                let crew = Crew { ranks, nodes, threads: 3, prepares_on_gpu: gpu, counts_on_gpu: gpu };
                let ids = 1 << 24;
                let passes =
                    crew.ingest(1 << 30, ids, 1 << 34, &input) + crew.partition(1 << 30, ids, 1 << 34, 0, &input);
                let rest = crew.relabel(ids) + crew.sort(1 << 30, ids, 0);
                let counting = crew.counting(&work) + crew.per_vertex(&work, 0);
                (passes + rest + counting, crew.dictionary(1 << 30), crew.sort(0, ids, 1 << 30))
            };
            let (alone, eight) = (seconds(1, 1), seconds(8, 2));
            assert!((alone.0 / eight.0 - 8.0).abs() < 1e-9, "{alone:?} {eight:?}");
            assert_eq!(alone.1, eight.1);
            // Ranks of a node share its disk.
            assert!((alone.2 / eight.2 - 2.0).abs() < 1e-9, "{alone:?} {eight:?}");
        }
    }
}
