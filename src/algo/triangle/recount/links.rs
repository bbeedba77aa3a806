//! Verifies the links of each vertex (the directed edges between its neighbours). Reads the edges of the input. For
//! each neighbour of a vertex, looks up the targets of the neighbour's out-edges among the neighbours of the vertex.

use crate::algo::triangle::output::{DEGREE, LINKS};
use crate::algo::verify::edge_list::EdgeList;
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::direction::EdgeDirection::{In, Out};
use crate::memory::{Budget, Buffer};
use crate::process::signals;
use crate::results::read::READING;
use rayon::prelude::*;

/// Maximum number of look-ups, which take about a minute on one core. If more look-ups are needed, only a sample of the
/// vertices is verified. A single vertex may exceed the maximum.
const MOST: u64 = 1 << 30;
/// Memory in bytes per vertex id: the indices of its first out-edge and first in-edge, its links and its degree.
const ID_BYTES: u64 = 28;
/// Number of vertices that a thread processes between two checks for signals.
const STRIDE: usize = 1 << 10;
/// Value in place of the links of a vertex that is not in the sample.
const NOT_COUNTED: u64 = u64::MAX;

/// Checks that there is enough memory for [`compare`]. Otherwise returns a sentence that says how much memory is
/// needed.
pub(super) fn check_room(edges: &EdgeSource<'_>, results: &Results<'_>) -> std::result::Result<(), String> {
    EdgeList::check_room(edges, results, (2, 1, ID_BYTES * (results.info.ids + 1) + 4 * results.info.connected))
}

/// Verifies the columns `degree` and `links` against the edges of the input. Returns a description of the result.
///
/// # Errors
/// [`Error::Validation`] for the first value that differs; [`Error::Limit`]; read errors; [`Error::Stopped`].
pub(super) fn compare(edges: &EdgeSource<'_>, ids: &Ids, results: &Results<'_>) -> Result<String> {
    let (budget, rows) = (results.budget, results.info.ids as usize);
    let _reserved = budget.reserve(READING + EdgeList::batch_bytes(results.threads), "edges and a column")?;
    let lists = [EdgeList::of_rows(Out, edges, ids, results)?, EdgeList::of_rows(In, edges, ids, results)?];
    let graph = DirectedRows::new(&lists, rows, budget)?;
    let purpose = "links to verify by (12 bytes for each id)";
    let (mut degrees, mut links): (Buffer<u32>, Buffer<u64>) =
        (budget.zeroed(rows, purpose)?, budget.zeroed(rows, purpose)?);
    // Until links are counted, this array contains for each vertex the number of look-ups that counting its links
    // takes.
    each(&mut degrees, &mut links, |v, degree, work| {
        let neighbours = graph.neighbours(v);
        *degree = neighbours.len() as u32;
        *work = neighbours.iter().map(|&u| graph.row(0, u as usize).len().min(neighbours.len()) as u64).sum();
    })?;
    let one_in = links.iter().sum::<u64>().div_ceil(MOST).max(1);
    each(&mut degrees, &mut links, |v, _, links| {
        let is_in_sample = (v as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / one_in;
        *links = if is_in_sample { graph.links(v) } else { NOT_COUNTED };
    })?;
    let of = edges.name();
    let [neighbours, between] = ["neighbours", "links"].map(|what| format!("{what} by a recount of {of}"));
    let at = |row: u64| row as usize;
    results.check_column(DEGREE, ids, (0, &neighbours), |row| degrees.get(at(row)).copied().unwrap_or(0))?;
    let mut counted = 0;
    for (row, value) in (0..).zip(results.column::<u64>(LINKS, ids, 0)?) {
        let (value, right) = (value?, links.get(at(row)).copied().unwrap_or(0));
        counted += u64::from(right != NOT_COUNTED);
        if right != NOT_COUNTED && value != right {
            let what = format!("vertex {} has {right} {between}, the column has {value}", ids.id(row));
            return Err(Error::Validation(what));
        }
    }
    Ok(format!(
        "counted by looking up edges of {of} between the neighbours of {counted} of {} vertices",
        results.info.rows()
    ))
}

/// Calls `one` with each vertex and its elements of `degrees` and `links`.
fn each(degrees: &mut [u32], links: &mut [u64], one: impl Fn(usize, &mut u32, &mut u64) + Sync) -> Result<()> {
    let chunks = degrees.par_chunks_mut(STRIDE).zip(links.par_chunks_mut(STRIDE)).enumerate();
    chunks.try_for_each(|(chunk, (degrees, links))| {
        signals::check()?;
        let vertices = chunk * STRIDE..;
        vertices.zip(degrees.iter_mut().zip(links)).for_each(|(v, (degree, links))| one(v, degree, links));
        Ok(())
    })
}

/// The out-neighbours and in-neighbours of all vertices.
struct DirectedRows<'e>([(&'e [u64], Buffer<u64>); 2]);

impl<'e> DirectedRows<'e> {
    fn new(lists: &'e [EdgeList; 2], rows: usize, budget: &Budget) -> Result<DirectedRows<'e>> {
        let [out, into] = lists.each_ref().map(|list| Ok((list.edges(), list.starts(rows, budget)?)));
        Ok(DirectedRows([out?, into?]))
    }

    /// Returns the out-neighbours (`way` 0) or the in-neighbours (`way` 1) of vertex `v`, ascending. Each word contains
    /// `v` in the upper 32 bits and a neighbour in the lower 32 bits.
    fn row(&self, way: usize, v: usize) -> &[u64] {
        let (edges, starts) = &self.0[way];
        &edges[starts[v] as usize..starts[v + 1] as usize]
    }

    /// Returns the distinct neighbours of vertex `v`, ascending.
    fn neighbours(&self, v: usize) -> Vec<u32> {
        let mut both: Vec<u32> = [0, 1].iter().flat_map(|&way| self.row(way, v)).map(|&edge| edge as u32).collect();
        both.sort_unstable();
        both.dedup();
        both
    }

    /// Counts the directed edges between the neighbours of vertex `v`.
    fn links(&self, v: usize) -> u64 {
        let neighbours = self.neighbours(v);
        let from = |&u: &u32| {
            let row = self.row(0, u as usize);
            match row.len() < neighbours.len() {
                true => row.iter().filter(|&&edge| neighbours.binary_search(&(edge as u32)).is_ok()).count() as u64,
                false => {
                    let edge = |&w: &u32| u64::from(u) << 32 | u64::from(w);
                    neighbours.iter().filter(|w| row.binary_search(&edge(w)).is_ok()).count() as u64
                }
            }
        };
        neighbours.iter().map(from).sum()
    }
}
