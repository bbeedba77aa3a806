//! Estimates of an input before it is read: how many edges it has, and how large its ids are.

use crate::config::{Expect, InputSpec};
use crate::error::{Error, Result};
use crate::formats::{Edges, Format, Input, Packing, Part, Signals, Visitor, largest_in};
use crate::generate::Shape;
use crate::graph::likely;
use crate::graph::order::DegreeRuns;
use crate::job::plan::Basis;
use crate::prepare::ingest;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Places of a plain file that are looked at, and bytes at each.
const PLACES: u64 = 64;
const WINDOW: u64 = 16 << 10;
/// Edges looked at in a packed file, all at its start.
const ENOUGH: u64 = 1 << 20;

/// Edges and ids of an input that was not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputEstimate {
    /// What the figures are from.
    pub basis: Basis,
    /// Edges, loops and repeats included, at most.
    pub edges: u64,
    /// The same as estimated: equal where the format tells exactly.
    pub edges_about: u64,
    /// Distinct edges that the file can hold, at most.
    pub distinct: u64,
    /// Length of the map from ids, at most.
    pub ids: u64,
    /// The same, at least.
    pub ids_at_least: u64,
    /// Rows of results per vertex, at most: a header may name more vertices than have edges.
    pub rows: u64,
    /// True if ids are likely sparse, so that a dictionary is made.
    pub sparse: bool,
    /// True if that is not ruled out.
    pub may_be_sparse: bool,
    /// Degrees of a graph of this size.
    pub likely: DegreeRuns,
}

/// Looks at an input.
///
/// # Errors
/// [`Error::Input`] where it can't be read.
pub fn estimate(input: &Input, spec: &InputSpec) -> Result<InputEstimate> {
    let about = input.estimate_edges()?;
    let exact = input.parts().iter().all(|part| part.packing() == Packing::Plain && is_binary(part));
    let packed = input.parts().iter().any(|part| part.packing() != Packing::Plain);
    // Estimates come from samples: lines of text vary little, packed files are known by their start alone.
    let (edges, fewest) = match (exact, packed) {
        (true, _) => (about, about),
        (false, false) => (about + about / 8 + 4096, (about - about / 8).saturating_sub(4096)),
        (false, true) => (2 * about + 4096, (about / 2).saturating_sub(4096)),
    };
    let metis = input.parts().iter().all(|part| part.format() == Format::Metis) && !input.parts().is_empty();
    let found = match spec {
        InputSpec::Kronecker(r) | InputSpec::Uniform(r) => {
            let all = 1u64 << r.scale;
            // With a few edges a vertex the largest id is close to the last.
            Ids { at_most: all, at_least: if r.edge_factor >= 1.0 { all / 2 } else { 0 }, declared: 0 }
        }
        InputSpec::Weighted(spec) => {
            let all = spec.shape.vertices();
            // Vertices of R-MAT may be without an edge, and so may those of a random graph with few edges.
            let is_full = matches!(spec.shape, Shape::Ssca2(_) | Shape::Grid { .. });
            Ids { at_most: all, at_least: if is_full || about >= all { all / 2 } else { 0 }, declared: 0 }
        }
        _ => ids(input, packed, about)?,
    };
    // What a header declares is not known of all that have one.
    let declared = input.declares_vertices();
    let sparse = ingest::sparse(found.at_least.max(1) - 1, edges, input.wide(), declared);
    let dense = ingest::most_dense(edges, false, declared);
    let ends = edges.saturating_mul(2).min(u64::from(u32::MAX));
    let ids = if sparse { ends } else { found.at_most.min(dense.max(ends)) };
    let zero = match spec {
        InputSpec::Uniform(_) => likely::EVEN,
        InputSpec::Weighted(spec) if !matches!(spec.shape, Shape::Rmat { .. }) => likely::EVEN,
        _ => likely::GRAPH500,
    };
    let about_ids = match spec {
        InputSpec::Kronecker(_) | InputSpec::Uniform(_) | InputSpec::Weighted(_) => found.at_most,
        _ if sparse => ids,
        _ => found.at_least,
    };
    Ok(InputEstimate {
        basis: Basis::Size,
        edges,
        edges_about: about,
        // Such files name each edge from both ends.
        distinct: if metis { edges / 2 + 1 } else { edges },
        ids,
        ids_at_least: if sparse { 0 } else { found.at_least.min(dense) },
        rows: if sparse { ids } else { ids.max(found.declared) },
        sparse,
        may_be_sparse: sparse || ingest::sparse(found.at_most.max(1) - 1, fewest, input.wide(), declared),
        likely: likely::degrees(about, about_ids, zero),
    })
}

