//! Counts all triangles of a graph in units, which are pairs of blocks. The count of each unit is appended to a
//! journal.

use crate::algo::triangle::cpu::Cpu;
use crate::algo::triangle::gpu::{Counted, Gpu};
use crate::algo::triangle::output::PairTimes;
use crate::algo::triangle::per_edge::{EdgeGroups, SupportFiles};
use crate::algo::triangle::units::{self, Backend, Stop, Sum};
use crate::algo::triangle::work_queue::WorkQueue;
use crate::algo::triangle::{PairCount, merged_rows};
use crate::algo::{ChosenDevice, Run};
use crate::comm::on_leader;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::block_store::BlockStore;
use crate::graph::direction::Direction;
use crate::prepare::prepared::Graph;
use crate::process::progress::StageProgress;
use crate::process::signals;
use crate::store::journal::{Journal, Record};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// Size in bytes of the count of a unit in the journal: triangles, tested wedges and nanoseconds, 8 bytes each.
pub(super) const RESULT_BYTES: u64 = 24;

/// Counts the units (pairs of blocks) that are not in the journal. Returns the sum over all units, the counting time of
/// all units in seconds (including earlier runs), and the time of each unit. If `per_edge` is given, also counts
/// triangles per edge and writes these counts to files.
///
/// # Errors
/// Errors of counting and of the disk.
pub(super) fn count(graph: &Graph, run: &Run<'_>, per_edge: Option<&SupportFiles>) -> Result<(Sum, f64, PairTimes)> {
    let comm = run.comm;
    let (mut book, done) = match comm.is_leader() {
        true => UnitJournal::open(run, &graph.block_store, per_edge).map(|(book, done)| (Some(book), done))?,
        false => (None, Vec::new()),
    };
    let done: HashSet<u64> = on_leader(comm, || Ok(done))?.into_iter().collect();
    let stop = signals::stop_requested;
    let mut counter: Option<Box<dyn Backend + '_>> = match per_edge {
        Some(files) => {
            EdgeGroups::new(graph, run, files, &done, &stop)?.map(|groups| -> Box<dyn Backend> { Box::new(groups) })
        }
        None => counter(graph, run, (None, true), &stop)?.backend,
    };
    let queue = WorkQueue { comm, graph: &graph.block_store, done: &done };
    let keep = &mut |units: &[(u64, PairCount)]| book.as_mut().map_or(Ok(()), |book| book.keep(units));
    let counted = queue.count(counter.as_deref_mut(), keep, None);
    drop(counter);
    let sum = book.map_or(Ok(None), |book| book.close().map(Some));
    counted?;
    let (sum, blocks) = (sum?, graph.block_store.len());
    on_leader(comm, || {
        let (sum, seconds, units, pairs) = sum.ok_or_else(|| Error::internal("sum up", "the leader has no book"))?;
        match units::total(blocks) {
            all if units == all => Ok((sum, seconds, pairs)),
            all => Err(Error::Validation(format!("{units} of {all} pairs of blocks were counted"))),
        }
    })
}

/// The device with which a rank counts, and the rows that it counts.
pub(super) struct RankCounter<'a> {
    /// The device that counts; `None` if other ranks have GPUs and this one does not.
    pub(super) backend: Option<Box<dyn Backend + 'a>>,
    /// The merged rows of a directed graph, which a GPU counts; `None` if the backend counts the rows of the graph
    /// itself, or nothing.
    pub(super) merged: Option<BlockStore>,
}

