//! State of a shortest-path search that all its threads share, and functions that synchronize the threads.

use super::SortedGraph;
use super::arithmetic::Arithmetic;
use super::bins::{DistanceBins, NearerVertex};
use crate::algo::searches::ranks::RankExchange;
use crate::algo::sssp::WeightedEdges;
use crate::algo::sssp::options::Method;
use crate::algo::sssp::ranks::NearerExchange;
use crate::algo::sssp::search::SearchPhase;
use crate::algo::team::barrier::Barrier;
use crate::algo::team::serial_policy;
use crate::error::Result;
use crate::graph::ids::Vertex;
use crate::process::signals;
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// Number of vertices that a thread claims at a time, if rows are in memory.
const PART: usize = 1 << 10;
/// Number of vertices that a thread claims at a time, if rows are on a disk. It is larger than for rows in memory,
/// because a thread requests the rows of all these vertices before it reads any of them.
const PART_ON_DISK: usize = 1 << 14;

/// State of a running search for shortest paths, shared by its threads.
pub struct PathWalk<'s, A: Arithmetic> {
    /// The graph to search.
    pub graph: &'s SortedGraph,
    /// Smallest distance found so far for each vertex.
    pub sums: &'s [A::Cell],
    /// 64-bit weights, indexed by the codes that rows contain instead of weights. Empty for 32-bit weights.
    pub values: &'s [u64],
    /// Root of the search.
    pub root: u32,
    /// Number of threads.
    pub threads: usize,
    /// The buckets of each thread.
    bins: &'s [Mutex<DistanceBins<A::Sum>>],
    /// For each thread, its entries in the bucket that the current round processes. An entry is a vertex to push from.
    pub lists: Vec<BucketList<A::Sum>>,
    /// For the current round and the next: the first bucket that has an entry, in the encoding of
    /// [`NextRound::number`].
    pub next: [AtomicU64; 2],
    /// For the current round and the next: number of edges of the vertices in the bucket that the round processes.
    pub edges: [AtomicU64; 2],
    /// Number of edges in a round from which all threads work on it. A round with fewer edges is left to one thread.
    pub bound: AtomicU64,
    /// The round of pushing with which all threads continue after the first thread worked alone.
    pub next_round: Mutex<NextRound>,
    /// Smallest distance in the wide bucket (the bucket with very many edges, before which pushing ended), as a word of
    /// [`Arithmetic::to_word`].
    pub least: AtomicU64,
    /// Method of the search.
    pub method: Method,
    pub(super) barrier: Barrier,
    /// Sequence number of the first barrier at which threads end the search because a thread failed; `usize::MAX` until
    /// then.
    stop: AtomicUsize,
    /// For the current round over all vertices and the next: number of vertices that threads have claimed.
    parts: [AtomicUsize; 2],
    /// For the current round over all vertices and the next: number of vertices whose distances became smaller.
    changed: [AtomicU64; 2],
    relaxations: AtomicU64,
    pub(super) findings: Mutex<Findings<A::Sum>>,
    pub(super) ranks: Option<OtherRanks<'s, A::Sum>>,
}

/// Communication with the other ranks. Only the first thread uses it.
pub(super) struct OtherRanks<'s, S> {
    pub exchange: Mutex<&'s mut NearerExchange>,
    pub edges: &'s WeightedEdges<'s>,
    /// For each thread, the vertices whose distances this thread decreased.
    nearer: Mutex<Vec<Vec<NearerVertex<S>>>>,
}

/// The bucket entries of one thread that the current round processes. An entry is a vertex to push from. Any thread may
/// process some of the entries.
pub struct BucketList<S> {
    /// The entries of the thread in the current bucket.
    pub entries: RwLock<Vec<NearerVertex<S>>>,
    /// Number of entries that threads have claimed so far.
    pub taken: AtomicUsize,
}

