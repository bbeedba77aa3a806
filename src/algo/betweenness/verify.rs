//! Checks betweenness scores by computing them again. The check reads the distinct edges of the input, identifies
//! vertices by input ids, and searches from one source after another with a queue of vertices.

use super::options::{Betweenness, Normalise};
use super::output::{BetweennessOutput, divisor};
use crate::algo::pagerank::RankFigures;
use crate::algo::verify::edge_list::EdgeList;
use crate::algo::verify::plain_search::{PlainSearch, STRIDE};
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::direction::EdgeDirection::Out;
use crate::memory::{Budget, Buffer};
use crate::process::signals;
use crate::results::read::READING;

/// Memory, in bytes, that a check of betweenness scores needs per input id: for the index of its first edge, a
/// distance, an element of the queue, a count, a dependency, and a sum.
const ID_BYTES: u64 = 40;
/// Largest accepted relative difference between a reported and a recomputed score, which are summed in different
/// orders.
const TOLERANCE: f64 = 1e-9;
/// Largest accepted relative difference between a reported and a recomputed score if a count of shortest paths exceeds
/// f64.
const WIDE_TOLERANCE: f64 = 1e-6;
const COLUMN: &str = "out/betweenness/centrality";

/// Returns an error if free memory is too small for the check. The error says how much memory the check needs.
pub(super) fn check_room(edges: &EdgeSource<'_>, results: &Results<'_>) -> std::result::Result<(), String> {
    let ids = ID_BYTES * (results.info.ids + 1) + 4 * results.info.connected;
    EdgeList::check_room(edges, results, (1, 1, ids))
}

/// Computes the betweenness scores again, and compares them with the reported statistics and the result column. Returns
/// a sentence about the result of the check.
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
    let mut search = PlainBrandes::new(&list, info.ids as usize, budget)?;
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
    let PlainBrandes { totals, is_wide, .. } = search;
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

/// Brandes' algorithm with a queue of vertices, for checks.
struct PlainBrandes<'e> {
    search: PlainSearch<'e>,
    /// Number of shortest paths to each vertex; its binary logarithm if `is_wide` is true.
    paths: Buffer<f64>,
    dependencies: Buffer<f64>,
    totals: Buffer<f64>,
    /// Whether a count of shortest paths has exceeded f64.
    is_wide: bool,
}

impl<'e> PlainBrandes<'e> {
    fn new(list: &'e EdgeList, vertices: usize, budget: &Budget) -> Result<PlainBrandes<'e>> {
        let purpose = "scores to verify by (40 bytes for each id)";
        let search = PlainSearch::new(list, vertices, budget, purpose)?;
        let numbers = || budget.zeroed(vertices, purpose);
        let (paths, dependencies, totals) = (numbers()?, numbers()?, numbers()?);
        Ok(PlainBrandes { search, paths, dependencies, totals, is_wide: false })
    }

    /// Adds the dependencies of all vertices on `source` to the totals. Returns the number of reached vertices and the
    /// largest distance.
    fn run(&mut self, source: u32) -> Result<(u64, u32)> {
        self.count(source)?;
        let (reached, mut ratios, mut depth) = (self.search.reached(), Vec::new(), 0);
        for (at, &v) in reached.iter().enumerate().rev() {
            if at.is_multiple_of(STRIDE) {
                signals::check()?;
            }
            let own = v as usize;
            depth = depth.max(self.search.distances[own]);
            let part = |w: usize| match self.is_wide {
                true => (self.paths[own] - self.paths[w]).exp2(),
                false => self.paths[own] / self.paths[w],
            };
            ratios.extend(self.search.successors(own).map(|w| part(w) * (1.0 + self.dependencies[w])));
            self.dependencies[own] = ratios.drain(..).sum();
            if v != source {
                self.totals[own] += self.dependencies[own];
            }
        }
        Ok((reached.len() as u64, depth))
    }

    /// Finds the distances from `source`, and counts the shortest paths to every vertex.
    fn count(&mut self, source: u32) -> Result<()> {
        let PlainBrandes { search, paths, is_wide, .. } = self;
        paths[source as usize] = if *is_wide { 0.0 } else { 1.0 };
        search.run(source, |v, w, is_first| {
            let (more, most) = (paths[v].min(paths[w]), paths[v].max(paths[w]));
            paths[w] = match (is_first, *is_wide) {
                (true, _) => paths[v],
                (false, true) => most + (more - most).exp2().ln_1p() / std::f64::consts::LN_2,
                (false, false) => more + most,
            };
        })?;
        if !*is_wide && search.reached().iter().any(|&v| paths[v as usize] > 1e300) {
            *is_wide = true;
            return self.count(source);
        }
        Ok(())
    }
}
