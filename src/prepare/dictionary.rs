//! Dictionary of sparse ids (hashes, account numbers): a file of all distinct ids in ascending order maps them to 0, 1,
//! 2, ….
//!
//! An external merge sort builds it. Each thread sorts the ids that it sees, drops repeats, and writes a sorted run
//! when its memory is full. A merge of all runs leaves each id once. Memory is fixed; runs take at most 8 bytes of disk
//! for each end of an edge.

use super::partition::changed;
use crate::error::{At, Error, Result};
use crate::formats::{Edges, Input, Visitor, Watch};
use crate::graph::{DenseId, RawId};
use crate::memory::{Budget, Reservation, bytes_of, bytes_of_mut};
use crate::store::file::{Kind, NewFile, Seal};
use crate::store::map::{Mapped, as_u64};
use crate::store::regular;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const IDS: Kind = Kind::new(b"IDS ");
/// Largest number of ids read from a run at once.
const READ_AHEAD: usize = 8192;
/// Most ids that a thread gathers before it sorts. More would take so long to sort and write that signals are answered
/// late.
const MAX_GATHER: u64 = 1 << 24;
/// Number of ids that a thread can gather with the least memory.
const MIN_GATHER: usize = 1 << 16;

/// Returns the path of the dictionary's file in the graph's folder.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("ids")
}

/// Dictionary of sparse ids: a mapped file of all ids in ascending order, with an index.
#[derive(Debug)]
pub struct Dictionary {
    file: Mapped,
    /// For each range of `1 << shift` ids, the position in the file of its first id. Ranges are counted from the
    /// smallest id.
    starts: Vec<u32>,
    shift: u32,
    _index: Reservation,
}

impl Dictionary {
    /// Returns the most bytes of memory that the index of `ids` ids takes.
    pub fn index_bytes(ids: u64) -> u64 {
        ids / 2 + 64
    }

    /// Returns the bytes of the file's body for `ids` ids.
    pub fn body_bytes(ids: u64) -> u64 {
        8 * ids
    }

    /// Returns the fewest bytes with which `threads` threads can build a dictionary, in addition to reading the input.
    pub fn least_bytes(threads: usize) -> u64 {
        (threads * MIN_GATHER * 8) as u64
    }

    /// Returns the most bytes that building a dictionary takes, in addition to reading the input. The input has `ends`
    /// ids, repeats included, and `free` bytes of memory are left.
    pub fn build_bytes(ends: u64, threads: usize, free: u64) -> u64 {
        Self::gather_bytes(threads, free).min(ends.saturating_mul(8)).max(Self::least_bytes(threads))
    }

    /// Returns the bytes of memory in which `threads` threads gather ids before they write them to disk, if `free`
    /// bytes are left.
    fn gather_bytes(threads: usize, free: u64) -> u64 {
        (free / 2).min(threads as u64 * MAX_GATHER * 8).max(Self::least_bytes(threads))
    }

    /// Reads the input once and writes its distinct ids to `path`.
    ///
    /// # Errors
    /// Errors of the input (including more than 2^32 - 2 vertices), of the disk and of the budget.
    pub fn build(
        input: &Input,
        path: &Path,
        key: u64,
        threads: usize,
        budget: &Budget,
        watch: &dyn Watch,
    ) -> Result<Seal> {
        let _reading = budget.reserve(input.scratch_bytes(threads), "reading the input")?;
        let room = Self::gather_bytes(threads, budget.free());
        let _gathered = budget.reserve(room, "sorting sparse ids")?;
        let gather = (room / 8) as usize / threads;
        let runs = SortedRuns::create(path.with_extension("runs"))?;
        let mut gatherers: Vec<IdGatherer> =
            (0..threads).map(|_| IdGatherer { runs: &runs, ids: Vec::new(), room: gather }).collect();
        input.scan(&mut gatherers, watch)?;
        for gatherer in &mut gatherers {
            gatherer.spill()?;
        }
        drop(gatherers);
        // The memory in which threads gathered ids now buffers the runs that are merged.
        runs.merge(path, key, &input.name(), threads * gather, watch)
    }

