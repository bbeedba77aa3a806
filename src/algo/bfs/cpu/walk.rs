//! A search from level to level, by threads that all decide alike.

use crate::algo::bfs::cpu::bottom_up;
use crate::algo::bfs::cpu::meeting::Meeting;
use crate::algo::bfs::cpu::peers::{Peers, Reached, Sums};
use crate::algo::bfs::cpu::shared::{Arrays, Graph};
use crate::algo::bfs::cpu::top_down::{self, Claims, Collector};
use crate::algo::bfs::cpu::vector::Lookup;
use crate::algo::bfs::search::{Level, Searched, Step, Switch};
use crate::error::Result;
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Edges of a frontier below which one thread takes the step alone: waking the others for it takes longer.
const NARROW: u64 = 1 << 11;

/// One search.
pub struct Walk<'s> {
    graph: &'s Graph<'s>,
    arrays: &'s Arrays,
    peers: Option<&'s dyn Peers>,
    switch: Switch,
    entries: u64,
    threads: usize,
    lookup: Lookup,
    meeting: Meeting,
    /// Parts of the step that were taken.
    parts: [AtomicUsize; 2],
    /// Vertices of the frontier whose rows threads and ranks share: from the beginning of a step those of other ranks.
    long: Mutex<Vec<u32>>,
    /// Sums of a step, of this one and of the next.
    sums: [SharedSums; 2],
    stopped: AtomicBool,
    /// The levels, and the bits that hold all that were reached: kept by the first thread.
    told: Mutex<(Searched, usize)>,
}

/// Sums over what threads did in a step.
#[derive(Default)]
struct SharedSums {
    vertices: AtomicU64,
    edges: AtomicU64,
    checked: AtomicU64,
}

impl SharedSums {
    fn get(&self) -> Sums {
        let [vertices, edges, checked] = [&self.vertices, &self.edges, &self.checked].map(|sum| sum.load(Relaxed));
        Sums { vertices, edges, checked }
    }

    fn set(&self, Sums { vertices, edges, checked }: Sums) {
        self.vertices.store(vertices, Relaxed);
        self.edges.store(edges, Relaxed);
        self.checked.store(checked, Relaxed);
    }
}

/// The last level, as every thread knows it.
#[derive(Clone, Copy)]
struct Frontier {
    vertices: u64,
    /// Edges that leave it; after a step bottom-up they are not known.
    edges: u64,
    /// Edges that leave vertices which no step top-down has come to.
    unexplored: u64,
    grows: bool,
    step: Step,
    /// The bits that are reached without the frontier; those with it are the other ones.
    known: usize,
    /// The list of the own vertices of the frontier; it is filled after steps top-down.
    queue: usize,
}

