//! A level-by-level search by several threads, all of which make the same decisions.

use crate::algo::bfs::cpu::frontier::{Frontier, NARROW, StepSums};
use crate::algo::bfs::cpu::top_down::{self, Parents, Slices, StepCounts};
use crate::algo::bfs::cpu::{CpuSearch, bottom_up};
use crate::algo::bfs::ranks::exchange::{ClaimExchange, ClaimRound, StepReached};
use crate::algo::bfs::search::{BfsLevel, BfsStats, Step};
use crate::algo::bits::{ones, set_alone};
use crate::algo::team::serial_policy::{self, SerialPolicy};
use crate::algo::team::{barrier::Barrier, share};
use crate::error::Result;
use crate::process::signals;
use crate::store::os;
use parking_lot::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::time::Instant;

/// Number of slices per thread into which the list of the frontier's vertices is divided.
const SLICES: usize = 64;

/// A search in progress, which the threads of a process share.
pub struct BfsWalk<'s> {
    /// The prepared graph, the arrays, and the options of the search.
    search: &'s CpuSearch<'s>,
    /// Links to the other ranks, if there are any. Only the first thread communicates with other ranks.
    exchange: Option<Mutex<&'s mut ClaimExchange>>,
    barrier: Barrier,
    /// Number of bitmap words that threads have claimed so far in a bottom-up step.
    parts: AtomicUsize,
    /// For each thread, the number of vertices that it adds to the frontier's list, or claims from other ranks.
    marks: Vec<AtomicU64>,
    /// Number of edges of the frontier before each slice of its list, followed by the total number of edges.
    sums_of_slices: Vec<AtomicU64>,
    /// Counts of the current step and of the next step. The two elements swap roles after each step.
    sums: [StepSums; 2],
    stopped: AtomicBool,
    /// Number of vertices or edges of a frontier from which all threads take part in a top-down step.
    bound: AtomicU64,
    /// The frontier after steps that the first thread took alone, for the other threads.
    agreed: Mutex<Option<Frontier>>,
    /// Statistics of the search, and the index of the bitmap of all reached vertices. The first thread updates both.
    progress: Mutex<(BfsStats, usize)>,
}