/// Returns the estimate of an input that is not here, by what the job file expects of it.
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

/// Largest id + 1.
#[derive(Debug, Clone, Copy, Default)]
struct Ids {
    at_most: u64,
    at_least: u64,
    /// Vertices that a header names, as far as it was seen.
    declared: u64,
}

fn ids(input: &Input, packed: bool, edges: u64) -> Result<Ids> {
    let (seen, declared) = if packed || edges <= ENOUGH {
        start(input)?
    } else {
        let largest = input.parts().iter().map(sampled).collect::<Result<Vec<_>>>()?;
        (largest.into_iter().max().unwrap_or(0), 0)
    };
    // All of a small plain file was seen; otherwise something larger may lie between what was.
    let at_most = match (packed, edges <= ENOUGH / 2) {
        (false, true) => seen,
        (false, false) => seen.saturating_add(seen / 8),
        (true, _) => seen.saturating_mul(2),
    };
    Ok(Ids { at_most, at_least: seen, declared })
}

/// Largest id + 1 among edges at many places of a plain file.
fn sampled(part: &Part) -> Result<u64> {
    if part.format().is_arrays() || part.format() == Format::Parquet {
        return part.largest_of_arrays();
    }
    let file = File::open(part.path()).map_err(|e| Error::unreadable(part.path(), &e))?;
    let mut window = vec![0; WINDOW as usize];
    let columns = if part.format() == Format::Text { largest_in(part)? } else { None };
    let mut largest = 0;
    for place in 0..PLACES {
        let last = part.bytes().saturating_sub(WINDOW);
        // Binary records begin at multiples of their length.
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

/// Twelve bytes an edge: two low words, then the high halves of both.
fn packed_words(window: &[u8]) -> u64 {
    let low = |bytes: &[u8]| u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let high = |bytes: &[u8]| u64::from(u16::from_le_bytes([bytes[0], bytes[1]]));
    let ends = |edge: &[u8]| (low(edge) | high(&edge[8..]) << 32).max(low(&edge[4..]) | high(&edge[10..]) << 32);
    window.chunks_exact(12).map(ends).max().unwrap_or(0)
}

/// The largest of the first two whole numbers of every whole line. Headers are read too, and name the vertices.
fn text(window: &[u8], inside: bool) -> u64 {
    let lines = window.split(|&byte| byte == b'\n').skip(usize::from(inside));
    let numbers = |line: &[u8]| {
        let tokens = line.split(|byte| !byte.is_ascii_digit()).filter(|token| !token.is_empty() && token.len() < 20);
        let value =
            |token: &[u8]| token.iter().fold(0u64, |n, digit| n.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
        tokens.take(2).map(value).max().unwrap_or(0)
    };
    lines
        .filter(|line| !line.starts_with(b"#") && !line.starts_with(b"%") && !line.starts_with(b"c"))
        .map(numbers)
        .max()
        .unwrap_or(0)
}

/// Largest id + 1 among the first edges, by reading them as the job will, and the vertices that a header names if that was all.
fn start(input: &Input) -> Result<(u64, u64)> {
    struct Largest<'a>(u64, u64, &'a AtomicBool);
    impl Visitor for Largest<'_> {
        fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
            self.0 = match edges {
                Edges::Narrow(edges) => edges.iter().flatten().map(|&id| u64::from(id) + 1).max(),
                Edges::Wide(edges) => edges.iter().flatten().map(|&id| id.saturating_add(1)).max(),
            }
            .unwrap_or(0)
            .max(self.0);
            self.1 += edges.len() as u64;
            if self.1 < ENOUGH {
                return Ok(());
            }
            self.2.store(true, Ordering::Relaxed);
            Err(Error::Stopped("having seen enough"))
        }
    }
    let enough = AtomicBool::new(false);
    let mut visitors = [Largest(0, 0, &enough)];
    let scan = input.scan(&mut visitors, &Signals);
    let seen = visitors[0].0;
    match scan {
        Ok(scan) => Ok((seen, scan.declared_vertices.unwrap_or(0))),
        Err(Error::Stopped(_)) if enough.load(Ordering::Relaxed) => Ok((seen, 0)),
        Err(e) => Err(e),
    }
}
