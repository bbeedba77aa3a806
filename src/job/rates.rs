//! How fast stages go, for estimates of time.
//!
//! Those of a processor were measured in release builds on 2 cores of a Xeon with AVX-512, Kronecker graphs of scale 20
//! and 22 with 16 edges a vertex; those of a GPU on an H200 with 16 cores, scales 22 to 29; the input in page cache.
//! `gpugraph run` logs the same rates for any machine. Good to a factor of two there.

use crate::algo::triangle::count::HUBS;
use crate::config::InputSpec;
use crate::formats::{Format, Input, Packing};
use crate::graph::order::DegreeRuns;

/// Edges a second and thread.
const INGEST: f64 = 40e6;
const PARTITION: f64 = 18e6;
const SORT: f64 = 30e6;
const DICTIONARY: f64 = 5e6;
/// Edges a second and GPU. They go there in 8 bytes each.
const INGEST_ON_GPU: f64 = 32e9 / 8.0;
const PARTITION_ON_GPU: f64 = 5.4e9 / 2.0;
const SORT_ON_GPU: f64 = 5.4e9 / 1.35;
/// Ids a second and thread.
const RELABEL: f64 = 200e6;
/// Wedges a second and thread, and looks into rows that lie anywhere in memory.
const PROBES: f64 = 1e9;
const SCATTERED: f64 = 4e6;
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

    /// Edges a second of all, by the rate of a thread and that of a GPU.
    fn preparing(&self, thread: f64, gpu: f64) -> f64 {
        if self.prepares_on_gpu { self.ranks as f64 * gpu } else { self.threads() * thread }
    }

    /// The first pass.
    pub(super) fn ingest(&self, edges: u64, bytes: u64, input: &Input) -> f64 {
        edges as f64 / self.preparing(INGEST, INGEST_ON_GPU) + self.parsing(bytes, input)
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
    pub(super) fn partition(&self, edges: u64, bytes: u64, spill: u64, input: &Input) -> f64 {
        edges as f64 / self.preparing(PARTITION, PARTITION_ON_GPU) + self.spilled(spill) + self.parsing(bytes, input)
    }

    /// Rows from bins.
    pub(super) fn sort(&self, edges: u64, spill: u64) -> f64 {
        edges as f64 / self.preparing(SORT, SORT_ON_GPU) + self.spilled(spill)
    }

    /// Sending `bytes` bytes, of all ranks together, to other ranks.
    pub(super) fn exchange(&self, bytes: u64) -> f64 {
        bytes as f64 / NETWORK / self.nodes as f64
    }

    /// One trial.
    pub(super) fn counting(&self, work: Work) -> f64 {
        match self.counts_on_gpu {
            true => work.probes / PROBES_ON_GPU / self.ranks as f64,
            false => (work.probes / PROBES + work.scattered / SCATTERED) / self.threads(),
        }
    }

    fn spilled(&self, bytes: u64) -> f64 {
        bytes as f64 / SPILL / self.nodes as f64
    }

    fn parsing(&self, bytes: u64, input: &Input) -> f64 {
        let packed = input.parts().iter().filter(|part| part.packing() != Packing::Plain).count();
        let binary = |format| matches!(format, Format::U32 | Format::U64 | Format::Graph500);
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

/// What counting has to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// Wedges tested.
    probes: f64,
    /// Edges between vertices that are no hubs: each is a look into a row that lies anywhere.
    scattered: f64,
}

impl Work {
    /// By the degrees.
    pub(super) fn of(runs: &DegreeRuns, edges: u64) -> Work {
        let outside = 1.0 - runs.ends_below(HUBS.into());
        Work { probes: runs.wedges_about(), scattered: edges as f64 * outside * outside }
    }

    /// Where degrees are not known: `edges`^1.25 wedges of skewed graphs, as Kronecker graphs have it from 2^20 to 2^29
    /// vertices, and half of all ends at hubs; with even degrees every row has half the average.
    pub(super) fn guess(edges: u64, spec: &InputSpec) -> Work {
        let e = edges as f64;
        match spec {
            InputSpec::Uniform(random) => {
                let outside = (1.0 - f64::from(HUBS) / 2f64.powi(random.scale as i32)).max(0.0);
                Work { probes: e * random.edge_factor, scattered: e * outside * outside }
            }
            _ => Work { probes: e.powf(1.25), scattered: e / 4.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// README.md's figures of an H200, in seconds.
    #[test]
    fn a_gpu_takes_as_long_as_was_measured_within_a_factor_of_two() {
        let gpu = Crew { ranks: 1, nodes: 1, threads: 16, prepares_on_gpu: true, counts_on_gpu: true };
        let close = |what: &str, planned: f64, measured: f64| {
            assert!((0.5..=2.0).contains(&(planned / measured)), "{what}: {planned} planned, {measured} measured");
        };
        let files = InputSpec::Files { paths: Vec::new(), format: None, recursive: false };
        let edges = 10 << 29;
        let path = [PathBuf::from("s29.u32")];
        let input = Input::expected(&path, None, edges, 1 << 29).unwrap();
        close("ingest", gpu.ingest(edges, input.bytes(), &input), 1.4);
        close("relabel", gpu.relabel(1 << 29), 0.3);
        close("partition", gpu.partition(edges, input.bytes(), 0, &input), 2.0);
        close("sort", gpu.sort(edges, 0), 1.35);
        for (edges, seconds) in [(edges, 2.64), (16 << 26, 0.34), (16 << 22, 0.0146)] {
            close("counting", gpu.counting(Work::guess(edges, &files)), seconds);
        }
    }

    #[test]
    fn ranks_divide_what_they_share_and_a_dictionary_is_made_by_one() {
        let path = [PathBuf::from("edges.txt")];
        let input = Input::expected(&path, None, 1 << 30, 1 << 24).unwrap();
        let spec = InputSpec::Files { paths: Vec::new(), format: None, recursive: false };
        for gpu in [false, true] {
            let seconds = |ranks, nodes| {
                let crew = Crew { ranks, nodes, threads: 3, prepares_on_gpu: gpu, counts_on_gpu: gpu };
                let passes = crew.ingest(1 << 30, 1 << 34, &input) + crew.partition(1 << 30, 1 << 34, 0, &input);
                let rest = crew.relabel(1 << 24) + crew.sort(1 << 30, 0) + crew.counting(Work::guess(1 << 30, &spec));
                (passes + rest, crew.dictionary(1 << 30), crew.sort(0, 1 << 30))
            };
            let (alone, eight) = (seconds(1, 1), seconds(8, 2));
            assert!((alone.0 / eight.0 - 8.0).abs() < 1e-9, "{alone:?} {eight:?}");
            assert_eq!(alone.1, eight.1);
            // Ranks of a node share its disk.
            assert!((alone.2 / eight.2 - 2.0).abs() < 1e-9, "{alone:?} {eight:?}");
        }
    }
}
