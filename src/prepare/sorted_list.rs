//! A file of all distinct numbers of one kind in an input, in ascending order. The index of a number in the file is
//! used in place of the number: in `dictionary` for sparse ids, and in `weight_list` for 64-bit weights.
//!
//! An external merge sort builds the file. Each thread gathers numbers, sorts them and removes duplicates, and writes a
//! sorted run when its memory is full. Merging all runs removes the other duplicates. Memory is fixed; runs need at
//! most 8 bytes of disk space for each number in the input.

use crate::error::{At, Error, Result};
use crate::formats::weights::bits_of;
use crate::formats::{Edges, Input, Visitor, Watch};
use crate::memory::{Budget, Reservation, bytes_of, bytes_of_mut};
use crate::store::file::{Kind, NewFile, Seal};
use crate::store::map::{Mapped, as_u64};
use crate::store::scratch::ScratchFile;
use parking_lot::Mutex;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::path::Path;

/// Maximum count of numbers that are read from a sorted run at a time.
const READ_AHEAD: usize = 8192;
/// Maximum count of numbers that a thread gathers before it sorts. With more numbers, sorting and writing would delay
/// the reaction to SIGINT and other POSIX signals.
const MAX_GATHER: u64 = 1 << 24;
/// Count of numbers that a thread can gather in the minimum amount of memory.
const MIN_GATHER: usize = 1 << 16;

