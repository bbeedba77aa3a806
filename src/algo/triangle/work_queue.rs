//! Work queue of a triangle count by several ranks. Rank 0, the leader, hands out work items and keeps the only record
//! of the counted units (pairs of blocks).
//!
//! Every rank asks for its next item and sends the counts of finished items. On the leader, one thread answers requests
//! while other threads count. Messages are cheap compared with the work: an item takes milliseconds, an answer some
//! tens of microseconds.

use crate::algo::triangle::PairCount;
use crate::algo::triangle::units::{self, Backend, Part, PartialUnits, WorkSource};
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::graph::block_store::BlockStore;
use crate::memory::{bytes_of, numbers_of};
use crate::process::backoff::Backoff;
use crate::process::signals;
use crate::process::threads::join;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Callback that the leader calls with the ids and the counts of newly completed units (pairs of blocks).
pub(super) type SaveUnits<'a> = &'a mut (dyn FnMut(&[(u64, PairCount)]) -> Result<()> + Send);
/// Callback that all ranks call at a barrier after each group of resident front blocks.
pub(super) type BetweenGroups<'a> = Option<&'a mut dyn FnMut(RankBarrier) -> Result<()>>;

/// A barrier at which all ranks have arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankBarrier {
    /// Whether this is the last barrier.
    pub(super) is_last: bool,
    /// Whether no unit is partly counted at this barrier. Only the leader's value is meaningful.
    pub(super) is_whole: bool,
}

/// First word of a message to the leader: a request for a work item, counts of parts of units, or arrival at a barrier.
const NEXT: u64 = 0;
const PARTS: u64 = 1;
const BARRIER: u64 = 2;
/// Maximum time that the leader waits for the other ranks at a barrier after the job was asked to stop. A job must end
/// within 8 s after a POSIX signal.
const BARRIER_TIMEOUT: Duration = Duration::from_secs(5);

/// The units (pairs of blocks) of `graph` that are not in `done`, which the ranks of `comm` count together.
pub(super) struct WorkQueue<'a> {
    pub(super) comm: &'a Comm,
    pub(super) graph: &'a BlockStore,
    pub(super) done: &'a HashSet<u64>,
}