    /// Opens the dictionary that [`Self::build`] wrote.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file differs from what was written; [`Error::Limit`] if the index, half a byte for
    /// each id, does not fit memory.
    pub fn open(path: &Path, key: u64, budget: &Budget) -> Result<Self> {
        let file = Mapped::open(path, IDS, key)?;
        file.verify_checksum()?;
        let ids = file.body_as_u64()?;
        if !ids.is_sorted_by(|a, b| a < b) {
            return Err(Error::corrupt(path, At::File, "the ids don't ascend"));
        }
        let span = ids.last().zip(ids.first()).map_or(0, |(last, first)| last - first);
        // If ids are evenly spread, a range has about eight of them. A binary search finds the id within its range in
        // any case.
        let shift = (u64::BITS - span.leading_zeros()).saturating_sub((ids.len() as u64 / 8).max(1).ilog2());
        let shift = shift.min(63);
        let ranges = (span >> shift) as usize + 2;
        let reserved = budget.reserve((ranges * 4) as u64, "the index of sparse ids")?;
        let first = ids.first().copied().unwrap_or(0);
        let mut starts = vec![0u32; ranges];
        for &id in ids {
            starts[((id - first) >> shift) as usize + 1] += 1;
        }
        for i in 1..ranges {
            starts[i] += starts[i - 1];
        }
        Ok(Dictionary { file, starts, shift, _index: reserved })
    }

    /// Maps the file at `path`, whose body is the ids in ascending order, a u64 each. It makes no index, so this takes
    /// no memory of the budget.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn list(path: &Path, key: u64) -> Result<Mapped> {
        let file = Mapped::open(path, IDS, key)?;
        file.verify_checksum()?;
        file.body_as_u64()?;
        Ok(file)
    }

    /// Returns the ids in ascending order.
    pub fn ids(&self) -> &[u64] {
        as_u64(self.file.body()).unwrap_or_default()
    }

    /// Returns the dense id of a raw id; `None` if the input does not contain the raw id.
    pub fn find(&self, RawId(id): RawId) -> Option<DenseId> {
        let ids = self.ids();
        let range = (id.checked_sub(*ids.first()?)? >> self.shift) as usize;
        let (from, to) = (*self.starts.get(range)?, *self.starts.get(range + 1)?);
        let at = ids[from as usize..to as usize].binary_search(&id).ok()?;
        Some(DenseId(from + at as u32))
    }
}

/// Visitor that replaces the ids of edges by dense ids and passes the edges on. Without a dictionary, it passes edges
/// on unchanged.
#[derive(Debug)]
pub struct Numbered<'d, V> {
    dictionary: Option<&'d Dictionary>,
    source: &'d str,
    /// Visitor to which the edges are passed on.
    pub inner: V,
    batch: Vec<[u32; 2]>,
}

impl<'d, V> Numbered<'d, V> {
    /// Makes a visitor that looks ids up in `dictionary`, and passes the edges on to `inner`. `source` names the input
    /// in errors.
    pub fn new(dictionary: Option<&'d Dictionary>, source: &'d str, inner: V) -> Self {
        Numbered { dictionary, source, inner, batch: Vec::new() }
    }

    fn look_up<T: Copy + Into<u64>>(&mut self, dictionary: &Dictionary, edges: &[[T; 2]]) -> Result<()> {
        self.batch.clear();
        for &[u, v] in edges {
            match [u, v].map(|id| dictionary.find(RawId(id.into()))) {
                [Some(DenseId(a)), Some(DenseId(b))] => self.batch.push([a, b]),
                _ => return Err(changed(self.source)),
            }
        }
        Ok(())
    }
}

impl<V: Visitor> Visitor for Numbered<'_, V> {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        let Some(dictionary) = self.dictionary else { return self.inner.visit(edges, weights) };
        match edges {
            Edges::Narrow(edges) => self.look_up(dictionary, edges)?,
            Edges::Wide(edges) => self.look_up(dictionary, edges)?,
        }
        self.inner.visit(Edges::Narrow(&self.batch), weights)
    }
}

/// Visitor of one thread that gathers ids and writes them as sorted runs.
struct IdGatherer<'a> {
    runs: &'a SortedRuns,
    ids: Vec<u64>,
    room: usize,
}

