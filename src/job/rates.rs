//! How fast stages go, for estimates of time.
//!
//! Measured in release builds on 2 cores of a Xeon with AVX-512, Kronecker graphs of scale 20 and 22 with 16 edges a
//! vertex, the input in page cache; `gpugraph run` logs the same rates for any machine. Good to a factor of two there.

use crate::algo::triangle::count::HUBS;
use crate::config::InputSpec;
use crate::formats::{Format, Input, Packing};
use crate::graph::order::DegreeRuns;

/// Edges a second and thread.
const INGEST: f64 = 40e6;
const PARTITION: f64 = 18e6;
const SORT: f64 = 30e6;
const DICTIONARY: f64 = 5e6;
/// Ids a second and thread.
const RELABEL: f64 = 200e6;
/// Wedges a second and thread, and looks into rows that lie anywhere in memory.
const PROBES: f64 = 1e9;
const SCATTERED: f64 = 4e6;
/// Edges a second and thread that a generator makes.
const GENERATED: f64 = 40e6;
/// Bytes a second and thread of text, and of packed files, of which one thread unpacks each.
const TEXT: f64 = 300e6;
const UNPACKED: f64 = 60e6;
/// Bytes a second of the spill file, written or read.
const SPILL: f64 = 1e9;

/// The first pass.
pub(super) fn ingest(edges: u64, bytes: u64, threads: usize, input: &Input) -> f64 {
    edges as f64 / INGEST / threads as f64 + parsing(bytes, threads, input)
}

/// Sorting sparse ids.
pub(super) fn dictionary(edges: u64, threads: usize) -> f64 {
    edges as f64 / DICTIONARY / threads as f64
}

/// Ordering vertices.
pub(super) fn relabel(ids: u64, threads: usize) -> f64 {
    ids as f64 / RELABEL / threads as f64
}

/// The second pass.
pub(super) fn partition(edges: u64, bytes: u64, spill: u64, threads: usize, input: &Input) -> f64 {
    edges as f64 / PARTITION / threads as f64 + spill as f64 / SPILL + parsing(bytes, threads, input)
}

/// Rows from bins.
pub(super) fn sort(edges: u64, spill: u64, threads: usize) -> f64 {
    edges as f64 / SORT / threads as f64 + spill as f64 / SPILL
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

/// One trial.
pub(super) fn counting(work: Work, threads: usize) -> f64 {
    (work.probes / PROBES + work.scattered / SCATTERED) / threads as f64
}

fn parsing(bytes: u64, threads: usize, input: &Input) -> f64 {
    let packed = input.parts().iter().filter(|part| part.packing() != Packing::Plain).count();
    let binary = |format| matches!(format, Format::U32 | Format::U64 | Format::Graph500);
    if input.parts().is_empty() {
        return bytes as f64 / 8.0 / GENERATED / threads as f64;
    }
    match (packed, input.parts().iter().all(|part| binary(part.format()))) {
        (0, true) => 0.0,
        (0, false) => bytes as f64 / TEXT / threads as f64,
        (packed, _) => bytes as f64 / UNPACKED / packed.min(threads) as f64,
    }
}