/// Creates the backend that counts the triangles of `graph`. If `per_vertex` is given, the backend also counts the
/// triangles of each vertex, or in a directed graph the links (directed edges between its neighbours). `is_left` says
/// whether any unit is left to count. Collective.
///
/// # Errors
/// [`Error::Limit`], [`Error::Lost`]; disk errors.
pub(super) fn counter<'a>(
    graph: &Graph,
    run: &Run<'a>,
    (per_vertex, is_left): (Option<&'a [AtomicU64]>, bool),
    stop: Stop<'a>,
) -> Result<RankCounter<'a>> {
    let (blocks, vertices, devices) = (&graph.block_store, graph.info.connected, run.devices);
    let all_alike = |mut cpu: Cpu<'a>| -> Box<dyn Backend + 'a> {
        // All ranks must keep the same front blocks resident.
        run.comm.all_min(std::slice::from_mut(cpu.resident()));
        Box::new(cpu)
    };
    if let (Direction::Directed, Some(links)) = (graph.info.direction, per_vertex) {
        let gpu = |lease| {
            // The bound on the longest row of the graph also holds for merged rows.
            let mut gpu = Gpu::new(blocks, vertices, lease, Counted::Links, stop)?;
            let build = || merged_rows::build(blocks, (&run.units.files()?, run.units.key), run.threads, run.budget);
            let merged = is_left.then(build).transpose()?;
            merged.as_ref().map_or(Ok(()), |rows| gpu.place_blocks(rows, per_vertex, None))?;
            let backend: Box<dyn Backend> = Box::new(gpu);
            Ok(RankCounter { backend: Some(backend), merged })
        };
        let cpu = || {
            let cpu = Cpu::of_links(blocks, run.threads, run.budget, links, stop)?;
            Ok(RankCounter { backend: Some(all_alike(cpu)), merged: None })
        };
        return devices.choose_alone(blocks.is_local(), gpu, |counter| *counter, cpu);
    }
    let counted = if per_vertex.is_some() { Counted::Vertices } else { Counted::Total };
    let gpu = |lease| Gpu::new(blocks, vertices, lease, counted, stop);
    let cpu = || Cpu::new(blocks, vertices, run.threads, run.budget, per_vertex, stop);
    let backend: Option<Box<dyn Backend>> = match devices.choose(blocks.is_local(), gpu, cpu)? {
        ChosenDevice::Gpu(mut gpu) => {
            gpu.place_blocks(blocks, per_vertex, devices.peers.reachable())?;
            Some(Box::new(gpu))
        }
        ChosenDevice::Cpu(cpu) => Some(all_alike(cpu)),
        ChosenDevice::Nothing => None,
    };
    Ok(RankCounter { backend, merged: None })
}

/// The journal of counted units (pairs of blocks), and the sums over the units in it.
struct UnitJournal<'a> {
    journal: Journal,
    folder: PathBuf,
    sum: Sum,
    nanos: u64,
    units: u64,
    pairs: PairTimes,
    last: Instant,
    progress: &'a StageProgress,
}

impl<'a> UnitJournal<'a> {
    /// Opens the journal and adds up its units. Returns the journal and the ids of these units. If `per_edge` is given,
    /// leaves out units whose partner block has no stored counts per edge.
    fn open(run: &Run<'a>, graph: &BlockStore, per_edge: Option<&SupportFiles>) -> Result<(Self, Vec<u64>)> {
        let (journal, mut records) = run.units.journal()?;
        let blocks = graph.len();
        if let Some(files) = per_edge {
            let done = files.done(graph, &records.iter().map(|record| record.unit).collect());
            records.retain(|record| done.get(units::blocks_of(record.unit).1 as usize) == Some(&true));
        }
        let (mut sum, mut nanos, mut pairs) = (Sum::default(), 0, PairTimes::new(blocks));
        for record in &records {
            let wrong = || Error::internal("read the journal", format!("a result of {} bytes", record.result.len()));
            let [triangles, probes, spent] = record.words().ok_or_else(wrong)?;
            sum += PairCount { triangles, probes, links: 0 };
            nanos += spent;
            pairs.add(record.unit, spent);
        }
        run.progress.resume_at(records.len() as u64);
        let done: Vec<u64> = records.iter().map(|record| record.unit).collect();
        let (units, folder) = (done.len() as u64, run.units.folder.to_owned());
        Ok((
            UnitJournal { journal, folder, sum, nanos, units, pairs, last: Instant::now(), progress: run.progress },
            done,
        ))
    }

    fn keep(&mut self, units: &[(u64, PairCount)]) -> Result<()> {
        let now = Instant::now();
        let mut left = (now - self.last).as_nanos() as u64;
        // Time spent on parts that complete no unit is added to the next units that are completed.
        self.last = if units.is_empty() { self.last } else { now };
        // The time of units that were counted together is divided equally among them.
        let records = units.iter().enumerate().map(|(i, &(unit, count))| {
            let spent = left / (units.len() - i) as u64;
            left -= spent;
            (spent, Record::of_words(unit, &[count.triangles, count.probes, spent]))
        });
        let (times, records): (Vec<u64>, Vec<Record>) = records.unzip();
        if !records.is_empty() {
            self.journal.append(&records)?;
        }
        for (spent, &(unit, count)) in times.into_iter().zip(units) {
            failpoint::hit("unit.done").map_err(|e| Error::io("count a unit", &self.folder, e))?;
            self.sum += count;
            self.nanos += spent;
            self.pairs.add(unit, spent);
            self.units += 1;
            self.progress.advance(1);
        }
        signals::check()
    }

    /// Syncs the journal to disk. Returns the sum over all units, their time in seconds, their number, and the time of
    /// each unit.
    fn close(mut self) -> Result<(Sum, f64, u64, PairTimes)> {
        self.journal.sync()?;
        Ok((self.sum, self.nanos as f64 / 1e9, self.units, self.pairs))
    }
}
