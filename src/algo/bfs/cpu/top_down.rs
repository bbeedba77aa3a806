//! A step top-down: from the vertices of the frontier, in order, along their edges.
//!
//! Who comes first is the parent. One thread takes the frontier in order and needs no more than that. Several threads each take a part of its edges,
//! the first thread the first ones, and claim vertices in bits of their own: a vertex is its whose number is smallest. So nothing depends
//! on who is faster, and no two threads write the same memory while they look at edges.
//!
//! Of several ranks each takes the rows of its own part of the frontier, and its part of rows that ranks share, and sends claims of vertices that
//! it does not own to who does. Of the parents that come in this way the smallest stays.

use crate::algo::bfs::cpu::ahead::Ahead;
use crate::algo::bfs::cpu::shared::{Graph, set, set_alone};
use crate::algo::bfs::search::NONE;
use crate::algo::bits::is_set;
use crate::algo::own::Own;
use crate::error::Result;
use crate::graph::direction::Way;
use crate::memory::{Budget, Buffer, prefetch};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Edges that a thread looks at before threads compare their claims.
pub const ROUND: u64 = 1 << 18;
/// Entries of a row ahead that are prefetched.
const AHEAD: usize = 16;

/// The claims of one thread.
pub struct Claims {
    bits: Buffer<AtomicU64>,
    /// Vertices and their parents, one after the other.
    pairs: Buffer<AtomicU32>,
}

/// Returns the bytes of the claims of a thread.
pub fn bytes(vertices: u64) -> u64 {
    8 * vertices.div_ceil(64) + 8 * most_claims(vertices)
}

/// Returns the most claims of a thread in a round: it claims each vertex once.
fn most_claims(vertices: u64) -> u64 {
    ROUND.min(vertices)
}

/// Sums over some edges.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found {
    /// Vertices that are reached now.
    pub vertices: u64,
    /// Edges that leave them.
    pub edges: u64,
    /// Entries looked at.
    pub checked: u64,
    /// Bytes read from the disk for it.
    pub bytes: u64,
}

/// Parents of own vertices in a step.
#[derive(Clone, Copy)]
pub struct Parents<'s> {
    /// By their places.
    pub cells: &'s [AtomicU32],
    /// By their places, those that other ranks claimed; of a process by itself it is empty.
    pub arrived: &'s [AtomicU64],
}

impl Parents<'_> {
    /// Writes the parent of the own vertex at `place`, the smallest of this rank. Returns false if another rank has claimed the vertex: then the
    /// smaller of both stays.
    #[inline]
    fn write(self, place: usize, parent: u32) -> bool {
        let cell = &self.cells[place];
        let is_first = self.arrived.is_empty() || !is_set(self.arrived, place as u32);
        cell.store(if is_first { parent } else { parent.min(cell.load(Relaxed)) }, Relaxed);
        is_first
    }

    /// Writes the parent that another rank has for the own vertex at `place`, unless a smaller is there; `is_reached` says that this rank has
    /// reached it in this step. Returns true if nobody claimed the vertex before.
    #[inline]
    pub fn arrive(self, place: usize, parent: u32, is_reached: bool) -> bool {
        let cell = &self.cells[place];
        let is_first = set_alone(self.arrived, place as u32) && !is_reached;
        cell.store(if is_first { parent } else { parent.min(cell.load(Relaxed)) }, Relaxed);
        is_first
    }
}

/// Takes all of a frontier, in order, by one thread; what is found is set in `reached`, and own vertices are listed in `new` if there is a list.
/// `listed` are the vertices of the frontier. If there are several ranks, vertices of others go to `away`, with their parents.
///
/// # Errors
/// Those of `away`.
pub fn alone<const RANKS: bool>(
    graph: &Graph<'_>,
    listed: &[AtomicU32],
    reached: &[AtomicU64],
    parents: Parents<'_>,
    mut new: Option<&mut Vec<u32>>,
    mut away: impl FnMut(u32, u32) -> Result<()>,
) -> Result<Found> {
    let (mut found, mut ahead) = (Found::default(), Ahead::default());
    for (at, v) in listed.iter().enumerate() {
        ahead.go(graph, listed, at);
        let v = v.load(Relaxed);
        for row in graph.taken_row(v) {
            found.checked += row.len() as u64;
            for (at, &neighbour) in row.iter().enumerate() {
                if let Some(&ahead) = row.get(at + AHEAD) {
                    prefetch(reached, (ahead >> 6) as usize);
                }
                if is_set(reached, neighbour) {
                    continue;
                }
                set_alone(reached, neighbour);
                if !RANKS {
                    parents.cells[neighbour as usize].store(v, Relaxed);
                } else if !graph.own.has(neighbour) {
                    away(neighbour, v)?;
                    continue;
                } else if !parents.write(graph.own.place(neighbour), v) {
                    continue;
                }
                found.vertices += 1;
                found.edges += graph.degree(neighbour);
                if let Some(new) = &mut new {
                    new.push(neighbour);
                }
            }
        }
    }
    Ok(found)
}

