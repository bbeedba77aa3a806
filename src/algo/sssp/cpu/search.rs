//! One search by several threads: its phases, and what the threads find.

use super::SortedGraph;
use super::arithmetic::Arithmetic;
use super::bins::{Bins, Entry};
use super::parents::{self, Reached};
use super::push::{NextRound, PushOptions};
use super::rows::{Wanted, neighbour, weight};
use super::{plateau, pull, push, rounds};
use crate::algo::searches::ranks::RankExchange;
use crate::algo::sssp::Edges;
use crate::algo::sssp::options::Method;
use crate::algo::sssp::ranks::exchange::Exchange;
use crate::algo::sssp::search::{NONE, Phase, Searched};
use crate::algo::team::barrier::Barrier;
use crate::algo::team::{narrow, team};
use crate::error::Result;
use crate::graph::direction::Way;
use crate::graph::ids::Vertex;
use crate::memory::cells;
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

/// Vertices that a thread takes at a time, for rows in memory and for rows on a disk. On a disk the part is larger,
/// because the rows of a whole part are requested before the thread waits for any.
const PART: usize = 1 << 10;
const PART_ON_DISK: usize = 1 << 14;

/// A search in progress.
pub struct Walk<'s, A: Arithmetic> {
    /// The graph that is searched.
    pub graph: &'s SortedGraph,
    /// The distances of all vertices found so far.
    pub sums: &'s [A::Cell],
    /// The root of the search.
    pub root: u32,
    /// The number of threads.
    pub threads: usize,
    /// The buckets of each thread.
    bins: &'s [Mutex<Bins<A::Sum>>],
    /// For each thread, the entries that it has in the bucket of this round.
    pub lists: Vec<List<A::Sum>>,
    /// For this round and for the next: the number of the first bucket that has an entry, plus 1.
    pub next: [AtomicU64; 2],
    /// For this round and for the next: the edges of the vertices in the bucket.
    pub edges: [AtomicU64; 2],
    /// Number of edges from which on all threads take part in a round.
    pub bound: AtomicU64,
    /// The round that all threads begin together after the first thread worked alone.
    pub next_round: Mutex<NextRound>,
    /// The smallest distance among the entries that were put back into buckets.
    pub least: A::Cell,
    method: Method,
    barrier: Barrier,
    /// Number of the first barrier at which threads stop.
    stop: AtomicUsize,
    /// For this round and for the next: vertices that threads have taken.
    parts: [AtomicUsize; 2],
    /// For this round and for the next: vertices that became nearer.
    changed: [AtomicU64; 2],
    relaxations: AtomicU64,
    findings: Mutex<Findings<A::Sum>>,
    ranks: Option<Ranks<'s, A::Sum>>,
}

/// Access to the other ranks, which only the first thread uses.
struct Ranks<'s, S> {
    exchange: Mutex<&'s mut Exchange>,
    edges: &'s Edges<'s>,
    /// For each thread, the vertices that it moved nearer.
    nearer: Mutex<Vec<Vec<Entry<S>>>>,
}

/// The entries of one thread in one bucket. All threads take parts of them.
pub struct List<S> {
    /// The entries of the thread.
    pub entries: RwLock<Vec<Entry<S>>>,
    /// Number of entries that are taken.
    pub taken: AtomicUsize,
}

/// Findings that threads report during a search.
struct Findings<S> {
    phases: Vec<Phase>,
    begun: Instant,
    relaxations: u64,
    reached: Reached<S>,
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
    outcome: Result<()>,
}

impl ThreadState {
    /// Records an error, if `outcome` is one. All threads stop at the next barrier.
    pub fn note(&mut self, outcome: Result<()>) {
        if self.outcome.is_ok() {
            self.outcome = outcome;
        }
    }
}