impl<'s> BfsWalk<'s> {
    /// Prepares a search. Its first frontier is the root.
    pub fn new(search: &'s CpuSearch<'s>, exchange: Option<&'s mut ClaimExchange>) -> BfsWalk<'s> {
        let threads = search.threads;
        BfsWalk {
            search,
            exchange: exchange.map(Mutex::new),
            barrier: Barrier::new(threads),
            parts: AtomicUsize::new(0),
            marks: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            sums_of_slices: (0..=SLICES * threads).map(|_| AtomicU64::new(0)).collect(),
            sums: Default::default(),
            stopped: AtomicBool::new(false),
            bound: AtomicU64::new(serial_policy::LEAST),
            agreed: Mutex::default(),
            progress: Mutex::default(),
        }
    }

    /// Returns the statistics of the search, and the index of the bitmap that contains all reached vertices.
    pub fn into_searched(self) -> (BfsStats, usize) {
        self.progress.into_inner()
    }

    /// Runs one thread of the search. Writes the parents of the vertices that this rank owns to `parents`.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`]; errors of other ranks.
    pub fn run(&self, thread: usize, root: u32, parents: &[AtomicU32]) -> Result<()> {
        let _here = self.barrier.panic_guard();
        let exchange = self.exchange.as_ref().filter(|_| thread == 0);
        let mut exchange = exchange.map(|exchange| exchange.lock());
        let mut exchange = exchange.as_mut().map(|exchange| &mut ***exchange);
        let edges = self.search.graph.degree(root);
        let unexplored = self.search.entries - edges;
        let mut frontier =
            Frontier { vertices: 1, edges, unexplored, grows: true, step: Step::TopDown, known: 0, is_listed: true };
        let (mut round, mut policy) = (0, SerialPolicy::new(self.search.threads));
        while frontier.vertices > 0 {
            let started = Instant::now();
            let read = || if self.search.graph.on_disk { os::disk_bytes().0 } else { 0 };
            let read_before = if thread == 0 { read() } else { 0 };
            let step = frontier.next_step(self.search.switch, self.search.graph.own.vertices);
            if step == Step::TopDown && frontier.is_listed && self.lists(&frontier, self.bound.load(Relaxed)) {
                frontier = self.serial_levels(thread, frontier, &mut policy, parents, exchange.as_deref_mut())?;
                continue;
            }
            if thread == 0 {
                // A bottom-up step is never taken by one thread alone.
                let edges = if step == Step::TopDown { frontier.edges } else { u64::MAX };
                policy.begin(edges, self.is_for_one(&frontier, self.bound.load(Relaxed)));
            }
            let sums = &self.sums[round & 1];
            let stepped = match step {
                Step::TopDown => self.top_down(thread, &mut frontier, sums, parents, exchange.as_deref_mut()),
                Step::BottomUp => {
                    self.bottom_up(thread, &frontier, sums, parents);
                    Ok(false)
                }
            };
            let (is_listed, mut outcome) = stepped.map_or_else(|e| (false, Err(e)), |is_listed| (is_listed, Ok(())));
            if thread == 0 {
                outcome = outcome.and_then(|()| signals::check());
                self.stopped.store(outcome.is_err(), Relaxed);
            }
            self.barrier.wait();
            if thread == 0 {
                sums.add(StepCounts { bytes: read() - read_before, ..StepCounts::default() });
            }
            if self.exchange.is_some() {
                if let Some(exchange) = exchange.as_deref_mut().filter(|_| outcome.is_ok()) {
                    outcome = self.send_reached(&frontier, step, is_listed, sums, exchange);
                    self.stopped.store(outcome.is_err(), Relaxed);
                }
                self.barrier.wait();
            }
            if self.stopped.load(Relaxed) {
                return outcome.and_then(|()| signals::check());
            }
            let found = sums.get();
            if thread == 0 {
                self.record(&frontier, step, found, started);
                // No thread adds to the next step's counts before the next barrier.
                self.sums[(round + 1) & 1].set(StepCounts::default());
                self.parts.store(0, Relaxed);
                self.bound.store(policy.bound(), Relaxed);
            }
            self.barrier.wait();
            frontier = frontier.after(step, found, is_listed);
            round += 1;
        }
        Ok(())
    }

    /// Adds the step from `frontier` to the statistics of the search. Only the first thread calls it.
    fn record(&self, frontier: &Frontier, step: Step, StepCounts { checked, bytes, .. }: StepCounts, started: Instant) {
        let seconds = started.elapsed().as_secs_f64();
        let level = BfsLevel { frontier: frontier.vertices, edges_checked: checked, direction: step, seconds, bytes };
        let mut progress = self.progress.lock();
        progress.0.note(level);
        progress.1 = frontier.known;
    }

    /// Returns true if one thread of this rank takes the top-down step from `frontier` alone.
    fn is_for_one(&self, frontier: &Frontier, bound: u64) -> bool {
        self.search.threads == 1 || frontier.vertices < bound && frontier.edges < bound
    }

    /// Returns true, on all ranks, if one thread of each takes the step from `frontier` and lists the next frontier.
    fn lists(&self, frontier: &Frontier, bound: u64) -> bool {
        let bound = if self.exchange.is_some() { NARROW } else { bound };
        frontier.vertices < bound && frontier.edges < bound
    }

    /// Takes top-down steps on the first thread, while the other threads sleep, as long as [`Self::lists`] returns
    /// true. Returns the next frontier, which is stored as a list. All threads of all ranks must call it.
    fn serial_levels(
        &self,
        thread: usize,
        mut frontier: Frontier,
        policy: &mut SerialPolicy,
        cells: &[AtomicU32],
        mut exchange: Option<&mut ClaimExchange>,
    ) -> Result<Frontier> {
        let mut outcome = Ok(());
        if thread == 0 {
            let goes_on = |frontier: &Frontier, bound: u64| {
                let step = frontier.next_step(self.search.switch, self.search.graph.own.vertices);
                frontier.vertices > 0 && step == Step::TopDown && self.lists(frontier, bound)
            };
            while outcome.is_ok() && goes_on(&frontier, policy.bound()) {
                policy.begin(frontier.edges, true);
                let (started, sums) = (Instant::now(), StepSums::default());
                outcome = self.narrow_level(&frontier, &sums, cells, exchange.as_deref_mut());
                self.record(&frontier, Step::TopDown, sums.get(), started);
                frontier = frontier.after(Step::TopDown, sums.get(), true);
            }
            self.stopped.store(outcome.is_err(), Relaxed);
            *self.agreed.lock() = Some(frontier);
        }
        self.barrier.wait();
        let agreed = *self.agreed.lock();
        if thread == 0 {
            // All threads are past the point where they read the bound.
            self.bound.store(policy.bound(), Relaxed);
        }
        self.barrier.wait();
        match self.stopped.load(Relaxed) {
            true => outcome.and_then(|()| signals::check()).map(|()| frontier),
            false => Ok(agreed.unwrap_or(frontier)),
        }
    }

    /// Takes a top-down step on this thread alone, lists the next frontier, and exchanges it with the other ranks.
    fn narrow_level(
        &self,
        frontier: &Frontier,
        sums: &StepSums,
        cells: &[AtomicU32],
        mut exchange: Option<&mut ClaimExchange>,
    ) -> Result<()> {
        let parents = Parents { cells, arrived: &self.search.arrays.arrived };
        let reached = self.search.arrays.bits(frontier.known + 1);
        let claims =
            exchange.as_deref_mut().map(|exchange| exchange.claims(&self.search.graph, reached, parents, true));
        self.serial_step(true, frontier, sums, parents, claims.transpose()?)?;
        signals::check()?;
        match exchange {
            Some(exchange) => self.send_reached(frontier, Step::TopDown, true, sums, exchange),
            None => Ok(()),
        }
    }

    /// Sends the vertices that this rank reached to the other ranks, and marks those that the other ranks reached.
    fn send_reached(
        &self,
        frontier: &Frontier,
        step: Step,
        is_listed: bool,
        sums: &StepSums,
        exchange: &mut ClaimExchange,
    ) -> Result<()> {
        let bits = |which: usize| self.search.arrays.bits(frontier.known + which);
        let (before, now) = if step == Step::TopDown { (bits(0), bits(1)) } else { (bits(1), bits(0)) };
        let list = is_listed.then(|| self.search.arrays.list());
        let (all, shared) =
            exchange.send_reached(&StepReached { graph: &self.search.graph, sums: sums.get(), before, now, list })?;
        sums.set(all);
        if let Some(list) = list.filter(|_| !shared.is_empty()) {
            let mut list: Vec<u32> = list.iter().map(|v| v.load(Relaxed)).chain(shared).collect();
            list.sort_unstable();
            self.search.arrays.write_list(&list);
        }
        Ok(())
    }

    /// Writes the vertices of the frontier as a list in ascending order, unless such a list exists. Also adds them to
    /// the bitmap of the vertices that were reached before the frontier. All threads must call it.
    fn list(&self, thread: usize, frontier: &mut Frontier) {
        if frontier.is_listed {
            return;
        }
        let (known, reached) = (self.search.arrays.bits(frontier.known), self.search.arrays.bits(frontier.known + 1));
        let words = share(known.len(), thread, self.search.threads);
        let new = |at: usize| reached[at].load(Relaxed) & !known[at].load(Relaxed);
        let mine: u64 = words.clone().map(|at| u64::from(self.search.graph.listed(at, new(at)).count_ones())).sum();
        self.marks[thread].store(mine, Relaxed);
        self.barrier.wait();
        let sum = |marks: &[AtomicU64]| marks.iter().map(|mark| mark.load(Relaxed)).sum::<u64>() as usize;
        let mut places = self.search.arrays.new_list(sum(&self.marks))[sum(&self.marks[..thread])..].iter();
        for at in words {
            let new = new(at);
            if new != 0 {
                known[at].store(reached[at].load(Relaxed), Relaxed);
            }
            for (bit, place) in ones(self.search.graph.listed(at, new)).zip(&mut places) {
                place.store(at as u32 * 64 + bit, Relaxed);
            }
        }
        self.barrier.wait();
        frontier.is_listed = true;
    }

    /// Divides the list of the frontier's vertices into slices, and counts this rank's edges before each slice. All
    /// threads must call it.
    fn slice(&self, thread: usize) -> Slices<'_> {
        let list = self.search.arrays.list();
        let slices = self.sums_of_slices.len() - 1;
        let slices = Slices { before: &self.sums_of_slices, width: list.len().div_ceil(slices).max(1) };
        for slice in share(slices.before.len() - 1, thread, self.search.threads) {
            let vertices = &list[slices.range(slice, list.len())];
            let edges: u64 = vertices.iter().map(|v| self.search.graph.taken(v.load(Relaxed))).sum();
            slices.before[slice].store(edges, Relaxed);
        }
        self.barrier.wait();
        if thread == 0 {
            let mut before = 0;
            for sum in slices.before {
                before += sum.swap(before, Relaxed);
            }
        }
        self.barrier.wait();
        slices
    }

