//! Counts triangles per vertex, or in a directed graph links per vertex (directed edges between its neighbours). The
//! counters of all vertices are in memory. A checkpoint stores the counters and the ids of the units (pairs of blocks)
//! that are counted.
//!
//! A unit changes many counters, so a journal of units is not enough to resume. A checkpoint has three sections. The
//! first contains the counting time in nanoseconds, and then the low and the high 64 bits of each total: triangles,
//! tested wedges and, in a directed graph, links. The second contains the ids of the units, and the third the counters.

use crate::algo::Run;
use crate::algo::round::{self, RoundEnd};
use crate::algo::triangle::cpu::links;
use crate::algo::triangle::driver::{RankCounter, counter};
use crate::algo::triangle::output::{Clustering, coefficient};
use crate::algo::triangle::units::{self, Sum};
use crate::algo::triangle::work_queue::{BetweenGroups, RankBarrier, WorkQueue};
use crate::algo::triangle::{PairCount, Triangle};
use crate::comm::{Comm, on_leader};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::degrees::DegreeSummary;
use crate::graph::direction::Direction;
use crate::graph::ids::Vertex;
use crate::memory::{Buffer, bytes_of};
use crate::prepare::prepared::Graph;
use crate::process::signals;
use crate::store::checkpoint::{Checkpoint, Saved};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Maximum time to finish the current unit (pair of blocks) after the job was asked to stop. Counters can be saved only
/// between units.
const GRACE: Duration = Duration::from_secs(3);

/// Purpose of the memory for counters, as named in error messages.
pub(super) const VERTEX_COUNTS: &str = "counts of all vertices (8 bytes each)";

/// The content of the checkpoint of a count per vertex.
pub(super) struct SavedCounts<'a> {
    pub(super) sum: Sum,
    nanos: u64,
    pub(super) units: &'a [u64],
    counts: &'a [u64],
    /// `Directed` if the checkpoint contains links of a directed graph, `Undirected` if it contains triangles.
    pub(super) direction: Direction,
}

