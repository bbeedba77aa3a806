//! Counting triangles per vertex: counts of all vertices in memory, saved as a whole together with the units in them.
//!
//! A unit changes many counters, so a journal of units is not enough to resume: the checkpoint holds the counters and
//! which units they contain, as one sealed file that replaces the one before.

use super::graph::Graph;
use super::together::{Between, Together};
use super::triangle::{Trial, backend, units_folder};
use crate::algo::triangle::PairCount;
use crate::algo::triangle::driver::Sum;
use crate::comm::Comm;
use crate::error::{At, Error, Result};
use crate::failpoint;
use crate::memory::{Buffer, bytes_of};
use crate::process::progress::StageProgress;
use crate::process::signals;
use crate::store::file::{Kind, NewFile};
use crate::store::map::Mapped;
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

const CORNERS: Kind = Kind::new(b"CORN");
/// Words before the units: their number, nanoseconds, and triangles and probes in two halves each.
const HEAD: usize = 6;
/// Least time between checkpoints.
const INTERVAL: Duration = Duration::from_secs(30);
/// A checkpoint may take this part of the time at most.
const SHARE: u32 = 20;
/// After a signal the unit at work may end, for so long: only between units do the counters make a checkpoint.
const GRACE: Duration = Duration::from_secs(3);

/// How far a count has come.
#[derive(Debug, Default)]
struct State {
    sum: Sum,
    nanos: u64,
    done: HashSet<u64>,
}

/// Counts all units with their corners; returns the sum, seconds, and the counts in the order of vertices.
///
/// # Errors
/// [`Error::Limit`] for 8 bytes a vertex; those of counting and of the disk.
pub(super) fn count(trial: &Trial<'_>, progress: &StageProgress) -> Result<(Sum, f64, Buffer<AtomicU64>)> {
    let (session, graph): (_, &Graph) = (trial.session, trial.graph);
    let path = session.job.workdir.join("units").join(format!("corners.{}", trial.trial));
    let vertices = graph.facts.connected as usize;
    let counts: Buffer<AtomicU64> = session.budget.zeroed(vertices, "counts of all vertices (8 bytes each)")?;
    let comm = &session.comm;
    let mut state = State::default();
    if comm.leads() {
        units_folder(session)?;
        state = match load(&path, trial.key, &counts) {
            Ok(state) => state,
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => State::default(),
            Err(e @ Error::Corrupt { .. }) => {
                tracing::warn!("{e}: counting from the start");
                State::default()
            }
            Err(e) => return Err(e),
        };
        progress.resume_at(state.done.len() as u64);
    }
    let done = session.agreed(|| Ok(state.done.clone()))?;

    let asked = OnceLock::new();
    let stop = || signals::stop_requested().filter(|_| asked.get_or_init(Instant::now).elapsed() > GRACE);
    let started = Instant::now();
    let before = state.nanos;
    let mut counter = session.counter(&graph.catalogue, vertices as u64, Some(&counts), &stop)?;
    let checkpoints = Mutex::new(Checkpoints { trial, path: &path, state, saved: Instant::now(), pause: INTERVAL });
    let alone = comm.ranks() == 1;
    let keep = &mut |units: &[(u64, PairCount)]| {
        let mut checkpoints = checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        checkpoints.take(units, before + started.elapsed().as_nanos() as u64)?;
        progress.advance(units.len() as u64);
        if !alone {
            return Ok(());
        }
        let stopped = signals::check();
        if stopped.is_err() || checkpoints.are_due() {
            checkpoints.save(&counts)?;
        }
        stopped
    };
    // With several ranks, counters and units agree only when all have met, and no unit has been counted in part.
    let mut meet = |last: bool, whole: bool| -> Result<()> {
        let mut checkpoints = checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let (due, stops) = (checkpoints.are_due(), signals::stop_requested().is_some());
        let mut wanted = [u64::from(comm.leads() && due), u64::from(stops)];
        comm.all_max(&mut wanted);
        if last || wanted != [0, 0] {
            gather(comm, &counts);
        }
        if comm.leads() && wanted != [0, 0] && whole {
            checkpoints.save(&counts)?;
        }
        if wanted[1] == 0 {
            return Ok(());
        }
        // A rank that stops ends the job for all: it waits for who saves.
        comm.barrier();
        Err(Error::Stopped(signals::stop_requested().unwrap_or("a signal to another rank")))
    };
    let between: Between<'_> = if alone { None } else { Some(&mut meet) };
    Together { comm, graph: &graph.catalogue, done: &done }.count(backend(&mut counter), keep, between)?;
    drop(counter);
    let checkpoints = checkpoints.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Results take their time to write: a stop meanwhile must not cost the count.
    if comm.leads() && started.elapsed() > INTERVAL {
        checkpoints.write(&counts)?;
    }
    let State { sum, nanos, .. } = checkpoints.state;
    let (sum, seconds) = session.agreed(|| Ok((sum, nanos as f64 / 1e9)))?;
    Ok((sum, seconds, counts))
}