impl IdGatherer<'_> {
    fn push(&mut self, id: u64) -> Result<()> {
        if self.ids.len() == self.room {
            self.ids.sort_unstable();
            self.ids.dedup();
            // Go on gathering only if half of the room is free again. Otherwise the thread would soon do nothing but
            // sort.
            if self.ids.len() > self.room / 2 {
                self.spill()?;
            }
        }
        self.ids.push(id);
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        self.ids.sort_unstable();
        self.ids.dedup();
        self.runs.add(&self.ids)?;
        self.ids.clear();
        Ok(())
    }
}

impl Visitor for IdGatherer<'_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => edges.iter().flatten().try_for_each(|&id| self.push(id.into())),
            Edges::Wide(edges) => edges.iter().flatten().try_for_each(|&id| self.push(id)),
        }
    }
}

/// Sorted runs of ids on disk, one after the other in one file. The file is unlinked, so a killed job leaves nothing
/// behind.
struct SortedRuns {
    path: PathBuf,
    file: File,
    /// Start of each run, and end of the last run, counted in ids.
    starts: Mutex<Vec<u64>>,
}

impl SortedRuns {
    fn create(path: PathBuf) -> Result<Self> {
        let file = regular::create_unnamed(&path, "create the runs of ids", "unlink the runs of ids")?;
        Ok(SortedRuns { path, file, starts: Mutex::new(vec![0]) })
    }

    fn add(&self, ids: &[u64]) -> Result<()> {
        let start = {
            let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
            let start = starts.last().copied().unwrap_or(0);
            starts.push(start + ids.len() as u64);
            start
        };
        let written =
            crate::failpoint::hit("dictionary.write").and_then(|()| self.file.write_all_at(bytes_of(ids), 8 * start));
        written.map_err(|e| Error::io("write a run of ids", &self.path, e))
    }

    /// Merges all runs into the file at `path`, through buffers of `room` ids in total. `source` names the input in
    /// errors.
    fn merge(self, path: &Path, key: u64, source: &str, room: usize, watch: &dyn Watch) -> Result<Seal> {
        let failed = |e| Error::io("read a run of ids", path, e);
        let starts = self.starts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let ahead = (room / starts.len()).clamp(1, READ_AHEAD);
        let mut runs: Vec<SortedRun<'_>> =
            starts.windows(2).map(|ends| SortedRun::new(&self.file, ends[0]..ends[1], ahead)).collect();
        let mut heap = BinaryHeap::new();
        for (i, run) in runs.iter_mut().enumerate() {
            heap.extend(run.next().map_err(failed)?.map(|id| Reverse((id, i))));
        }
        let mut out = NewFile::create(path, IDS, key)?;
        let (mut last, mut count) = (None, 0u64);
        while let Some(Reverse((id, i))) = heap.pop() {
            if last != Some(id) {
                out.write(&id.to_le_bytes())?;
                last = Some(id);
                count += 1;
                if count.is_multiple_of(1 << 16) {
                    watch.advance(0)?;
                }
            }
            heap.extend(runs[i].next().map_err(failed)?.map(|id| Reverse((id, i))));
        }
        if count >= u64::from(u32::MAX) {
            let remedy = "split the graph: this version numbers vertices with 32 bits";
            return Err(Error::input(source, At::File, "under 2^32 - 1 vertices", format!("{count}"), remedy));
        }
        out.finish()
    }
}

/// Buffered reader of one sorted run of ids.
struct SortedRun<'f> {
    file: &'f File,
    /// Range of the run that is not read yet, counted in ids.
    left: Range<u64>,
    ahead: usize,
    ids: Vec<u64>,
    at: usize,
}

impl<'f> SortedRun<'f> {
    fn new(file: &'f File, run: Range<u64>, ahead: usize) -> Self {
        SortedRun { file, left: run, ahead, ids: Vec::new(), at: 0 }
    }

    fn next(&mut self) -> std::io::Result<Option<u64>> {
        if self.at == self.ids.len() {
            self.ids.resize((self.left.end - self.left.start).min(self.ahead as u64) as usize, 0);
            self.file.read_exact_at(bytes_of_mut(&mut self.ids), 8 * self.left.start)?;
            self.left.start += self.ids.len() as u64;
            self.at = 0;
        }
        self.at += 1;
        Ok(self.ids.get(self.at - 1).copied())
    }
}
