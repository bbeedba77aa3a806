//! Reads the edges of an input again to check results. Collects statistics of the graph, and checks the list of ids
//! that determines the order of result columns.

use super::{EdgeSource, Results};
use crate::error::{At, Error, Result};
use crate::formats::{Input, Scan};
use crate::graph::ids::{FirstId, InputId, RawId};
use crate::memory::Buffer;
use crate::prepare::names::lines::NameFile;
use crate::prepare::prepared::InputInfo;
use crate::results::{IDS, NAMES, RowId, column};
use crate::store::map::Mapped;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Mapping between the ids of the input and the rows of result columns.
pub struct Ids {
    list: List,
    /// The string ids in `out/ids.txt`, if ids are strings.
    names: Option<Arc<NameFile>>,
    first_id: FirstId,
    /// Number of rows of a result column: one for each vertex, including isolated ones.
    rows: u64,
    /// Bitmap with one bit per row of the list of ids: sparse ids from `out/ids.npy`, or string ids. A bit is set once
    /// an edge of the input has the id in this row as an endpoint. Empty for other ids.
    seen: Buffer<AtomicU32>,
}

/// Mapping from rows of result columns to raw ids (as readers of the input return them).
enum List {
    /// Ids are dense: the row is the raw id itself.
    Dense,
    /// Ids are sparse, but no list of ids is read, because no result column is read.
    Unlisted,
    /// Ids are sparse. They are listed in `out/ids.npy`, in ascending order.
    Read(Buffer<u64>),
    /// Ids are sparse. They are listed in a file of a prepared graph, in ascending order.
    Stored(Mapped),
}

impl Ids {
    /// Opens the ids that determine the order of the result columns in `results`. If ids are sparse, checks
    /// `out/ids.npy` against the ids of a prepared graph. If there is no prepared graph, [`Tally`] checks the file
    /// against the edges of the input.
    ///
    /// # Errors
    /// [`Error::Validation`] if `out/ids.npy` does not list the ids of the graph; [`Error::Limit`]; read errors.
    pub fn open(results: &Results<'_>) -> Result<Ids> {
        let (info, budget) = (results.info, results.budget);
        let (rows, first_id) = (info.rows(), info.first_id);
        let mut ids = Ids::without_columns(results)?;
        if let Some(names) = &results.names {
            ids.seen = budget.zeroed(rows as usize / 32 + 1, "ids that occur (a bit each)")?;
            if let Ok(EdgeSource::Blocks(graph)) = &results.edges
                && graph.names()?.is_none_or(|list| list.lines().text() != names.lines().text())
            {
                return Err(Error::Validation(format!("{NAMES}: not the ids that the graph has")));
            }
        }
        if !info.sparse {
            return Ok(ids);
        }
        let mut written = column::<u64>(&results.workdir.join(IDS), ["id", "ids"], rows, RowId::Number)?;
        if let Ok(EdgeSource::Blocks(graph)) = &results.edges {
            let none = || Error::Validation(format!("{IDS}: the prepared graph has no sparse ids"));
            let stored = graph.sparse_ids()?.ok_or_else(none)?;
            for (row, &raw) in stored.body_as_u64()?.iter().enumerate() {
                let (there, id) = (written.next().transpose()?, raw.wrapping_add(first_id.0));
                if there != Some(id) {
                    let there = there.map_or_else(|| "missing".to_owned(), |there| there.to_string());
                    return Err(Error::Validation(format!("{IDS}: row {row} is {there}, where the graph has {id}")));
                }
            }
            if written.next().is_some() {
                return Err(Error::Validation(format!("{IDS}: more ids than the graph has")));
            }
            ids.list = List::Stored(stored);
            return Ok(ids);
        }
        let mut list: Buffer<u64> = budget.zeroed(rows as usize, "the input's ids (8 bytes each)")?;
        for slot in list.iter_mut() {
            let id = written.next().transpose()?.unwrap_or_default();
            let raw = first_id.raw(id);
            let none = || Error::Validation(format!("{IDS}: {id} is not an id of the input"));
            *slot = raw.ok_or_else(none)?.0;
        }
        if let Some(more) = written.next() {
            more?;
        }
        if let Some(row) = list.windows(2).position(|two| two[0] >= two[1]) {
            let [one, next] = [row, row + 1].map(|row| first_id.input(RawId(list[row])));
            return Err(Error::Validation(format!("{IDS}: ids must ascend, but {next} comes after {one}")));
        }
        ids.seen = budget.zeroed(rows as usize / 32 + 1, "ids that occur (a bit each)")?;
        ids.list = List::Read(list);
        Ok(ids)
    }

