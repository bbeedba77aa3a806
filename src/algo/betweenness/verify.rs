//! Checks the result by computing the scores again. The check reads the distinct edges of the input, identifies
//! vertices by input ids, and searches from one source after another with a queue of vertices.

use super::options::{Betweenness, Normalise};
use super::output::{BetweennessOutput, divisor};
use crate::algo::pagerank::RankFigures;
use crate::algo::verify::edge_list::EdgeList;
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::direction::EdgeDirection::Out;
use crate::memory::Buffer;
use crate::process::signals;
use crate::results::read::READING;

/// Number of vertices that are processed between two cancellation checks.
const STRIDE: usize = 1 << 16;
/// Memory in bytes that a check needs per id: for the index of its first edge, a distance, an element of the queue, a
/// count, a dependency, and a sum.
const ID_BYTES: u64 = 40;
/// Largest accepted relative difference between two scores, which are summed in different orders.
const TOLERANCE: f64 = 1e-9;
/// Largest accepted relative difference if a count of shortest paths exceeds f64.
const WIDE_TOLERANCE: f64 = 1e-6;
/// Distance of an unreached vertex.
const UNREACHED: u32 = u32::MAX;
const COLUMN: &str = "out/betweenness/centrality";

/// Returns an error if free memory is too small for the check. The error says how much memory the check needs.
pub(super) fn check_room(edges: &EdgeSource<'_>, results: &Results<'_>) -> std::result::Result<(), String> {
    let ids = ID_BYTES * (results.info.ids + 1) + 4 * results.info.connected;
    EdgeList::check_room(edges, results, (1, 1, ids))
}

/// Computes the scores again, and compares them with the reported statistics and the column. Returns a sentence about
/// the result of the check.
///
/// # Errors
/// [`Error::Validation`] if anything differs; [`Error::Limit`]; read errors; [`Error::Stopped`].
pub(super) fn compare(
    options: &Betweenness,
    output: &BetweennessOutput,
    edges: &EdgeSource<'_>,
    results: &Results<'_>,
) -> Result<String> {
    let (info, budget, threads) = (results.info, results.budget, results.threads);
    let _reserved = budget.reserve(READING + EdgeList::batch_bytes(threads), "edges and a column")?;
    let ids = Ids::open(results)?;
    let list = EdgeList::of_rows(Out, edges, &ids, results)?;
    let name = edges.name();
    let differs = |what: String| Err(Error::Validation(format!("{what} by the edges of {name}")));
    if !options.origins.may_be(&output.sources) {
        return differs(format!("the sources {:?} are not those of the table", output.sources));
    }
    let mut search = PlainSearch::new(&list, info.ids as usize, results)?;
    let (mut pairs, mut depth) = (0, 0);
    for &source in &output.sources {
        let row = ids.row_of(source);
        let row = row.ok_or_else(|| Error::Validation(format!("the input has no vertex {source}")))?;
        // Vertices that the input declares may have larger ids than any vertex of an edge.
        if row < info.ids {
            let (reached, of_source) = search.run(row as u32)?;
            (pairs, depth) = (pairs + reached - 1, depth.max(of_source.into()));
        }
    }
    if (pairs, depth) != (output.pairs, output.depth) {
        return differs(format!("(pairs, depth) are {:?}, not {:?}", (output.pairs, output.depth), (pairs, depth)));
    }
    let PlainSearch { totals, is_wide, .. } = search;
    let tolerance = if is_wide { WIDE_TOLERANCE } else { TOLERANCE };
    let is_near = |found: f64, known: f64| (found - known).abs() <= tolerance * found.abs().max(known.abs());
    let largest = totals.iter().copied().fold(0.0, f64::max);
    let known = divisor(options.normalise, info.rows(), largest);
    let is_exact = options.normalise != Normalise::Largest;
    if !is_near(output.divisor, known) || is_exact && output.divisor != known {
        return differs(format!("scores are divided by {}, not {known}", output.divisor));
    }
    let mut figures = RankFigures::default();
    for (row, value) in (0..).zip(results.column::<f64>(COLUMN, &ids, 0.0)?) {
        let (value, right) = (value?, totals.get(row as usize).map_or(0.0, |total| total / known));
        if !is_near(value, right) {
            return differs(format!("vertex {} has {value}, not {right}", ids.id(row)));
        }
        if row < info.ids {
            figures.add(value, row);
        }
        if row % STRIDE as u64 == 0 {
            signals::check()?;
        }
    }
    let of_column = output.clone().with(figures, info.ids..info.rows(), |row| ids.id(row));
    if *output != of_column {
        return Err(Error::Validation(format!("{of_column:?} by the column, the job has {output:?}")));
    }
    Ok(format!(
        "{pairs} pairs of a source and a vertex along the edges of {name}, whose scores differ by less than {tolerance:e}"
    ))
}

