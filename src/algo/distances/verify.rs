//! Checks distances by computing them again. The check reads the distinct edges of the input, identifies vertices by
//! input ids, and searches from one source after another with a queue of vertices. If there are very many sources, it
//! searches from some of them, and checks the others only through sums over all sources.

use super::options::Distances;
use super::output::{DistancesOutput, Sums};
use super::search::VertexSums;
use crate::algo::components::RowForest;
use crate::algo::verify::edge_list::EdgeList;
use crate::algo::verify::plain_search::{PlainSearch, STRIDE};
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::graph::direction::EdgeDirection::Out;
use crate::memory::{Budget, Buffer};
use crate::process::signals;
use crate::results::read::READING;
use std::collections::BTreeMap;

/// Memory, in bytes, that a check of distances takes per input id: for the index of the first edge, a distance, a queue
/// entry, a component, and sums.
const ID_BYTES: u64 = 36;
/// Approximate number of edges and vertices that all searches of the check together process. If [`FEWEST`] searches
/// process more, the check still performs these searches.
const VISITED: u64 = 1 << 36;
/// Minimum number of sources from which the check searches.
const FEWEST: u64 = 64;

/// Returns an error if free memory is too small for the check. The error states how much memory the check needs.
pub(super) fn check_room(edges: &EdgeSource<'_>, results: &Results<'_>) -> std::result::Result<(), String> {
    let ids = ID_BYTES * (results.info.ids + 1) + 4 * results.info.connected;
    EdgeList::check_room(edges, results, (1, 3, ids))
}

/// Computes the distances again, and compares them with the statistics and columns of the result. Returns a sentence
/// about the result of the check.
///
/// # Errors
/// [`Error::Validation`] if anything differs; [`Error::Limit`]; read errors; [`Error::Stopped`].
pub(super) fn compare(
    options: &Distances,
    output: &DistancesOutput,
    edges: &EdgeSource<'_>,
    results: &Results<'_>,
) -> Result<String> {
    let (info, budget, threads) = (results.info, results.budget, results.threads);
    let _reserved = budget.reserve(3 * READING + EdgeList::batch_bytes(threads), "edges and columns")?;
    let ids = Ids::open(results)?;
    let list = EdgeList::of_rows(Out, edges, &ids, results)?;
    let name = edges.name();
    let differs = |what: String| Err(Error::Validation(format!("{what} by the edges of {name}")));
    let named: Vec<_> = output.sources.iter().map(|of| of.source).collect();
    if !options.origins.may_be(&named) {
        return differs(format!("the sources {named:?} are not those of the table"));
    }
    let row = |&source: &_| ids.row_of(source).ok_or_else(|| Error::Validation(format!("no vertex {source}")));
    let rows = named.iter().map(row).collect::<Result<Vec<u64>>>()?;
    let mut search = SearchSums::new(&list, info.ids as usize, budget)?;
    // Search from every `step`-th source.
    let most = (VISITED / (list.edges().len() as u64 + info.ids).max(1)).max(FEWEST) as usize;
    let step = rows.len().div_ceil(most).max(1);
    for (of, &row) in output.sources.iter().zip(&rows).step_by(step) {
        // Vertices that the input declares may have larger ids than any vertex of an edge.
        let sums = if row < info.ids { search.run(row as u32)? } else { Sums::default() };
        let right = sums.of_source(of.source, info.rows());
        if *of != right {
            return differs(format!("{of:?} is {right:?}"));
        }
    }
    let components = match info.direction {
        Direction::Undirected => Some(components(&rows, list.edges(), info.ids, results)?),
        Direction::Directed => None,
    };
    let right = DistancesOutput::new(output.sources.clone(), components.as_deref());
    if *output != right {
        return differs(format!("(pairs, diameter) are {:?}", (right.pairs, right.diameter)));
    }
    let sums = compare_columns(&search, &ids, step == 1, results)?;
    let total: u64 = output.sources.iter().map(|of| of.total).sum();
    if sums != (output.pairs, total, output.diameter.lower) {
        return differs(format!("(pairs, total, farthest) of the columns are {sums:?}"));
    }
    let searched = rows.len().div_ceil(step);
    Ok(format!("{} distances, those from {searched} of {} sources along the edges of {name}", sums.0, rows.len()))
}