    /// Returns the ids for a result without columns, without reading a list of ids.
    ///
    /// # Errors
    /// None in practice.
    pub fn without_columns(results: &Results<'_>) -> Result<Ids> {
        let list = if results.info.sparse { List::Unlisted } else { List::Dense };
        let (first_id, rows) = (results.info.first_id, results.info.rows());
        let seen = results.budget.zeroed(0, "ids that occur")?;
        Ok(Ids { list, names: results.names.clone(), first_id, rows, seen })
    }

    fn sparse(&self) -> Option<&[u64]> {
        match &self.list {
            List::Dense | List::Unlisted => None,
            List::Read(ids) => Some(ids),
            List::Stored(file) => Some(file.body_as_u64().unwrap_or_default()),
        }
    }

    /// Returns the row, in result columns, of the vertex with the id `id`, or `None` if the input has no such vertex.
    pub fn row_of(&self, id: InputId) -> Option<u64> {
        match (id, &self.names) {
            (InputId::Number(number), _) => self.first_id.raw(number).and_then(|RawId(raw)| self.row(raw)),
            (InputId::Name(name), Some(names)) => names.lines().find(name.text().as_bytes()),
            (InputId::Name(_), None) => None,
        }
    }

    /// Returns the row, in result columns, of the raw id `raw`: an endpoint of an edge, as readers of the input return
    /// it. Returns `None` if the id has no row.
    pub fn row(&self, raw: u64) -> Option<u64> {
        match self.sparse() {
            Some(ids) => ids.binary_search(&raw).ok().map(|row| row as u64),
            None => (matches!(self.list, List::Unlisted) || raw < self.rows).then_some(raw),
        }
    }

    /// Returns the id that `number`, a value in an i64 result column of ids, represents. A negative number represents
    /// the id with the same 64 bits, if the input has this id; otherwise returns `None`. Also returns `None` for -1 if
    /// `reached` is false, because -1 then marks an unreached vertex.
    pub fn named(&self, number: i64, reached: bool) -> Option<InputId> {
        let id = InputId::Number(number as u64);
        (number >= 0 || (number != -1 || reached) && self.row_of(id).is_some()).then_some(id)
    }

    /// Returns the input id of the vertex in row `row` of result columns.
    pub fn id(&self, row: u64) -> InputId {
        match self.names.as_ref().and_then(|names| names.lines().get(row)) {
            Some(name) => InputId::of_bytes(name, row),
            None => InputId::Number(self.number(row)),
        }
    }

    /// Returns the number with which result columns of ids represent the vertex in row `row`.
    pub fn number(&self, row: u64) -> u64 {
        self.raw(row).0.wrapping_add(self.first_id.0)
    }

