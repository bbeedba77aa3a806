//! Estimates of an input before it is read: its number of edges and the range of its ids.

use crate::config::{Expect, InputSpec};
use crate::error::{Error, Result};
use crate::formats::{Edges, Format, Input, Packing, Part, Signals, Visitor, largest_in, largest_of_arrays};
use crate::generate::Shape;
use crate::graph::likely;
use crate::graph::order::DegreeRuns;
use crate::prepare::ingest;
use serde::Serialize;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of samples of an uncompressed file.
const PLACES: u64 = 64;
/// Number of bytes of each sample.
const WINDOW: u64 = 16 << 10;
/// Number of edges read from the start of a compressed file.
const ENOUGH: u64 = 1 << 20;

/// Source of the numbers in a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Upper bounds from `input.expect`, because the input itself is not available here.
    Expected,
    /// Upper bounds from the size of the input and from samples of it.
    #[default]
    Size,
    /// The degrees that ingest counted.
    Degrees,
    /// The graph that another job kept.
    Prepared,
    /// The length of a list.
    Length,
}

impl Basis {
    /// Returns true if the plan's memory and disk space are upper bounds for all graphs of the input's size, because
    /// degrees are not known yet.
    pub fn is_bound(self) -> bool {
        matches!(self, Basis::Size | Basis::Expected)
    }
}

/// Estimated size of an input that has not been read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputEstimate {
    /// Source of the estimates.
    pub basis: Basis,
    /// Number of edges, including self-loops and duplicates (upper bound).
    pub edges: u64,
    /// Estimated number of edges, which is exact if the format implies the number.
    pub edges_about: u64,
    /// Number of distinct edges in the input (upper bound).
    pub distinct: u64,
    /// Number of entries of the map from ids to vertices (upper bound).
    pub ids: u64,
    /// Number of entries of the map from ids to vertices (lower bound).
    pub ids_at_least: u64,
    /// Number of rows in results per vertex (upper bound). It includes vertices without edges that a header declares.
    pub rows: u64,
    /// True if ids are likely sparse, so that a dictionary is built.
    pub sparse: bool,
    /// True if ids may turn out to be sparse.
    pub may_be_sparse: bool,
    /// Likely degrees of the vertices of a graph of the estimated size.
    pub likely: DegreeRuns,
}

