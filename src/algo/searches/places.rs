//! Places of vertices and edges between places, for checks of results. A place is a position in the order of vertices: by descending degree,
//! ties by ascending id.
//!
//! If edges come from the input, degrees are counted in it and the order is computed from them, independently of how
//! preparation does it. Blocks already number vertices by place, and the stored order maps ids to places.

use super::differs;
use crate::algo::verify::reread::{Ids, Tally};
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::formats::{Edges, Input, Signals, Visitor};
use crate::graph::ids::InputId;
use crate::graph::order::DegreeRuns;
use crate::memory::Buffer;
use crate::prepare::order::{self, MappedOrder};
use crate::prepare::relabel::ISOLATED;
use crate::process::signals;
use crate::results::Value;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of rows between two checks for signals.
const STRIDE: u64 = 1 << 20;

/// The place of every vertex.
pub struct Places {
    /// Ids and rows of the input.
    pub ids: Ids,
    of_rows: RowPlaces,
    degrees: DegreeRuns,
}

/// The place of each row, up to the last row with edges; [`ISOLATED`] for a row without edges.
enum RowPlaces {
    Counted(Buffer<u32>),
    Stored(MappedOrder),
}

impl Places {
    /// Finds the places of all vertices.
    ///
    /// # Errors
    /// [`Error::Input`] if the input differs from what the job read; [`Error::Limit`]; errors of reading.
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

    /// Returns the number of vertices that have a place, which are those with an edge.
    pub fn vertices(&self) -> u64 {
        self.degrees.vertices()
    }

    /// Returns the degrees by place. Repeated edges count.
    pub fn degrees(&self) -> &DegreeRuns {
        &self.degrees
    }

    /// Returns the place of every row that may have edges.
    ///
    /// # Errors
    /// None in practice, because the order was read before.
    pub fn of_rows(&self) -> Result<&[u32]> {
        match &self.of_rows {
            RowPlaces::Counted(places) => Ok(places),
            RowPlaces::Stored(order) => order.ids(),
        }
    }

    /// Checks all edges of an input except loops, by a thread for each of `checks`. Returns the checks.
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

    /// Calls `each` with the row of every vertex, its parent and its value in the column `other`, as they are written for
    /// a source. `missing` is the value of an unreached vertex.
    ///
    /// # Errors
    /// [`Error::Validation`] for columns that no search writes; errors of reading and of `each`; [`Error::Stopped`].
    pub fn each_row<T: Value + PartialEq>(
        &self,
        results: &Results<'_>,
        (algorithm, source): (&str, InputId),
        (other, missing): (&str, T),
        mut each: impl FnMut(u64, i64, T) -> Result<()>,
    ) -> Result<()> {
        // A string may be no name of a folder, so its number is.
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

    /// Returns the id of the vertex at a place, for messages.
    pub fn name(&self, place: u32) -> String {
        let row = self.of_rows().ok().and_then(|places| places.iter().position(|&other| other == place));
        row.map_or_else(|| format!("{place} in the order of vertices"), |row| self.ids.id(row as u64).to_string())
    }
}

/// Number of edges whose places are looked up before the first is checked, so that memory is read ahead.
const AT_ONCE: usize = 32;

/// A check of edges between places, by one thread.
pub trait EdgeCheck: Send {
    /// Prefetches what the check reads of the vertex at a place.
    fn fetch(&self, _place: u32) {}

    /// Returns the weight of an edge. `stored` is the weight in the input, if it is read.
    fn weight(&self, _ids: [u64; 2], stored: Option<u32>) -> u32 {
        stored.unwrap_or(0)
    }

    /// Checks an edge, which is not a loop.
    fn edge(&mut self, ends: [u32; 2], weight: u32);
}

/// The edges of an input that one thread reads.
struct PlacedEdges<'a, C> {
    ids: &'a Ids,
    of_rows: &'a [u32],
    check: C,
}

impl<C: EdgeCheck> PlacedEdges<'_, C> {
    fn all(&mut self, edges: impl Iterator<Item = [u64; 2]>, weights: &[u32]) {
        let (mut found, mut number) = ([([0; 2], 0); AT_ONCE], 0);
        for (entry, ids) in edges.enumerate().filter(|(_, [u, v])| u != v) {
            let place = |id| self.ids.row(id).and_then(|row| self.of_rows.get(row as usize)).copied();
            let ends = ids.map(|id| place(id).unwrap_or(ISOLATED));
            if ends.contains(&ISOLATED) {
                // Places exist for the ends of all edges that were counted. Another edge occurs only if the input
                // changes while it is read.
                continue;
            }
            ends.iter().for_each(|&end| self.check.fetch(end));
            found[number] = (ends, self.check.weight(ids, weights.get(entry).copied()));
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
        match edges {
            Edges::Narrow(edges) => self.all(edges.iter().map(|edge| edge.map(u64::from)), weights),
            Edges::Wide(edges) => self.all(edges.iter().copied(), weights),
        }
        Ok(())
    }
}

/// Counts the degree of every row. Both ends of every edge count, except for loops.
fn degrees(ids: &Ids, input: &Input, results: &Results<'_>) -> Result<Buffer<u32>> {
    let info = results.info;
    let purpose = "degrees to verify by (4 bytes for each id)";
    let degrees: Buffer<AtomicU32> = results.budget.zeroed(info.ids as usize, purpose)?;
    let counter = || DegreeCounter { ids, degrees: &degrees, tally: Tally::default() };
    let mut counters: Vec<DegreeCounter<'_>> = (0..results.threads.max(1)).map(|_| counter()).collect();
    let scan = input.scan(&mut counters, &Signals)?;
    Tally::check(counters.iter().map(|counter| counter.tally), &scan, input, ids, info)?;
    drop(counters);
    Ok(degrees.into_plain())
}

/// Converts degrees by row into places by row. Also returns the degrees in the order of places.
fn in_order(mut degrees: Buffer<u32>, results: &Results<'_>) -> Result<(Buffer<u32>, DegreeRuns)> {
    let connected = degrees.par_iter().filter(|&&degree| degree > 0).count();
    let mut rows: Buffer<u32> = results.budget.zeroed(connected, "the order of vertices (4 bytes each)")?;
    let with_edges = degrees.iter().zip(0..).filter(|&(&degree, _)| degree > 0).map(|(_, row)| row);
    rows.iter_mut().zip(with_edges).for_each(|(slot, row)| *slot = row);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(results.threads).build();
    let pool = pool.map_err(|e| Error::internal("start threads to sort with", e))?;
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

/// Counts degrees over the edges of one thread.
struct DegreeCounter<'a> {
    ids: &'a Ids,
    degrees: &'a [AtomicU32],
    tally: Tally,
}

impl DegreeCounter<'_> {
    #[inline]
    fn edge(&mut self, ends: [u64; 2]) {
        let rows = self.tally.edge(self.ids, ends);
        for degree in rows.into_iter().flatten().filter_map(|row| self.degrees.get(row as usize)) {
            degree.fetch_add(1, Relaxed);
        }
    }
}

impl Visitor for DegreeCounter<'_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => edges.iter().for_each(|edge| self.edge(edge.map(u64::from))),
            Edges::Wide(edges) => edges.iter().for_each(|&edge| self.edge(edge)),
        }
        Ok(())
    }
}