impl WorkQueue<'_> {
    /// Counts the units with `backend`. At least one rank must have a backend. The leader passes all counted units to
    /// `keep`. All ranks call `between` at barriers: after each group of front blocks and at the end, when all units
    /// counted so far have been passed to `keep`. If any rank is asked to stop, the leader hands out no more items, and
    /// `between` is called when the items in progress are finished. If `between` is `None`, a rank that is asked to
    /// stop returns at once.
    ///
    /// # Errors
    /// Errors of counting, `keep` and `between`. Other ranks may still be waiting, so the caller must end the job.
    pub(super) fn count(
        &self,
        backend: Option<&mut (dyn Backend + '_)>,
        keep: SaveUnits<'_>,
        between: BetweenGroups<'_>,
    ) -> Result<()> {
        if self.comm.is_leader() { self.lead(backend, keep, between) } else { self.follow(backend, between) }
    }

    fn lead(
        &self,
        backend: Option<&mut (dyn Backend + '_)>,
        keep: SaveUnits<'_>,
        between: BetweenGroups<'_>,
    ) -> Result<()> {
        let coordinator = Coordinator::new(self, keep, between.is_some());
        std::thread::scope(|scope| {
            let answer =
                || std::thread::Builder::new().name("turns".into()).spawn_scoped(scope, || coordinator.answer());
            let answering = (self.comm.ranks() > 1).then(answer).transpose().map_err(|_| Error::thread())?;
            let mut found = |parts: &[Part]| coordinator.take(parts);
            let counted = self.rounds(backend, &coordinator, &mut found, between, &coordinator.calls, &mut |last| {
                coordinator.wait_at_barrier(last)
            });
            *lock(&coordinator.phase) = Phase::Closed;
            let joined = answering.map(join);
            // An error of the coordinator causes other errors, so it is returned first.
            joined.unwrap_or(Ok(())).and(counted)
        })
    }

    fn follow(&self, backend: Option<&mut (dyn Backend + '_)>, between: BetweenGroups<'_>) -> Result<()> {
        let (comm, has_barriers) = (self.comm, between.is_some());
        let mut found = |parts: &[Part]| {
            // Sending few parts at a time keeps messages small.
            for parts in parts.chunks(64) {
                let words = parts.iter().flat_map(|part| {
                    let PairCount { triangles, probes, links } = part.count;
                    [part.front as u64, part.partner as u64, part.pairs, triangles, probes, links]
                });
                comm.send(0, bytes_of(&[PARTS].into_iter().chain(words).collect::<Vec<u64>>()));
            }
            if has_barriers { Ok(()) } else { signals::check() }
        };
        let worker = RemoteWorkSource { comm, has_barriers, one: Mutex::new(()) };
        let mut wait_at_barrier = |last: bool| {
            comm.send(0, bytes_of(&[BARRIER, last.into()]));
            Ok(RankBarrier { is_last: last, is_whole: true })
        };
        self.rounds(backend, &worker, &mut found, between, &Mutex::new(()), &mut wait_at_barrier)
    }

    /// Counts units with `backend`, if this rank has one. All ranks meet at a barrier at the end and, if `between` is
    /// given, after each group of front blocks. `wait_at_barrier` is called when this rank arrives at a barrier, with
    /// true if the rank knows that the barrier is the last one. It must report the arrival to the leader, and on the
    /// leader also wait for all ranks. Every thread holds the lock `calls` while it communicates with other ranks.
    fn rounds(
        &self,
        backend: Option<&mut (dyn Backend + '_)>,
        work_source: &dyn WorkSource,
        found: units::ReportParts<'_>,
        mut between: BetweenGroups<'_>,
        calls: &Mutex<()>,
        wait_at_barrier: &mut dyn FnMut(bool) -> Result<RankBarrier>,
    ) -> Result<()> {
        let counts = backend.is_some();
        let each = between.is_some();
        let mut round = |end| -> Result<bool> {
            let RankBarrier { is_last, is_whole } = wait_at_barrier(end)?;
            let _all_are_here = lock(calls);
            let is_last = self.comm.broadcast(vec![is_last.into()]) == [1];
            between.as_mut().map_or(Ok(()), |between| between(RankBarrier { is_last, is_whole }))?;
            Ok(is_last)
        };
        if let Some(backend) = backend {
            let mut after = || if each { round(false).map(drop) } else { Ok(()) };
            units::run(self.graph, self.done, backend, work_source, found, &mut after)?;
        }
        // A rank without a backend does not know how many groups of front blocks, and so how many barriers, there are.
        while !round(counts || !each)? {}
        Ok(())
    }
}

/// State of a count, as the leader knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The leader hands out work items.
    Counting,
    /// A rank was asked to stop. If ranks stop only at barriers, the leader hands out no more work items.
    Stopping,
    /// All ranks have finished.
    Closed,
    /// The leader failed to answer a message.
    Failed,
}

/// The leader's record of the work items handed out and of the units counted.
struct Coordinator<'a> {
    comm: &'a Comm,
    graph: &'a BlockStore,
    handed_out: Mutex<HashMap<u64, u64>>,
    book: Mutex<(PartialUnits, SaveUnits<'a>)>,
    /// Number of ranks that have arrived at the next barrier, and whether any of them reported it as the last barrier.
    /// Ranks leave a barrier by a broadcast, so none arrives at the following barrier before all have left this one.
    arrivals: Mutex<(usize, bool)>,
    /// Lock that a thread holds while it communicates with other ranks.
    calls: Mutex<()>,
    phase: Mutex<Phase>,
    /// Whether ranks wait for each other at a barrier before they stop.
    has_barriers: bool,
    /// Time at which this rank noticed the request to stop.
    stop_requested_at: OnceLock<Instant>,
}

impl<'a> Coordinator<'a> {
    fn new(queue: &WorkQueue<'a>, keep: SaveUnits<'a>, has_barriers: bool) -> Self {
        Coordinator {
            comm: queue.comm,
            graph: queue.graph,
            handed_out: Mutex::default(),
            book: Mutex::new((PartialUnits::default(), keep)),
            arrivals: Mutex::default(),
            calls: Mutex::default(),
            phase: Mutex::new(Phase::Counting),
            has_barriers,
            stop_requested_at: OnceLock::new(),
        }
    }

    fn take(&self, parts: &[Part]) -> Result<()> {
        let (gathering, keep) = &mut *lock(&self.book);
        let units: Vec<_> = parts.iter().filter_map(|part| gathering.add(self.graph, part)).collect();
        keep(&units)
    }

    /// Answers messages from the other ranks until all ranks have finished.
    fn answer(&self) -> Result<()> {
        let mut backoff = Backoff::default();
        let answered = loop {
            if *lock(&self.phase) == Phase::Closed {
                break Ok(());
            }
            let calls = lock(&self.calls);
            let served = match self.comm.receive() {
                Some((from, message)) => self.serve(from, &numbers_of(&message)).map(|()| true),
                None => Ok(false),
            };
            drop(calls);
            match served {
                Ok(true) => backoff.reset(),
                Ok(false) => backoff.take(),
                Err(e) => break Err(e),
            }
        };
        if answered.is_err() {
            *lock(&self.phase) = Phase::Failed;
        }
        answered
    }

    fn serve(&self, from: usize, message: &[u64]) -> Result<()> {
        match message {
            [NEXT, list, whole, stops] => {
                let mut phase = lock(&self.phase);
                if *stops > 0 && *phase == Phase::Counting {
                    *phase = Phase::Stopping;
                }
                drop(phase);
                self.comm.send(from, bytes_of(&[self.next(*list, *whole)?]));
            }
            [PARTS, parts @ ..] => {
                let part = |&[front, partner, pairs, triangles, probes, links]: &[u64; 6]| {
                    let (front, partner) = (front as usize, partner as usize);
                    Part { front, partner, pairs, count: PairCount { triangles, probes, links } }
                };
                self.take(&parts.as_chunks().0.iter().map(part).collect::<Vec<_>>())?;
            }
            [BARRIER, last] => self.arrive(*last > 0),
            _ => return Err(Error::internal("answer a rank", format!("a message {message:?}"))),
        }
        Ok(())
    }

    fn arrive(&self, last: bool) {
        let (came, is_last) = &mut *lock(&self.arrivals);
        *came += 1;
        *is_last |= last;
    }

    /// Waits until all ranks have arrived at this rank's next barrier.
    fn wait_at_barrier(&self, last: bool) -> Result<RankBarrier> {
        self.arrive(last);
        let mut backoff = Backoff::default();
        while lock(&self.arrivals).0 < self.comm.ranks() {
            self.check_running()?;
            backoff.take();
        }
        let (_, is_last) = std::mem::take(&mut *lock(&self.arrivals));
        Ok(RankBarrier { is_last, is_whole: lock(&self.book).0.is_empty() })
    }
}

impl WorkSource for Coordinator<'_> {
    fn ranks(&self) -> usize {
        self.comm.ranks()
    }

    fn next(&self, list: u64, whole: u64) -> Result<u64> {
        self.check_running()?;
        let stopping =
            self.has_barriers && (*lock(&self.phase) == Phase::Stopping || signals::stop_requested().is_some());
        let mut handed_out = lock(&self.handed_out);
        let turn = handed_out.entry(list).or_default();
        if stopping && turn.is_multiple_of(whole) {
            return Ok(u64::MAX);
        }
        *turn += 1;
        Ok(*turn - 1)
    }

    fn check_running(&self) -> Result<()> {
        if let Err(stopped) = signals::check()
            && (!self.has_barriers || self.stop_requested_at.get_or_init(Instant::now).elapsed() > BARRIER_TIMEOUT)
        {
            return Err(stopped);
        }
        match *lock(&self.phase) {
            Phase::Failed => Err(Error::internal("count with other ranks", "an answer failed")),
            _ => Ok(()),
        }
    }
}

/// A worker rank's connection to the coordinator.
struct RemoteWorkSource<'a> {
    comm: &'a Comm,
    /// Whether ranks wait for each other at a barrier before they stop.
    has_barriers: bool,
    /// Lock that a thread holds during a request, so that there is one request at a time.
    one: Mutex<()>,
}

impl WorkSource for RemoteWorkSource<'_> {
    fn ranks(&self) -> usize {
        self.comm.ranks()
    }

    fn next(&self, list: u64, whole: u64) -> Result<u64> {
        let _one = lock(&self.one);
        self.comm.send(0, bytes_of(&[NEXT, list, whole, signals::stop_requested().is_some().into()]));
        let mut backoff = Backoff::default();
        loop {
            if let Some((_, answer)) = self.comm.receive() {
                let wrong = || Error::internal("ask for a turn", "an empty answer");
                return numbers_of(&answer).first().copied().ok_or_else(wrong);
            }
            if !self.has_barriers {
                signals::check()?;
            }
            backoff.take();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
