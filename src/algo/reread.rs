//! The edges of an input, read again to check results: what they say of the graph, and the ids by which results are ordered.

use super::verify::{EdgeSource, Results};
use crate::error::{At, Error, Result};
use crate::formats::{Input, Scan, Watch};
use crate::graph::ids::InputId;
use crate::memory::Buffer;
use crate::prepare::prepared::InputInfo;
use crate::process::signals;
use crate::results::{IDS, column};
use crate::store::map::Mapped;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Stops a scan when a signal asks for it.
pub struct Signals;

impl Watch for Signals {
    fn advance(&self, _: u64) -> Result<()> {
        signals::check()
    }
}

/// The input's ids, and the rows that columns have for them.
pub struct Ids {
    list: List,
    /// Rows that a column may have.
    rows: u64,
    /// A bit for each row of a list that was read: set if an edge of the input has the id.
    seen: Buffer<AtomicU32>,
}

/// Sparse ids, ascending.
enum List {
    /// Ids are not sparse, or no column is ordered by them.
    None,
    /// Those of `out/ids.npy`.
    Read(Buffer<u64>),
    /// Those of a prepared graph.
    Stored(Mapped),
}

impl Ids {
    /// Opens the ids in whose order the columns of `results` are. If they are sparse, `out/ids.npy` is compared with those of a prepared graph; or
    /// else [`Tally`] compares it with the edges of the input.
    ///
    /// # Errors
    /// [`Error::Validation`] for a list that is not that of the graph; [`Error::Limit`]; those of reading.
    pub fn open(results: &Results<'_>) -> Result<Ids> {
        let (info, budget) = (results.info, results.budget);
        let rows = info.rows();
        let mut ids = Ids { list: List::None, rows, seen: budget.zeroed(0, "ids that occur")? };
        if !info.sparse {
            return Ok(ids);
        }
        let mut told = column::<u64>(&results.workdir.join(IDS), rows, |row| row)?;
        if let Ok(EdgeSource::Blocks(graph)) = &results.edges {
            let none = || Error::Validation(format!("{IDS}: the prepared graph has no sparse ids"));
            let stored = graph.sparse_ids()?.ok_or_else(none)?;
            for (row, &id) in stored.body_as_u64()?.iter().enumerate() {
                let told = told.next().transpose()?;
                if told != Some(id) {
                    let told = told.map_or_else(|| "missing".to_owned(), |told| told.to_string());
                    return Err(Error::Validation(format!("{IDS}: row {row} is {told}, where the graph has {id}")));
                }
            }
            if told.next().is_some() {
                return Err(Error::Validation(format!("{IDS}: more ids than the graph has")));
            }
            ids.list = List::Stored(stored);
            return Ok(ids);
        }
        let mut list: Buffer<u64> = budget.zeroed(rows as usize, "the input's ids (8 bytes each)")?;
        for slot in list.iter_mut() {
            *slot = told.next().transpose()?.unwrap_or_default();
        }
        if let Some(more) = told.next() {
            more?;
        }
        if let Some(row) = list.windows(2).position(|two| two[0] >= two[1]) {
            let [one, next] = [list[row], list[row + 1]];
            return Err(Error::Validation(format!("{IDS}: ids ascend, and {next} stands behind {one}")));
        }
        ids.seen = budget.zeroed(rows as usize / 32 + 1, "ids that occur (a bit each)")?;
        ids.list = List::Read(list);
        Ok(ids)
    }

    /// Returns the ids of a result without columns, which has no list of them.
    ///
    /// # Errors
    /// None in practice.
    pub fn unlisted(results: &Results<'_>) -> Result<Ids> {
        let rows = if results.info.sparse { u64::MAX } else { results.info.rows() };
        Ok(Ids { list: List::None, rows, seen: results.budget.zeroed(0, "ids that occur")? })
    }

    fn sparse(&self) -> Option<&[u64]> {
        match &self.list {
            List::None => None,
            List::Read(ids) => Some(ids),
            List::Stored(file) => Some(file.body_as_u64().unwrap_or_default()),
        }
    }

    /// Returns the row of an id in columns.
    pub fn row(&self, id: u64) -> Option<u64> {
        match self.sparse() {
            Some(ids) => ids.binary_search(&id).ok().map(|row| row as u64),
            None => (id < self.rows).then_some(id),
        }
    }