/// Results of all threads: statistics of the completed phases of a search, and counts of the reached vertices.
pub(super) struct Findings<S> {
    pub phases: Vec<SearchPhase>,
    begun: Instant,
    relaxations: u64,
    pub reached: ReachedVertices<S>,
}

impl<S: Default> Findings<S> {
    fn new() -> Findings<S> {
        Findings { phases: Vec::new(), begun: Instant::now(), relaxations: 0, reached: ReachedVertices::default() }
    }
}

/// Progress of one thread in a search. All threads take the same steps in the same order.
pub struct ThreadState {
    /// Index of the thread.
    pub thread: usize,
    /// Number of rounds of pushing that the thread has begun.
    pub round: usize,
    /// Number of rounds over all vertices that the thread has begun.
    sweeps: usize,
    barriers: usize,
    /// Whether this thread works alone while the others wait. It is true only for the first thread.
    pub is_alone: bool,
    /// The first error that occurred in the thread, if any.
    pub outcome: Result<()>,
}

impl ThreadState {
    /// Returns the state of the thread with index `thread` at the beginning of a search.
    pub fn new(thread: usize) -> ThreadState {
        ThreadState { thread, round: 0, sweeps: 0, barriers: 0, is_alone: false, outcome: Ok(()) }
    }

    /// Stores the error in `outcome`, if any, unless this thread already has an error. After an error, all threads end
    /// the search at the next barrier.
    pub fn note(&mut self, outcome: Result<()>) {
        if self.outcome.is_ok() {
            self.outcome = outcome;
        }
    }
}