/// Properties of one type of list (of ids or of weights): which numbers it contains, and texts for errors.
pub(super) struct Listed {
    /// Kind of the list's file: four letters in the file's header.
    pub kind: Kind,
    /// Whether the numbers are the weights of edges. Otherwise they are the ids of the edges' ends.
    pub are_weights: bool,
    /// Two texts for errors about memory: the purpose of the memory for sorting, and of the memory for the index.
    pub purposes: [&'static str; 2],
    /// Two texts for the error about more than 2^32 - 2 numbers: what was expected, and a suggested fix.
    pub limit: [&'static str; 2],
}

impl Listed {
    /// Checks that indices into a list of `count` numbers fit 32 bits. `source` names the input in errors.
    fn check(&self, count: u64, source: &str) -> Result<()> {
        if count < u64::from(u32::MAX) {
            return Ok(());
        }
        let [expected, remedy] = self.limit;
        Err(Error::input(source, At::File, expected, format!("{count}"), remedy))
    }
}

/// A list of distinct numbers in ascending order: a mapped file, with an index for look-ups.
#[derive(Debug)]
pub(super) struct SortedList {
    file: Mapped,
    /// For each range of `1 << shift` values, the position in the list of the first number in the range. The first
    /// range begins at the smallest number of the list.
    starts: Vec<u32>,
    shift: u32,
    _index: Reservation,
}

/// Returns the size in bytes of the body of a list's file, for `numbers` distinct numbers.
pub fn body_bytes(numbers: u64) -> u64 {
    8 * numbers
}

/// Returns the minimum number of bytes of memory that `threads` threads need to build a list, in addition to reading
/// the input.
pub fn least_bytes(threads: usize) -> u64 {
    (threads * MIN_GATHER * 8) as u64
}

/// Returns the maximum number of bytes of memory for building a list, in addition to reading the input. The input
/// contains `numbers` numbers, including duplicates, and `free` bytes of memory are free.
pub fn build_bytes(numbers: u64, threads: usize, free: u64) -> u64 {
    gather_bytes(threads, free).min(numbers.saturating_mul(8)).max(least_bytes(threads))
}

/// Returns the number of bytes of memory in which `threads` threads gather numbers before they write them to disk, if
/// `free` bytes are free.
fn gather_bytes(threads: usize, free: u64) -> u64 {
    (free / 2).min(threads as u64 * MAX_GATHER * 8).max(least_bytes(threads))
}

/// Reads the input once and writes its distinct numbers to `path`. Also returns the number of edges that it read.
///
/// # Errors
/// Errors of the input (including more than 2^32 - 2 numbers), of the disk and of the budget.
pub(super) fn build(
    listed: &Listed,
    input: &Input,
    (path, key): (&Path, u64),
    (threads, budget): (usize, &Budget),
    watch: &dyn Watch,
) -> Result<(Seal, u64)> {
    let _reading = budget.reserve(input.scratch_bytes(threads), "reading the input")?;
    let room = gather_bytes(threads, budget.free());
    let _gathered = budget.reserve(room, listed.purposes[0])?;
    let gather = (room / 8) as usize / threads;
    let runs = SortedRuns::create(&path.with_extension("runs"))?;
    let gatherer = |_| Gatherer { runs: &runs, are_weights: listed.are_weights, numbers: Vec::new(), room: gather };
    let mut gatherers: Vec<Gatherer<'_>> = (0..threads).map(gatherer).collect();
    let edges = input.scan(&mut gatherers, watch)?.edges;
    for gatherer in &mut gatherers {
        gatherer.spill()?;
    }
    drop(gatherers);
    // The memory in which threads gathered numbers is now used for buffers of the runs that are merged.
    let seal = runs.merge(listed, (path, key), &input.name(), threads * gather, watch)?;
    Ok((seal, edges))
}

/// Maps the file at `path` to memory. Its body is the numbers in ascending order, a u64 each. This builds no index, so
/// it uses no memory of the budget.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`].
pub(super) fn map(listed: &Listed, path: &Path, key: u64) -> Result<Mapped> {
    let file = Mapped::open(path, listed.kind, key)?;
    file.verify_checksum()?;
    file.body_as_u64()?;
    Ok(file)
}

impl SortedList {
    /// Opens the list that [`build`] wrote. `ranges` maps the length of the list to the approximate number of ranges in
    /// the index, each of which needs 4 bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file differs from what was written; [`Error::Limit`] if the index does not fit memory.
    pub fn open(
        listed: &Listed,
        path: &Path,
        key: u64,
        ranges: impl Fn(u64) -> u64,
        budget: &Budget,
    ) -> Result<SortedList> {
        let file = map(listed, path, key)?;
        let numbers = file.body_as_u64()?;
        if !numbers.is_sorted_by(|a, b| a < b) {
            return Err(Error::corrupt(path, At::File, "the numbers don't ascend"));
        }
        let span = numbers.last().zip(numbers.first()).map_or(0, |(last, first)| last - first);
        // If numbers are not evenly distributed, some ranges contain many. This is correct, too, because a binary
        // search finds a number within its range.
        let shift = (u64::BITS - span.leading_zeros()).saturating_sub(ranges(numbers.len() as u64).max(1).ilog2());
        let shift = shift.min(63);
        let ranges = (span >> shift) as usize + 2;
        let reserved = budget.reserve((ranges * 4) as u64, listed.purposes[1])?;
        let first = numbers.first().copied().unwrap_or(0);
        let mut starts = vec![0u32; ranges];
        for &number in numbers {
            starts[((number - first) >> shift) as usize + 1] += 1;
        }
        for i in 1..ranges {
            starts[i] += starts[i - 1];
        }
        Ok(SortedList { file, starts, shift, _index: reserved })
    }

    /// Returns the numbers in ascending order.
    pub fn numbers(&self) -> &[u64] {
        as_u64(self.file.body()).unwrap_or_default()
    }

    /// Returns the position (0-based) of a number in the list; `None` if the list does not contain it.
    #[inline]
    pub fn position(&self, number: u64) -> Option<u32> {
        let numbers = self.numbers();
        let range = (number.checked_sub(*numbers.first()?)? >> self.shift) as usize;
        let (from, to) = (*self.starts.get(range)?, *self.starts.get(range + 1)?);
        let at = numbers[from as usize..to as usize].binary_search(&number).ok()?;
        Some(from + at as u32)
    }
}

/// Visitor of one thread that gathers numbers and writes them as sorted runs.
struct Gatherer<'a> {
    runs: &'a SortedRuns,
    are_weights: bool,
    numbers: Vec<u64>,
    room: usize,
}

impl Gatherer<'_> {
    fn push(&mut self, number: u64) -> Result<()> {
        if self.numbers.len() == self.room {
            self.numbers.sort_unstable();
            self.numbers.dedup();
            // Continue gathering only if half of the memory is free now. Otherwise the thread would soon do nothing but
            // sort.
            if self.numbers.len() > self.room / 2 {
                self.spill()?;
            }
        }
        self.numbers.push(number);
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        self.numbers.sort_unstable();
        self.numbers.dedup();
        self.runs.add(&self.numbers)?;
        self.numbers.clear();
        Ok(())
    }
}