/// Brandes' algorithm with a queue of vertices.
struct PlainSearch<'e> {
    /// The edges in ascending order. Each edge is a 64-bit word: the tail in the upper half, the head in the lower
    /// half.
    edges: &'e [u64],
    /// Index of the first edge of each vertex.
    starts: Buffer<u64>,
    distances: Buffer<u32>,
    queue: Buffer<u32>,
    /// Number of shortest paths to each vertex; its binary logarithm if `is_wide`.
    paths: Buffer<f64>,
    dependencies: Buffer<f64>,
    totals: Buffer<f64>,
    /// Whether a count has exceeded f64.
    is_wide: bool,
}

impl<'e> PlainSearch<'e> {
    fn new(list: &'e EdgeList, vertices: usize, results: &Results<'_>) -> Result<PlainSearch<'e>> {
        let (budget, purpose) = (results.budget, "scores to verify by (40 bytes for each id)");
        let (edges, starts) = (list.edges(), list.starts(vertices, budget)?);
        let mut distances: Buffer<u32> = budget.zeroed(vertices, purpose)?;
        distances.fill(UNREACHED);
        let numbers = || budget.zeroed(vertices, purpose);
        let queue = budget.zeroed(vertices, purpose)?;
        let (paths, dependencies, totals) = (numbers()?, numbers()?, numbers()?);
        Ok(PlainSearch { edges, starts, distances, queue, paths, dependencies, totals, is_wide: false })
    }

    /// Adds the dependencies on `source` to the totals. Returns the number of reached vertices and the largest
    /// distance.
    fn run(&mut self, source: u32) -> Result<(u64, u32)> {
        let reached = self.count(source)?;
        let (mut ratios, mut depth) = (Vec::new(), 0);
        for (at, &v) in self.queue[..reached].iter().enumerate().rev() {
            if at.is_multiple_of(STRIDE) {
                signals::check()?;
            }
            let own = v as usize;
            depth = depth.max(self.distances[own]);
            let successors =
                heads(self.edges, &self.starts, own).filter(|&w| self.distances[w] == self.distances[own] + 1);
            let part = |w: usize| match self.is_wide {
                true => (self.paths[own] - self.paths[w]).exp2(),
                false => self.paths[own] / self.paths[w],
            };
            ratios.extend(successors.map(|w| part(w) * (1.0 + self.dependencies[w])));
            self.dependencies[own] = ratios.drain(..).sum();
            if v != source {
                self.totals[own] += self.dependencies[own];
            }
        }
        self.queue[..reached].iter().for_each(|&v| self.distances[v as usize] = UNREACHED);
        Ok((reached as u64, depth))
    }

    /// Finds distances, and counts shortest paths. Returns the number of reached vertices.
    fn count(&mut self, source: u32) -> Result<usize> {
        self.distances[source as usize] = 0;
        self.paths[source as usize] = if self.is_wide { 0.0 } else { 1.0 };
        self.queue[0] = source;
        let (mut at, mut end) = (0usize, 1);
        while at < end {
            if at.is_multiple_of(STRIDE) {
                signals::check()?;
            }
            let v = self.queue[at] as usize;
            let (next, count) = (self.distances[v] + 1, self.paths[v]);
            for w in heads(self.edges, &self.starts, v) {
                if self.distances[w] == UNREACHED {
                    (self.distances[w], self.paths[w], self.queue[end]) = (next, count, w as u32);
                    end += 1;
                } else if self.distances[w] == next {
                    let (more, most) = (count.min(self.paths[w]), count.max(self.paths[w]));
                    self.paths[w] = if self.is_wide {
                        most + (more - most).exp2().ln_1p() / std::f64::consts::LN_2
                    } else {
                        more + most
                    };
                }
            }
            at += 1;
        }
        let vertices = &self.queue[..end];
        if !self.is_wide && vertices.iter().any(|&v| self.paths[v as usize] > 1e300) {
            vertices.iter().for_each(|&v| self.distances[v as usize] = UNREACHED);
            self.is_wide = true;
            return self.count(source);
        }
        Ok(end)
    }
}

/// Yields the heads of the edges whose tail is `v`.
fn heads<'e>(edges: &'e [u64], starts: &[u64], v: usize) -> impl Iterator<Item = usize> + use<'e> {
    edges[starts[v] as usize..starts[v + 1] as usize].iter().map(|&edge| edge as u32 as usize)
}