impl<'s, A: Arithmetic> PathWalk<'s, A> {
    /// Creates the shared state of a search from `root`. The search has one thread for each element of `bins`.
    pub fn new(
        graph: &'s SortedGraph,
        sums: &'s [A::Cell],
        Vertex(root): Vertex,
        method: Method,
        bins: &'s [Mutex<DistanceBins<A::Sum>>],
        ranks: Option<(&'s mut NearerExchange, &'s WeightedEdges<'s>)>,
    ) -> PathWalk<'s, A> {
        let threads = bins.len();
        let ranks = ranks.map(|(exchange, edges)| OtherRanks {
            exchange: Mutex::new(exchange),
            edges,
            nearer: Mutex::new((0..threads).map(|_| Vec::new()).collect()),
        });
        PathWalk {
            graph,
            sums,
            values: graph.values.bits(),
            root,
            threads,
            bins,
            lists: (0..threads)
                .map(|_| BucketList { entries: RwLock::default(), taken: AtomicUsize::new(0) })
                .collect(),
            next: [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)],
            edges: Default::default(),
            bound: AtomicU64::new(serial_policy::LEAST),
            next_round: Mutex::default(),
            least: AtomicU64::new(A::to_word(A::UNREACHED)),
            method,
            barrier: Barrier::new(threads),
            stop: AtomicUsize::new(usize::MAX),
            parts: Default::default(),
            changed: Default::default(),
            relaxations: AtomicU64::new(0),
            findings: Mutex::new(Findings::new()),
            ranks,
        }
    }

    /// Locks the buckets of the thread with index `thread`. While the first thread works alone, it holds the locks of
    /// all threads' buckets.
    pub fn bins(&self, thread: usize) -> MutexGuard<'_, DistanceBins<A::Sum>> {
        self.bins[thread].lock()
    }

    /// Waits at a barrier for all threads, unless this thread works alone. Returns false if a thread has failed. All
    /// threads must then end the search.
    pub fn wait(&self, here: &mut ThreadState) -> bool {
        if here.thread == 0 {
            here.note(signals::check());
        }
        if here.is_alone && here.outcome.is_ok() {
            return true;
        }
        here.is_alone = false;
        here.barriers += 1;
        if here.outcome.is_err() {
            self.stop.fetch_min(here.barriers, Relaxed);
        }
        self.barrier.wait();
        self.stop.load(Relaxed) > here.barriers
    }

    /// Returns true if several ranks search together.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        self.ranks.is_some()
    }

    /// Combines the values of `number` on all ranks with `combine`, such as a sum, and stores the result in `number`.
    /// Returns false if an error or a POSIX signal ends the search. All threads of all ranks must call it.
    pub fn reduce(
        &self,
        here: &mut ThreadState,
        number: &AtomicU64,
        combine: impl Fn(&mut RankExchange, u64) -> Result<u64>,
    ) -> bool {
        let Some(ranks) = &self.ranks else { return true };
        if here.thread == 0 {
            let mut exchange = ranks.exchange.lock();
            here.note(
                combine(&mut exchange.ranks, number.load(Relaxed))
                    .map(|number_of_all| number.store(number_of_all, Relaxed)),
            );
        }
        self.wait(here)
    }

    /// Returns the smallest distance in the wide bucket, the bucket with very many edges before which pushing ended.
    pub fn least(&self) -> A::Sum {
        A::of_word(self.least.load(Relaxed))
    }

    /// Exchanges the vertices whose distances became smaller between the ranks. Does nothing in a single process.
    /// `nearer` contains the vertices whose distances this thread decreased. The first thread sends the vertices of all
    /// threads to the other ranks, and calls `current` with each vertex, sent or received, that this rank owns. Returns
    /// false if an error or a POSIX signal ends the search. All threads of all ranks must call it.
    pub fn share(
        &self,
        here: &mut ThreadState,
        nearer: &mut Vec<NearerVertex<A::Sum>>,
        current: impl FnMut(NearerVertex<A::Sum>),
    ) -> bool {
        let Some(ranks) = &self.ranks else { return true };
        let lock = || ranks.nearer.lock();
        lock()[here.thread].clone_from(nearer);
        if !self.wait(here) {
            return false;
        }
        if here.thread == 0 {
            let mut exchange = ranks.exchange.lock();
            here.note(exchange.share_nearer::<A>(self.sums, &lock(), current));
            // The first thread may work alone in the next round.
            lock().iter_mut().for_each(Vec::clear);
        }
        self.wait(here)
    }

    /// Divides the vertices `all` into parts, which the threads claim one after another. Calls `work` with each part.
    /// Returns the sum of the results of `work` over all threads and ranks, or `None` if an error or a POSIX signal
    /// ends the search. All threads of all ranks must call it.
    pub fn round(
        &self,
        here: &mut ThreadState,
        all: Range<u32>,
        mut work: impl FnMut(Range<u32>) -> u64,
    ) -> Option<u64> {
        let (parts, changed) = (&self.parts[here.sweeps & 1], &self.changed[here.sweeps & 1]);
        let mut sum = 0;
        let size = if self.graph.out.is_on_disk() { PART_ON_DISK } else { PART };
        loop {
            let first = all.start as usize + parts.fetch_add(size, Relaxed);
            if first >= all.end as usize {
                break;
            }
            sum += work(first as u32..(first + size).min(all.end as usize) as u32);
        }
        changed.fetch_add(sum, Relaxed);
        if !self.wait(here) {
            return None;
        }
        if !self.reduce(here, changed, RankExchange::sum) {
            return None;
        }
        let sum = changed.load(Relaxed);
        if here.thread == 0 {
            // All threads have left the previous round, so its counters can be cleared for the next.
            self.parts[(here.sweeps + 1) & 1].store(0, Relaxed);
            self.changed[(here.sweeps + 1) & 1].store(0, Relaxed);
        }
        here.sweeps += 1;
        // The next round may begin only when its counters are zero.
        self.wait(here).then_some(sum)
    }

    /// Like [`Self::round`], but the first thread does all the work while the other threads sleep. All threads must
    /// call it.
    pub fn round_alone(
        &self,
        here: &mut ThreadState,
        all: Range<u32>,
        work: impl FnMut(Range<u32>) -> u64,
    ) -> Option<u64> {
        let changed = &self.changed[here.sweeps & 1];
        if here.thread == 0 {
            here.is_alone = true;
            self.round(here, all, work)?;
            here.is_alone = false;
        } else {
            here.sweeps += 1;
        }
        self.wait(here).then(|| changed.load(Relaxed))
    }

    /// Ends the phase called `kind`, in which this thread relaxed `relaxed` edges. Returns false if an error or a POSIX
    /// signal ends the search. All threads must call it.
    pub fn end_phase(&self, here: &mut ThreadState, kind: &str, rounds: u64, relaxed: u64) -> bool {
        self.relaxations.fetch_add(relaxed, Relaxed);
        if !self.wait(here) {
            return false;
        }
        if here.thread == 0 {
            let mut findings = self.findings.lock();
            let all = self.relaxations.load(Relaxed);
            let relaxations = all - std::mem::replace(&mut findings.relaxations, all);
            let seconds = std::mem::replace(&mut findings.begun, Instant::now()).elapsed().as_secs_f64();
            findings.phases.push(SearchPhase { kind: kind.into(), rounds, relaxations, seconds });
        }
        self.wait(here)
    }

    /// Returns the statistics of phases and the counts of reached vertices that threads have recorded so far, and
    /// resets both.
    pub(super) fn take_findings(&self) -> Findings<A::Sum> {
        std::mem::replace(&mut *self.findings.lock(), Findings::new())
    }

    /// Adds a thread's counts of reached vertices to the totals over all threads.
    pub fn add(&self, reached: ReachedVertices<A::Sum>) {
        let mut findings = self.findings.lock();
        findings.reached.add(reached);
    }
}

