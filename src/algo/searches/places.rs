//! Maps vertices to places, and reads edges between places, for checks of results. The *place* of a vertex is its
//! position in the order of vertices: by descending degree, ties by ascending id.
//!
//! If the edges come from the input, this module counts degrees and sorts vertices itself, independently of the
//! preparation of the graph. In prepared blocks, vertices are numbered by place already, and the stored order of
//! vertices maps ids to places.

use super::differs;
use crate::algo::edges::each_edge;
use crate::algo::verify::reread::{Ids, Tally};
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::formats::weights::bits_of_one;
use crate::formats::{Edges, Input, Signals, Visitor};
use crate::graph::ids::InputId;
use crate::graph::order::DegreeRuns;
use crate::memory::Buffer;
use crate::prepare::order::{self, MappedOrder};
use crate::prepare::relabel::ISOLATED;
use crate::process::signals;
use crate::process::threads::pool;
use crate::results::Value;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of rows of a result column that are read between two cancellation checks.
const STRIDE: u64 = 1 << 20;

/// The places of all vertices (their positions in the order of descending degree), with their ids and degrees.
pub struct Places {
    /// Maps input ids to rows of result columns.
    pub ids: Ids,
    of_rows: RowPlaces,
    degrees: DegreeRuns,
}

/// For each row of a result column, the place of its vertex (the position in the order of degree), or [`ISOLATED`] if
/// the vertex has no edges.
enum RowPlaces {
    Counted(Buffer<u32>),
    Stored(MappedOrder),
}

impl Places {
    /// Computes the places of all vertices (their positions in the order of degree) from the input, or reads them from
    /// the files of a prepared graph.
    ///
    /// # Errors
    /// [`Error::Input`] if the input has changed since the job read it; [`Error::Validation`] if its ids or degrees
    /// differ from what the job reports; [`Error::Limit`]; read errors.
    pub fn new(edges: &EdgeSource<'_>, results: &Results<'_>) -> Result<Places> {
        let ids = Ids::open(results)?;
        let (of_rows, degrees) = match edges {
            EdgeSource::Blocks(graph) => {
                let order = order::map(&graph.folder, graph.info.content)?;
                (RowPlaces::Stored(order), order::read_runs(&graph.folder, graph.info.content)?)
            }
            EdgeSource::Input(input) => {
                let (of_rows, degrees) = in_order(degrees(&ids, input, results)?, results)?;
                let info = results.info;
                let (counted, reported) = (degrees.bins(), &info.degrees);
                if (degrees.vertices(), &counted) != (info.connected, reported) {
                    let what = format!("vertices by degree are {counted:?} in the input, the job reports {reported:?}");
                    return Err(Error::Validation(what));
                }
                (RowPlaces::Counted(of_rows), degrees)
            }
        };
        Ok(Places { ids, of_rows, degrees })
    }

    /// Returns the number of vertices that have a place in the order of vertices: those with an edge.
    pub fn vertices(&self) -> u64 {
        self.degrees.vertices()
    }

    /// Returns the degrees of all vertices, in descending order. Repeated edges count.
    pub fn degrees(&self) -> &DegreeRuns {
        &self.degrees
    }

    /// Returns, for each row of a result column, the place of its vertex in the order of vertices, or [`ISOLATED`] if
    /// the vertex has no edges. Rows at the end may be missing if their vertices have no edges.
    ///
    /// # Errors
    /// None in practice: [`Places::new`] has already read the order of vertices.
    pub fn of_rows(&self) -> Result<&[u32]> {
        match &self.of_rows {
            RowPlaces::Counted(places) => Ok(places),
            RowPlaces::Stored(order) => order.ids(),
        }
    }

    /// Passes all edges of `input` except self-loops to `checks`. Each check runs on a separate thread, and receives
    /// some of the edges. Returns the checks afterwards.
    ///
    /// # Errors
    /// Errors of reading; [`Error::Stopped`].
    pub fn each_edge<C: EdgeCheck>(&self, input: &Input, checks: Vec<C>) -> Result<Vec<C>> {
        let of_rows = self.of_rows()?;
        let visitor = |check| PlacedEdges { ids: &self.ids, of_rows, check };
        let mut visitors: Vec<_> = checks.into_iter().map(visitor).collect();
        input.scan(&mut visitors, &Signals)?;
        Ok(visitors.into_iter().map(|visitor| visitor.check).collect())
    }

    /// Reads two result columns of a search from `source`: the column `parent`, and the column named `other`. Calls
    /// `each` with the index of every row, the parent in this row, and the value of the other column. `missing` is the
    /// value of an unreached vertex in the other column.
    ///
    /// # Errors
    /// [`Error::Validation`] for columns that no search can have written; errors of reading and of `each`;
    /// [`Error::Stopped`].
    pub fn each_row<T: Value + PartialEq>(
        &self,
        results: &Results<'_>,
        (algorithm, source): (&str, InputId),
        (other, missing): (&str, T),
        mut each: impl FnMut(u64, i64, T) -> Result<()>,
    ) -> Result<()> {
        // Not every string is a valid folder name, so the folder of a string id has the index of its row as its name.
        let folder = match source {
            InputId::Number(_) => format!("out/{algorithm}/{source}"),
            InputId::Name(_) => format!("out/{algorithm}/{}", self.ids.row_of(source).unwrap_or_default()),
        };
        let mut parents = results.column(&format!("{folder}/parent"), &self.ids, -1i64)?;
        let mut values = results.column(&format!("{folder}/{other}"), &self.ids, missing)?;
        for row in 0.. {
            match (parents.next().transpose()?, values.next().transpose()?) {
                (Some(parent), Some(value)) => each(row, parent, value)?,
                (None, None) => break,
                _ => return Err(differs(source, &format!("its columns of parents and {other}s differ in length"))),
            }
            if (row + 1) % STRIDE == 0 {
                signals::check()?;
            }
        }
        Ok(())
    }

