//! A step top-down: neighbours of the frontier are claimed in any order, and then each looks for its smallest neighbour that was reached before.

use crate::algo::bfs::cpu::shared::{Graph, LONG, Queue, set};
use crate::graph::direction::Way;
use crate::memory::prefetch;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};

/// Vertices of the frontier that a thread takes at a time.
pub const PART: usize = 64;
/// Vertices that a thread collects before it appends them to the list.
const COLLECTED: usize = 1 << 10;
/// Entries ahead that are prefetched.
const AHEAD: usize = 16;

/// Vertices that a thread found, on their way to a list.
pub struct Collector<'q> {
    queue: &'q Queue,
    vertices: Vec<u32>,
}

impl<'q> Collector<'q> {
    /// Begins without any.
    pub fn new(queue: &'q Queue) -> Self {
        Collector { queue, vertices: Vec::with_capacity(COLLECTED) }
    }

    /// Begins without any, where hardly any will come.
    fn of_few(queue: &'q Queue) -> Self {
        Collector { queue, vertices: Vec::new() }
    }

    /// Adds a vertex.
    #[inline]
    pub fn push(&mut self, v: u32) {
        self.vertices.push(v);
        if self.vertices.len() == COLLECTED {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.queue.append(&self.vertices);
        self.vertices.clear();
    }
}

impl Drop for Collector<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// The claims of a step.
pub struct Claims<'s> {
    /// The graph.
    pub graph: &'s Graph<'s>,
    /// The vertices reached before the frontier; it is added to them now.
    pub known: &'s [AtomicU64],
    /// The vertices reached so far, and those claimed.
    pub claimed: &'s [AtomicU64],
    /// The list of the own ones claimed.
    pub next: &'s Queue,
    /// The list of those claimed that other ranks own.
    pub away: &'s Queue,
}

/// Vertices that a thread claimed.
struct Claimed<'q> {
    own: Collector<'q>,
    away: Collector<'q>,
}

impl Claims<'_> {
    fn none(&self) -> Claimed<'_> {
        Claimed { own: Collector::new(self.next), away: Collector::of_few(self.away) }
    }

    /// Claims the neighbours of the frontier, part by part; rows that are shared are put into `long`. Returns the entries looked at.
    pub fn short_rows(&self, frontier: &[AtomicU32], parts: &AtomicUsize, long: &Mutex<Vec<u32>>) -> u64 {
        let (mut checked, mut found) = (0, self.none());
        loop {
            let first = parts.fetch_add(PART, Relaxed);
            let Some(part) = frontier.get(first..(first + PART).min(frontier.len())).filter(|part| !part.is_empty())
            else {
                return checked;
            };
            for v in part.iter().map(|v| v.load(Relaxed)) {
                set(self.known, v);
                let halves = self.graph.rows.halves(self.graph.direction.row(v, Way::Out));
                let length = halves[0].len() + halves[1].len();
                if length > LONG {
                    long.lock().unwrap_or_else(PoisonError::into_inner).push(v);
                    continue;
                }
                checked += length as u64;
                self.claim(halves, &mut found);
            }
        }
    }

    /// Claims the part that one of `threads` threads of this rank has of the neighbours of a vertex whose row is shared. Returns the entries
    /// looked at.
    pub fn long_row(&self, v: u32, thread: usize, threads: usize) -> u64 {
        let (length, own) = (self.graph.degree(v) as usize, self.graph.own);
        let [from, to] = [own.rank(), own.rank() + 1].map(|rank| length * rank / own.ranks());
        let [from, to] = [thread, thread + 1].map(|thread| from + (to - from) * thread / threads);
        let part = from..to;
        let mut found = self.none();
        self.claim(self.graph.rows.part(self.graph.direction.row(v, Way::Out), part.clone()), &mut found);
        part.len() as u64
    }

    #[inline]
    fn claim(&self, halves: [&[u32]; 2], found: &mut Claimed<'_>) {
        for row in halves {
            for (at, &neighbour) in row.iter().enumerate() {
                if let Some(&ahead) = row.get(at + AHEAD) {
                    prefetch(self.claimed, (ahead >> 6) as usize);
                }
                if set(self.claimed, neighbour) {
                    let is_own = self.graph.own.has(neighbour);
                    if is_own { &mut found.own } else { &mut found.away }.push(neighbour);
                }
            }
        }
    }
}

/// Gives the claimed vertices of a part of the list their parents. Returns the entries looked at, and the edges that leave the vertices.
pub fn parents_of(graph: &Graph<'_>, known: &[AtomicU64], part: &[AtomicU32], parents: &[AtomicU32]) -> [u64; 2] {
    let (mut checked, mut edges) = (0, 0);
    for (at, v) in part.iter().enumerate() {
        if let Some(ahead) = part.get(at + AHEAD) {
            prefetch(&graph.heads.first, graph.own.place(ahead.load(Relaxed)));
        }
        let v = v.load(Relaxed);
        let (parent, looked_at) = graph.first_known(v, known);
        debug_assert!(parent.is_some(), "{v} was claimed by a neighbour");
        parents[graph.own.place(v)].store(parent.unwrap_or(v), Relaxed);
        checked += looked_at;
        edges += graph.degree(v);
    }
    [checked, edges]
}
