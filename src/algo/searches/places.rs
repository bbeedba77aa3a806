//! Places of vertices for checks of results, in their order: by descending degree, ties by ascending id.
//!
//! Where edges come from the input, degrees are counted in it, and the order is made of them, apart from how preparation does it. Blocks
//! number vertices by their places already; the stored order leads from ids to these.

use crate::algo::{EdgeSource, Results};
use crate::error::{At, Error, Result};
use crate::formats::{Edges, Input, Visitor, Watch};
use crate::graph::ids::{FirstId, InputId, RawId};
use crate::graph::order::DegreeRuns;
use crate::memory::Buffer;
use crate::prepare::order::{self, MappedOrder};
use crate::prepare::relabel::ISOLATED;
use crate::process::signals;
use crate::results::{IDS, raw_ids};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The input's ids, and the rows that columns have for them.
pub struct Ids {
    /// Raw ids, ascending, if they are sparse.
    sparse: Option<Buffer<u64>>,
    first_id: FirstId,
    /// Rows that a column may have.
    rows: u64,
}

/// The place of every vertex.
pub struct Places {
    /// Ids and rows.
    pub ids: Ids,
    of_rows: OfRows,
    degrees: DegreeRuns,
}

/// The place of each row, up to the last that has edges; [`ISOLATED`] where there are none.
enum OfRows {
    Counted(Buffer<u32>),
    Stored(MappedOrder),
}

impl Places {
    /// Finds the places of all vertices.
    ///
    /// # Errors
    /// [`Error::Input`] for an input that is not what the job read; [`Error::Limit`]; those of reading.
    pub fn new(edges: &EdgeSource<'_>, results: &Results<'_>) -> Result<Places> {
        let ids = Ids::read(results)?;
        let (of_rows, degrees) = match edges {
            EdgeSource::Blocks(graph) => {
                let order = order::map(&graph.folder, graph.info.content)?;
                (OfRows::Stored(order), order::read_runs(&graph.folder, graph.info.content)?)
            }
            EdgeSource::Input(input) => {
                let (of_rows, degrees) = in_order(ids.degrees(input, results)?, results)?;
                (OfRows::Counted(of_rows), degrees)
            }
        };
        Ok(Places { ids, of_rows, degrees })
    }

    /// Returns the number of vertices that have a place: those with an edge.
    pub fn vertices(&self) -> u64 {
        self.degrees.vertices()
    }

    /// Returns the degrees of places, repeats included.
    pub fn degrees(&self) -> &DegreeRuns {
        &self.degrees
    }

    /// Returns the place of every row that may have edges.
    ///
    /// # Errors
    /// None in practice.
    pub fn of_rows(&self) -> Result<&[u32]> {
        match &self.of_rows {
            OfRows::Counted(places) => Ok(places),
            OfRows::Stored(order) => order.ids(),
        }
    }

    /// Returns the name of the vertex at a place, for messages.
    pub fn name(&self, place: u32) -> String {
        let row = self.of_rows().ok().and_then(|places| places.iter().position(|&other| other == place));
        row.map_or_else(|| format!("{place} in the order of vertices"), |row| self.ids.id(row as u64).to_string())
    }
}

impl Ids {
    /// Reads the list of sparse ids, if ids are that.
    fn read(results: &Results<'_>) -> Result<Ids> {
        let (rows, first_id) = (results.info.rows(), results.info.first_id);
        if !results.info.sparse {
            return Ok(Ids { sparse: None, first_id, rows });
        }
        let path = results.workdir.join(IDS);
        let mut ids: Buffer<u64> = results.budget.zeroed(rows as usize, "the input's ids (8 bytes each)")?;
        let mut read = 0;
        for (id, slot) in raw_ids(&path, first_id)?.zip(ids.iter_mut()) {
            *slot = id?;
            read += 1;
        }
        if read != ids.len() || !ids.is_sorted_by(|a, b| a < b) {
            return Err(Error::Validation(format!("{IDS}: not the {} ids of the input, ascending", ids.len())));
        }
        Ok(Ids { sparse: Some(ids), first_id, rows })
    }

    /// Returns the row, in columns, of a vertex that users know by this id.
    pub fn row_of(&self, id: InputId) -> Option<u64> {
        self.first_id.raw(id).and_then(|RawId(raw)| self.row(raw))
    }

    /// Returns the row, in columns, of the end of an edge that a reader delivers.
    pub fn row(&self, id: u64) -> Option<u64> {
        match &self.sparse {
            Some(ids) => ids.binary_search(&id).ok().map(|row| row as u64),
            None => (id < self.rows).then_some(id),
        }
    }

    /// Returns the id that a column of i64 names: the number of the same 64 bits, where that is an id of the input. -1 is none, but for a vertex
    /// that was `reached` in a graph with the id 2^64 - 1.
    pub fn named(&self, number: i64, reached: bool) -> Option<InputId> {
        let id = InputId(number as u64);
        (number >= 0 || (number != -1 || reached) && self.row_of(id).is_some()).then_some(id)
    }

    /// Returns the id of a row.
    pub fn id(&self, row: u64) -> InputId {
        let raw = self.sparse.as_ref().and_then(|ids| ids.get(row as usize)).copied().unwrap_or(row);
        self.first_id.input(RawId(raw))
    }

    /// Counts the degree of every row: both ends of all edges but loops.
    fn degrees(&self, input: &Input, results: &Results<'_>) -> Result<Buffer<u32>> {
        let info = results.info;
        let purpose = "degrees to verify by (4 bytes for each id)";
        let degrees: Buffer<AtomicU32> = results.budget.zeroed(info.ids as usize, purpose)?;
        let mut counters: Vec<Counter<'_>> =
            (0..results.threads.max(1)).map(|_| Counter { ids: self, degrees: &degrees, unknown: 0 }).collect();
        let scan = input.scan(&mut counters, &Signals)?;
        let unknown: u64 = counters.iter().map(|counter| counter.unknown).sum();
        if (scan.checksum, scan.edges, unknown) != (info.checksum, info.edges, 0) {
            return Err(Error::input(
                input.name(),
                At::File,
                "the edges that the job searched",
                "others, under the same size",
                "the results are of what was there before: `gpugraph run JOB.toml --fresh` searches what is there now",
            ));
        }
        Ok(degrees.into_plain())
    }
}

/// Turns degrees of rows into their places.
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

/// Counts degrees in one thread's edges.
struct Counter<'a> {
    ids: &'a Ids,
    degrees: &'a [AtomicU32],
    /// Ends that are no vertex of the job's.
    unknown: u64,
}

impl Counter<'_> {
    #[inline]
    fn edge(&mut self, u: u64, v: u64) {
        if u == v {
            return;
        }
        for end in [u, v] {
            match self.ids.row(end).and_then(|row| self.degrees.get(row as usize)) {
                Some(degree) => {
                    degree.fetch_add(1, Relaxed);
                }
                None => self.unknown += 1,
            }
        }
    }
}

impl Visitor for Counter<'_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => edges.iter().for_each(|&[u, v]| self.edge(u.into(), v.into())),
            Edges::Wide(edges) => edges.iter().for_each(|&[u, v]| self.edge(u, v)),
        }
        Ok(())
    }
}

/// Stops a scan when a signal asks for it.
pub struct Signals;

impl Watch for Signals {
    fn advance(&self, _: u64) -> Result<()> {
        signals::check()
    }
}