    /// Returns the id that a text column contains next to the value of row `row`. Messages use it as the name of the
    /// vertex in the row.
    pub fn label(&self, row: u64) -> RowId<'_> {
        let name = self.names.as_ref().and_then(|names| names.lines().get(row));
        name.map_or_else(|| RowId::Number(self.number(row)), RowId::Name)
    }

    /// Returns the raw id, as readers of the input return it, of the vertex in row `row` of result columns.
    pub fn raw(&self, row: u64) -> RawId {
        RawId(self.sparse().and_then(|ids| ids.get(row as usize)).copied().unwrap_or(row))
    }

    /// Sets the bit of row `row` in the bitmap `seen`. It is called when the vertex in this row is an endpoint of an
    /// edge of the input.
    fn mark(&self, row: u64) {
        if let Some(word) = self.seen.get(row as usize / 32) {
            let bit = 1 << (row % 32);
            if word.load(Relaxed) & bit == 0 {
                word.fetch_or(bit, Relaxed);
            }
        }
    }

    /// Returns the first listed id that is not an endpoint of any edge of the input; `None` if there is no such id.
    /// Only string ids and the sparse ids in `out/ids.npy` are checked; for other ids, returns `None`.
    fn first_unused(&self) -> Option<InputId> {
        let rows = match (&self.list, &self.names) {
            (List::Read(ids), _) => ids.len(),
            (_, Some(_)) if !self.seen.is_empty() => self.rows as usize,
            _ => return None,
        };
        let lacks = |row: &usize| self.seen[row / 32].load(Relaxed) >> (row % 32) & 1 == 0;
        (0..rows).find(lacks).map(|row| self.id(row as u64))
    }

    /// Returns the path of the file that lists the ids, in the workdir.
    fn file(&self) -> &'static str {
        if self.names.is_some() { NAMES } else { IDS }
    }
}

/// Statistics of the edges that one thread has read again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    loops: u64,
    /// Largest raw id of an endpoint of these edges.
    largest: Option<u64>,
    /// A raw id that occurs in an edge but has no row in result columns, if any.
    unknown: Option<u64>,
}

impl Tally {
    /// Adds the edge between the raw ids `ends` to the statistics. Returns the rows, in result columns, of both
    /// endpoints. Returns `None` for a self-loop, or if an endpoint has no row.
    #[inline]
    pub fn edge(&mut self, ids: &Ids, ends: [u64; 2]) -> Option<[u64; 2]> {
        let [u, v] = ends;
        self.largest = self.largest.max(Some(u.max(v)));
        let rows = ends.map(|id| {
            let row = ids.row(id);
            match row {
                Some(row) => ids.mark(row),
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

    /// Compares the statistics of the edges that all threads have read with `info`, which the job recorded when it
    /// first read `input`.
    ///
    /// # Errors
    /// [`Error::Input`] if the checksum of the input has changed; [`Error::Validation`] if a number differs.
    pub fn check(
        all: impl Iterator<Item = Tally>,
        scan: &Scan,
        input: &Input,
        ids: &Ids,
        info: &InputInfo,
    ) -> Result<()> {
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
        // Vertices that the input lists explicitly need no edge.
        let is_listed = input.vertices.is_some();
        let unused = ids.first_unused().filter(|_| !is_listed);
        match (all.unknown.map(|raw| info.first_id.input(RawId(raw))), unused) {
            (Some(id), _) if info.sparse => {
                return wrong(format!("{IDS}: {id} is an id of the input but missing here"));
            }
            (Some(id), _) => return wrong(format!("the input has the id {id}, columns have {} rows", ids.rows)),
            (None, Some(id)) => return wrong(format!("{}: {id} is not an id of the input", ids.file())),
            (None, None) => {}
        }
        let (found, known) = ([scan.edges, all.loops], [info.edges, info.loops]);
        if found != known {
            return wrong(format!("(edges, loops) of the input are {found:?}, the job has {known:?}"));
        }
        let declared = if info.sparse { 0 } else { scan.declared_vertices.unwrap_or(0) };
        let largest = all.largest.max(declared.checked_sub(1));
        // A graph that an older version prepared has no recorded largest id.
        if info.largest.is_some_and(|known| Some(known) != largest) && !is_listed {
            return wrong(format!("the largest id of the input is {largest:?} from 0, the job has {:?}", info.largest));
        }
        let vertices = largest.map_or(0, |largest| largest.saturating_add(1));
        if !info.sparse && vertices != info.vertices {
            return wrong(format!("{vertices} vertices in the input, the job has {}", info.vertices));
        }
        Ok(())
    }
}

/// Returns the error for an input that has changed since the job read it.
pub fn changed(input: &Input) -> Error {
    Error::input(
        input.name(),
        At::File,
        "the edges that the job read",
        "other edges, in a file of the same size",
        "the results belong to the previous input: `gpugraph run JOB.toml --fresh` computes them again",
    )
}