    /// Takes a top-down step. Returns true if it listed the next frontier. All threads of all ranks must call it.
    fn top_down(
        &self,
        thread: usize,
        frontier: &mut Frontier,
        sums: &StepSums,
        cells: &[AtomicU32],
        exchange: Option<&mut ClaimExchange>,
    ) -> Result<bool> {
        self.list(thread, frontier);
        let bound = self.bound.load(Relaxed);
        let lists = self.lists(frontier, bound);
        let reached = self.search.arrays.bits(frontier.known + 1);
        let parents = Parents { cells, arrived: &self.search.arrays.arrived };
        let claims = exchange.map(|exchange| exchange.claims(&self.search.graph, reached, parents, lists)).transpose();
        match self.is_for_one(frontier, bound) {
            true if thread > 0 => {}
            true => self.serial_step(lists, frontier, sums, parents, claims?)?,
            false if self.exchange.is_some() => self.parallel_step::<true>(thread, reached, sums, parents, claims)?,
            false => self.parallel_step::<false>(thread, reached, sums, parents, claims)?,
        }
        Ok(lists)
    }

    /// Takes a top-down step on one thread. If `lists` is true, writes the next frontier as a list.
    fn serial_step(
        &self,
        lists: bool,
        frontier: &Frontier,
        sums: &StepSums,
        parents: Parents<'_>,
        claims: Option<ClaimRound<'_>>,
    ) -> Result<()> {
        let (list, reached) = (self.search.arrays.list(), self.search.arrays.bits(frontier.known + 1));
        let mut new = Vec::new();
        let listed = lists.then_some(&mut new);
        match claims {
            None => {
                sums.add(top_down::serial::<false>(&self.search.graph, list, reached, parents, listed, |_, _| Ok(()))?)
            }
            Some(mut claims) => {
                let away = |v, parent| claims.send(v, parent);
                sums.add(top_down::serial::<true>(&self.search.graph, list, reached, parents, listed, away)?);
                let (arrived, vertices) = claims.finish()?;
                sums.add(arrived);
                match vertices {
                    None => self.keep_arrived(0, 1, reached),
                    Some(vertices) => {
                        let place = |v: &u32| self.search.graph.own.local_index(*v) / 64;
                        vertices.iter().for_each(|v| parents.arrived[place(v)].store(0, Relaxed));
                        new.extend(vertices.into_iter().filter(|&v| set_alone(reached, v)));
                    }
                }
            }
        }
        if lists {
            new.sort_unstable();
            for &v in &new {
                set_alone(self.search.arrays.bits(frontier.known), v);
            }
            self.search.arrays.write_list(&new);
        }
        Ok(())
    }