impl Claims {
    /// Makes room for the claims of a thread.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(vertices: usize, budget: &Budget) -> Result<Claims> {
        let bits = budget.zeroed(vertices.div_ceil(64), "claims of a thread (a bit a vertex)")?;
        Ok(Claims { bits, pairs: budget.zeroed(2 * most_claims(vertices as u64) as usize, "claims of a thread")? })
    }

    /// Claims what the edges number `edges` of the frontier lead to and is not reached; `listed` are its vertices from the one on, and `skip` the
    /// edges of that which come before. Returns how many there are.
    pub fn claim(
        &self,
        graph: &Graph<'_>,
        listed: &[AtomicU32],
        (mut skip, edges): (u64, u64),
        reached: &[AtomicU64],
    ) -> usize {
        let (mut left, mut claimed, mut ahead) = (edges, 0, Ahead::default());
        for (at, v) in listed.iter().enumerate() {
            if left == 0 {
                break;
            }
            ahead.go(graph, listed, at);
            let v = v.load(Relaxed);
            let whole = graph.shared_part(v).unwrap_or(0..u64::MAX);
            let first = whole.start + skip;
            let places = first as usize..first.saturating_add(left).min(whole.end) as usize;
            skip = 0;
            for row in graph.rows.part(graph.direction.row(v, Way::Out), places) {
                left -= row.len() as u64;
                for (at, &neighbour) in row.iter().enumerate() {
                    if let Some(&ahead) = row.get(at + AHEAD) {
                        prefetch(reached, (ahead >> 6) as usize);
                    }
                    let (word, bit) = ((neighbour >> 6) as usize, 1 << (neighbour & 63));
                    let mine = self.bits[word].load(Relaxed);
                    if (reached[word].load(Relaxed) | mine) & bit == 0 {
                        self.bits[word].store(mine | bit, Relaxed);
                        self.pairs[2 * claimed].store(neighbour, Relaxed);
                        self.pairs[2 * claimed + 1].store(v, Relaxed);
                        claimed += 1;
                    }
                }
            }
        }
        claimed
    }

    /// Reaches what this thread claimed and none of `before`.
    pub fn reach<const RANKS: bool>(
        &self,
        graph: &Graph<'_>,
        claimed: usize,
        before: &[Claims],
        reached: &[AtomicU64],
        parents: Parents<'_>,
    ) -> Found {
        let mut found = Found::default();
        let pairs = &self.pairs[..2 * claimed];
        for (at, pair) in pairs.chunks_exact(2).enumerate() {
            if let Some(ahead) = pairs.get(2 * (at + AHEAD)) {
                let ahead = ahead.load(Relaxed);
                prefetch(parents.cells, if RANKS { graph.own.place(ahead) } else { ahead as usize });
                prefetch(graph.degrees, graph.direction.row(ahead, Way::Out) as usize);
            }
            let v = pair[0].load(Relaxed);
            if before.iter().any(|claims| is_set(&claims.bits, v)) {
                if RANKS {
                    pair[1].store(NONE, Relaxed);
                }
                continue;
            }
            set(reached, v);
            let parent = pair[1].load(Relaxed);
            if !RANKS {
                parents.cells[v as usize].store(parent, Relaxed);
            } else if !graph.own.has(v) || !parents.write(graph.own.place(v), parent) {
                continue;
            }
            found.vertices += 1;
            found.edges += graph.degree(v);
        }
        found
    }

    /// Forgets its claims, but for those that other ranks are to be told of: returns how many these are.
    pub fn forget<const RANKS: bool>(&self, claimed: usize, own: Own) -> usize {
        let mut away = 0;
        for pair in self.pairs[..2 * claimed].chunks_exact(2) {
            let [v, parent] = [&pair[0], &pair[1]].map(|number| number.load(Relaxed));
            self.bits[(v >> 6) as usize].store(0, Relaxed);
            if RANKS && !own.has(v) && parent != NONE {
                self.pairs[2 * away].store(v, Relaxed);
                self.pairs[2 * away + 1].store(parent, Relaxed);
                away += 1;
            }
        }
        away
    }

    /// Returns the first `count` claims that [`Self::forget`] left: vertices with their parents.
    pub fn away(&self, count: usize) -> impl Iterator<Item = (u32, u32)> {
        self.pairs[..2 * count].chunks_exact(2).map(|pair| (pair[0].load(Relaxed), pair[1].load(Relaxed)))
    }
}

/// The edges of a frontier, by sums over slices of its list.
pub struct Slices<'s> {
    /// Edges before each slice, and those of all.
    pub before: &'s [AtomicU64],
    /// Vertices of a slice.
    pub width: usize,
}

impl Slices<'_> {
    /// Returns the vertices of slice `slice` of a list of `length`.
    pub fn range(&self, slice: usize, length: usize) -> Range<usize> {
        (slice * self.width).min(length)..((slice + 1) * self.width).min(length)
    }

    /// Returns the place in the list of the vertex that has edge number `edge` of the frontier, and how many of its edges come before.
    pub fn find(&self, edge: u64, graph: &Graph<'_>, listed: &[AtomicU32]) -> (usize, u64) {
        let slice = self.before.partition_point(|before| before.load(Relaxed) <= edge).saturating_sub(1);
        let mut skip = edge - self.before[slice].load(Relaxed);
        for at in self.range(slice, listed.len()) {
            let degree = graph.taken(listed[at].load(Relaxed));
            if skip < degree {
                return (at, skip);
            }
            skip -= degree;
        }
        (listed.len(), 0)
    }
}