impl<'s> Walk<'s> {
    /// Begins a search of `arrays`, in which the root is the frontier, by `threads` threads of each rank. `entries` are those of all rows.
    pub fn new(
        graph: &'s Graph<'s>,
        arrays: &'s Arrays,
        peers: Option<&'s dyn Peers>,
        (switch, entries): (Switch, u64),
        threads: usize,
        lookup: Lookup,
    ) -> Walk<'s> {
        Walk {
            graph,
            arrays,
            peers,
            switch,
            entries,
            threads,
            lookup,
            meeting: Meeting::new(threads),
            parts: Default::default(),
            long: Mutex::default(),
            sums: Default::default(),
            stopped: AtomicBool::new(false),
            told: Mutex::default(),
        }
    }

    /// Returns the levels and the number of the bits that hold all that were reached.
    pub fn into_searched(self) -> (Searched, usize) {
        self.told.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the part of one thread in the search. `parents` are those of the own vertices.
    ///
    /// # Errors
    /// A stop; those of other ranks.
    pub fn go(&self, thread: usize, root: u32, parents: &[AtomicU32]) -> Result<()> {
        let _here = self.meeting.attend();
        let edges = self.graph.degree(root);
        let unexplored = self.entries - edges;
        let mut frontier =
            Frontier { vertices: 1, edges, unexplored, grows: true, step: Step::TopDown, known: 0, queue: 0 };
        if thread == 0 && !self.graph.own.has(root) && self.graph.is_long(root) {
            self.long().push(root);
        }
        let mut round = 0;
        while frontier.vertices > 0 {
            let started = Instant::now();
            let step = self.direction(&frontier);
            let sums = &self.sums[round & 1];
            let mut outcome = match step {
                Step::TopDown => {
                    self.list(&mut frontier);
                    self.top_down(thread, &frontier, sums, parents)
                }
                Step::BottomUp => {
                    self.bottom_up(&frontier, sums, parents);
                    Ok(())
                }
            };
            if thread == 0 {
                outcome = outcome.and_then(|()| signals::check());
                self.stopped.store(outcome.is_err(), Relaxed);
            }
            self.meeting.wait();
            if thread == 0 {
                self.long().clear();
            }
            if let Some(peers) = self.peers {
                if thread == 0 && outcome.is_ok() {
                    outcome = self.tell_reached(peers, &frontier, step, sums);
                    self.stopped.store(outcome.is_err(), Relaxed);
                }
                self.meeting.wait();
            }
            if self.stopped.load(Relaxed) {
                return outcome.and_then(|()| signals::check());
            }
            let Sums { vertices, edges, checked } = sums.get();
            if thread == 0 {
                let seconds = started.elapsed().as_secs_f64();
                let level =
                    Level { frontier: frontier.vertices, edges_checked: checked, direction: step, seconds, bytes: 0 };
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                told.0.note(level);
                told.1 = frontier.known;
                // Nobody adds to these before the next meeting.
                self.sums[(round + 1) & 1].set(Sums::default());
                self.parts.iter().for_each(|taken| taken.store(0, Relaxed));
                self.arrays.queue(frontier.queue).clear();
                self.arrays.away.clear();
            }
            self.meeting.wait();
            frontier = Frontier {
                vertices,
                edges,
                unexplored: frontier.unexplored.saturating_sub(edges),
                grows: vertices > frontier.vertices,
                step,
                known: frontier.known ^ usize::from(step == Step::BottomUp),
                queue: frontier.queue ^ 1,
            };
            round += 1;
        }
        Ok(())
    }

    fn long(&self) -> MutexGuard<'_, Vec<u32>> {
        self.long.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses the direction of the next step.
    fn direction(&self, frontier: &Frontier) -> Step {
        let Switch { alpha, beta } = self.switch;
        let many = frontier.edges as f64 > frontier.unexplored as f64 / alpha;
        let few = (frontier.vertices as f64) < self.graph.own.vertices() as f64 / beta;
        match frontier.step {
            Step::TopDown if many && frontier.grows && frontier.edges > NARROW => Step::BottomUp,
            Step::BottomUp if few && !frontier.grows => Step::TopDown,
            stays => stays,
        }
    }

    /// Lists the frontier, if the last step was bottom-up.
    fn list(&self, frontier: &mut Frontier) {
        if frontier.step == Step::TopDown {
            return;
        }
        let (before, reached) = (self.arrays.bits(frontier.known), self.arrays.bits(frontier.known + 1));
        let mut found = Collector::new(self.arrays.queue(frontier.queue));
        while let Some(words) = self.words(1) {
            for at in words.map(|own| self.graph.own.word(own)) {
                let mut new = reached[at].load(Relaxed) & !before[at].load(Relaxed);
                while new != 0 {
                    found.push(at as u32 * 64 + new.trailing_zeros());
                    new &= new - 1;
                }
            }
        }
        drop(found);
        self.meeting.wait();
        frontier.edges = u64::MAX;
        self.parts[1].store(0, Relaxed);
        self.meeting.wait();
    }

    /// Returns the next part of the own words, of those that are counted in `parts[which]`.
    fn words(&self, which: usize) -> Option<Range<usize>> {
        let own = self.graph.own.words();
        let first = self.parts[which].fetch_add(bottom_up::PART, Relaxed);
        (first < own).then(|| first..(first + bottom_up::PART).min(own))
    }

    /// Tells all ranks what a step reached, and keeps the sums over all of them.
    fn tell_reached(&self, peers: &dyn Peers, frontier: &Frontier, step: Step, sums: &SharedSums) -> Result<()> {
        let bits = |which: usize| self.arrays.bits(frontier.known + which);
        let (before, now, list) = match step {
            Step::TopDown => (bits(0), bits(1), Some(self.arrays.queue(frontier.queue + 1))),
            Step::BottomUp => (bits(1), bits(0), None),
        };
        let reached = Reached { graph: self.graph, sums: sums.get(), before, now, list };
        sums.set(peers.tell_reached(&reached, &mut self.long())?);
        Ok(())
    }

    fn top_down(&self, thread: usize, frontier: &Frontier, sums: &SharedSums, parents: &[AtomicU32]) -> Result<()> {
        let queues = [0, 1].map(|which| self.arrays.queue(frontier.queue + which));
        let (known, claimed) = (self.arrays.bits(frontier.known), self.arrays.bits(frontier.known + 1));
        let claims = Claims { graph: self.graph, known, claimed, next: queues[1], away: &self.arrays.away };
        let is_narrow = frontier.edges < NARROW || self.threads == 1;
        if is_narrow && thread != 0 {
            return Ok(());
        }
        let threads = if is_narrow { 1 } else { self.threads };
        let meet = || (!is_narrow).then(|| self.meeting.wait());
        let mut checked = claims.short_rows(queues[0].vertices(), &self.parts[0], &self.long);
        meet();
        let long = self.long().clone();
        checked += long.into_iter().map(|v| claims.long_row(v, thread, threads)).sum::<u64>();
        meet();
        let mut told = Ok(());
        if let Some(peers) = self.peers {
            if thread == 0 {
                told = peers.tell_claims(&claims);
            }
            meet();
        }
        let next = queues[1].vertices();
        let mut edges = 0;
        loop {
            let first = self.parts[1].fetch_add(top_down::PART, Relaxed);
            let Some(part) = next.get(first..(first + top_down::PART).min(next.len())).filter(|part| !part.is_empty())
            else {
                break;
            };
            let [looked_at, leave] = top_down::parents_of(self.graph, known, part, parents);
            checked += looked_at;
            edges += leave;
        }
        if thread == 0 {
            sums.vertices.store(next.len() as u64, Relaxed);
        }
        sums.edges.fetch_add(edges, Relaxed);
        sums.checked.fetch_add(checked, Relaxed);
        told
    }

    fn bottom_up(&self, frontier: &Frontier, sums: &SharedSums, parents: &[AtomicU32]) {
        // What the frontier is part of is known now; the other bits are written anew.
        let (all, known) = (self.arrays.bits(frontier.known), self.arrays.bits(frontier.known + 1));
        let mut found = bottom_up::Found::default();
        while let Some(words) = self.words(0) {
            let part = bottom_up::part(self.graph, self.lookup, known, words, all, parents);
            found.vertices += part.vertices;
            found.checked += part.checked;
        }
        sums.vertices.fetch_add(found.vertices, Relaxed);
        sums.checked.fetch_add(found.checked, Relaxed);
    }
}