    /// Takes a top-down step on all threads. All threads of all ranks must call it.
    fn parallel_step<const RANKS: bool>(
        &self,
        thread: usize,
        reached: &[AtomicU64],
        sums: &StepSums,
        parents: Parents<'_>,
        claims: Result<Option<ClaimRound<'_>>>,
    ) -> Result<()> {
        // A thread that fails still waits at all barriers, so that no other thread hangs.
        let (mut others, mut outcome) = claims.map_or_else(|e| (None, Err(e)), |claims| (claims, Ok(())));
        let slices = self.slice(thread);
        let (list, claims) = (self.search.arrays.list(), &self.search.arrays.claims[thread]);
        let all = slices.before.last().map_or(0, |all| all.load(Relaxed));
        let round = self.search.threads as u64 * top_down::ROUND;
        let mut first = 0;
        while first < all {
            let edges = round.min(all - first);
            let [from, to] =
                [thread, thread + 1].map(|thread| first + edges * thread as u64 / self.search.threads as u64);
            let (at, skip) = slices.find(from, &self.search.graph, list);
            let claimed = claims.claim(&self.search.graph, &list[at..], (skip, to - from), reached);
            self.barrier.wait();
            let found = claims.reach::<RANKS>(
                &self.search.graph,
                claimed,
                &self.search.arrays.claims[..thread],
                reached,
                parents,
            );
            sums.add(StepCounts { checked: to - from, ..found });
            self.barrier.wait();
            let away = claims.forget::<RANKS>(claimed, self.search.graph.own);
            if RANKS {
                self.marks[thread].store(away as u64, Relaxed);
                self.barrier.wait();
                if let Some(others) = others.as_mut().filter(|_| outcome.is_ok()) {
                    outcome = self.send_claims(others);
                }
                self.barrier.wait();
            }
            first += edges;
        }
        if RANKS {
            if let Some(others) = others.filter(|_| outcome.is_ok()) {
                outcome = others.finish().map(|(arrived, _)| sums.add(arrived));
            }
            self.barrier.wait();
            self.keep_arrived(thread, self.search.threads, reached);
        }
        outcome
    }

