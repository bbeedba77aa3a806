//! Verifies the triangles per edge. For each edge of the input, looks up the neighbours of one endpoint among the
//! neighbours of the other.

use crate::algo::triangle::TriangleOutput;
use crate::algo::triangle::output::EDGES;
use crate::algo::triangle::per_edge::SupportSums;
use crate::algo::verify::edge_list::EdgeList;
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::memory::Buffer;
use crate::process::signals;
use crate::results::edges::{EdgeIter, files, read};
use crate::results::read::READING;
use crate::results::{OutputFormat, RowId};
use rayon::prelude::*;

/// Maximum number of look-ups, which take about a minute on one core. If more look-ups are needed, only a sample of the
/// edges is verified.
const MOST: u64 = 1 << 30;
/// Number of edges that are read from the columns at a time.
const PIECE: usize = 1 << 16;
/// Memory in bytes per vertex id, for the index of its first edge.
const ID_BYTES: u64 = 8;

/// Checks that there is enough memory for [`compare`]. Otherwise returns a sentence that says how much memory is
/// needed.
pub(super) fn check_room(edges: &EdgeSource<'_>, results: &Results<'_>) -> std::result::Result<(), String> {
    let (of_ids, seen) = (ID_BYTES * (results.info.ids + 1), results.stored.edges / 4 + 4);
    let reading = EdgeList::batch_bytes(results.threads) + edges.scratch_bytes(results.threads);
    results.check_room(EdgeList::bytes_of_graph(results, 2) + of_ids + seen + reading + bytes_read())
}

/// Returns the memory in bytes that reading the columns with a value per edge takes.
fn bytes_read() -> u64 {
    3 * READING + 24 * PIECE as u64
}

/// Opens the columns with a value per edge that the job wrote. Endpoints of edges are converted to row indices of the
/// columns with a value per vertex.
fn open<'r>(ids: &'r Ids, results: &'r Results<'_>) -> Result<EdgeIter<'r>> {
    let formats = [OutputFormat::Npy, OutputFormat::Csv, OutputFormat::Parquet];
    let is_there = |format: &OutputFormat| {
        let path = |name: &str| format!("{EDGES}/{name}.{}", format.ending());
        files(*format).iter().all(|name| results.outputs.contains_key(&path(name)))
    };
    let none = || Error::Validation("no files of edges".into());
    let format = formats.into_iter().find(is_there).ok_or_else(none)?;
    let names = results.names.as_deref();
    let row = move |id: RowId<'_>| match (id, names) {
        (RowId::Name(name), Some(names)) => names.lines().find(name),
        (RowId::Name(_), None) => None,
        (RowId::Number(row), Some(_)) => (row < results.info.rows()).then_some(row),
        (RowId::Number(number), None) => ids.row_of(crate::graph::ids::InputId::Number(number)),
    };
    read(&results.workdir.join(EDGES), format, (results.stored.edges, names.is_some()), row)
}

/// Checks that the values of all edges match the statistics that the job reported. Returns a description of the result.
///
/// # Errors
/// [`Error::Validation`] if a number differs; read errors; [`Error::Stopped`].
pub(super) fn sums_agree(ids: &Ids, results: &Results<'_>, found: &TriangleOutput) -> Result<String> {
    let _reading = results.budget.reserve(bytes_read(), "reading edges")?;
    let mut sums = SupportSums::default();
    for edge in open(ids, results)? {
        sums.add(&[edge?.1]);
        if sums.edges() % PIECE as u64 == 0 {
            signals::check()?;
        }
    }
    let (sum, expected, figures) = (sums.sum, 3 * found.triangles, sums.finish());
    if sum != expected || found.support.as_ref() != Some(&figures) {
        let reported = &found.support;
        let what =
            format!("edges have {sum} triangles and figures {figures:?}, the job has {expected} and {reported:?}");
        return Err(Error::Validation(what));
    }
    Ok(format!("{} edges have {sum} triangles, three times as many as the job counted", figures.edges))
}