/// Estimates an input from its size and samples.
///
/// # Errors
/// [`Error::Input`] if it can't be read.
pub fn estimate(input: &Input, spec: &InputSpec) -> Result<InputEstimate> {
    let about = input.estimate_edges()?;
    let exact = input.parts().iter().all(|part| part.packing() == Packing::Plain && is_binary(part));
    let packed = input.parts().iter().any(|part| part.packing() != Packing::Plain);
    // Estimates come from samples. In text, the length of lines varies little; compressed files are sampled only at
    // their start.
    let (edges, fewest) = match (exact, packed) {
        (true, _) => (about, about),
        (false, false) => (about + about / 8 + 4096, (about - about / 8).saturating_sub(4096)),
        (false, true) => (2 * about + 4096, (about / 2).saturating_sub(4096)),
    };
    let metis = input.parts().iter().all(|part| part.format() == Format::Metis) && !input.parts().is_empty();
    let found = match spec {
        InputSpec::Kronecker(r) | InputSpec::Uniform(r) => {
            let all = 1u64 << r.scale;
            // With a few edges per vertex, the largest id is close to the last possible one.
            IdBounds { at_most: all, at_least: if r.edge_factor >= 1.0 { all / 2 } else { 0 }, declared: 0 }
        }
        InputSpec::Weighted(spec) => {
            let all = spec.shape.vertices();
            // An R-MAT graph may have vertices without an edge, and so may a random graph with few edges.
            let is_full = matches!(spec.shape, Shape::Ssca2(_) | Shape::Grid { .. });
            IdBounds { at_most: all, at_least: if is_full || about >= all { all / 2 } else { 0 }, declared: 0 }
        }
        InputSpec::Memory(edges) => {
            let (end, declared) = edges.bounds();
            IdBounds { at_most: end, at_least: end, declared: declared.unwrap_or(0) }
        }
        // The number of distinct strings is not known before their dictionary is built.
        _ if input.has_names() => IdBounds { at_most: edges.saturating_mul(2), at_least: 0, declared: 0 },
        _ => ids(input, packed, about)?,
    };
    // Not every format with a header declares its vertices.
    let declared = input.declares_vertices();
    let is_sparse = |at_least: u64, edges| ingest::sparse(at_least.max(1) - 1, edges, input.wide(), declared);
    // String ids need the memory and the disk space of a list of sparse ids, and additional disk space.
    let listed = input.vertices.as_ref().map(|list| list.estimate_edges()).transpose()?;
    let sparse = input.has_names() || listed.is_some() || is_sparse(found.at_least, edges);
    let dense = ingest::most_dense(edges, false, declared);
    let ends = edges.saturating_mul(2).min(u64::from(u32::MAX));
    let ids = match listed {
        Some(listed) => (listed + listed / 8 + 4096).min(u64::from(u32::MAX)),
        None if sparse => ends,
        None => found.at_most.min(dense.max(ends)),
    };
    let (zero, about_ids) = match spec {
        InputSpec::Uniform(_) => (likely::EVEN, found.at_most),
        InputSpec::Weighted(spec) if !matches!(spec.shape, Shape::Rmat { .. }) => (likely::EVEN, found.at_most),
        InputSpec::Kronecker(_) | InputSpec::Weighted(_) => (likely::GRAPH500, found.at_most),
        _ if sparse => (likely::GRAPH500, ids),
        _ => (likely::GRAPH500, found.at_least),
    };
    Ok(InputEstimate {
        basis: Basis::Size,
        edges,
        edges_about: about,
        // METIS files list each edge from both ends.
        distinct: if metis { edges / 2 + 1 } else { edges },
        ids,
        ids_at_least: if sparse { 0 } else { found.at_least.min(dense) },
        rows: if sparse { ids } else { ids.max(found.declared) },
        sparse,
        may_be_sparse: sparse || is_sparse(found.at_most, fewest),
        likely: likely::degrees(about, about_ids, zero),
    })
}

/// Returns the estimate of an input that is not available here, based on `expect` in the job file.
pub fn expected(input: &Input, Expect { edges, ids }: Expect) -> InputEstimate {
    let sparse = ingest::sparse(ids - 1, edges, input.wide(), input.declares_vertices());
    let (ids, ids_at_least) = if sparse { (edges.saturating_mul(2).min(u64::from(u32::MAX)), 0) } else { (ids, ids) };
    let likely = likely::degrees(edges, ids, likely::GRAPH500);
    InputEstimate {
        basis: Basis::Expected,
        edges,
        edges_about: edges,
        distinct: edges,
        ids,
        ids_at_least,
        rows: ids,
        sparse,
        may_be_sparse: sparse,
        likely,
    }
}

fn is_binary(part: &Part) -> bool {
    matches!(part.format(), Format::U32 | Format::U64 | Format::Graph500 | Format::Parquet) || part.format().is_arrays()
}

/// Lower and upper bound on the number of ids (largest id + 1), and the number of vertices that a header declares.
#[derive(Debug, Clone, Copy, Default)]
struct IdBounds {
    at_most: u64,
    at_least: u64,
    /// Number of vertices that a header declares, if the header was read.
    declared: u64,
}

fn ids(input: &Input, packed: bool, edges: u64) -> Result<IdBounds> {
    let (seen, declared) = if packed || edges <= ENOUGH {
        start(input)?
    } else {
        let largest = input.parts().iter().map(sampled).collect::<Result<Vec<_>>>()?;
        (largest.into_iter().max().unwrap_or(0), 0)
    };
    // A small uncompressed file was read completely. In other files a larger id may occur between the samples.
    let at_most = match (packed, edges <= ENOUGH / 2) {
        (false, true) => seen,
        (false, false) => seen.saturating_add(seen / 8),
        (true, _) => seen.saturating_mul(2),
    };
    Ok(IdBounds { at_most, at_least: seen, declared })
}