/// Adds the counters of all ranks to the leader's; the others begin at zero again.
fn gather(comm: &Comm, counts: &[AtomicU64]) {
    for counts in counts.chunks(1 << 17) {
        let mut some: Vec<u64> = counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        comm.reduce_to_root(&mut some);
        let kept = |sum| if comm.leads() { sum } else { 0 };
        counts.iter().zip(some).for_each(|(count, sum)| count.store(kept(sum), Ordering::Relaxed));
    }
}

/// What is counted so far, saved now and then.
struct Checkpoints<'a> {
    trial: &'a Trial<'a>,
    path: &'a Path,
    state: State,
    saved: Instant,
    pause: Duration,
}

impl Checkpoints<'_> {
    fn take(&mut self, units: &[(u64, PairCount)], nanos: u64) -> Result<()> {
        for &(unit, count) in units {
            self.state.sum += count;
            self.state.done.insert(unit);
        }
        self.state.nanos = nanos;
        let hit = |_| failpoint::hit("unit.done").map_err(|e| Error::io("count a unit", self.path, e));
        units.iter().try_for_each(hit)
    }

    fn are_due(&self) -> bool {
        self.saved.elapsed() > self.pause
    }

    fn save(&mut self, counts: &[AtomicU64]) -> Result<()> {
        let begun = Instant::now();
        self.write(counts)?;
        (self.saved, self.pause) = (Instant::now(), INTERVAL.max(begun.elapsed() * SHARE));
        Ok(())
    }

    fn write(&self, counts: &[AtomicU64]) -> Result<()> {
        save(self.path, self.trial.key, &self.state, counts)
    }
}

fn save(path: &Path, key: u64, state: &State, counts: &[AtomicU64]) -> Result<()> {
    let mut file = NewFile::create(path, CORNERS, key)?;
    let halves = |x: u128| [x as u64, (x >> 64) as u64];
    file.write(bytes_of(&[state.done.len() as u64, state.nanos]))?;
    file.write(bytes_of(&[halves(state.sum.triangles), halves(state.sum.probes)].concat()))?;
    let mut units: Vec<u64> = state.done.iter().copied().collect();
    units.sort_unstable();
    file.write(bytes_of(&units))?;
    file.write(bytes_of(counts))?;
    file.finish().map(drop)
}

/// A checkpoint seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peek {
    /// Units in it.
    pub units: u64,
    /// Triangles of these units.
    pub triangles: u128,
    /// Sum of all counters.
    pub corners: u128,
}

/// Reads all of a checkpoint for `vertices` vertices.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`].
pub(super) fn peek(path: &Path, key: u64, vertices: u64) -> Result<Peek> {
    let file = Mapped::open(path, CORNERS, key)?;
    file.verify_checksum()?;
    let words = file.body_as_u64()?;
    let units = words.first().copied().unwrap_or(0);
    if words.len() < HEAD || (words.len() - HEAD) as u64 != units.saturating_add(vertices) {
        let what = format!("{} words are no checkpoint of {units} units", words.len());
        return Err(Error::corrupt(path, At::File, what));
    }
    let triangles = u128::from(words[2]) | (u128::from(words[3]) << 64);
    let corners = words[HEAD + units as usize..].iter().map(|&count| u128::from(count)).sum();
    Ok(Peek { units, triangles, corners })
}

fn load(path: &Path, key: u64, counts: &[AtomicU64]) -> Result<State> {
    let file = Mapped::open(path, CORNERS, key)?;
    file.verify_checksum()?;
    let words = file.body_as_u64()?;
    let units = words.first().copied().unwrap_or(0) as usize;
    if words.len() < HEAD || words.len() - HEAD != units.saturating_add(counts.len()) {
        return Err(Error::corrupt(
            path,
            At::File,
            format!("{} words are no checkpoint of {units} units", words.len()),
        ));
    }
    for (count, &stored) in counts.iter().zip(&words[HEAD + units..]) {
        count.store(stored, Ordering::Relaxed);
    }
    let whole = |low: u64, high: u64| u128::from(low) | (u128::from(high) << 64);
    let sum = Sum { triangles: whole(words[2], words[3]), probes: whole(words[4], words[5]) };
    Ok(State { sum, nanos: words[1], done: words[HEAD..HEAD + units].iter().copied().collect() })
}