/// Checks that the results list every edge once, with the right number of triangles. Returns a description of the
/// result.
///
/// # Errors
/// [`Error::Validation`] for the first edge that differs; [`Error::Limit`]; read errors; [`Error::Stopped`].
pub(super) fn compare(edges: &EdgeSource<'_>, ids: &Ids, results: &Results<'_>) -> Result<String> {
    let budget = results.budget;
    let _reserved = budget.reserve(bytes_read() + EdgeList::batch_bytes(results.threads), "reading edges")?;
    let mut list = EdgeList::new(EdgeList::bytes_of_graph(results, 2), budget)?;
    list.collect(edges, ids, results, |[u, v], words| words.extend([u << 32 | v, v << 32 | u]))?;
    let starts = list.starts(results.info.ids as usize, budget)?;
    let graph = Neighbours { edges: list.edges(), starts: &starts };
    let mut seen: Buffer<u32> = budget.zeroed(graph.edges.len() / 32 + 1, "edges that were read (a bit each)")?;
    let work: u64 = graph.edges.par_iter().map(|edge| graph.work(edge >> 32, edge & u64::from(u32::MAX))).sum();
    let one_in = (work / 2).div_ceil(MOST).max(1);
    let wrong = |[u, v]: [u64; 2], what: String| {
        Error::Validation(format!("the edge between {} and {} {what}", ids.id(u), ids.id(v)))
    };
    let (mut all, mut piece) = (open(ids, results)?, Vec::with_capacity(PIECE));
    let (mut read, mut counted) = (0, 0);
    loop {
        signals::check()?;
        piece.clear();
        for edge in all.by_ref().take(PIECE) {
            piece.push(edge?);
        }
        if piece.is_empty() {
            break;
        }
        for &([u, v], _) in &piece {
            let place = graph.edges.binary_search(&(u << 32 | v));
            let place = place.map_err(|_| wrong([u, v], format!("is not one of {}", edges.name())))?;
            let (word, bit) = (place / 32, 1 << (place % 32));
            if u >= v || seen[word] & bit != 0 {
                return Err(wrong([u, v], "comes twice, or with the larger id first".into()));
            }
            seen[word] |= bit;
        }
        read += piece.len();
        let is_in_sample = |&&([u, v], _): &&([u64; 2], u32)| {
            (u << 32 | v).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / one_in
        };
        counted += piece.iter().filter(is_in_sample).count();
        piece.par_iter().filter(is_in_sample).try_for_each(|&([u, v], support)| match graph.common(u, v) {
            right if right == u64::from(support) => Ok(()),
            right => Err(wrong([u, v], format!("is in {right} triangles of {}, not in {support}", edges.name()))),
        })?;
    }
    if 2 * read != graph.edges.len() {
        let (all, of) = (graph.edges.len() / 2, edges.name());
        return Err(Error::Validation(format!("{read} edges in the results, {all} in {of}")));
    }
    Ok(format!("counted by looking up common neighbours of {counted} of {read} edges of {}", edges.name()))
}

/// The neighbours of all vertices.
struct Neighbours<'e> {
    /// One word per edge and endpoint, ascending. The upper 32 bits contain the endpoint, the lower 32 bits its
    /// neighbour.
    edges: &'e [u64],
    /// For each vertex, the index in `edges` of its first neighbour.
    starts: &'e [u64],
}

impl Neighbours<'_> {
    fn of(&self, v: u64) -> &[u64] {
        &self.edges[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
    }

    /// Returns the number of look-ups that verifying the edge between `u` and `v` takes.
    fn work(&self, u: u64, v: u64) -> u64 {
        self.of(u).len().min(self.of(v).len()) as u64
    }

    /// Returns the number of common neighbours of `u` and `v`, the endpoints of an edge.
    fn common(&self, u: u64, v: u64) -> u64 {
        let (few, many, of_many) = match self.of(u).len() < self.of(v).len() {
            true => (self.of(u), self.of(v), v),
            false => (self.of(v), self.of(u), u),
        };
        let is_common = |edge: &&u64| many.binary_search(&(of_many << 32 | **edge & u64::from(u32::MAX))).is_ok();
        few.iter().filter(is_common).count() as u64
    }
}