impl<'s, A: Arithmetic> Walk<'s, A> {
    /// Begins a search by as many threads as there are `bins`.
    pub fn new(
        graph: &'s SortedGraph,
        sums: &'s [A::Cell],
        Vertex(root): Vertex,
        method: Method,
        bins: &'s [Mutex<Bins<A::Sum>>],
        ranks: Option<(&'s mut Exchange, &'s Edges<'s>)>,
    ) -> Walk<'s, A> {
        let threads = bins.len();
        let ranks = ranks.map(|(exchange, edges)| Ranks {
            exchange: Mutex::new(exchange),
            edges,
            nearer: Mutex::new((0..threads).map(|_| Vec::new()).collect()),
        });
        let findings =
            Findings { phases: Vec::new(), begun: Instant::now(), relaxations: 0, reached: Reached::default() };
        Walk {
            graph,
            sums,
            root,
            threads,
            bins,
            lists: (0..threads).map(|_| List { entries: RwLock::default(), taken: AtomicUsize::new(0) }).collect(),
            next: [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)],
            edges: Default::default(),
            bound: AtomicU64::new(narrow::LEAST),
            next_round: Mutex::default(),
            least: A::cell(A::UNREACHED),
            method,
            barrier: Barrier::new(threads),
            stop: AtomicUsize::new(usize::MAX),
            parts: Default::default(),
            changed: Default::default(),
            relaxations: AtomicU64::new(0),
            findings: Mutex::new(findings),
            ranks,
        }
    }

    /// Searches, and writes the parents.
    ///
    /// # Errors
    /// A stop; [`crate::Error::Limit`] if parents on plateaus take more memory than is free.
    pub fn run(self, parents: &mut [u32]) -> Result<Searched> {
        let begun = Instant::now();
        let cells = cells(parents);
        team(self.threads, &|thread| {
            let _attends = self.barrier.attend();
            let mut here = ThreadState { thread, round: 0, sweeps: 0, barriers: 0, is_alone: false, outcome: Ok(()) };
            self.run_thread(&mut here, cells);
            here.outcome
        })?;
        let (mut phases, mut reached) = {
            let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
            (std::mem::take(&mut findings.phases), std::mem::take(&mut findings.reached))
        };
        let begun_after = Instant::now();
        if let Some(Ranks { exchange, .. }) = &self.ranks {
            let mut exchange = exchange.lock().unwrap_or_else(PoisonError::into_inner);
            reached.of_all::<A>(&mut exchange.ranks, &mut phases)?;
            exchange.gather(parents)?;
            let lacks = |&v: &u32| A::load(&self.sums[v as usize]) != A::UNREACHED && parents[v as usize] == NONE;
            let is_first = self.graph.own.rank() == 0;
            reached.without = (0..self.graph.vertices).filter(|_| is_first).filter(lacks).collect();
        }
        if !reached.without.is_empty() {
            let leads = |v: u32| v < self.graph.tails;
            self.bins(0).reserve(plateau::BYTES * reached.without.len() as u64)?;
            plateau::settle::<A>(
                self.sums,
                &reached.without,
                parents,
                &|v, way, each| self.flat(v, way, each),
                &leads,
            )?;
            let seconds = begun_after.elapsed().as_secs_f64();
            phases.push(Phase { kind: "plateau".into(), rounds: 1, relaxations: 0, seconds });
        }
        Ok(Searched {
            reached: reached.vertices,
            max_distance: A::distance(reached.farthest.unwrap_or(A::ZERO)),
            relaxations: phases.iter().map(|phase| phase.relaxations).sum(),
            seconds: begun.elapsed().as_secs_f64(),
            phases,
            path: None,
            distances: Vec::new(),
        })
    }

    /// Calls `each` with the other ends of those edges of `v` that add nothing to its distance.
    fn flat(&self, v: u32, way: Way, each: &mut dyn FnMut(u32)) {
        let sum = A::load(&self.sums[v as usize]);
        let adds_nothing = |weight: u32| A::add(sum, weight) == sum;
        if let Some(ranks) = &self.ranks {
            return ranks.edges.each(v, way, |u, weight| {
                if adds_nothing(weight) {
                    each(u);
                }
            });
        }
        // Such edges come first in a row.
        let rows = if way == Way::Out { &self.graph.out } else { self.graph.into() };
        rows.row(v).along(false, |entry| {
            let is_flat = adds_nothing(weight(entry));
            if is_flat {
                each(neighbour(entry));
            }
            is_flat
        });
    }

    /// Runs one thread's share of all phases.
    fn run_thread(&self, here: &mut ThreadState, parents: &[AtomicU32]) {
        let all = self.sums.len();
        let own = all * here.thread / self.threads..all * (here.thread + 1) / self.threads;
        for v in own {
            A::store(&self.sums[v], if v as u32 == self.root { A::ZERO } else { A::UNREACHED });
        }
        self.bins(here.thread).clear();
        if !self.wait(here) {
            return;
        }
        if here.thread == 0 && self.graph.own.has(self.root) {
            self.bins(0).push(0, Entry { sum: A::ZERO, vertex: self.root });
        }
        let found = match self.method {
            Method::BellmanFord => rounds::relax_all(self, here),
            Method::Auto => pull::cap_and_pull(self, here),
            Method::Moore | Method::DeltaStepping => {
                let options = PushOptions { is_moore: self.method == Method::Moore, ..PushOptions::whole() };
                push::push(self, here, "push", options).is_some()
            }
        };
        if found && self.settle_leaves(here, parents) {
            parents::find(self, here, parents);
        }
    }

    /// Returns the buckets of a thread. While the first thread works alone, it uses the buckets of all.
    pub fn bins(&self, thread: usize) -> MutexGuard<'_, Bins<A::Sum>> {
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

    /// Lowers `least` to the least value of all ranks. Returns false if threads stop. Collective.
    pub fn agree_on_least(&self, here: &mut ThreadState) -> bool {
        let word = AtomicU64::new(A::to_word(A::load(&self.least)));
        let agreed = self.agree(here, &word, RankExchange::least);
        if here.thread == 0 && self.is_shared() {
            A::lower(&self.least, A::of_word(word.load(Relaxed)));
        }
        agreed && self.wait(here)
    }

    /// Sends the vertices that this thread moved nearer to the other ranks, if there are any, and receives theirs. On
    /// the first thread, `current` is called with all of these that this rank owns. Returns false if threads stop.
    /// Collective.
    pub fn share(
        &self,
        here: &mut ThreadState,
        nearer: &mut Vec<Entry<A::Sum>>,
        current: impl FnMut(Entry<A::Sum>),
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
            findings.phases.push(Phase { kind: kind.into(), rounds, relaxations, seconds });
        }
        self.wait(here)
    }

    /// Adds what a thread found in the search for parents.
    pub fn add(&self, reached: Reached<A::Sum>) {
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        findings.reached.add(reached);
    }

    /// Settles the vertices that have a single edge. The neighbour of such a vertex is its parent. Returns false if
    /// threads stop. Collective.
    fn settle_leaves(&self, here: &mut ThreadState, parents: &[AtomicU32]) -> bool {
        let graph = self.graph;
        let (mut relaxed, mut reached, mut nearer) = (0, Reached::default(), Vec::new());
        let all = graph.tails..graph.vertices;
        let done = self.round(here, all, |part| {
            relaxed += part.len() as u64;
            let first = |v| Some(Wanted::First(v)).filter(|_| graph.out.lacks_first(v));
            graph.out.for_each_prefetched(part.filter(|&v| graph.own.has(v)), first, |v| {
                let parent = &parents[v as usize];
                if v == self.root {
                    parent.store(v, Relaxed);
                    reached.note(A::ZERO);
                    return;
                }
                let entry = graph.out.row(v).first();
                // A sum of decimals may become infinite in this step.
                let sum = A::add(A::load(&self.sums[neighbour(entry) as usize]), weight(entry));
                if sum == A::UNREACHED {
                    parent.store(NONE, Relaxed);
                    return;
                }
                A::store(&self.sums[v as usize], sum);
                parent.store(neighbour(entry), Relaxed);
                reached.note(sum);
                if self.is_shared() {
                    nearer.push(Entry { sum, vertex: v });
                }
            });
            0
        });
        self.add(reached);
        done.is_some() && self.share(here, &mut nearer, |_| ()) && self.end_phase(here, "leaves", 1, relaxed)
    }
}
