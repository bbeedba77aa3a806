//! Degrees in the simple graph (without duplicate edges and self-loops), counted while its rows are built.

use super::csr::Block;
use super::direction::Direction;
use crate::comm::Comm;
use crate::error::Result;
use crate::memory::{Budget, Buffer, bytes_of};
use crate::store::file::{Kind, NewFile, Pending};
use crate::store::map::Mapped;
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Rows below this index are the rows of hubs, the vertices of highest degree. Most edge targets are hubs, so each
/// thread counts the degrees of hubs in its own array instead of the shared one.
const HUBS: usize = 1 << 15;

/// Degree counters, one for each row, shared by all threads. A vertex has one counter in an undirected graph, and two
/// in a directed one: for its out-degree and its in-degree.
#[derive(Debug)]
pub struct Degrees(Buffer<AtomicU32>);

impl Degrees {
    /// Allocates degree counters for `rows` rows, all zero.
    ///
    /// # Errors
    /// [`crate::error::Error::Limit`] if the memory limit leaves less than 4 bytes for each row.
    pub fn new(rows: u64, budget: &Budget) -> Result<Self> {
        Ok(Degrees(budget.zeroed(rows as usize, "degrees of the simple graph (4 bytes a vertex)")?))
    }

    /// Creates the degree counter of one thread, for a graph of this `direction`. When the counter is dropped, its
    /// counts are added to the shared counters.
    pub fn counter(&self, direction: Direction) -> DegreeCounter<'_> {
        DegreeCounter { shared: self, direction, hubs: vec![0; HUBS.min(self.0.len())] }
    }

    /// Adds the degrees in `counted`, which were counted elsewhere, to the counters of the rows from `first` on.
    pub fn add(&self, first: usize, counted: &[u32]) {
        for (degree, &more) in self.0[first..].iter().zip(counted).filter(|&(_, &more)| more > 0) {
            degree.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Returns the counted degrees, one for each row.
    pub fn finish(self) -> Buffer<u32> {
        self.0.into_plain()
    }
}

/// Degree counter of one thread. It counts hubs in its own array, and other vertices directly in the shared counters.
#[derive(Debug)]
pub struct DegreeCounter<'a> {
    shared: &'a Degrees,
    direction: Direction,
    hubs: Vec<u32>,
}

impl DegreeCounter<'_> {
    /// Returns the size in bytes of one thread's counter for a graph of `rows` rows.
    pub fn bytes(rows: u64) -> u64 {
        4 * rows.min(HUBS as u64)
    }

    /// Counts both ends of every edge in consecutive rows from `first_row` on. `lengths` are the lengths of these rows,
    /// and `targets` their neighbours, row after row.
    pub fn rows(&mut self, first_row: u32, lengths: impl Iterator<Item = u32>, targets: &[u32]) {
        let mut start = 0;
        for (row, length) in (first_row..).zip(lengths) {
            self.shared.0[row as usize].fetch_add(length, Ordering::Relaxed);
            if self.direction == Direction::Directed {
                let end = start + length as usize;
                targets[start..end].iter().for_each(|&target| self.count(Direction::Directed.opposite(row, target)));
                start = end;
            }
        }
        if self.direction == Direction::Undirected {
            targets.iter().for_each(|&target| self.count(target));
        }
    }

    #[inline]
    fn count(&mut self, row: u32) {
        match self.hubs.get_mut(row as usize) {
            Some(count) => *count += 1,
            None => {
                self.shared.0[row as usize].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts both ends of every edge in `block`.
    pub fn block(&mut self, block: Block<'_>) {
        self.rows(block.first_row, block.offsets.windows(2).map(|w| w[1] - w[0]), block.targets);
    }
}

impl Drop for DegreeCounter<'_> {
    fn drop(&mut self) {
        for (degree, &count) in self.shared.0.iter().zip(&self.hubs) {
            degree.fetch_add(count, Ordering::Relaxed);
        }
    }
}

const DEGREES: Kind = Kind::new(b"DEGR");

/// Writes the degrees, one u32 for each row, to the file `degrees` in the graph's folder.
///
/// # Errors
/// [`crate::Error::DiskFull`], [`crate::Error::Io`].
pub fn write(folder: &Path, key: u64, degrees: &[u32]) -> Result<Pending> {
    let mut file = NewFile::create(&folder.join("degrees"), DEGREES, key)?;
    file.write(bytes_of(degrees))?;
    file.finish_deferred()
}

/// Maps the degrees that [`write()`] wrote. The body of the mapped file is a u32 for each row, in order.
///
/// # Errors
/// [`crate::Error::Corrupt`], [`crate::Error::Io`].
pub fn open(folder: &Path, key: u64) -> Result<Mapped> {
    let file = Mapped::open(&folder.join("degrees"), DEGREES, key)?;
    file.verify_checksum()?;
    Ok(file)
}

/// Summary of the degrees of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct DegreeSummary {
    /// Largest degree of the simple graph; in a directed graph, the largest out-degree or in-degree.
    pub max_degree: u64,
    /// Number of wedges, pairs of edges that share a vertex: Σ d(d−1)/2. In a directed graph both edges must leave the
    /// vertex, or both enter it.
    pub wedges: u128,
}

impl DegreeSummary {
    /// Combines the summaries of all ranks, each of which covers a part of the degrees. Collective.
    pub fn joined(self, comm: &Comm) -> DegreeSummary {
        let mut max_degree = [self.max_degree];
        comm.all_max(&mut max_degree);
        // Sum each 32-bit part of the wedge counts separately, so that the sums fit 64 bits.
        let mut wedges = [0, 32, 64, 96].map(|shift| u64::from((self.wedges >> shift) as u32));
        comm.all_sum(&mut wedges);
        let wedges = wedges.iter().rev().fold(0, |all, &part| (all << 32) + u128::from(part));
        DegreeSummary { max_degree: max_degree[0], wedges }
    }

    fn and(self, other: DegreeSummary) -> DegreeSummary {
        DegreeSummary { max_degree: self.max_degree.max(other.max_degree), wedges: self.wedges + other.wedges }
    }

    /// Returns the largest degree and the number of wedges for the list `degrees`.
    pub fn of(degrees: &[u32]) -> Self {
        let one = |&d: &u32| {
            let d = u64::from(d);
            DegreeSummary { max_degree: d, wedges: u128::from(d) * u128::from(d.saturating_sub(1)) / 2 }
        };
        let parts = degrees
            .par_chunks(1 << 20)
            .map(|part| part.iter().map(one).fold(DegreeSummary::default(), DegreeSummary::and));
        parts.reduce(DegreeSummary::default, DegreeSummary::and)
    }
}
