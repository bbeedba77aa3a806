//! State of a search that its threads share, and how they proceed together.

use super::SortedGraph;
use super::arithmetic::Arithmetic;
use super::bins::{DistanceBins, NearerVertex};
use crate::algo::searches::ranks::RankExchange;
use crate::algo::sssp::WeightedEdges;
use crate::algo::sssp::options::Method;
use crate::algo::sssp::ranks::exchange::NearerExchange;
use crate::algo::sssp::search::SearchPhase;
use crate::algo::team::barrier::Barrier;
use crate::algo::team::narrow;
use crate::error::Result;
use crate::graph::ids::Vertex;
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

/// Vertices that a thread takes at a time, for rows in memory and for rows on a disk. On a disk the part is larger,
/// because the rows of a whole part are requested before the thread waits for any.
const PART: usize = 1 << 10;
const PART_ON_DISK: usize = 1 << 14;

/// A search in progress.
pub struct PathWalk<'s, A: Arithmetic> {
    /// The graph that is searched.
    pub graph: &'s SortedGraph,
    /// The distances of all vertices found so far.
    pub sums: &'s [A::Cell],
    /// The root of the search.
    pub root: u32,
    /// The number of threads.
    pub threads: usize,
    /// The buckets of each thread.
    bins: &'s [Mutex<DistanceBins<A::Sum>>],
    /// For each thread, the entries that it has in the bucket of this round.
    pub lists: Vec<BucketList<A::Sum>>,
    /// For this round and for the next: the number of the first bucket that has an entry, plus 1.
    pub next: [AtomicU64; 2],
    /// For this round and for the next: the edges of the vertices in the bucket.
    pub edges: [AtomicU64; 2],
    /// Number of edges from which on all threads take part in a round.
    pub bound: AtomicU64,
    /// The round that all threads begin together after the first thread worked alone.
    pub next_round: Mutex<NextRound>,
    /// The smallest distance among the entries that were put back into buckets, as a word of [`Arithmetic::to_word`].
    pub least: AtomicU64,
    /// The method of the search.
    pub method: Method,
    pub(super) barrier: Barrier,
    /// Number of the first barrier at which threads stop.
    stop: AtomicUsize,
    /// For this round and for the next: vertices that threads have taken.
    parts: [AtomicUsize; 2],
    /// For this round and for the next: vertices that became nearer.
    changed: [AtomicU64; 2],
    relaxations: AtomicU64,
    pub(super) findings: Mutex<Findings<A::Sum>>,
    pub(super) ranks: Option<OtherRanks<'s, A::Sum>>,
}

/// Access to the other ranks, which only the first thread uses.
pub(super) struct OtherRanks<'s, S> {
    pub exchange: Mutex<&'s mut NearerExchange>,
    pub edges: &'s WeightedEdges<'s>,
    /// For each thread, the vertices that it moved nearer.
    nearer: Mutex<Vec<Vec<NearerVertex<S>>>>,
}

/// The entries of one thread in one bucket. All threads take parts of them.
pub struct BucketList<S> {
    /// The entries of the thread.
    pub entries: RwLock<Vec<NearerVertex<S>>>,
    /// Number of entries that are taken.
    pub taken: AtomicUsize,
}

/// Findings that threads report during a search.
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

/// Position of a thread in a search. All threads are at the same position.
pub struct ThreadState {
    /// Number of the thread.
    pub thread: usize,
    /// Number of bucket rounds that began.
    pub round: usize,
    /// Number of rounds over vertices that began.
    sweeps: usize,
    barriers: usize,
    /// True while the first thread works and the others wait for it. Set on the first thread only.
    pub is_alone: bool,
    /// The first error of the thread.
    pub outcome: Result<()>,
}

impl ThreadState {
    /// Returns the position of thread `thread` at the beginning of a search.
    pub fn new(thread: usize) -> ThreadState {
        ThreadState { thread, round: 0, sweeps: 0, barriers: 0, is_alone: false, outcome: Ok(()) }
    }

    /// Records an error, if `outcome` is one. All threads stop at the next barrier.
    pub fn note(&mut self, outcome: Result<()>) {
        if self.outcome.is_ok() {
            self.outcome = outcome;
        }
    }
}