    /// Returns the input id of the vertex at `place` in the order of vertices, for messages.
    pub fn name(&self, place: u32) -> String {
        let row = self.of_rows().ok().and_then(|places| places.iter().position(|&other| other == place));
        row.map_or_else(|| format!("{place} in the order of vertices"), |row| self.ids.id(row as u64).to_string())
    }
}

/// Number of edges whose ends are looked up and prefetched before the first of these edges is checked.
const AT_ONCE: usize = 32;

/// A check of edges. Each thread has a separate check. The ends of an edge are given as places (positions in the order
/// of vertices).
pub trait EdgeCheck: Send {
    /// Prefetches the data that the check needs for the vertex at `place`.
    fn fetch(&self, _place: u32) {}

    /// Returns the bit pattern of the weight of an edge. `stored` is the bit pattern of the weight in the input, or
    /// `None` if weights are not read.
    fn weight(&self, _ids: [u64; 2], stored: Option<u64>) -> u64 {
        stored.unwrap_or(0)
    }

    /// Checks an edge between two different vertices, which are given by their places.
    fn edge(&mut self, ends: [u32; 2], weight: u64);
}

/// Converts the edges that one thread reads into edges between places (positions in the order of vertices), and passes
/// them to a check.
struct PlacedEdges<'a, C> {
    ids: &'a Ids,
    of_rows: &'a [u32],
    check: C,
}

impl<C: EdgeCheck> PlacedEdges<'_, C> {
    /// Looks up the places of the ends of each edge (their positions in the order of vertices), and passes the edges to
    /// the check. Each weight takes `size` words of `weights`.
    fn all(&mut self, edges: impl Iterator<Item = [u64; 2]>, weights: &[u32], size: usize) {
        let (mut found, mut number) = ([([0; 2], 0); AT_ONCE], 0);
        for (entry, ids) in edges.enumerate().filter(|(_, [u, v])| u != v) {
            let place = |id| self.ids.row(id).and_then(|row| self.of_rows.get(row as usize)).copied();
            let ends = ids.map(|id| place(id).unwrap_or(ISOLATED));
            if ends.contains(&ISOLATED) {
                // Both ends of every counted edge have places. If an end has none, the input has changed since, and the
                // edge is skipped.
                continue;
            }
            ends.iter().for_each(|&end| self.check.fetch(end));
            let stored = weights.get(entry * size..(entry + 1) * size).filter(|words| !words.is_empty());
            found[number] = (ends, self.check.weight(ids, stored.map(bits_of_one)));
            number += 1;
            if number == AT_ONCE {
                found.iter().for_each(|&(ends, weight)| self.check.edge(ends, weight));
                number = 0;
            }
        }
        found[..number].iter().for_each(|&(ends, weight)| self.check.edge(ends, weight));
    }
}

impl<C: EdgeCheck> Visitor for PlacedEdges<'_, C> {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        let size = weights.len() / edges.len().max(1);
        match edges {
            Edges::Narrow(edges) => self.all(edges.iter().map(|edge| edge.map(u64::from)), weights, size),
            Edges::Wide(edges) => self.all(edges.iter().copied(), weights, size),
        }
        Ok(())
    }
}

/// Returns, for each row of a result column, the degree of its vertex. Every edge except a self-loop counts at both
/// ends.
fn degrees(ids: &Ids, input: &Input, results: &Results<'_>) -> Result<Buffer<u32>> {
    let info = results.info;
    let purpose = "degrees to verify by (4 bytes for each id)";
    let degrees: Buffer<AtomicU32> = results.budget.zeroed(info.ids as usize, purpose)?;
    let tallies = vec![Tally::default(); results.threads.max(1)];
    let (tallies, scan) = each_edge(input, tallies, |tally, ends| {
        let rows = tally.edge(ids, ends);
        for degree in rows.into_iter().flatten().filter_map(|row| degrees.get(row as usize)) {
            degree.fetch_add(1, Relaxed);
        }
        Ok(())
    })?;
    Tally::check(tallies.into_iter(), &scan, input, ids, info)?;
    Ok(degrees.into_plain())
}

/// Sorts vertices by descending degree. Returns the place of the vertex in each row (its position in this order), and
/// the degrees in this order.
fn in_order(mut degrees: Buffer<u32>, results: &Results<'_>) -> Result<(Buffer<u32>, DegreeRuns)> {
    let connected = degrees.par_iter().filter(|&&degree| degree > 0).count();
    let mut rows: Buffer<u32> = results.budget.zeroed(connected, "the order of vertices (4 bytes each)")?;
    let with_edges = degrees.iter().zip(0..).filter(|&(&degree, _)| degree > 0).map(|(_, row)| row);
    rows.iter_mut().zip(with_edges).for_each(|(slot, row)| *slot = row);
    let pool = pool("sort", results.threads)?;
    pool.install(|| rows.par_sort_unstable_by_key(|&row| (std::cmp::Reverse(degrees[row as usize]), row)));
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &row in rows.iter() {
        match runs.last_mut() {
            Some((last, count)) if *last == degrees[row as usize] => *count += 1,
            _ => runs.push((degrees[row as usize], 1)),
        }
    }
    degrees.fill(ISOLATED);
    rows.iter().zip(0..).for_each(|(&row, place)| degrees[row as usize] = place);
    Ok((degrees, DegreeRuns::new(runs)))
}