impl Visitor for Gatherer<'_> {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        match edges {
            _ if self.are_weights => bits_of(weights, 2).try_for_each(|bits| self.push(bits)),
            Edges::Narrow(edges) => edges.iter().flatten().try_for_each(|&id| self.push(id.into())),
            Edges::Wide(edges) => edges.iter().flatten().try_for_each(|&id| self.push(id)),
        }
    }
}

/// Sorted runs of numbers on disk, one after the other in one file.
struct SortedRuns {
    file: ScratchFile,
    /// Range of each run in the file, in units of numbers.
    runs: Mutex<Vec<Range<u64>>>,
}

impl SortedRuns {
    fn create(path: &Path) -> Result<Self> {
        Ok(SortedRuns { file: ScratchFile::create(path, "dictionary.write")?, runs: Mutex::default() })
    }

    fn add(&self, numbers: &[u64]) -> Result<()> {
        let start = self.file.append(&[bytes_of(numbers)])? / 8;
        self.runs.lock().push(start..start + numbers.len() as u64);
        Ok(())
    }

    /// Merges all runs into the file at `path`, with buffers for `room` numbers in total. `source` names the input in
    /// errors.
    fn merge(
        self,
        listed: &Listed,
        (path, key): (&Path, u64),
        source: &str,
        room: usize,
        watch: &dyn Watch,
    ) -> Result<Seal> {
        let runs = self.runs.into_inner();
        let mut out = NewFile::create(path, listed.kind, key)?;
        let total = self.file.bytes() / 8;
        if total <= room as u64 {
            // All runs fit in memory, so they are sorted in parallel. A merge would use only one thread.
            let mut numbers = vec![0u64; total as usize];
            self.file.read(0, bytes_of_mut(&mut numbers))?;
            numbers.par_sort_unstable();
            numbers.dedup();
            listed.check(numbers.len() as u64, source)?;
            watch.advance(0)?;
            out.write(bytes_of(&numbers))?;
            return out.finish();
        }
        let ahead = (room / (runs.len() + 1)).clamp(1, READ_AHEAD);
        let mut runs: Vec<SortedRun<'_>> = runs.into_iter().map(|run| SortedRun::new(&self.file, run, ahead)).collect();
        let mut heap = BinaryHeap::new();
        for (i, run) in runs.iter_mut().enumerate() {
            heap.extend(run.next()?.map(|number| Reverse((number, i))));
        }
        let (mut last, mut count) = (None, 0u64);
        while let Some(Reverse((number, i))) = heap.pop() {
            if last != Some(number) {
                out.write(&number.to_le_bytes())?;
                last = Some(number);
                count += 1;
                if count.is_multiple_of(1 << 16) {
                    watch.advance(0)?;
                }
            }
            heap.extend(runs[i].next()?.map(|number| Reverse((number, i))));
        }
        listed.check(count, source)?;
        out.finish()
    }
}

/// Buffered reader of one sorted run.
struct SortedRun<'f> {
    file: &'f ScratchFile,
    /// Range, in the file, of the part of the run that is not read yet, in units of numbers.
    left: Range<u64>,
    ahead: usize,
    numbers: Vec<u64>,
    at: usize,
}

impl<'f> SortedRun<'f> {
    fn new(file: &'f ScratchFile, run: Range<u64>, ahead: usize) -> Self {
        SortedRun { file, left: run, ahead, numbers: Vec::new(), at: 0 }
    }

    fn next(&mut self) -> Result<Option<u64>> {
        if self.at == self.numbers.len() {
            self.numbers.resize((self.left.end - self.left.start).min(self.ahead as u64) as usize, 0);
            self.file.read(8 * self.left.start, bytes_of_mut(&mut self.numbers))?;
            self.left.start += self.numbers.len() as u64;
            self.at = 0;
        }
        self.at += 1;
        Ok(self.numbers.get(self.at - 1).copied())
    }
}