    /// Sends the claims of all threads for vertices of other ranks to the owners of these vertices.
    fn send_claims(&self, others: &mut ClaimRound<'_>) -> Result<()> {
        for (claims, away) in self.search.arrays.claims.iter().zip(&self.marks) {
            claims.remote_claims(away.load(Relaxed) as usize).try_for_each(|(v, parent)| others.send(v, parent))?;
        }
        Ok(())
    }

    /// Marks the vertices of this rank that other ranks claimed as reached. Each thread scans a part of the bitmap.
    fn keep_arrived(&self, thread: usize, threads: usize, reached: &[AtomicU64]) {
        for at in share(self.search.arrays.arrived.len(), thread, threads) {
            let arrived = &self.search.arrays.arrived[at];
            let bits = arrived.load(Relaxed);
            if bits != 0 {
                reached[self.search.graph.own.word(at)].fetch_or(bits, Relaxed);
                arrived.store(0, Relaxed);
            }
        }
    }

    /// Takes a bottom-up step. Does not write the next frontier as a list.
    fn bottom_up(&self, thread: usize, frontier: &Frontier, sums: &StepSums, parents: &[AtomicU32]) {
        // The bitmap that includes the frontier is read. The other one is overwritten.
        let (all, known) = (self.search.arrays.bits(frontier.known), self.search.arrays.bits(frontier.known + 1));
        let own = self.search.graph.own;
        for at in share(known.len(), thread, self.search.threads).filter(|&at| !own.has_word(at)) {
            all[at].store(known[at].load(Relaxed), Relaxed);
        }
        let mut found = StepCounts::default();
        loop {
            let first = self.parts.fetch_add(bottom_up::PART, Relaxed);
            if first >= own.words() {
                break;
            }
            let words = first..(first + bottom_up::PART).min(own.words());
            let part = bottom_up::part(&self.search.graph, self.search.lookup, known, words, all, parents);
            found.vertices += part.vertices;
            found.checked += part.checked;
        }
        sums.add(found);
    }
}
