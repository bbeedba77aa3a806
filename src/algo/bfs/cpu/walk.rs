//! A search from level to level, by threads that all decide alike.

use crate::algo::bfs::cpu::bottom_up;
use crate::algo::bfs::cpu::meeting::Meeting;
use crate::algo::bfs::cpu::shared::{Arrays, Graph, set};
use crate::algo::bfs::cpu::top_down::{self, Slices};
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
/// Slices of the frontier for each thread, of which the edges are added up.
const SLICES: usize = 64;

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
    /// Words of bits that were taken in a step bottom-up.
    parts: AtomicUsize,
    /// What each thread counted.
    marks: Vec<AtomicU64>,
    /// Edges of the frontier before each slice of it.
    sums_of_slices: Vec<AtomicU64>,
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

impl Sums {
    fn add(&self, found: top_down::Found) {
        self.vertices.fetch_add(found.vertices, Relaxed);
        self.edges.fetch_add(found.edges, Relaxed);
        self.checked.fetch_add(found.checked, Relaxed);
    }
}

/// The last level, as every thread knows it.
#[derive(Clone, Copy)]
struct Frontier {
    vertices: u64,
    /// Edges that leave it; as many as can be where they are not known.
    edges: u64,
    /// Edges that leave vertices which no step top-down has come to.
    unexplored: u64,
    grows: bool,
    step: Step,
    /// The bits that are reached without the frontier; those with it are the other ones.
    known: usize,
    /// True if it is listed, and all that is reached known.
    is_listed: bool,
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
            parts: AtomicUsize::new(0),
            marks: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            sums_of_slices: (0..=SLICES * threads).map(|_| AtomicU64::new(0)).collect(),
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
            Frontier { vertices: 1, edges, unexplored, grows: true, step: Step::TopDown, known: 0, is_listed: true };
        let mut round = 0;
        while frontier.vertices > 0 {
            let started = Instant::now();
            let step = self.direction(&frontier);
            let sums = &self.sums[round & 1];
            let is_listed = match step {
                Step::TopDown => self.top_down(thread, &mut frontier, sums, parents),
                Step::BottomUp => self.bottom_up(&frontier, sums, parents),
            };
            if thread == 0 && signals::check().is_err() {
                self.stopped.store(true, Relaxed);
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
                let next = &self.sums[(round + 1) & 1];
                [&next.vertices, &next.edges, &next.checked].iter().for_each(|sum| sum.store(0, Relaxed));
                self.parts.store(0, Relaxed);
            }
            self.meeting.wait();
            frontier = Frontier {
                vertices,
                // After a step bottom-up nobody knows.
                edges: if step == Step::TopDown { edges } else { u64::MAX },
                unexplored: frontier.unexplored.saturating_sub(edges),
                grows: vertices > frontier.vertices,
                step,
                known: frontier.known ^ usize::from(step == Step::BottomUp),
                is_listed,
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

    /// Lists the frontier in order, if it is not; all that is reached is known from then on. Collective.
    fn list(&self, thread: usize, frontier: &mut Frontier) {
        if frontier.is_listed {
            return;
        }
        let (known, reached) = (self.arrays.bits(frontier.known), self.arrays.bits(frontier.known + 1));
        let words = share(known.len(), thread, self.threads);
        let new = |at: usize| reached[at].load(Relaxed) & !known[at].load(Relaxed);
        let mine: u64 = words.clone().map(|at| u64::from(new(at).count_ones())).sum();
        self.marks[thread].store(mine, Relaxed);
        self.meeting.wait();
        let before: u64 = self.marks[..thread].iter().map(|mark| mark.load(Relaxed)).sum();
        let mut places = self.arrays.new_list(frontier.vertices as usize)[before as usize..].iter();
        for at in words {
            let mut left = new(at);
            if left != 0 {
                known[at].store(reached[at].load(Relaxed), Relaxed);
            }
            while left != 0 {
                if let Some(place) = places.next() {
                    place.store(at as u32 * 64 + left.trailing_zeros(), Relaxed);
                }
                left &= left - 1;
            }
        }
        self.meeting.wait();
        frontier.is_listed = true;
    }

    /// Adds up the edges of the frontier by slices of its list. Collective.
    fn slice(&self, thread: usize, frontier: &mut Frontier) -> Slices<'_> {
        let list = self.arrays.list();
        let slices = self.sums_of_slices.len() - 1;
        let slices = Slices { before: &self.sums_of_slices, width: list.len().div_ceil(slices).max(1) };
        for slice in share(slices.before.len() - 1, thread, self.threads) {
            let vertices = &list[slices.range(slice, list.len())];
            let edges: u64 = vertices.iter().map(|v| self.graph.degree(v.load(Relaxed))).sum();
            slices.before[slice].store(edges, Relaxed);
        }
        self.meeting.wait();
        if thread == 0 {
            let mut before = 0;
            for sum in slices.before {
                before += sum.swap(before, Relaxed);
            }
        }
        self.meeting.wait();
        frontier.edges = slices.before.last().map_or(0, |all| all.load(Relaxed));
        slices
    }

    /// Takes a step top-down. Returns true if the next frontier is listed. Collective.
    fn top_down(&self, thread: usize, frontier: &mut Frontier, sums: &Sums, parents: &[AtomicU32]) -> bool {
        self.list(thread, frontier);
        let is_narrow = frontier.vertices < NARROW && frontier.edges < NARROW;
        let reached = self.arrays.bits(frontier.known + 1);
        if is_narrow || self.threads == 1 {
            if thread == 0 {
                let mut new = Vec::new();
                let list = is_narrow.then_some(&mut new);
                let found = top_down::alone(self.graph, self.arrays.list(), reached, parents, list);
                sums.add(found);
                if is_narrow {
                    new.sort_unstable();
                    for &v in &new {
                        set(self.arrays.bits(frontier.known), v);
                    }
                    self.arrays.write_list(&new);
                }
            }
            return is_narrow;
        }
        let slices = self.slice(thread, frontier);
        let (list, claims) = (self.arrays.list(), &self.arrays.claims[thread]);
        let round = self.threads as u64 * top_down::ROUND;
        let mut first = 0;
        while first < frontier.edges {
            let edges = round.min(frontier.edges - first);
            let [from, to] = [thread, thread + 1].map(|thread| first + edges * thread as u64 / self.threads as u64);
            let (at, skip) = slices.find(from, self.graph, list);
            let claimed = claims.claim(self.graph, &list[at..], (skip, to - from), reached);
            self.meeting.wait();
            let found = claims.reach(self.graph, claimed, &self.arrays.claims[..thread], reached, parents);
            sums.add(top_down::Found { checked: to - from, ..found });
            self.meeting.wait();
            claims.forget(claimed);
            first += edges;
        }
        false
    }

    /// Takes a step bottom-up. Returns false, as the next frontier is not listed.
    fn bottom_up(&self, frontier: &Frontier, sums: &Sums, parents: &[AtomicU32]) -> bool {
        // What the frontier is part of is known now; the other bits are written anew.
        let (all, known) = (self.arrays.bits(frontier.known), self.arrays.bits(frontier.known + 1));
        let mut found = bottom_up::Found::default();
        loop {
            let first = self.parts.fetch_add(bottom_up::PART, Relaxed);
            if first >= known.len() {
                break;
            }
            let words = first..(first + bottom_up::PART).min(known.len());
            let part = bottom_up::part(self.graph, self.lookup, known, words, all, parents);
            found.vertices += part.vertices;
            found.checked += part.checked;
        }
        sums.vertices.fetch_add(found.vertices, Relaxed);
        sums.checked.fetch_add(found.checked, Relaxed);
        false
    }
}

/// Returns the part that a thread has of `all` items.
fn share(all: usize, thread: usize, threads: usize) -> Range<usize> {
    all * thread / threads..all * (thread + 1) / threads
}