impl<'a> SavedCounts<'a> {
    /// Decodes the checkpoint of a count per vertex, for a graph with `vertices` vertices.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if `saved` is not the checkpoint of a count per vertex.
    pub(super) fn read(saved: &'a Saved, vertices: u64) -> Result<SavedCounts<'a>> {
        let (sums, units, counts) = (saved.words(0)?, saved.words(1)?, saved.words(2)?);
        let whole = |low: u64, high: u64| u128::from(low) | (u128::from(high) << 64);
        match *sums {
            [nanos, low, high, probes_low, probes_high, ref links @ ..]
                if units.len() as u64 == saved.done()
                    && counts.len() as u64 == vertices
                    && [0, 2].contains(&links.len()) =>
            {
                let of_links = if let &[low, high] = links { whole(low, high) } else { 0 };
                let sum = Sum { triangles: whole(low, high), probes: whole(probes_low, probes_high), links: of_links };
                Ok(SavedCounts { sum, nanos, units, counts, direction: Direction::of(!links.is_empty()) })
            }
            _ => Err(saved.other("sections of other lengths than those of a count per vertex")),
        }
    }

    /// Returns the sum of the counters of all vertices.
    pub(super) fn of_vertices(&self) -> u128 {
        self.counts.iter().map(|&count| u128::from(count)).sum()
    }
}

/// Totals of a count per vertex.
#[derive(Serialize, Deserialize)]
pub(super) struct VertexTotals {
    /// Number of wedges (paths of two edges) of the graph, regardless of the directions of edges.
    pub(super) wedges: u128,
    /// The clustering coefficients; computed only in the last trial.
    pub(super) clustering: Clustering,
}

/// Counts triangles or links per vertex and writes the results. Returns the sum over all units (pairs of blocks), the
/// counting time in seconds, and the totals of all vertices.
///
/// # Errors
/// [`Error::Limit`] if 8 bytes per vertex do not fit the budget; errors of counting; disk errors.
pub(super) fn count(table: &Triangle, graph: &Graph, run: &mut Run<'_>) -> Result<(Sum, f64, VertexTotals)> {
    let (comm, progress) = (run.comm, run.progress);
    let vertices = graph.info.connected as usize;
    let counts: Buffer<AtomicU64> = run.budget.zeroed(vertices, VERTEX_COUNTS)?;
    let mut book = VertexCheckpoint {
        checkpoint: run.units.checkpoint(),
        sum: Sum::default(),
        nanos: 0,
        done: HashSet::new(),
        total: units::total(graph.block_store.len()),
        direction: graph.info.direction,
    };
    if comm.is_leader() {
        book.load(&counts)?;
        progress.resume_at(book.done.len() as u64);
    }
    let done = on_leader(comm, || Ok(book.done.clone()))?;

    let stop_requested_at = OnceLock::new();
    let stop = || signals::stop_requested().filter(|_| stop_requested_at.get_or_init(Instant::now).elapsed() > GRACE);
    let started = Instant::now();
    let before = book.nanos;
    let is_left = (done.len() as u64) < book.total;
    let RankCounter { mut backend, merged } = counter(graph, run, (Some(&counts), is_left), &stop)?;
    let blocks = merged.as_ref().unwrap_or(&graph.block_store);
    let book = Mutex::new(book);
    let alone = comm.ranks() == 1;
    let keep = &mut |units: &[(u64, PairCount)]| {
        let mut book = book.lock();
        book.take(units, before + started.elapsed().as_nanos() as u64)?;
        progress.advance(units.len() as u64);
        if !alone {
            return Ok(());
        }
        let stopped = signals::check();
        if stopped.is_err() || book.checkpoint.is_due() {
            book.save(&counts)?;
        }
        stopped
    };
    // With several ranks, the counters match the list of counted units only at a barrier of all ranks at which no unit
    // is partly counted.
    let mut at_barrier = |RankBarrier { is_last, is_whole }| -> Result<()> {
        let mut book = book.lock();
        let RoundEnd { stops, is_due, .. } = RoundEnd::agree(comm, true, &book.checkpoint);
        if is_last || stops || is_due {
            gather(comm, &counts);
        }
        if comm.is_leader() && (stops || is_due) && is_whole {
            book.save(&counts)?;
        }
        if stops { Err(round::stopped(comm)) } else { Ok(()) }
    };
    let between: BetweenGroups<'_> = if alone { None } else { Some(&mut at_barrier) };
    WorkQueue { comm, graph: blocks, done: &done }.count(backend.as_deref_mut(), keep, between)?;
    drop((backend, merged));
    let mut book = book.into_inner();
    // Save the count before results are written, because that takes time and the job may be stopped meanwhile.
    if comm.is_leader() && book.checkpoint.is_worth_it() {
        book.save(&counts)?;
    }
    let VertexCheckpoint { sum, nanos, .. } = book;
    let (sum, seconds) = on_leader(comm, || Ok((sum, nanos as f64 / 1e9)))?;
    let totals = on_leader(comm, || {
        let totals = finish(table, graph, run, &counts, sum)?;
        // Removes the files of merged rows, which this run or an earlier run on a GPU has written.
        run.units.remove_files()?;
        Ok(totals)
    })?;
    Ok((sum, seconds, totals))
}

/// Checks that the counts of all vertices add up to the total in `sum`. In the last trial, also writes the columns.
///
/// # Errors
/// [`Error::Validation`] if the counts do not add up; [`Error::Limit`]; disk errors.
pub(super) fn finish(
    table: &Triangle,
    graph: &Graph,
    run: &mut Run<'_>,
    counts: &[AtomicU64],
    sum: Sum,
) -> Result<VertexTotals> {
    let (found, direction) = (counts.iter().map(|c| u128::from(c.load(Ordering::Relaxed))).sum(), graph.info.direction);
    let expected = sum.of_vertices(direction);
    if expected != found {
        return Err(Error::Validation(format!("the counts of all vertices add up to {found}, not {expected}")));
    }
    let mut wedges = graph.stored.summary.wedges;
    let clustering = match direction {
        Direction::Directed => {
            let degrees = links::degrees(&graph.block_store, run.threads, graph.info.connected, run.budget)?;
            wedges = DegreeSummary::of(&degrees).wedges;
            if run.is_last { write(table, run, (&degrees, counts, 1))? } else { Clustering::default() }
        }
        // An undirected edge counts as two links, so a triangle adds two links to each corner.
        Direction::Undirected if run.is_last => write(table, run, (graph.degrees()?.body_as_u32()?, counts, 2))?,
        Direction::Undirected => Clustering::default(),
    };
    Ok(VertexTotals { wedges, clustering })
}

/// Writes the columns `triangles` or `links`, `degree` and `clustering`, and returns the clustering coefficients.
/// `each` is the number of links that one count stands for: 2 for triangles, 1 for links.
fn write(
    table: &Triangle,
    run: &mut Run<'_>,
    (degrees, counts, each): (&[u32], &[AtomicU64], u64),
) -> Result<Clustering> {
    let count = |v: Vertex| counts[v.index()].load(Ordering::Relaxed);
    match table.counts_links() {
        true => run.columns.put("links", 0, |v| each * count(v))?,
        false => run.columns.put("triangles", 0, count)?,
    }
    run.columns.put("degree", 0, |v| degrees[v.index()])?;
    run.columns.put("clustering", 0.0, |v| coefficient(degrees[v.index()], each * count(v)))?;
    Ok(Clustering::of(degrees, counts, each))
}

/// Adds up the counters of all ranks on the leader, and sets the counters of the other ranks to zero. Collective.
fn gather(comm: &Comm, counts: &[AtomicU64]) {
    for counts in counts.chunks(1 << 17) {
        let mut some: Vec<u64> = counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        comm.reduce_to_root(&mut some);
        let kept = |sum| if comm.is_leader() { sum } else { 0 };
        counts.iter().zip(some).for_each(|(count, sum)| count.store(kept(sum), Ordering::Relaxed));
    }
}

/// The totals of counting per vertex so far, and the checkpoint that saves them.
struct VertexCheckpoint {
    checkpoint: Checkpoint,
    sum: Sum,
    /// Total counting time of all units in nanoseconds, including earlier runs.
    nanos: u64,
    /// Ids of the units (pairs of blocks) that are counted.
    done: HashSet<u64>,
    /// Number of units of the graph.
    total: u64,
    direction: Direction,
}

impl VertexCheckpoint {
    /// Loads the checkpoint of an earlier run, if any, and copies its counters to `counts`.
    fn load(&mut self, counts: &[AtomicU64]) -> Result<()> {
        let Some(saved) = self.checkpoint.load()? else { return Ok(()) };
        match SavedCounts::read(&saved, counts.len() as u64) {
            Ok(counted) => {
                let cells = counts.iter().zip(counted.counts);
                cells.for_each(|(count, &stored)| count.store(stored, Ordering::Relaxed));
                (self.sum, self.nanos) = (counted.sum, counted.nanos);
                self.done = counted.units.iter().copied().collect();
            }
            Err(e) => tracing::warn!("{e}: counting from the start"),
        }
        Ok(())
    }

    fn take(&mut self, units: &[(u64, PairCount)], nanos: u64) -> Result<()> {
        for &(unit, count) in units {
            self.sum += count;
            self.done.insert(unit);
        }
        self.nanos = nanos;
        let hit = |_| failpoint::hit("unit.done").map_err(|e| Error::io("count a unit", self.checkpoint.path(), e));
        units.iter().try_for_each(hit)
    }

    fn save(&mut self, counts: &[AtomicU64]) -> Result<()> {
        let VertexCheckpoint { sum, nanos, done, .. } = &*self;
        let links = Some(sum.links).filter(|_| self.direction == Direction::Directed);
        let sums = [sum.triangles, sum.probes].into_iter().chain(links);
        let halves = sums.flat_map(|sum| [sum as u64, (sum >> 64) as u64]);
        let sums: Vec<u64> = [*nanos].into_iter().chain(halves).collect();
        let mut units: Vec<u64> = done.iter().copied().collect();
        units.sort_unstable();
        let sections = [bytes_of(&sums), bytes_of(&units), bytes_of(counts)];
        self.checkpoint.save(units.len() as u64, self.total, &sections)
    }
}