/// The next round of pushing, which is the same for all threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct NextRound {
    /// Index of the bucket that the round processes, plus 1. It is 0 if memory is too small for buckets, and `u64::MAX`
    /// if no bucket has entries.
    pub number: u64,
    /// Number of edges of the vertices in the bucket. If pushing must end before a wide bucket, this is the sum over
    /// all ranks.
    pub edges: u64,
}

impl NextRound {
    /// Returns true if no round follows: memory is too small for buckets, or no bucket with an index below `last` has
    /// an entry.
    pub fn is_over(&self, last: u64) -> bool {
        self.number == 0 || self.number > last
    }
}

/// Counts of the reached vertices among the vertices that one thread processed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReachedVertices<S> {
    /// Number of reached vertices.
    pub vertices: u64,
    /// Largest distance of a reached vertex.
    pub farthest: S,
    /// Reached vertices that have no parent yet, because they are reached only by edges that add nothing to the
    /// distance.
    pub without: Vec<u32>,
}

impl<S: Copy + Ord> ReachedVertices<S> {
    /// Counts a reached vertex at distance `sum`.
    #[inline]
    pub fn note(&mut self, sum: S) {
        self.vertices += 1;
        self.farthest = self.farthest.max(sum);
    }

    /// Adds the counts of the other ranks, and the numbers of edges that they relaxed in each phase. Collective: all
    /// ranks must call it.
    ///
    /// # Errors
    /// Communication errors.
    pub fn of_all<A: Arithmetic<Sum = S>>(
        &mut self,
        exchange: &mut RankExchange,
        phases: &mut [SearchPhase],
    ) -> Result<()> {
        self.vertices = exchange.sum(self.vertices)?;
        self.farthest = A::of_word(u64::MAX - exchange.all_min(u64::MAX - A::to_word(self.farthest))?);
        for phase in phases {
            phase.relaxations = exchange.sum(phase.relaxations)?;
        }
        Ok(())
    }

    /// Adds the counts of the vertices that another thread reached.
    pub fn add(&mut self, other: ReachedVertices<S>) {
        self.vertices += other.vertices;
        self.farthest = self.farthest.max(other.farthest);
        self.without.extend(other.without);
    }
}