/// Compares the result columns with the sums that the check computed. If `is_all` is true, these are sums over all
/// sources, otherwise lower bounds. Returns (number of distances, sum of distances, largest distance) over all rows of
/// the columns.
fn compare_columns(search: &SearchSums<'_>, ids: &Ids, is_all: bool, results: &Results<'_>) -> Result<(u64, u64, u64)> {
    let mut sources = results.column::<u32>("out/distances/sources", ids, 0)?;
    let mut totals = results.column::<u64>("out/distances/total", ids, 0)?;
    let mut farthest = results.column::<u32>("out/distances/farthest", ids, 0)?;
    let mut sums = (0u64, 0u64, 0u64);
    for row in 0.. {
        // Every column is read to its end, because a column with too many rows is an error as well.
        let next = (sources.next().transpose()?, totals.next().transpose()?, farthest.next().transpose()?);
        let (Some(sources), Some(total), Some(farthest)) = next else { break };
        let found = VertexSums { sources, total, farthest };
        let known = search.sums_of(row as usize);
        let is_bounded =
            found.sources >= known.sources && found.total >= known.total && found.farthest >= known.farthest;
        if is_all && found != known || !is_bounded {
            return Err(Error::Validation(format!("vertex {} has {found:?}, not {known:?}", ids.id(row))));
        }
        sums.0 += u64::from(found.sources);
        sums.1 = sums.1.wrapping_add(found.total);
        sums.2 = sums.2.max(found.farthest.into());
        if row % STRIDE as u64 == 0 {
            signals::check()?;
        }
    }
    Ok(sums)
}

/// Finds which vertices are in the same component. Returns, for each element of `rows`, the index of the first element
/// in the same component.
fn components(rows: &[u64], edges: &[u64], ids: u64, results: &Results<'_>) -> Result<Vec<u32>> {
    let mut forest = RowForest::new(ids, results.budget)?;
    for (number, edge) in edges.iter().enumerate() {
        forest.join([edge >> 32, edge & u64::from(u32::MAX)]);
        if number % STRIDE == 0 {
            signals::check()?;
        }
    }
    let mut firsts = BTreeMap::new();
    let component = |(number, &row): (u32, &u64)| {
        let own = if row < ids { u64::from(forest.root(row)) } else { row };
        *firsts.entry(own).or_insert(number)
    };
    Ok((0..).zip(rows).map(component).collect())
}

/// Breadth-first searches from one source after another, and the sums of distances over these sources.
struct SearchSums<'e> {
    search: PlainSearch<'e>,
    sources: Buffer<u32>,
    totals: Buffer<u64>,
    farthest: Buffer<u32>,
}

impl<'e> SearchSums<'e> {
    fn new(list: &'e EdgeList, vertices: usize, budget: &Budget) -> Result<SearchSums<'e>> {
        let purpose = "distances to verify by (36 bytes for each id)";
        let search = PlainSearch::new(list, vertices, budget, purpose)?;
        let (sources, farthest) = (budget.zeroed(vertices, purpose)?, budget.zeroed(vertices, purpose)?);
        Ok(SearchSums { search, sources, totals: budget.zeroed(vertices, purpose)?, farthest })
    }

    /// Returns the sums of distances to the vertex in row `row` of the result columns.
    fn sums_of(&self, row: usize) -> VertexSums {
        let of = |numbers: &Buffer<u32>| numbers.get(row).copied().unwrap_or(0);
        let total = self.totals.get(row).copied().unwrap_or(0);
        VertexSums { sources: of(&self.sources), total, farthest: of(&self.farthest) }
    }

    /// Searches from the vertex in row `source` of the result columns. Returns the sums over the vertices that it
    /// reaches.
    fn run(&mut self, source: u32) -> Result<Sums> {
        self.search.run(source, |_, _, _| ())?;
        let (distances, reached, mut sums) = (&self.search.distances, &self.search.reached()[1..], Sums::default());
        for level in reached.chunk_by(|&v, &w| distances[v as usize] == distances[w as usize]) {
            sums.add(distances[level[0] as usize].into(), level.len() as u64);
        }
        for v in reached.iter().map(|&v| v as usize) {
            self.sources[v] += 1;
            self.totals[v] += u64::from(distances[v]);
            self.farthest[v] = self.farthest[v].max(distances[v]);
        }
        Ok(sums)
    }
}