impl<'s, A: Arithmetic> PathWalk<'s, A> {
    /// Begins a search by as many threads as there are `bins`.
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
            root,
            threads,
            bins,
            lists: (0..threads)
                .map(|_| BucketList { entries: RwLock::default(), taken: AtomicUsize::new(0) })
                .collect(),
            next: [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)],
            edges: Default::default(),
            bound: AtomicU64::new(narrow::LEAST),
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

    /// Returns the buckets of a thread. While the first thread works alone, it uses the buckets of all.
    pub fn bins(&self, thread: usize) -> MutexGuard<'_, DistanceBins<A::Sum>> {
        self.bins[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits at the barrier for all threads, unless this one works alone. Returns false if a thread has failed; then
    /// all stop.
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

    /// Returns true if there are other ranks.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        self.ranks.is_some()
    }

    /// Replaces `number` by what `combine` makes of the numbers of all ranks. Returns false if threads stop.
    /// Collective.
    pub fn agree(
        &self,
        here: &mut ThreadState,
        number: &AtomicU64,
        combine: impl Fn(&mut RankExchange, u64) -> Result<u64>,
    ) -> bool {
        let Some(ranks) = &self.ranks else { return true };
        if here.thread == 0 {
            let mut exchange = ranks.exchange.lock().unwrap_or_else(PoisonError::into_inner);
            here.note(
                combine(&mut exchange.ranks, number.load(Relaxed))
                    .map(|number_of_all| number.store(number_of_all, Relaxed)),
            );
        }
        self.wait(here)
    }

    /// Returns the smallest distance among the entries that were put back into buckets.
    pub fn least(&self) -> A::Sum {
        A::of_word(self.least.load(Relaxed))
    }

    /// Sends the vertices that this thread moved nearer to the other ranks, if there are any, and receives theirs. On
    /// the first thread, `current` is called with all of these that this rank owns. Returns false if threads stop.
    /// Collective.
    pub fn share(
        &self,
        here: &mut ThreadState,
        nearer: &mut Vec<NearerVertex<A::Sum>>,
        current: impl FnMut(NearerVertex<A::Sum>),
    ) -> bool {
        let Some(ranks) = &self.ranks else { return true };
        let lock = || ranks.nearer.lock().unwrap_or_else(PoisonError::into_inner);
        lock()[here.thread].clone_from(nearer);
        if !self.wait(here) {
            return false;
        }
        if here.thread == 0 {
            let mut exchange = ranks.exchange.lock().unwrap_or_else(PoisonError::into_inner);
            here.note(exchange.share_nearer::<A>(self.sums, &lock(), current));
            // The first thread may work alone in the next round.
            lock().iter_mut().for_each(Vec::clear);
        }
        self.wait(here)
    }

    /// Divides the vertices `all` among the threads. Returns the sum of the values that `work` returns in all threads,
    /// or `None` if threads stop. Collective.
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
        if !self.agree(here, changed, RankExchange::sum) {
            return None;
        }
        let sum = changed.load(Relaxed);
        if here.thread == 0 {
            // All threads have left the round before.
            self.parts[(here.sweeps + 1) & 1].store(0, Relaxed);
            self.changed[(here.sweeps + 1) & 1].store(0, Relaxed);
        }
        here.sweeps += 1;
        // The next round may begin only when its counts are zero.
        self.wait(here).then_some(sum)
    }

    /// Does what [`Self::round`] does on the first thread, while the others sleep. Collective.
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

    /// Ends a phase in which this thread relaxed `relaxed` edges. Returns false if threads stop. Collective.
    pub fn end_phase(&self, here: &mut ThreadState, kind: &str, rounds: u64, relaxed: u64) -> bool {
        self.relaxations.fetch_add(relaxed, Relaxed);
        if !self.wait(here) {
            return false;
        }
        if here.thread == 0 {
            let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
            let all = self.relaxations.load(Relaxed);
            let relaxations = all - std::mem::replace(&mut findings.relaxations, all);
            let seconds = std::mem::replace(&mut findings.begun, Instant::now()).elapsed().as_secs_f64();
            findings.phases.push(SearchPhase { kind: kind.into(), rounds, relaxations, seconds });
        }
        self.wait(here)
    }

    /// Takes the findings of all threads.
    pub(super) fn take_findings(&self) -> Findings<A::Sum> {
        std::mem::replace(&mut *self.findings.lock().unwrap_or_else(PoisonError::into_inner), Findings::new())
    }

    /// Adds what a thread found in the search for parents.
    pub fn add(&self, reached: ReachedVertices<A::Sum>) {
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        findings.reached.add(reached);
    }
}

/// The next round, about which all threads agree.
#[derive(Debug, Clone, Copy, Default)]
pub struct NextRound {
    /// Number of the bucket plus 1. It is 0 if there is no memory for buckets, and the largest number if no bucket has
    /// entries.
    pub number: u64,
    /// Edges of the vertices in the bucket. If pushing ends before a wide bucket, this is the sum over all ranks.
    pub edges: u64,
}

impl NextRound {
    /// Returns true if pushing ends, because there is no memory or no entry up to the bucket of number `last`.
    pub fn is_over(&self, last: u64) -> bool {
        self.number == 0 || self.number > last
    }
}

/// What a thread found among its vertices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReachedVertices<S> {
    /// Number of reached vertices.
    pub vertices: u64,
    /// Largest distance of a reached vertex.
    pub farthest: S,
    /// Reached vertices without a parent so far, because all tight edges to them add nothing.
    pub without: Vec<u32>,
}

impl<S: Copy + Ord> ReachedVertices<S> {
    /// Counts a vertex at distance `sum`.
    #[inline]
    pub fn note(&mut self, sum: S) {
        self.vertices += 1;
        self.farthest = self.farthest.max(sum);
    }

    /// Adds the counts of other ranks, and the edges that they relaxed in each phase. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn of_all<A: Arithmetic<Sum = S>>(
        &mut self,
        exchange: &mut RankExchange,
        phases: &mut [SearchPhase],
    ) -> Result<()> {
        self.vertices = exchange.sum(self.vertices)?;
        self.farthest = A::of_word(u64::MAX - exchange.least(u64::MAX - A::to_word(self.farthest))?);
        for phase in phases {
            phase.relaxations = exchange.sum(phase.relaxations)?;
        }
        Ok(())
    }

    /// Adds what another thread found.
    pub fn add(&mut self, other: ReachedVertices<S>) {
        self.vertices += other.vertices;
        self.farthest = self.farthest.max(other.farthest);
        self.without.extend(other.without);
    }
}