    /// Returns the id that a column of i64 names: the number of the same 64 bits, where that is an id of the input. -1 is none, but for a vertex
    /// that was `reached` in a graph with the id 2^64 - 1.
    pub fn named(&self, number: i64, reached: bool) -> Option<u64> {
        let id = number as u64;
        (number >= 0 || (number != -1 || reached) && self.row(id).is_some()).then_some(id)
    }

    /// Returns the id of a row.
    pub fn id(&self, row: u64) -> InputId {
        InputId(self.sparse().and_then(|ids| ids.get(row as usize)).copied().unwrap_or(row))
    }

    /// Notes that an edge has the id of a row.
    fn see(&self, row: u64) {
        if let Some(word) = self.seen.get(row as usize / 32) {
            let bit = 1 << (row % 32);
            if word.load(Relaxed) & bit == 0 {
                word.fetch_or(bit, Relaxed);
            }
        }
    }

    /// Returns the first id of a list that was read which no edge has.
    fn unseen(&self) -> Option<InputId> {
        let List::Read(ids) = &self.list else { return None };
        let lacks = |row: &usize| self.seen[row / 32].load(Relaxed) >> (row % 32) & 1 == 0;
        (0..ids.len()).find(lacks).map(|row| InputId(ids[row]))
    }
}

/// What one thread's edges say of the input.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    loops: u64,
    largest: Option<u64>,
    /// An id that has no row.
    unknown: Option<u64>,
}

impl Tally {
    /// Takes note of an edge; returns the rows of its ends, unless it is a loop.
    #[inline]
    pub fn edge(&mut self, ids: &Ids, ends: [u64; 2]) -> Option<[u64; 2]> {
        let [u, v] = ends;
        self.largest = self.largest.max(Some(u.max(v)));
        let rows = ends.map(|id| {
            let row = ids.row(id);
            match row {
                Some(row) => ids.see(row),
                None => self.unknown = Some(id),
            }
            row
        });
        self.loops += u64::from(u == v);
        match rows {
            [Some(u), Some(v)] if u != v => Some([u, v]),
            _ => None,
        }
    }

    /// Compares what all threads saw of the edges of `input` with what the job tells of it.
    ///
    /// # Errors
    /// [`Error::Input`] if the input is another one now; [`Error::Validation`] if it is not as the job tells.
    pub fn check(all: impl Iterator<Item = Tally>, scan: &Scan, input: &Input, ids: &Ids, info: &InputInfo) -> Result<()> {
        if scan.checksum != info.checksum {
            return Err(changed(input));
        }
        let all = all.reduce(|a, b| Tally {
            loops: a.loops + b.loops,
            largest: a.largest.max(b.largest),
            unknown: a.unknown.or(b.unknown),
        });
        let all = all.unwrap_or_default();
        let wrong = |what: String| Err(Error::Validation(what));
        match (all.unknown, ids.unseen()) {
            (Some(id), _) if info.sparse => return wrong(format!("{IDS}: lacks {id}, which is an id of the input")),
            (Some(id), _) => return wrong(format!("the input has the id {id}, the results have {} rows", ids.rows)),
            (None, Some(id)) => return wrong(format!("{IDS}: {id} is no id of the input")),
            (None, None) => {}
        }
        if (scan.edges, all.loops) != (info.edges, info.loops) {
            let what = (scan.edges, all.loops);
            return wrong(format!("(edges, loops) of the input are {what:?}, the job tells {:?}", (info.edges, info.loops)));
        }
        if !info.sparse {
            let occurring = all.largest.map_or(0, |largest| largest + 1);
            let vertices = scan.declared_vertices.unwrap_or(0).max(occurring);
            if vertices != info.vertices {
                return wrong(format!("{vertices} vertices in the input, the job tells {}", info.vertices));
            }
        }
        Ok(())
    }
}

/// Returns the error of an input that is not what the job read.
pub fn changed(input: &Input) -> Error {
    Error::input(
        input.name(),
        At::File,
        "the edges that the job read",
        "others, under the same size",
        "the results are of what was there before: `gpugraph run JOB.toml --fresh` computes on what is there now",
    )
}