/// Returns the number of ids (largest id + 1) according to samples of an uncompressed file.
fn sampled(part: &Part) -> Result<u64> {
    if part.format().is_arrays() || part.format() == Format::Parquet {
        return largest_of_arrays(part);
    }
    let file = File::open(part.path()).map_err(|e| Error::unreadable(part.path(), &e))?;
    let mut window = vec![0; WINDOW as usize];
    let columns = if part.format() == Format::Text { largest_in(part)? } else { None };
    let mut largest = 0;
    for place in 0..PLACES {
        let last = part.bytes().saturating_sub(WINDOW);
        // Binary records start at multiples of their length.
        let offset = (last as u128 * u128::from(place) / u128::from(PLACES - 1)) as u64 / 48 * 48;
        let read = file.read_at(&mut window, offset).map_err(|e| Error::unreadable(part.path(), &e))?;
        let window = &window[..read];
        largest = largest.max(match part.format() {
            Format::U32 => words::<4>(window),
            Format::U64 => words::<8>(window),
            Format::Graph500 => packed_words(window),
            _ => columns.as_ref().map_or_else(|| text(window, offset > 0), |largest| largest(window)),
        });
    }
    Ok(largest.saturating_add(1))
}

fn words<const N: usize>(window: &[u8]) -> u64 {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte));
    window.chunks_exact(N).map(word).max().unwrap_or(0)
}

/// Returns the largest id of packed edges. Each edge has twelve bytes: the low 32 bits of both ids, then the high 16
/// bits of both.
fn packed_words(window: &[u8]) -> u64 {
    let low = |bytes: &[u8]| u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let high = |bytes: &[u8]| u64::from(u16::from_le_bytes([bytes[0], bytes[1]]));
    let ends = |edge: &[u8]| (low(edge) | high(&edge[8..]) << 32).max(low(&edge[4..]) | high(&edge[10..]) << 32);
    window.chunks_exact(12).map(ends).max().unwrap_or(0)
}

/// Returns the largest number among the first two integers of each complete line. Header lines are included, because
/// they contain the number of vertices.
fn text(window: &[u8], inside: bool) -> u64 {
    let lines = window.split(|&byte| byte == b'\n').skip(usize::from(inside));
    let numbers = |line: &[u8]| {
        let tokens = line.split(|byte| !byte.is_ascii_digit()).filter(|token| !token.is_empty() && token.len() < 20);
        let value =
            |token: &[u8]| token.iter().fold(0u64, |n, digit| n.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
        tokens.take(2).map(value).max().unwrap_or(0)
    };
    lines.filter(|line| !matches!(line.first(), Some(b'#' | b'%' | b'c'))).map(numbers).max().unwrap_or(0)
}

/// Reads the first edges in the same way as the job. Returns the number of ids (largest id + 1), and the number of
/// vertices that a header declares (0 unless the whole file was read).
fn start(input: &Input) -> Result<(u64, u64)> {
    struct LargestId<'a>(u64, u64, &'a AtomicBool);
    impl Visitor for LargestId<'_> {
        fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
            self.0 = self.0.max(edges.largest().map_or(0, |id| id.saturating_add(1)));
            self.1 += edges.len() as u64;
            if self.1 < ENOUGH {
                return Ok(());
            }
            self.2.store(true, Ordering::Relaxed);
            Err(Error::Stopped("having seen enough"))
        }
    }
    let enough = AtomicBool::new(false);
    let mut visitors = [LargestId(0, 0, &enough)];
    let scan = input.scan(&mut visitors, &Signals);
    let seen = visitors[0].0;
    match scan {
        Ok(scan) => Ok((seen, scan.declared_vertices.unwrap_or(0))),
        Err(Error::Stopped(_)) if enough.load(Ordering::Relaxed) => Ok((seen, 0)),
        Err(e) => Err(e),
    }
}
